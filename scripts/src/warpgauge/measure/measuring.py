# SPDX-License-Identifier: Apache-2.0
"""Builds programs, lists their benchmarks and runs them, for every measuring command."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    python_file,
    runner,
    selection,
)
from warpgauge.measure.discovery import Binary, Probe, Suite
from warpgauge.measure.gpu_watch import GpuWatch
from warpgauge.measure.journal import Journal
from warpgauge.measure.options import MeasurementOptions
from warpgauge.measure.plan import Lane, Plan, TurnResult, gpu_arguments, gpu_environment
from warpgauge.records.benchmark_filter import NOT_BUILT
from warpgauge.records.model import BUILD_DIR, FILE, ISOLATED
from warpgauge.system import environment, git, process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.layout import print_line
from warpgauge.system.locks import alone
from warpgauge.system.text import duration, inert, named

_COOLING_S = 3.0


# Inode, size, modification time and change time. It changes when a file is replaced, written or
# touched, even by a copy that preserves the modification time. None if there is no file.
_Stamp = tuple[int, int, int, int] | None


@dataclass
class InputFiles:
    """The files of a run, as they were when the run first used them."""

    _first: dict[Path, _Stamp] = field(default_factory=dict)

    def digest(self, path: Path) -> str:
        """Return the digest of a file's content; empty if it cannot be read."""
        self.require_unchanged([path])
        try:
            return hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError:
            return ""

    def require_unchanged(self, paths: Iterable[Path]) -> None:
        """Raise UserError for a file that was replaced, written or touched since its first use."""
        for path in paths:
            now = _stamp(path)
            if self._first.setdefault(path, now) != now:
                fault = f"{path} was replaced while it was measured"
                raise UserError(f"{fault}: measure again", ExitStatus.NOT_MEASURED)


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


# By default, further looks may take three times as long as the first one, but at least 2 minutes.
_LONGER, _LONGER_S = 3.0, 120.0
_SHORTEST_ROUND_S = 1e-3


@dataclass
class Budget:
    """Seconds of measuring, without builds and waiting. `given` is the user's budget, if any."""

    given: float | None = None
    clock: Callable[[], float] = time.monotonic
    spent: float = 0.0
    _minimum: float = 0.0  # value of `spent` after the last minimum of rounds
    # By family: seconds of its last process, and its number of benchmarks.
    _took: dict[str, tuple[float, int]] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The whole budget in seconds."""
        usual = self._minimum + max(_LONGER * self._minimum, _LONGER_S)
        return usual if self.given is None else self.given

    @property
    def left(self) -> float:
        return self.seconds - self.spent

    def minimum_is_measured(self) -> None:
        """Mark the end of the rounds that run regardless of the budget."""
        self._minimum = self.spent

    @property
    def too_short(self) -> bool:
        """Whether even the minimum did not fit."""
        return self._minimum > self.seconds

    @property
    def told(self) -> str:
        """One sentence on how the budget was spent; empty if none was given."""
        if self.given is None:
            return ""
        given = f"the budget of {duration(self.given)}"
        if not self.too_short:
            return f"Measuring took {duration(self.spent)} of {given}."
        took, over = duration(self._minimum), duration(self._minimum - self.given)
        return f"Even the minimum of rounds took {took}, {over} longer than {given}."

    def timed(self, outcomes: Iterable[TurnResult]) -> Iterator[TurnResult]:
        """Yield `outcomes` and add their time to what is spent.

        Results from the journal of a resumed run count with the time they took originally.
        """
        before, began, reported = self.spent, self.clock(), 0.0
        for outcome in outcomes:
            reported += outcome.seconds
            self.spent = before + max(self.clock() - began, reported)
            if outcome.binary.names:
                self._took[outcome.binary.family] = outcome.seconds, len(outcome.binary.names)
            yield outcome

    def rounds_left(self, lanes: Iterable[Lane]) -> int:
        """Return how many more rounds of these lanes fit."""
        return max(int(self.left // max(self.needed(lanes), _SHORTEST_ROUND_S)), 0)

    def needed(self, lanes: Iterable[Lane]) -> float:
        """Estimate the seconds of one round of these lanes from each family's last process.

        The estimate scales with the number of benchmarks; starting a process counts as one more.
        """
        seconds = 0.0
        for lane in lanes:
            for binary in lane.binaries:
                took, benchmarks = self._took.get(binary.family, (0.0, 1))
                seconds += took * (1 + len(binary.names)) / (1 + benchmarks)
        return seconds


def _with_remedy(families: Sequence[str], remedy: str) -> str:
    return inert(", ".join(families)) + (f" ({remedy})" if remedy else "")


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
    folders: tuple[Path, ...] = ()  # of programs of others; default: those of this tree
    journal: Journal | None = None  # of a run that can be resumed
    watch: GpuWatch | None = None  # set once the GPU is known
    apart: set[str] = field(default_factory=set)  # benchmarks that lock-step could not measure
    reported: set[str] = field(default_factory=set)  # faults of programs, each reported once
    inputs: InputFiles = field(default_factory=InputFiles)
    audit: Callable[[TurnResult], TurnResult] = lambda outcome: outcome  # may add faults

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
        with_driver = [*targets, drive_lines.TARGET] if targets else ()
        folder = self.programs(self.root, targets=with_driver)
        if machine_context.source(self.root) != tree:  # edited during the build
            tree |= {"dirty": "true"}
        if self.options.record:
            machine_context.require_committed(tree)
        if not self.options.build:
            at = f"commit {short(tree['commit'])}" if tree["commit"] else "this tree"
            self.note(f"--no-build: {os.path.relpath(folder)} is assumed to be a build of {at}.")
        return Built(folder, tree)

    def _elsewhere(self, folder: Path) -> Built:
        """Return another project's programs, assumed to be built from its sources as they are."""
        file, baselines = self.options.file, self.options.baselines
        sources = self.options.project or manifest.read(folder).source or folder
        apart = [one.absolute() for one in (folder, baselines) if one is not None]
        source = machine_context.source(sources, apart)
        if self.options.record:
            machine_context.require_committed(source)
        kind = {BUILD_DIR: str(folder)} if file is None else {FILE: str(file)}
        return Built(folder, {**source, **kind})

    def programs(
        self, root: Path, *, like: Path | None = None, targets: Sequence[str] = ()
    ) -> Path:
        """Return the build folder of the tree `root`, built unless --no-build. Raises UserError.

        The build is configured like the tree `like`, if given, and limited to `targets`, if any.
        """
        if self.options.build:
            settings = build.settings(like / "build" / "release") if like else []
            with progress.build_status(self.notes) as say:
                build.build(root, "release", say, settings, targets)
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
        shown, work = short(commit), self.options.build_dir or self.root / "build"
        file = self.options.file
        # GPUs that are measured at once may each want a build, the same or another.
        with alone(work / "base"):
            root = git.check_out(self.root, commit, max(kept, 2), work)
            self.note(f"{what}: commit {shown}, in {os.path.relpath(root)}")
            targets = targets if for_gpu else self.host_programs(root)
            try:
                if file is not None:
                    folder = python_file.provide(root / file.name)
                else:
                    folder = self.programs(root, like=self.root, targets=targets)
            except UserError as fault:
                if file is not None:
                    why = f"commit {shown} has no {file.name}"
                    raise UserError(why, ExitStatus.NOT_MEASURED) from fault
                log = os.path.relpath(build.log_of(root))
                why = f"commit {shown} does not build here; the build log is {log}"
                raise UserError(why, ExitStatus.NOT_MEASURED) from fault
        try:
            found = self.found(folder)
        except UserError as fault:
            if not self.options.build:
                raise
            why = f"commit {shown} builds no benchmark program that this warpgauge finds"
            raise UserError(why, ExitStatus.NOT_MEASURED) from fault
        selection.require_drivable(found, shown)
        return found

    def found(self, folder: Path) -> list[Binary]:
        """Return the programs in `folder`. Raises UserError."""
        if any(program.path.exists() for program in manifest.read(folder).programs):
            self.provide_driver()
        return discovery.find(folder, self.scratch, self.options.suite, isolate=self.isolates)

    def provide_driver(self) -> None:
        """Build the driver if it is missing, before it is first used. Raises UserError."""
        with progress.build_status(self.notes) as say:
            drive_lines.provide(self.note, say)

    @cached_property
    def isolation(self) -> Mapping[str, str]:
        """The context that says whether programs run isolated; empty if that was not asked for.

        Raises UserError if it was asked for in any case, and is not possible.
        """
        if not self.options.isolate:
            return {}
        programs = self.folders or (self.options.build_dir or self.root / "build" / "release",)
        there = [folder.absolute() for folder in programs if folder.exists()]
        why = drive_lines.why_not_isolated(self.scratch, self.root, Path.cwd(), *there)
        if why and self.options.isolate == "always":
            raise UserError(why)
        return {ISOLATED: f"no ({why})" if why else "yes"}

    @property
    def tree(self) -> Path:
        """The tree of warpgauge, in whose build the trace library may be."""
        return self.root if self.options.file is None else environment.ROOT

    @property
    def isolates(self) -> bool:
        return self.isolation.get(ISOLATED) == "yes"

    def suite(self, folder: Path) -> Suite:
        """Return the selected programs in `folder`. Raises UserError if none can be measured."""
        return self.suite_of(self.found(folder))

    def suite_of(self, everything: Sequence[Binary]) -> Suite:
        """Select from these programs. Raises UserError, as `suite` does."""
        options = self.options
        wanted = selection.wanted(everything, options.filter, suites=True)
        probe = self._probe(everything)
        if probe.no_gpu and options.record:
            raise UserError(f"nothing to record: {probe.no_gpu}", ExitStatus.NOT_MEASURED)
        built = [binary for binary in wanted if binary.is_built]
        # Without a GPU, programs that need one are not built on purpose.
        absent = discovery.not_built(selection.able(wanted, probe))
        if absent and options.record:
            raise UserError(f"nothing to record: not built: {inert(', '.join(absent))}")
        binaries = selection.runnable(built, probe)
        if options.inject:
            selection.require_injected(options.injected_regex, binaries, probe.no_gpu)
        known = machine_context.here(probe.context)
        if absent:
            known[NOT_BUILT] = "/".join(absent)
            self.tell_not_built(absent, self._build_remedy)
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
        needing = [binary for binary in everything if binary.needs_gpu]
        cannot_tell = needing and not any(binary.is_built for binary in needing)
        # Without a GPU, a build leaves out the programs that need one.
        if (builds or cannot_tell) and (why := process.why_no_gpu()):
            probe = Probe({}, why)
        elif needing:
            probe = discovery.probe(everything, *where, isolate=self.isolates)
        found = probe.context.get("gpu_uuid", "")
        if isinstance(device, str) and (probe.no_gpu or found not in ("", device)):
            why = f" ({probe.no_gpu})" if probe.no_gpu else f": CUDA reports {inert(found)} instead"
            raise UserError(f"there is no {device} here{why}", ExitStatus.NOT_MEASURED)
        return probe

    def run(
        self, lanes: Sequence[Lane], rounds: range, *, in_budget: bool = False
    ) -> Iterator[TurnResult]:
        """Run the lanes' processes of `rounds`, show progress, and yield each result.

        With `in_budget`, only rounds that fit the budget run. Raises UserError if an input file of
        the programs is replaced meanwhile.
        """
        inputs = {path: None for lane in lanes for one in lane.binaries for path in one.inputs}
        unchanged = partial(self.inputs.require_unchanged, tuple(inputs))
        unchanged()
        energy = ["--energy"] if self.options.energy else []
        plan = Plan(
            lanes=tuple(lanes),
            rounds=rounds,
            seed=self.options.seed,
            journal=self.journal or journal.scratch(self.scratch),
            gpu_arguments=(*gpu_arguments(self.options.device), *energy),
            deadline_s=self.options.timeout_s,
            isolate=self.isolates,
            environment=gpu_environment(self.options.device),
            settle=self._settle,
            freed=self.watch.freed if self.watch else lambda ending: None,
            apart=self.apart,
            unchanged=unchanged,
            audit=self.audit,
            rounds_left=partial(self.budget.rounds_left, lanes) if in_budget else rounds.__len__,
        )
        for line in progress.new_faults(lanes, self.reported):
            self.note(line)
        with progress.RunProgress(plan, self.notes) as observer:
            yield from self.budget.timed(runner.run(plan, observer))

    def _settle(self, names: Sequence[str]) -> None:
        """Let the GPU cool down, and wait until it is free, before disturbed benchmarks repeat."""
        self.note(f"Disturbed, and measured again: {named(names)}")
        time.sleep(_COOLING_S)
        self.wait_for_gpu()

    def tell_not_built(self, families: Sequence[str], remedy: str) -> None:
        """Name, in one line, the families whose programs are not built."""
        self.note(f"Not built: {_with_remedy(families, remedy)}")

    def require_built(self, programs: Iterable[Binary]) -> None:
        """Raise UserError that names the families whose programs are not built, if any."""
        if absent := discovery.not_built(programs):
            fault = f"not built: {_with_remedy(absent, self._build_remedy)}"
            raise UserError(fault, ExitStatus.NOT_MEASURED)

    @property
    def _build_remedy(self) -> str:
        ours = self.options.build_dir is None
        return "omit --no-build" if ours and not self.options.build else ""

    def wait_for_gpu(self) -> None:
        """Wait until no other process uses the GPU, or the time limit is reached."""
        if self.watch is not None:
            self.watch.wait()

    def note(self, line: str) -> None:
        print_line(self.notes, line)

    def tell_budget(self) -> None:
        if told := self.budget.told:
            self.note(told)
