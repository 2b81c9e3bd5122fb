# SPDX-License-Identifier: Apache-2.0
"""Builds programs, lists their benchmarks and runs them, for every measuring command."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from rich.console import Console

from warpgauge.measure import (
    build,
    discovery,
    drive_lines,
    journal,
    machine_context,
    manifest,
    progress,
    runner,
    selection,
)
from warpgauge.measure.budget import Budget
from warpgauge.measure.discovery import Binary, Probe, Suite
from warpgauge.measure.gpu_watch import GpuWatch
from warpgauge.measure.input_files import InputFiles
from warpgauge.measure.journal import Journal
from warpgauge.measure.options import MeasurementOptions
from warpgauge.measure.plan import Lane, Plan, TurnResult, command, gpu_arguments, gpu_environment
from warpgauge.records.benchmark_filter import FAMILIES_LEFT_OUT
from warpgauge.records.counters import GPUS_AT_ONCE
from warpgauge.records.model import BASELINES, BUILD_DIR, ISOLATED
from warpgauge.system import environment, git, process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.layout import print_line
from warpgauge.system.locks import alone
from warpgauge.system.text import inert, named, typed

_COOLING_S = 3.0


@dataclass(frozen=True)
class Built:
    """The folder of the programs, and their source: commit, dirty flag and project."""

    programs: Path
    source: Mapping[str, str]


@dataclass(frozen=True)
class Measuring:
    """Builds and runs for one invocation; progress goes to standard error."""

    options: MeasurementOptions
    root: Path
    scratch: Path  # for output files of the processes
    notes: Console
    budget: Budget = field(default_factory=Budget)
    journal: Journal | None = None  # of a run that can be resumed
    at_once: int = 1  # GPUs that are measured at the same time, this one included
    watch: GpuWatch | None = None  # set once the GPU is known
    apart: set[str] = field(default_factory=set)  # benchmarks that lock-step could not measure
    reported: set[str] = field(default_factory=set)  # faults of programs, each reported once
    inputs: InputFiles = field(default_factory=InputFiles)

    def require_gpu(self, names: Iterable[str] = ()) -> None:
        """Raise UserError before the build if there is no GPU and every benchmark needs one.

        `names` are names of the benchmarks to run, or their prefixes; if empty, all need a GPU.
        """
        families = {name.split("/", 1)[0] for name in names}
        sources = (self.root / "benchmarks" / f"{family}.cu" for family in families)
        builds = self.options.build and self.options.build_dir is None
        if builds and all(source.exists() for source in sources):
            process.require_gpu()

    def host_programs(self, root: Path | None = None) -> list[str]:
        """Return the names of the programs of `root` (default: this tree) that need no GPU."""
        folder = (root or self.root) / "benchmarks"
        return sorted(f"bench_{one.stem}" for one in folder.glob("*.cpp"))

    def built(self, targets: Sequence[str] = ()) -> Built:
        """Build `targets` of this tree, or all programs, unless told otherwise, and return them.

        --no-build and --build-dir use existing programs. Raises UserError.
        """
        if self.options.build_dir is not None:
            return self._elsewhere(self.options.build_dir)
        tree = machine_context.source(self.root)
        if self.options.record:
            machine_context.require_committed(tree)
        if self.options.build:
            environment.provide(environment.BUILD, self.note)
            machine_context.forget(self.root)
        with_driver = [*targets, drive_lines.TARGET] if targets else ()
        folder = self.programs(self.root, targets=with_driver)
        if machine_context.source(self.root) != tree:  # edited during the build
            tree |= {"dirty": "true"}
        source = self._source_of_programs(tree, is_whole=not targets)
        if self.options.record:
            machine_context.require_committed(source)
        return Built(folder, source)

    def _elsewhere(self, folder: Path) -> Built:
        """Return another project's programs, assumed to be built from its sources as they are."""
        sources, baselines = manifest.read(folder).source or folder, self.options.baselines
        apart = [one.absolute() for one in (folder, baselines) if one is not None]
        source = machine_context.source(sources, apart)
        if self.options.record:
            machine_context.require_committed(source)
        where = {BUILD_DIR: str(folder), BASELINES: str(baselines)}
        return Built(folder, {**source, **where})

    def programs(
        self, root: Path, *, like: Path | None = None, targets: Sequence[str] = ()
    ) -> Path:
        """Return the build folder of the tree `root`, built unless --no-build. Raises UserError.

        The build is configured like the tree `like`, if given, and limited to `targets`, if any.
        """
        if self.options.build:
            settings = build.settings(like / "build" / "release") if like else []
            with progress.build_status(self.notes) as say:
                build.build(root, "release", say, self.echo, settings, targets)
        return root / "build" / "release"

    def of_commit(
        self,
        commit: str,
        what: str,
        *,
        kept: int = git.KEPT,
        targets: Sequence[str] = (),
        for_gpu: bool = True,
    ) -> list[Binary]:
        """Return the programs of `commit`, built in a worktree with the settings of this tree.

        `what` names the commit in the note. The builds of `kept` commits stay on disk. Without
        `for_gpu`, only its programs that need no GPU are built. Raises UserError, with NOT_MEASURED
        if the commit does not build.
        """
        shown = short(commit)
        # GPUs that are measured at once may each want a build, the same or another.
        with alone(self.root / "build" / "base"):
            root = git.check_out(self.root, commit, max(kept, self.at_once + 1))
            self.note(f"{what}: commit {shown}, in {os.path.relpath(root)}")
            targets = targets if for_gpu else self.host_programs(root)
            try:
                folder = self.programs(root, like=self.root, targets=targets)
            except UserError as fault:
                log = os.path.relpath(build.log_of(root))
                why = f"commit {shown} does not build here; the build log is {log}"
                raise UserError(why, ExitStatus.NOT_MEASURED) from fault
        try:
            found = self.found(folder)
        except UserError as fault:
            if not self.options.build:
                raise
            asked = self.options.programs and f" by --programs {typed(self.options.programs)}"
            why = f"commit {shown} builds no benchmark program that this scripts/bench finds{asked}"
            raise UserError(why, ExitStatus.NOT_MEASURED) from fault
        selection.require_drivable(found, shown)
        return found

    def _source_of_programs(self, tree: dict[str, str], *, is_whole: bool) -> dict[str, str]:
        """Return the tree's source; with --no-build, that of the existing programs if known."""
        if self.options.build:
            if is_whole:  # otherwise programs of an older build may lie beside the new ones
                machine_context.keep(self.root, tree)
            return tree
        programs = machine_context.known(self.root)
        if note := machine_context.note(programs, tree):
            self.note(note)
        return programs or tree

    def found(self, folder: Path) -> list[Binary]:
        """Return the programs in `folder` that --programs selects. Raises UserError."""
        self.provide_driver()
        asked = (self.options.suite, self.options.programs)
        return discovery.find(folder, self.scratch, *asked, isolate=self.isolates)

    def provide_driver(self) -> None:
        """Build the driver if it is missing, before it is first used. Raises UserError."""
        with progress.build_status(self.notes) as say:
            drive_lines.provide(self.note, say, self.echo)

    @cached_property
    def isolation(self) -> Mapping[str, str]:
        """The context that says whether programs run isolated; empty if that was not asked for."""
        if not self.options.isolate:
            return {}
        where = (self.scratch, self.root, Path.cwd())
        why = drive_lines.why_not_isolated(*where) if self.options.isolate == "auto" else ""
        return {ISOLATED: f"no ({why})" if why else "yes"}

    @property
    def isolates(self) -> bool:
        return self.isolation.get(ISOLATED) == "yes"

    def suite(self, folder: Path) -> Suite:
        """Return the selected programs in `folder`. Raises UserError if none can be measured."""
        found = self.found(folder)
        return self.suite_of(found, discovery.families_left_out(folder, found))

    def suite_of(self, everything: Sequence[Binary], families_left_out: str = "") -> Suite:
        """Select from these programs. Raises UserError, as `suite` does."""
        options = self.options
        wanted = selection.wanted(everything, options.filter, suites=True)
        probe = self._probe(everything)
        if probe.no_gpu and options.record:
            raise UserError(f"nothing to record: {probe.no_gpu}", ExitStatus.NOT_MEASURED)
        binaries = selection.runnable(wanted, probe)
        if options.inject:
            selection.require_injected(options.injected_regex, binaries, probe.no_gpu)
        if probe.no_gpu:
            self.note(f"GPU benchmarks are skipped: {probe.no_gpu}.")
        known = machine_context.here(probe.context)
        if self.at_once > 1:
            known[GPUS_AT_ONCE] = str(self.at_once)
        if families_left_out:
            known[FAMILIES_LEFT_OUT] = families_left_out
        left_out = discovery.left_out(everything) if options.against else ()
        return Suite(tuple(binaries), probe, known, frozenset(left_out))

    def _probe(self, everything: Sequence[Binary]) -> Probe:
        """Find the GPU to use. Raises UserError if --device names one that is not there."""
        device = self.options.device
        if isinstance(device, str) and "," in device:
            named = [int(one) if one.isdigit() else one for one in device.split(",")]
            return discovery.together([self._probe_of(everything, one) for one in named])
        return self._probe_of(everything, device)

    def _probe_of(self, everything: Sequence[Binary], device: int | str | None) -> Probe:
        where = (gpu_arguments(device), self.scratch, gpu_environment(device))
        not_built = self.options.build_dir is None and build.cuda_compiler() is None
        missing = "the GPU benchmarks are not built, because nvcc is missing"
        probe = Probe({}, missing if not_built else "no selected program needs one")
        builds = self.options.build and self.options.build_dir is None
        if builds and not process.has_gpu():  # then no program that needs one was built
            probe = Probe({}, "no driver reports a GPU")
        elif any(binary.needs_gpu for binary in everything):
            probe = discovery.probe(everything, *where, isolate=self.isolates)
        found = probe.context.get("gpu_uuid", "")
        if isinstance(device, str) and (probe.no_gpu or found not in ("", device)):
            why = f" ({probe.no_gpu})" if probe.no_gpu else f": CUDA reports {inert(found)} instead"
            raise UserError(f"there is no {device} here{why}", ExitStatus.NOT_MEASURED)
        return probe

    def run(self, lanes: Sequence[Lane], rounds: range) -> Iterator[TurnResult]:
        """Run the lanes' processes of `rounds`, show progress, and yield each result.

        Raises UserError if an input file of the programs is replaced meanwhile.
        """
        inputs = {path: None for lane in lanes for one in lane.binaries for path in one.inputs}
        unchanged = partial(self.inputs.require_unchanged, tuple(inputs))
        unchanged()
        plan = Plan(
            lanes=tuple(lanes),
            rounds=rounds,
            seed=self.options.seed,
            journal=self.journal or journal.scratch(self.scratch),
            gpu_arguments=gpu_arguments(self.options.device),
            deadline_s=self.options.timeout_s,
            isolate=self.isolates,
            environment=gpu_environment(self.options.device),
            settle=self._settle,
            freed=self.watch.freed if self.watch else lambda ending: None,
            apart=self.apart,
            unchanged=unchanged,
        )
        for lane in lanes:
            for binary in lane.binaries:
                device = [f"{key}={value}" for key, value in plan.environment.items()]
                words = command(lane, binary, plan.gpu_arguments, binary.names)
                self.echo(f"$ {shlex.join([*device, *words])}")
        for line in progress.new_faults(lanes, self.reported):
            self.note(line)
        with progress.RunProgress(plan, self.notes) as observer:
            yield from self.budget.timed(runner.run(plan, observer))

    def _settle(self, names: Sequence[str]) -> None:
        """Let the GPU cool down, and wait until it is free, before disturbed benchmarks repeat."""
        self.note(f"Disturbed, and measured again: {named(names)}")
        time.sleep(_COOLING_S)
        self.wait_for_gpu()

    def wait_for_gpu(self) -> None:
        """Wait until no other process uses the GPU, or the time limit is reached."""
        if self.watch is not None:
            self.watch.wait()

    def note(self, line: str) -> None:
        print_line(self.notes, line)

    def tell_budget(self) -> None:
        if told := self.budget.told:
            self.note(told)

    def echo(self, line: str) -> None:
        if self.options.verbose:
            self.note(line.rstrip())
