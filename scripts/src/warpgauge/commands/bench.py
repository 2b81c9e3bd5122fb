# SPDX-License-Identifier: Apache-2.0
"""warpgauge bench: on one GPU, on several together, or with --device all on each and on all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from warpgauge.baselines.recordable import FEWEST_PROCESSES
from warpgauge.commands import measuring_lines
from warpgauge.commands.arguments import EVERY_GPU, MANIFEST, contradiction
from warpgauge.commands.measuring_command import Options, options_of
from warpgauge.commands.one_gpu import SELF_CHECK_SECONDS, Bench
from warpgauge.measure import discovery, journal, manifest, selection
from warpgauge.measure.measuring import Built, Measuring
from warpgauge.records.benchmark_filter import require_portable
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.reports.view import EXIT_MEANINGS
from warpgauge.system import entry_point, environment, streams
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import print_line
from warpgauge.system.text import inert

_MANIFEST = f"a manifest (*{MANIFEST})"

# Options, each with those that it contradicts.
_CONTRADICTIONS = {
    "--budget": ("--processes", "--record", "--no-confirm", "--build-dir"),
    "--record": ("--against", "--filter", "--inject"),
    "--self-check": ("--against", "--inject", "--out", "--format"),
    "--against": ("--no-confirm", "--build-dir"),
    "--changed": ("--inject",),
    "--energy": ("--record", "--against", "--self-check"),
    # External kernels have no suites and no commits, and are of one program.
    _MANIFEST: ("--build-dir", "--suite", "--isolate", "--against"),
}


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    options = parse(argv)
    command = Bench(options, options.project or root, argv)
    if options.own.resume is not None:
        command = _resumed(command, root)
    if command.options.own.list:
        return _listed(command)
    with command.alone_in(command.work):
        every = command.options.device == EVERY_GPU
        return on_every_gpu(command) if every else command.run()


def parse(argv: Sequence[str]) -> Options:
    """Parse `argv`. Raises UserError for bad usage and contradictory options."""
    parser = measuring_lines.bench()
    values = parser.parse_args(argv)
    given = parser.given(values)
    options = options_of(values)
    given += [_MANIFEST] if options.kernels is not None else []
    for option, others in _CONTRADICTIONS.items():
        for other in others:
            if option in given and other in given:
                raise contradiction(option, other)
    if values.resume is not None and given != ["--resume"]:
        raise UserError("--resume takes all other options from the interrupted run: omit yours")
    if values.changed is not None and not values.against:
        raise UserError("--changed needs --against: name the commit that FILE compares with")
    require_portable("--inject", options.injected_regex)
    if options.record and not options.build and options.build_dir is None:
        raise contradiction("--record", "--no-build, because the programs may be of another commit")
    if options.record and options.screening(confirms=False) < FEWEST_PROCESSES:
        raise contradiction("--record", f"fewer than {FEWEST_PROCESSES} processes")
    if values.self_check:  # most benchmarks are changed
        budget_s = SELF_CHECK_SECONDS if options.budget_s is None else options.budget_s
        processes = options.processes or FEWEST_OF_A_CHANGE
        options = replace(options, budget_s=budget_s, processes=processes)
    return options


def _resumed(asked: Bench, root: Path) -> Bench:
    """Return the run that `asked` is to resume, by default the latest. Raises UserError."""
    folder = asked.options.own.resume
    there, began = journal.opened(folder if folder.name else journal.newest(asked.runs))
    if began.folder != str(Path.cwd()):
        raise UserError(f"{there.folder} belongs to a run in {began.folder}: resume it there")
    options = parse(began.argv)
    formats = options.formats.of(began.part) if began.part else options.formats
    options = replace(options, seed=began.seed, out=Path(began.run), formats=formats)
    return Bench(options, options.project or root, began.argv, before=(there, began))


def _listed(command: Bench) -> ExitStatus:
    """Print the names that `command` would measure, without a build. Raises UserError."""
    options = command.options
    if command.kernels is not None:  # known without a build
        _print(selection.required(options.filter, [case.name for case in command.kernels.cases]))
        return ExitStatus.OK
    with command.begun(logs=False) as (measuring, held):
        held.enter_context(command.alone_in(command.work))
        folder = options.build_dir or command.root / "build" / "release"
        builder = environment.started("bench")
        if not manifest.read(folder).programs:
            fault = f"nothing is built in {os.path.relpath(folder)}: {builder} builds it"
            raise UserError(fault, ExitStatus.NOT_MEASURED)
        everything = measuring.found(folder)
        programs = selection.chosen(everything, options.filter)
        if absent := discovery.not_built(programs):
            remedy = f"{builder} builds what this machine can run"
            measuring.tell_not_built(absent, "" if options.build_dir else remedy)
        else:
            programs = selection.wanted(everything, options.filter, suites=True)
        built = [program for program in programs if program.is_built]
        _print(name for program in built for name in program.names)
        faulty = [program for program in built if program.fault is not None]
        for program in faulty:
            measuring.note(inert(f"{program.path.name}: {program.fault}"))
        return ExitStatus.NOT_MEASURED if absent or faulty else ExitStatus.OK


def _print(names: Iterable[str]) -> None:
    """Print each name once, one per line."""
    streams.write("".join(f"{inert(name)}\n" for name in dict.fromkeys(names)))


def on_every_gpu(command: Bench) -> ExitStatus:
    """Run `command` on each GPU. Raises UserError for requests that no GPU could fulfil."""
    options, _ = command.options, command.commit  # fails early
    with command.begun() as (measuring, _):
        built = command.built(measuring)
        gpus, faults = asked_of(measuring, built)
    parts: dict[str, Bench] = {}
    for device, model in gpus.items():
        name = EVERY_GPU if "," in device else device
        formats, out = options.formats.of(name), command.paths.of(name).run
        own = replace(options, device=device, out=out, formats=formats)
        argv = [*command.argv, f"--device={device}"]
        part = replace(command, options=own, argv=argv, shared=built, part=name)
        part.require_writable()
        parts[inert(f"{name} {model}".strip())] = part
    statuses: dict[str, ExitStatus] = {}
    for title, part in parts.items():
        command.results.rule(title, characters="=")
        try:
            statuses[title] = part.run()
        except (UserError, OSError) as fault:  # continue with the next GPU
            statuses[title] = entry_point.refused("bench", fault)
    command.results.rule("all GPUs", characters="=")
    for title, status in statuses.items():
        run = parts[title].paths.run
        where = os.path.relpath(run) if run.exists() else "no run file"
        print_line(command.results, f"{title}: {EXIT_MEANINGS[status]}; {where}")
    for line in faults:
        print_line(command.results, line)
    # A regression on any GPU counts, and not measured is not a pass.
    found = [*statuses.values(), *([ExitStatus.NOT_MEASURED] if faults else [])]
    return min(found, key=[*EXIT_MEANINGS].index, default=ExitStatus.NOT_MEASURED)


def asked_of(measuring: Measuring, built: Built) -> tuple[dict[str, str], list[str]]:
    """Return the models by UUID, including all GPUs together if a program needs several.

    Also return why others are not measured. Raises UserError if there is nothing to measure.
    """
    everything = measuring.found(built.programs)
    wanted = selection.wanted(everything, measuring.options.filter, suites=True)
    probes = discovery.gpus(everything, measuring.scratch, isolate=measuring.isolates)
    gpus, faults = dict[str, str](), list[str]()
    for index, probe in enumerate(probes):
        if uuid := probe.context.get("gpu_uuid"):
            gpus[uuid] = probe.context.get("gpu_name", "")
        else:
            why = inert("; ".join(probe.faults) or "the driver reports no UUID")
            faults.append(f"device {index} is not measured: {why}")
    if len(gpus) > 1 and any(program.gpus > 1 for program in wanted):
        alone = gpus if any(program.gpus == 1 for program in wanted) else {}
        try:
            both = discovery.together([it for it in probes if "gpu_uuid" in it.context]).context
            gpus = {**alone, both["gpu_uuid"]: both["gpu_name"]}
        except UserError as fault:
            faults.append(str(fault))
    return gpus, faults
