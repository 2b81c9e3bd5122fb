# SPDX-License-Identifier: Apache-2.0
"""Searches the builds from GOOD to BAD for the one that made a benchmark slower.

Builds, of commits or versions, are numbered from GOOD (0) to BAD. Those with the same key have
equal programs and share a state. What equals GOOD is good, so neither a revert in between nor what
it reverts is blamed. Each tested build is measured in pairs with GOOD; docs/pages/rule.md, "Which
commit", explains the decision rule.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TypeAlias

import msgspec

from warpgauge.history.commit_builds import Builds
from warpgauge.measure.ab_run import AbRun, Side
from warpgauge.measure.discovery import Suite
from warpgauge.measure.journal import Journal
from warpgauge.measure.measuring import Budget, Measuring
from warpgauge.measure.selection import exactly
from warpgauge.records import load
from warpgauge.records.model import Record
from warpgauge.system.errors import UserError
from warpgauge.system.text import file_name, listed, percent, span
from warpgauge.verdict import judge
from warpgauge.verdict.comparison import Outcome, resource_changes
from warpgauge.verdict.comparison_settings import ComparisonSettings

Ends: TypeAlias = "tuple[Record, Record] | None"  # base and candidate
LITTLE = 0.15  # shares below are not searched
_TIME_IS_UP = "the time is up"


class State(Enum):
    """The state of a commit for one benchmark."""

    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "unknown"  # it does not build or run, or is between good and bad


def suspects(keys: Sequence[str], states: Mapping[str, State]) -> list[int]:
    """The commits that may be to blame: one, once that is certain.

    These are the commits after the last known good one, up to the first known bad one after it,
    whose programs differ from the commit before. The states of both ends must be known.
    """
    good = max(i for i, key in enumerate(keys) if states.get(key) is State.GOOD)
    bad = next(i for i, key in enumerate(keys) if i > good and states.get(key) is State.BAD)
    return [i for i in range(good + 1, bad + 1) if keys[i] != keys[i - 1]]


def following(keys: Sequence[str], states: Mapping[str, State]) -> int | None:
    """The commit to test next, which halves the suspects; None if no test can narrow them."""
    left = suspects(keys, states)
    middle = (len(left) - 2) / 2
    untested = [at for at, i in enumerate(left[:-1]) if keys[i] not in states]
    return left[min(untested, key=lambda at: abs(at - middle))] if untested else None


def most_steps(commits: int) -> int:
    """The most commits that may be measured; the error probability is divided among them.

    This is twice the number needed if each one gives an answer.
    """
    return 2 * (1 + math.ceil(math.log2(max(commits, 1))))


class Seen(msgspec.Struct, frozen=True):
    """The estimate for one benchmark with its interval, as fractions, or why there is none.

    The true change is below `least`, and above `most`, each with at most this step's error
    probability. `outcome` is that of the rule for pairs at the same probability.
    """

    outcome: Outcome
    change: float = 0.0
    low: float = 0.0
    high: float = 0.0
    least: float = -1.0
    most: float = math.inf
    fault: str = ""
    same_kernels: bool = False  # on both sides, launched alike

    @property
    def half(self) -> float:
        """Half of the change in log time: the threshold between good and bad."""
        return math.sqrt(1.0 + self.change) - 1.0

    @property
    def is_slower(self) -> bool:
        """Whether the slowdown is significant, at least the minimum effect, and above `half`."""
        return self.outcome is Outcome.REGRESSION and self.least > self.half

    @property
    def is_no_slower(self) -> bool:
        """Whether the slowdown is within the tolerance."""
        return not self.fault and self.outcome in (Outcome.PASS, Outcome.IMPROVED)

    def state(self, threshold: float) -> State | None:
        """The state relative to `threshold`; None while undecided."""
        if self.fault:
            return State.UNKNOWN
        if self.least > threshold:
            return State.BAD
        return State.GOOD if self.most < threshold else None

    def __str__(self) -> str:
        return self.fault or f"{percent(self.change)} ({span(self.low, self.high)})"


class Share(msgspec.Struct, frozen=True):
    """The part of a row's slowdown that hunks account for, with its 95 % interval.

    It is below `least`, and above `most`, each with at most a step's error probability.
    """

    part: float = 0.0
    low: float = 0.0
    high: float = 0.0
    least: float = 0.0
    most: float = 0.0

    @staticmethod
    def of(seen: Seen, whole: Seen) -> Share:
        """The share of what `seen` put back in the `whole` slowdown."""
        own, other = (
            Share(*(math.log1p(max(end, -0.99)) for end in msgspec.structs.astuple(one)[1:6]))
            for one in (seen, whole)
        )
        # To first order, in units of the whole slowdown.
        return own._and(other, own.part / other.part, own.part / other.part, 1.0 / other.part)

    def __sub__(self, other: Share) -> Share:
        return self._and(other, self.part - other.part)

    def _and(self, other: Share, part: float, factor: float = 1.0, unit: float = 1.0) -> Share:
        """This `part`, from this one and a factor of the other, which err independently."""

        def end(own: float, its: float, sign: float) -> float:
            error = math.hypot(own - self.part, factor * (its - other.part))
            return part + sign * unit * error

        low, high = end(self.low, other.high, -1.0), end(self.high, other.low, 1.0)
        return Share(
            part, low, high, end(self.least, other.most, -1.0), end(self.most, other.least, 1.0)
        )

    @property
    def counts(self) -> bool:
        """Whether it is more than little: certainly, or as far as one knows."""
        return self.least > LITTLE or (self.part > LITTLE and self.most >= LITTLE)


WHOLE = Share(1.0, 1.0, 1.0, 1.0, 1.0)


def counting(*sides: Mapping[str, Share]) -> list[dict[str, Share]]:
    """The rows that each side accounts for: what was put back, and the others.

    Rows that noise leaves open follow those that are certain, if there are any.
    """
    sure = [{row for row, share in side.items() if share.least > LITTLE} for side in sides]
    return [
        {
            row: share
            for row, share in side.items()
            if row in certain or (share.counts and (certain or not any(sure) or share.low > 0.0))
        }
        for side, certain in zip(sides, sure, strict=True)
    ]


def _seen(base: Record, candidate: Record, row: str, error: float) -> Seen:
    """Compare `row` of the candidate with the base at this error probability."""
    settings = ComparisonSettings(filter=exactly([row]), alpha=error, bound_confidence=1.0 - error)
    verdict, mirrored = (
        next((one for one in judge.judge(*sides, settings).verdicts if one.name == row), None)
        for sides in ((base, candidate), (candidate, base))
    )
    if verdict is None or mirrored is None:
        return Seen(Outcome.MISSING, fault="is missing")
    outcome, change = verdict.outcome, verdict.change
    if change is None or verdict.bound is None or mirrored.bound is None:
        return Seen(outcome, fault=verdict.reason or f"is {outcome.value}")
    # If the base is at most 25 % slower than the candidate, the candidate is at most 20 % faster.
    least = 1.0 / (1.0 + mirrored.bound) - 1.0
    values = change.ratio, change.low, change.high, least, verdict.bound
    return Seen(outcome, *values, same_kernels=verdict.same_machine_code is True)


@dataclass(frozen=True)
class CommitPairs:
    """Measures two builds in pairs.

    `error` is the error probability per benchmark and pair of builds. Measuring ends at `until`.
    `ends` are pairs of the first and the last build that were measured before, if any.
    """

    measuring: Measuring
    suite: Suite
    builds: Builds
    journal: Journal
    folder: Path  # where run files are written
    error: float
    until: float = math.inf  # seconds of the monotonic clock
    ends: Ends = None

    @property
    def left(self) -> float:
        """Seconds until `until`."""
        return self.until - time.monotonic()

    def files(self, base: str, name: str, rows: Sequence[str]) -> tuple[Path, Path]:
        """The two run files in which these rows of two builds are measured, the base's first."""
        builds = [file_name(self.builds.shown(one)) for one in (base, name)]
        name = "-".join([*builds, str(self.builds.rows.index(rows[0]))])
        return self.folder / f"{name}-base.json", self.folder / f"{name}.json"

    def measured(
        self, base: str, name: str, rows: Sequence[str], settled: Callable[[str, Seen], bool]
    ) -> tuple[dict[str, Seen], bool]:
        """Rows of a build beside the base, and whether that is final (not cut short by time).

        Measures pairs until the rows are settled. Raises UserError and KeyboardInterrupt.
        """
        key = ["seen", base, name, *rows]
        if (known := self.journal.find(key, dict[str, Seen])) is not None:
            return known, True
        limit = None if self.until == math.inf else max(self.left, 1.0)
        files = self.files(base, name, rows)
        own = Journal(self.journal.of(files[1].stem))  # the base is measured again with each build
        measuring = replace(self.measuring, budget=Budget(limit), journal=own)
        sides = [
            Side(tuple(self.builds.programs(one)), self.builds.facts(one)).only(rows)
            for one in (base, name)
        ]

        def compared(old: Record, new: Record) -> dict[str, Seen]:
            self.builds.pairs[base, name] = old, new
            return {row: _seen(old, new, row, self.error) for row in rows}

        def open_rows(seen: dict[str, Seen]) -> list[str]:
            return [row for row, one in seen.items() if not (one.fault or settled(row, one))]

        if self.ends is not None and (base, name) == (self.builds.names[0], self.builds.names[-1]):
            before = compared(*self.ends)
            if not open_rows(before):
                return before, True
        shown = self.builds.shown
        measuring.note(f"Measuring {shown(name)} in pairs with {shown(base)}")
        looks = AbRun(measuring, self.suite, {}).compared(
            sides[0], sides[1], exactly(rows), files, compared, open_rows
        )
        if looks.stop is not None:
            raise looks.stop
        most = looks.rounds.most or looks.rounds.first
        whole = limit is None or most >= measuring.options.schedule[-1]
        is_final = whole or not open_rows(looks.found)
        if is_final:
            self.journal.keep(key, looks.found)
        return looks.found, is_final


@dataclass
class Found:
    """The result for one benchmark: the commits that may be to blame, and `why` if not certain.

    `whole` is the change from GOOD to BAD. If one commit is certain, `slower` is its comparison
    with GOOD and `before` that of the commit before it (None if that equals GOOD); `causes` are the
    differences between these two commits, and `files` is the pair of run files.
    """

    row: str
    whole: Seen
    suspects: tuple[str, ...]
    why: str = ""
    slower: Seen | None = None
    before: Seen | None = None
    causes: tuple[str, ...] = ()
    files: tuple[Path, Path] | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)  # reasons by commit


def find(pairs: CommitPairs) -> list[Found]:
    """The result for each row that may be slower in BAD. Raises UserError if none is."""
    builds = pairs.builds
    builds.require_difference()
    found = [_Search(pairs, row).run() for row in builds.rows]
    slower = [one for one in found if not one.whole.is_no_slower]
    if not slower:
        good, bad = builds.shown(builds.names[0]), builds.shown(builds.names[-1])
        rows = listed([f"{one.row} {one.whole}" for one in found])
        raise UserError(f"nothing is slower in {bad} than in {good}: {rows}")
    return slower


@dataclass
class _Search:
    """Builds commits and measures each beside GOOD, until one is to blame for `row`."""

    pairs: CommitPairs
    row: str
    # By key:
    _states: dict[str, State] = field(default_factory=dict)
    _seen: dict[str, Seen] = field(default_factory=dict)
    _files: dict[str, tuple[Path, Path]] = field(default_factory=dict)
    _skipped: dict[str, str] = field(default_factory=dict)  # reasons

    def run(self) -> Found:
        builds = self.pairs.builds
        commits, keys = builds.names, builds.keys
        whole, _ = self._measured(len(commits) - 1, lambda one: one.is_slower or one.is_no_slower)
        if not whole.is_slower:
            limits = f"{percent(whole.least)} to {percent(whole.most)}"
            why = whole.fault or f"it may or may not be slower: {limits}"
            return Found(self.row, whole, tuple(commits[1:]), why)
        self._states = {keys[0]: State.GOOD, keys[-1]: State.BAD}
        why = self._narrow(whole.half)
        left = suspects(keys, self._states)
        found = Found(self.row, whole, tuple(commits[i] for i in left), why)
        between = range(left[0], left[-1])
        known = {commits[i]: self._skipped.get(keys[i], "") for i in between}
        found.skipped = {commit: why for commit, why in known.items() if why}
        if len(left) == 1:
            before, key = keys[left[0] - 1], keys[left[0]]
            found.why, found.causes = "", self._causes(before, key)
            found.slower, found.before = self._seen[key], self._seen.get(before)
            found.files = self._files[key]
        return found

    def _narrow(self, threshold: float) -> str:
        """Test commits until one is to blame. Returns why none is certain, or empty."""
        builds = self.pairs.builds
        keys, most = builds.keys, most_steps(len(builds.names) - 1)
        while (index := following(keys, self._states)) is not None:
            if self.pairs.left <= 0.0:
                return _TIME_IS_UP
            if len(self._seen) >= most:
                return f"{most} {builds.what}s were measured, which is the limit"
            key, fault = keys[index], builds.build(index)
            if not fault and keys[index] != key:  # it equals a commit that was built before
                continue
            if not fault:
                one, is_final = self._measured(index, lambda one: one.state(threshold) is not None)
                if not is_final:
                    return _TIME_IS_UP
                self._states[key] = one.state(threshold) or State.UNKNOWN
                if self._states[key] is State.UNKNOWN:
                    why = one.fault or f"{one}, too close to half of the change"
                    fault = f"{builds.shown(builds.names[index])}: {why}"
            if fault:
                builds.measuring.note(f"Skipped: {fault}")
                self._states[key], self._skipped[key] = State.UNKNOWN, fault
        return (
            ""
            if len(suspects(keys, self._states)) == 1
            else f"{builds.what}s in between are unknown"
        )

    def _measured(self, index: int, settled: Callable[[Seen], bool]) -> tuple[Seen, bool]:
        """Measure a commit beside GOOD until settled; False if the time ends before."""
        builds = self.pairs.builds
        name, key = builds.names[index], builds.keys[index]
        good, rows = builds.names[0], [self.row]
        seen, is_final = self.pairs.measured(good, name, rows, lambda _, one: settled(one))
        one = seen[self.row]
        self._seen[key], self._files[key] = one, self.pairs.files(good, name, rows)
        builds.measuring.note(f"{builds.shown(name)}: {self.row} {one}")
        return one, is_final

    def _causes(self, before: str, key: str) -> tuple[str, ...]:
        """The differences between the programs of two keys. GOOD was measured with every commit."""
        builds, (base, candidate) = self.pairs.builds, self._files[key]
        if before != builds.keys[0]:
            base = self._files[before][1]
        changes = resource_changes(*(load.load(path).rows[self.row] for path in (base, candidate)))
        return (*map(str, changes), *builds.equal_code(before, key))
