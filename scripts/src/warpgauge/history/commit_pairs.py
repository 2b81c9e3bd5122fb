# SPDX-License-Identifier: Apache-2.0
"""Measures commits in pairs with GOOD. Earlier measurements come from the journal.

scripts/statistics.md, "Which commit", explains the decision rule.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from warpgauge.history.bisect import State
from warpgauge.history.commit_builds import CommitBuilds
from warpgauge.measure.ab_run import AbRun, Side
from warpgauge.measure.budget import Budget
from warpgauge.measure.journal import Journal
from warpgauge.measure.measuring import Measuring
from warpgauge.measure.selection import Suite, exactly
from warpgauge.records.model import Record
from warpgauge.system.git import short
from warpgauge.system.text import percent, span
from warpgauge.verdict import judge
from warpgauge.verdict.comparison import Outcome, Verdict
from warpgauge.verdict.comparison_settings import ComparisonSettings

_NO_SLOWER = (Outcome.PASS, Outcome.IMPROVED)


class Seen(msgspec.Struct, frozen=True):
    """The estimate for one benchmark with its interval, as fractions, or why there is none.

    The true change is below `least`, and above `most`, each with at most this step's error
    probability. `outcome` is that of the rule for pairs at the same probability.
    """

    outcome: str
    change: float = 0.0
    low: float = 0.0
    high: float = 0.0
    least: float = -1.0
    most: float = math.inf
    fault: str = ""

    @property
    def half(self) -> float:
        """Half of the change in log time: the threshold between good and bad."""
        return math.sqrt(1.0 + self.change) - 1.0

    @property
    def is_slower(self) -> bool:
        """Whether the slowdown is significant, at least the minimum effect, and above `half`."""
        return self.outcome == Outcome.REGRESSION.value and self.least > self.half

    @property
    def is_no_slower(self) -> bool:
        """Whether the slowdown is within the tolerance."""
        return not self.fault and self.outcome in {one.value for one in _NO_SLOWER}

    def state(self, threshold: float) -> State | None:
        """The state relative to `threshold`; None while undecided."""
        if self.fault:
            return State.UNKNOWN
        if self.least > threshold:
            return State.BAD
        return State.GOOD if self.most < threshold else None

    def __str__(self) -> str:
        return self.fault or f"{percent(self.change)} ({span(self.low, self.high)})"


def seen(base: Record, candidate: Record, rows: Sequence[str], error: float) -> dict[str, Seen]:
    """Compare `rows` of the candidate with the base at this error probability."""
    settings = ComparisonSettings(filter=exactly(rows), alpha=error, bound_confidence=1.0 - error)
    ahead, back = (
        {one.name: one for one in judge.judge(*sides, settings).verdicts}
        for sides in ((base, candidate), (candidate, base))
    )
    return {name: _seen(name, ahead, back) for name in rows}


def _seen(name: str, ahead: Mapping[str, Verdict], back: Mapping[str, Verdict]) -> Seen:
    verdict, mirrored = ahead.get(name), back.get(name)
    if verdict is None or mirrored is None:
        return Seen(Outcome.MISSING.value, fault="is missing")
    outcome, change = verdict.outcome.value, verdict.change
    if change is None or verdict.bound is None or mirrored.bound is None:
        return Seen(outcome, fault=verdict.reason or f"is {outcome}")
    # If the base is at most 25 % slower than the candidate, the candidate is at most 20 % faster.
    least = 1.0 / (1.0 + mirrored.bound) - 1.0
    return Seen(outcome, change.ratio, change.low, change.high, least, verdict.bound)


class _Measured(msgspec.Struct, frozen=True):
    seen: dict[str, Seen]


@dataclass(frozen=True)
class CommitPairs:
    """`error` is the error probability per benchmark and commit. Measuring ends at `until`."""

    measuring: Measuring
    suite: Suite
    builds: CommitBuilds
    good: str
    journal: Journal
    folder: Path  # where run files are written
    error: float
    until: float = math.inf  # seconds of `clock`
    clock: Callable[[], float] = time.monotonic

    @property
    def left(self) -> float:
        """Seconds until `until`."""
        return self.until - self.clock()

    def files(self, commit: str, rows: Sequence[str]) -> tuple[Path, Path]:
        """The two run files in which these rows of a commit are measured, GOOD's first."""
        number = self.builds.rows.index(rows[0])
        name = f"{short(commit)}-{number}" if number else short(commit)
        return self.folder / f"{name}-base.json", self.folder / f"{name}.json"

    def measured(
        self, commit: str, rows: Sequence[str], settled: Callable[[str, Seen], bool]
    ) -> tuple[dict[str, Seen], bool]:
        """Rows of a commit beside GOOD, and whether the result is final (not cut short by time).

        Measures pairs until all rows are settled. Raises UserError and KeyboardInterrupt.
        """
        key = ["seen", commit, *rows]
        kept = self.journal.find(key, _Measured)
        if kept is not None:
            return kept.seen, True
        found, is_final = self._looked(commit, rows, settled)
        if is_final:
            self.journal.keep(key, _Measured(found))
        return found, is_final

    def _looked(
        self, commit: str, rows: Sequence[str], settled: Callable[[str, Seen], bool]
    ) -> tuple[dict[str, Seen], bool]:
        limit = None if self.until == math.inf else max(self.left, 1.0)
        own = Journal(self.journal.of(short(commit)))  # GOOD is measured again with each commit
        measuring = replace(self.measuring, budget=Budget(limit), journal=own)
        base, candidate = (
            Side(tuple(self.builds.of(one)), {"commit": one, "dirty": "false"}).only(rows)
            for one in (self.good, commit)
        )

        def judge(base: Record, candidate: Record) -> dict[str, Seen]:
            return seen(base, candidate, rows, self.error)

        def open_rows(found: Mapping[str, Seen]) -> list[str]:
            return [row for row, one in found.items() if not one.fault and not settled(row, one)]

        measuring.note(f"Measuring commit {short(commit)} in pairs with {short(self.good)}")
        looks = AbRun(measuring, self.suite, {}).compared(
            base, candidate, exactly(rows), self.files(commit, rows), judge, open_rows
        )
        if looks.stop is not None:
            raise looks.stop
        most = looks.rounds.get("most_pairs", looks.rounds["pairs"])
        whole = limit is None or most >= measuring.options.schedule[-1]
        return looks.found, whole or not open_rows(looks.found)
