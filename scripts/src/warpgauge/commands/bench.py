# SPDX-License-Identifier: Apache-2.0
"""warpgauge bench: on one GPU, on several together, or with --device all on each and on all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from warpgauge.commands import resume
from warpgauge.commands.argument_types import EVERY_GPU
from warpgauge.commands.bench_options import parse
from warpgauge.commands.measuring_command import RunPaths, print_names
from warpgauge.commands.one_gpu import Bench, Share
from warpgauge.measure import discovery, journal, selection
from warpgauge.measure.discovery import Probe
from warpgauge.measure.journal import Journal
from warpgauge.measure.measuring import Built, Measuring
from warpgauge.reports.format import TERMINAL
from warpgauge.reports.view import EXIT_MEANINGS
from warpgauge.system import streams, worker_processes
from warpgauge.system.command_log import CommandLog
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.interrupts import name_of
from warpgauge.system.layout import Output, print_line
from warpgauge.system.text import inert, plural
from warpgauge.system.worker_processes import Ended, Work
from warpgauge.verdict.override import Override


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    options, before = parse(argv), None
    if options.resume is not None:
        before = resume.interrupted(options, root / "build" / "runs")
        argv, options = before.began.argv, before.options
    # If standard output has a format for programs, everything else goes to standard error.
    shown = Output(stderr=options.formats.shown.name != TERMINAL)
    one = Bench(options, root, shown, Output(stderr=True), argv, before)
    if options.list:
        return _listed(one)
    if options.self_check_of:
        return one.judge_self_checks(options.self_check_of)
    with one.alone_in(one.work):
        return on_every_gpu(one) if options.every_gpu else one.run()


def _listed(one: Bench) -> ExitStatus:
    """Print the names that `one` would measure; build first unless --no-build. Raises UserError."""
    options = one.options
    if one.kernels is not None:  # known without a build
        known = [case.name for case in one.kernels.cases]
        print_names(selection.required(options.filter, known))
        return ExitStatus.OK
    with one.begun(options) as (measuring, held):
        held.enter_context(one.alone_in(one.work))
        everything = measuring.found(one.built(measuring).programs)
        return one.print_names(selection.wanted(everything, options.filter, suites=True))


_SHORT = len("GPU-01234567")  # of a UUID, as a prefix of output lines


def on_every_gpu(one: Bench) -> ExitStatus:
    """Run `one` on each GPU. Raises UserError for requests that no GPU could fulfil."""
    options = one.options
    paths = one.run_paths()
    _ = one.commit  # fails early
    with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch:
        measuring = Measuring(options, one.root, Path(scratch), one.notes)
        with CommandLog(paths.log, one.argv, goes_on=one.before is not None).used():
            built = one.built(measuring)
            if one.before is None:
                gpus, faults = asked_of(measuring, built)
                called = resume.called(one.argv, options.seed, paths.run)
                began = msgspec.structs.replace(called, gpus=gpus, faults=tuple(faults))
                there = journal.begin(paths.journal, began)
            else:
                there, began = one.before.journal, one.before.began
    gpus = began.gpus
    single = sum(map(is_one, gpus))
    works: dict[str, Work] = {}
    for device in gpus:
        name = named(device)
        own = there.of(name)
        share = Share(
            built, single if options.parallel and is_one(device) else 1, there.folder, own
        )
        to = paths.of(name).run
        its = replace(options, device=device, out=to, formats=options.formats.of(name))
        RunPaths(to).check(its, one.baselines, RunPaths(to).measured(its))
        before = resume.begun(own, its)
        argv = [*(word for word in one.argv if word != "--parallel"), f"--device={device}"]
        works[device] = replace(one, options=its, argv=argv, before=before, share=share).run
    with one.alone_in(one.runs):
        return _All(one, paths, there, gpus).run(works, began.faults)


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
    if len(gpus) < 2 or all(one.gpus == 1 for one in wanted):
        return gpus, faults
    alone = gpus if any(one.gpus == 1 for one in wanted) else {}
    try:
        all_of_them = discovery.together([one for one in probes if "gpu_uuid" in one.context])
    except UserError as fault:
        return gpus, [*faults, str(fault)]
    context = all_of_them.context
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


@dataclass(frozen=True)
class _All:
    """The runs on all GPUs, and the journal that keeps them."""

    one: Bench
    paths: RunPaths
    journal: Journal
    gpus: Mapping[str, str]

    def run(self, works: Mapping[str, Work], faults: Sequence[str]) -> ExitStatus:
        """Run what the journal lacks, and report all GPUs."""
        statuses = self._kept()
        left = {uuid: work for uuid, work in works.items() if uuid not in statuses}
        try:
            for ended in self._ended(left):
                statuses[ended.name] = self._concluded(ended)
        except BaseException:
            self._tell_of_resuming()
            raise
        self._summarize(statuses, faults)
        if not self._tell_of_resuming():
            self.journal.remove()
        return worst_of([*statuses.values(), *([ExitStatus.NOT_MEASURED] if faults else [])])

    def _ended(self, works: Mapping[str, Work]) -> Iterator[Ended]:
        together = {device: work for device, work in works.items() if not is_one(device)}
        alone = {device: work for device, work in works.items() if is_one(device)}
        count = plural(sum(map(is_one, self.gpus)), "GPU")
        if self.one.options.parallel and alone:
            if Override.PARALLEL in self.one.options.allow:
                self._note(f"Measuring {count} at once")
            else:
                self._note(f"Measuring {count} at once: host times and copies will be INVALID")
            for ended in worker_processes.at_once(
                alone, lambda who, line: self._note(f"{who[:_SHORT]}  {line}")
            ):
                self._rule(ended.name)
                streams.write(ended.shown)
                yield ended
            alone = {}
        if alone:
            self._note(f"Measuring {count}, one after the other")
        for number, (uuid, work) in enumerate(alone.items(), 1):
            self._rule(uuid)
            self._note(f"GPU {number} of {len(alone)}: {uuid}")
            yield worker_processes.alone(uuid, work)
        for device, work in together.items():
            self._rule(device)
            self._note("Measuring the programs that need several GPUs, on all GPUs together")
            yield worker_processes.alone(device, work)

    def _concluded(self, ended: Ended) -> ExitStatus:
        """Return the exit status; keep it in the journal unless that run can be resumed."""
        try:
            status = ExitStatus(ended.status)
        except ValueError:
            by = -ended.status if ended.status < 0 else ended.status - 128
            self._note(f"{named(ended.name)}: its scripts/bench was ended by {name_of(by)}")
            status = ExitStatus.NOT_MEASURED
        if not self.journal.of(named(ended.name)).is_dir():
            self.journal.keep(["gpu", ended.name], status)
        return status

    def _summarize(self, statuses: Mapping[str, ExitStatus], faults: Sequence[str]) -> None:
        self._rule("all GPUs")
        for uuid, status in statuses.items():
            run = self.paths.of(named(uuid)).run
            where = os.path.relpath(run) if run.exists() else "no run file"
            line = f"{named(uuid)} {inert(self.gpus[uuid])}: {EXIT_MEANINGS[status]}; {where}"
            print_line(self.one.results, line)
        for fault in faults:
            print_line(self.one.results, fault)

    def _kept(self) -> dict[str, ExitStatus]:
        """Return the exit statuses of the runs that have ended."""
        kept = {uuid: self.journal.find(["gpu", uuid], ExitStatus) for uuid in self.gpus}
        return {uuid: status for uuid, status in kept.items() if status is not None}

    def _tell_of_resuming(self) -> bool:
        """Return whether part of the run can be resumed, and say how."""
        unfinished = any(self.journal.of(named(uuid)).is_dir() for uuid in self.gpus)
        if unfinished or 0 < len(self._kept()) < len(self.gpus):
            self._note(f"To measure the rest, run `{resume.command(self.journal.folder)}`.")
            return True
        return False

    def _rule(self, title: str) -> None:
        model = self.gpus.get(title, "")
        self.one.results.rule(inert(f"{named(title)} {model}".strip()), characters="=")

    def _note(self, line: str) -> None:
        print_line(self.one.notes, line)


def worst_of(statuses: Sequence[ExitStatus]) -> ExitStatus:
    """Return the worst status: a regression on any GPU counts, and not measured is not a pass."""
    return min(statuses, key=[*EXIT_MEANINGS].index, default=ExitStatus.NOT_MEASURED)
