# SPDX-License-Identifier: Apache-2.0
"""warpgauge bench: on one GPU, on several together, or with --device all on each and on all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from warpgauge.baselines.recordable import FEWEST_PROCESSES
from warpgauge.commands import measuring_lines, worker_processes
from warpgauge.commands.arguments import EVERY_GPU, FILE, contradiction, refuse_together
from warpgauge.commands.measuring_command import Options, options_of, print_names
from warpgauge.commands.one_gpu import SELF_CHECK_SECONDS, Bench, Share
from warpgauge.commands.worker_processes import Ended, Work
from warpgauge.measure import discovery, journal, manifest, selection
from warpgauge.measure.discovery import Probe
from warpgauge.measure.measuring import Built, Measuring
from warpgauge.records.benchmark_filter import require_portable
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.reports.view import EXIT_MEANINGS
from warpgauge.system import streams
from warpgauge.system.entry_point import name_of
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import print_line
from warpgauge.system.text import inert, plural
from warpgauge.verdict.incompatibility import Override

# Formats that cannot be written to one stream twice.
_ONE_DOCUMENT = frozenset(("json", "junit", "svg", "html"))

# Options, each with those that it contradicts.
_CONTRADICTIONS = {
    "--budget": ("--processes", "--quick", "--record", "--no-confirm"),
    "--list": ("--self-check",),
    "--record": ("--against", "--filter", "--inject"),
    "--self-check": "--record --against --inject --out --format --export".split(),
    "--against": ("--no-confirm",),
    "--why": ("--record", "--self-check", "--no-confirm", "--build-dir", "--kernels"),
    FILE: ("--kernels", "--programs"),
    # External kernels have no suites, and are of one program.
    "--kernels": ("--build-dir", "--suite", "--programs", "--isolate"),
}
# Options that need another commit, with those that cannot build it, and the command that can.
_OF_ONE_BUILD = (
    ("--against", "--build-dir", "use scripts/warpgauge ab to compare two build folders"),
    ("--budget", "--build-dir", "use scripts/warpgauge ab to compare two build folders"),
    ("--against", "--kernels", "use scripts/warpgauge evaluate to compare two kernels"),
)
# Options allowed with --resume; all others are taken from the interrupted run.
_WITH_RESUME = frozenset(("--resume", "--no-wait", "--verbose", FILE))
_SHORT = len("GPU-01234567")  # of a UUID, as a prefix of output lines


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    options = parse(argv)
    one = Bench(options, options.project or root, argv)
    if options.own.resume is not None:
        one = _resumed(one, root)
    if one.options.list:
        return _listed(one)
    if one.options.own.self_check:
        return one.judge_self_checks(one.options.own.self_check)
    with one.alone_in(one.work):
        return on_every_gpu(one) if one.options.device == EVERY_GPU else one.run()


def parse(argv: Sequence[str]) -> Options:
    """Parse `argv`. Raises UserError for bad usage and contradictory options."""
    parser = measuring_lines.bench()
    values = parser.parse_args(argv)
    given = [*parser.given(values), *([] if values.file is None else [FILE])]
    for option, other, instead in _OF_ONE_BUILD:
        if option in given and other in given:
            raise UserError(f"{option} cannot be combined with {other}: {instead}")
    for option, others in _CONTRADICTIONS.items():
        refuse_together(given, option, *others)
    if "--baselines" in given and not {"--build-dir", "--kernels", FILE} & {*given}:
        raise UserError(f"--baselines needs --build-dir, --kernels or {FILE}")
    options = options_of(values)
    if values.resume is not None:
        refuse_together(given, "--resume", *(word for word in given if word not in _WITH_RESUME))
    require_portable("--inject", options.injected_regex)
    if options.record and not options.build and options.build_dir is None:
        raise contradiction("--record", "--no-build, because the programs may be of another commit")
    if options.record and options.screening(confirms=False) < FEWEST_PROCESSES:
        raise contradiction("--record", f"fewer than {FEWEST_PROCESSES} processes")
    if values.self_check:
        refuse_together(given, "--self-check", "--quick", "--processes")
    if values.self_check == []:  # most benchmarks are changed
        budget_s = SELF_CHECK_SECONDS if options.budget_s is None else options.budget_s
        processes = options.processes or FEWEST_OF_A_CHANGE
        options = replace(options, budget_s=budget_s, processes=processes)
    if options.device == EVERY_GPU:
        if values.self_check is not None:
            raise contradiction("--device all", "--self-check, which tests one GPU")
        if options.formats.shown.name in _ONE_DOCUMENT:
            shown = f"--format {options.formats.shown.name} without =FILE"
            raise contradiction("--device all", shown)
        if values.parallel and options.record:
            raise contradiction("--parallel", "--record, which needs undisturbed host times")
    elif values.parallel:
        raise contradiction("--parallel", "a single GPU (--device all measures them all)")
    return options


def _resumed(asked: Bench, root: Path) -> Bench:
    """Return the run that `asked` is to resume, by default the latest. Raises UserError."""
    given = asked.options
    folder = given.own.resume
    there, began = journal.opened(folder if folder.name else journal.newest(asked.runs))
    if began.folder != str(Path.cwd()):
        raise UserError(f"{there.folder} belongs to a run in {began.folder}: resume it there")
    options = parse(began.argv)
    options = replace(
        options,
        seed=began.seed,
        out=Path(began.run),
        wait=given.wait,
        verbose=given.verbose,
        formats=options.formats.of(began.part) if began.part else options.formats,
    )
    return Bench(options, options.project or root, began.argv, before=(there, began))


def _listed(one: Bench) -> ExitStatus:
    """Print the names that `one` would measure, without a build. Raises UserError."""
    options = one.options
    if one.kernels is not None:  # known without a build
        print_names(selection.required(options.filter, [case.name for case in one.kernels.cases]))
        return ExitStatus.OK
    with one.begun(options) as (measuring, held):
        held.enter_context(one.alone_in(one.work))
        folder = options.build_dir or one.root / "build" / "release"
        remedy = "scripts/bench builds what this machine can run"
        if options.build_dir is None and not manifest.read(folder).programs:
            sources = [*one.root.glob("benchmarks/*.cu"), *one.root.glob("benchmarks/*.cpp")]
            measuring.tell_not_built(sorted(path.stem for path in sources), remedy)
            return ExitStatus.NOT_MEASURED
        everything = measuring.found(folder)
        absent = discovery.not_built(everything)
        if absent:
            measuring.tell_not_built(absent, remedy if options.build_dir is None else "")
        built = [binary for binary in everything if binary.is_built]
        if absent and not any(binary.names for binary in selection.chosen(built, options.filter)):
            return ExitStatus.NOT_MEASURED
        status = one.print_names(selection.wanted(built, options.filter, suites=True))
        return ExitStatus.NOT_MEASURED if absent else status


def on_every_gpu(one: Bench) -> ExitStatus:
    """Run `one` on each GPU. Raises UserError for requests that no GPU could fulfil."""
    options, paths = one.options, one.run_paths()
    _ = one.commit  # fails early
    with one.begun(options, paths.log) as (measuring, _):
        built = one.built(measuring)
        gpus, faults = asked_of(measuring, built)
    single = sum(map(is_one, gpus))
    works: dict[str, Work] = {}
    for device in gpus:
        name = named(device)
        share = Share(built, name, single if options.own.parallel and is_one(device) else 1)
        its = replace(
            options, device=device, out=paths.of(name).run, formats=options.formats.of(name)
        )
        argv = [*(word for word in one.argv if word != "--parallel"), f"--device={device}"]
        part = replace(one, options=its, argv=argv, share=share)
        part.check(paths.of(name))
        works[device] = part.run
    statuses = {}
    with one.alone_in(one.runs):
        for ended in _ended(one, works, gpus):
            try:
                statuses[ended.name] = ExitStatus(ended.status)
            except ValueError:  # noqa: PERF203 - a few GPUs
                by = -ended.status if ended.status < 0 else ended.status - 128
                name = named(ended.name)
                print_line(one.notes, f"{name}: its scripts/bench was ended by {name_of(by)}")
                statuses[ended.name] = ExitStatus.NOT_MEASURED
    one.results.rule("all GPUs", characters="=")
    for device, status in statuses.items():
        run = paths.of(named(device)).run
        where = os.path.relpath(run) if run.exists() else "no run file"
        line = f"{named(device)} {inert(gpus[device])}: {EXIT_MEANINGS[status]}; {where}"
        print_line(one.results, line)
    for fault in faults:
        print_line(one.results, fault)
    return worst_of([*statuses.values(), *([ExitStatus.NOT_MEASURED] if faults else [])])


def is_one(device: str) -> bool:
    """Return whether this is one GPU, not several that are measured together."""
    return "," not in device


def named(device: str) -> str:
    """Return the name for the run files of a device."""
    return device if is_one(device) else EVERY_GPU


def asked_of(measuring: Measuring, built: Built) -> tuple[dict[str, str], list[str]]:
    """Return the models by UUID, including all GPUs together if a program needs several.

    Also return why others are not measured. Raises UserError if there is nothing to measure.
    """
    everything = measuring.found(built.programs)
    wanted = selection.wanted(everything, measuring.options.filter, suites=True)
    probes = discovery.gpus(everything, measuring.scratch, isolate=measuring.isolates)
    gpus, faults = named_gpus(probes)
    if len(gpus) < 2 or all(program.gpus == 1 for program in wanted):
        return gpus, faults
    alone = gpus if any(program.gpus == 1 for program in wanted) else {}
    try:
        context = discovery.together([one for one in probes if "gpu_uuid" in one.context]).context
    except UserError as fault:
        return gpus, [*faults, str(fault)]
    return {**alone, context["gpu_uuid"]: context["gpu_name"]}, faults


def named_gpus(probes: Sequence[Probe]) -> tuple[dict[str, str], list[str]]:
    """Return the model of each GPU by UUID, and why others are not measured."""
    gpus, faults = {}, []
    for index, probe in enumerate(probes):
        if uuid := probe.context.get("gpu_uuid"):
            gpus[uuid] = probe.context.get("gpu_name", "")
        else:
            why = inert("; ".join(probe.faults) or "the driver reports no UUID")
            faults.append(f"device {index} is not measured: {why}")
    return gpus, faults


def _ended(one: Bench, works: Mapping[str, Work], gpus: Mapping[str, str]) -> Iterator[Ended]:
    """Run the work of each GPU, and then of all GPUs together; yield each as it ends."""

    def note(line: str) -> None:
        print_line(one.notes, line)

    def rule(device: str) -> None:
        one.results.rule(inert(f"{named(device)} {gpus[device]}".strip()), characters="=")

    alone = {device: work for device, work in works.items() if is_one(device)}
    count = plural(len(alone), "GPU")
    if one.options.own.parallel and alone:
        invalid = Override.PARALLEL not in one.options.allow
        doubt = ": host times and copies will be INVALID" if invalid else ""
        note(f"Measuring {count} at once{doubt}")
        for ended in worker_processes.at_once(
            alone, lambda who, line: note(f"{who[:_SHORT]}  {line}")
        ):
            rule(ended.name)
            streams.write(ended.shown)
            yield ended
    elif alone:
        note(f"Measuring {count}, one after the other")
        for number, (device, work) in enumerate(alone.items(), 1):
            rule(device)
            note(f"GPU {number} of {len(alone)}: {device}")
            yield worker_processes.alone(device, work)
    for device in works.keys() - alone.keys():
        rule(device)
        note("Measuring the programs that need several GPUs, on all GPUs together")
        yield worker_processes.alone(device, works[device])


def worst_of(statuses: Sequence[ExitStatus]) -> ExitStatus:
    """Return the worst status: a regression on any GPU counts, and not measured is not a pass."""
    return min(statuses, key=[*EXIT_MEANINGS].index, default=ExitStatus.NOT_MEASURED)
