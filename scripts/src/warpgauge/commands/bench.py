# SPDX-License-Identifier: Apache-2.0
"""warpgauge bench: on one GPU, or with --device all on each as by itself, with one exit status."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from warpgauge.commands import preview, resume, run_paths
from warpgauge.commands.bench_options import parse
from warpgauge.commands.one_gpu import BENCH_HERE, Bench, Share, waiting
from warpgauge.commands.run_paths import RunPaths
from warpgauge.execution.discovery import Probe
from warpgauge.measurement import journal
from warpgauge.measurement.journal import Journal
from warpgauge.measurement.measuring import Measuring
from warpgauge.reports.formats import TERMINAL
from warpgauge.reports.headline import EXIT_MEANINGS
from warpgauge.system import streams, worker_processes
from warpgauge.system.command_log import CommandLog
from warpgauge.system.errors import ExitStatus
from warpgauge.system.interrupts import name_of
from warpgauge.system.layout import Output, print_line
from warpgauge.system.locks import alone
from warpgauge.system.text import inert, plural
from warpgauge.system.worker_processes import Ended, Work
from warpgauge.verdict.override import Override


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    """Raises UserError for what the user can mend."""
    options, before = parse(argv), None
    if options.resume is not None:
        before = resume.interrupted(options, root / "build" / "runs")
        argv, options = before.argv, before.options
    # What a program reads from standard output stands there alone.
    shown = Output(stderr=options.formats.shown is not TERMINAL)
    faults = Output(stderr=True)
    notes = Output(stderr=True, quiet=True) if options.quiet else faults
    one = Bench(options, root, shown, notes, faults, argv, before)
    if options.list:
        return preview.list_bench(one)
    if options.dry_run:
        return preview.plan_bench(one)
    if options.self_check_of:
        return one.judge_self_check(options.self_check_of)
    with alone(one.work, waiting(options, BENCH_HERE, notes)):
        return on_every_gpu(one) if options.every_gpu else one.run()


_SHORT = len("GPU-01234567")  # of a UUID, where it stands before every line


def on_every_gpu(one: Bench) -> ExitStatus:
    """What `one` asks for, of each GPU. Raises UserError for what no GPU could do."""
    options = one.options
    paths = run_paths.chosen(options, one.runs)
    one.inputs()
    with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch:
        measuring = Measuring(options, one.root, Path(scratch), one.notes, one.faults)
        with CommandLog(paths.log, one.argv, goes_on=one.before is not None).used():
            built = one.built(measuring)
            if one.before is None:
                gpus, faults = named_gpus(measuring.gpus(built))
                called = resume.called(one.argv, options.seed, paths.run)
                began = msgspec.structs.replace(called, gpus=gpus, faults=tuple(faults))
                there = journal.begin(paths.journal, began)
            else:
                there, began = one.before.journal, one.before.began
    gpus = began.gpus
    at_once = len(gpus) if options.parallel else 1
    works: dict[str, Work] = {}
    for uuid in gpus:
        own = there.of(uuid)
        share = Share(built, at_once, there.folder, own)
        to = paths.of(uuid).run
        its = replace(options, device=uuid, out=to, formats=options.formats.of(uuid))
        RunPaths(to).check(its, one.baselines, RunPaths(to).measured(its))
        before = resume.begun(own, its)
        argv = [*(word for word in one.argv if word != "--parallel"), f"--device={uuid}"]
        works[uuid] = replace(one, options=its, argv=argv, before=before, share=share).run
    with alone(one.runs, waiting(options, BENCH_HERE, one.notes)):
        return _All(one, paths, there, gpus).run(works, began.faults)


def named_gpus(probes: Sequence[Probe]) -> tuple[dict[str, str], list[str]]:
    """The model of each GPU by its UUID, and why others have none."""
    gpus, faults = {}, []
    for index, probe in enumerate(probes):
        if uuid := probe.context.get("gpu_uuid"):
            gpus[uuid] = probe.context.get("gpu_name", "")
        else:
            why = inert("; ".join(probe.faults) or "it tells no UUID")
            faults.append(f"device {index} is not measured: {why}")
    return gpus, faults


@dataclass(frozen=True)
class _All:
    """The runs of all GPUs, and what is kept of them."""

    one: Bench
    paths: RunPaths
    journal: Journal
    gpus: Mapping[str, str]

    def run(self, works: Mapping[str, Work], faults: Sequence[str]) -> ExitStatus:
        """Run what is still to be run, and tell what became of all."""
        kept = {uuid: self.journal.find(["gpu", uuid], journal.Ended) for uuid in works}
        statuses = {uuid: ended.status for uuid, ended in kept.items() if ended is not None}
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
        count = plural(len(self.gpus), "GPU")
        if self.one.options.parallel:
            if Override.PARALLEL in self.one.options.allow:
                self._note(f"Measuring {count} at once")
            else:
                self._warn(f"Measuring {count} at once: host times and copies will be INVALID")
            for ended in worker_processes.at_once(
                works, lambda who, line: self._warn(f"{who[:_SHORT]}  {line}")
            ):
                self._rule(ended.name)
                streams.write(ended.shown)
                yield ended
            return
        self._note(f"Measuring {count}, one after the other")
        for number, (uuid, work) in enumerate(works.items(), 1):
            self._rule(uuid)
            self._note(f"GPU {number} of {len(works)}: {uuid}")
            yield worker_processes.alone(uuid, work)

    def _concluded(self, ended: Ended) -> ExitStatus:
        """Its status, which is kept unless that run can go on."""
        try:
            status = ExitStatus(ended.status)
        except ValueError:
            by = -ended.status if ended.status < 0 else ended.status - 128
            self._warn(f"{ended.name}: its scripts/bench was ended by {name_of(by)}")
            status = ExitStatus.NOT_MEASURED
        if not self.journal.of(ended.name).is_dir():
            self.journal.keep(["gpu", ended.name], journal.Ended(status))
        return status

    def _summarize(self, statuses: Mapping[str, ExitStatus], faults: Sequence[str]) -> None:
        self._rule("all GPUs")
        for uuid, status in statuses.items():
            run = self.paths.of(uuid).run
            where = os.path.relpath(run) if run.exists() else "no run file"
            line = f"{uuid} {inert(self.gpus[uuid])}: {EXIT_MEANINGS[status]}; {where}"
            print_line(self.one.results, line)
        for fault in faults:
            print_line(self.one.results, fault)

    def _tell_of_resuming(self) -> bool:
        """Whether something of the run is kept that can go on."""
        unfinished = any(self.journal.of(uuid).is_dir() for uuid in self.gpus)
        if unfinished or 0 < self.journal.size < len(self.gpus):
            self._warn(f"`{resume.command(self.journal.folder)}` goes on with what is missing.")
            return True
        return False

    def _rule(self, title: str) -> None:
        model = self.gpus.get(title, "")
        self.one.results.rule(inert(f"{title} {model}".strip()), characters="=")

    def _note(self, line: str) -> None:
        print_line(self.one.notes, line)

    def _warn(self, line: str) -> None:
        """Of what --quiet does not silence; of what a run of one GPU says, that is all it says."""
        print_line(self.one.faults, line)


def worst_of(statuses: Sequence[ExitStatus]) -> ExitStatus:
    """A regression on any GPU is one; nothing that was not measured is a pass."""
    return min(statuses, key=[*EXIT_MEANINGS].index, default=ExitStatus.NOT_MEASURED)
