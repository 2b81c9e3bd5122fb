# SPDX-License-Identifier: Apache-2.0
"""Measures a benchmark of commits in pairs with GOOD. Earlier results come from the journal.

scripts/statistics.md, "Which commit", explains the decision rule.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

import msgspec

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
from warpgauge.verdict.comparison import Outcome
from warpgauge.verdict.comparison_settings import ComparisonSettings


class State(Enum):
    """The state of a commit for one benchmark."""

    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "unknown"  # it does not build or run, or is between good and bad


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
    return Seen(outcome, change.ratio, change.low, change.high, least, verdict.bound)


@dataclass(frozen=True)
class CommitPairs:
    """`error` is the error probability per benchmark and commit. Measuring ends at `until`."""

    measuring: Measuring
    suite: Suite
    builds: CommitBuilds
    journal: Journal
    folder: Path  # where run files are written
    error: float
    until: float = math.inf  # seconds of the monotonic clock

    @property
    def left(self) -> float:
        """Seconds until `until`."""
        return self.until - time.monotonic()

    def files(self, commit: str, row: str) -> tuple[Path, Path]:
        """The two run files in which this row of a commit is measured, GOOD's first."""
        number = self.builds.rows.index(row)
        name = f"{short(commit)}-{number}" if number else short(commit)
        return self.folder / f"{name}-base.json", self.folder / f"{name}.json"

    def measured(self, commit: str, row: str, settled: Callable[[Seen], bool]) -> tuple[Seen, bool]:
        """A row of a commit beside GOOD, and whether the result is final (not cut short by time).

        Measures pairs until the row is settled. Raises UserError and KeyboardInterrupt.
        """
        key = ["seen", commit, row]
        kept = self.journal.find(key, Seen)
        if kept is not None:
            return kept, True
        limit = None if self.until == math.inf else max(self.left, 1.0)
        # GOOD is measured again with each commit.
        own = Journal(self.journal.of(f"{short(commit)}-{self.builds.rows.index(row)}"))
        measuring = replace(self.measuring, budget=Budget(limit), journal=own)
        good = self.builds.commits[0]
        base, candidate = (
            Side(tuple(self.builds.programs(one)), {"commit": one, "dirty": "false"}).only([row])
            for one in (good, commit)
        )

        def judge(base: Record, candidate: Record) -> Seen:
            return _seen(base, candidate, row, self.error)

        def open_rows(found: Seen) -> list[str]:
            return [] if found.fault or settled(found) else [row]

        measuring.note(f"Measuring commit {short(commit)} in pairs with {short(good)}")
        looks = AbRun(measuring, self.suite, {}).compared(
            base, candidate, exactly([row]), self.files(commit, row), judge, open_rows
        )
        if looks.stop is not None:
            raise looks.stop
        most = looks.rounds.get("most_pairs", looks.rounds["pairs"])
        whole = limit is None or most >= measuring.options.schedule[-1]
        is_final = whole or not open_rows(looks.found)
        if is_final:
            self.journal.keep(key, looks.found)
        return looks.found, is_final
