# SPDX-License-Identifier: Apache-2.0
"""What a comparison found, for every format of output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from warpgauge.records.model import Clock, Record, Source
from warpgauge.statistics.error_rates import ALPHA
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.note import Note


class Outcome(Enum):
    """What is said of one benchmark."""

    REGRESSION = "REGRESSION"
    IMPROVED = "IMPROVED"
    INCONCLUSIVE = "INCONCLUSIVE"
    INVALID = "INVALID"
    ERROR = "ERROR"
    MISSING = "MISSING"
    NEW = "NEW"
    PASS = "PASS"


class Evidence(Enum):
    """What a verdict rests on."""

    NONE = "none"  # nothing was compared
    SCREENED = "screened"  # against the sessions of a baseline
    PAIRED = "paired"  # base and candidate in alternating processes on one GPU
    LOCK_STEP = "lock_step"  # in pairs of processes that take turns, slice by slice


IN_PAIRS = (Evidence.PAIRED, Evidence.LOCK_STEP)

CHANGED = (Outcome.REGRESSION, Outcome.IMPROVED)

# Outcomes that leave a benchmark unmeasured or not comparable: never a pass.
UNMEASURED = (Outcome.INCONCLUSIVE, Outcome.INVALID, Outcome.ERROR, Outcome.MISSING)

# Likely, not proven: addresses or clocks may differ.
SAME_CODE = "the same machine code: the cause is outside the kernel"


@dataclass(frozen=True)
class Change:
    """A relative change of time, 0.05 for 5 % slower, and the interval that holds the true one."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class ResourceChange:
    """Something that an operation takes and that differs.

    `key` is the counter's, or "kernel" for the name; `words` the same for a person; `before` and
    `after` as a person reads them; `worse` whether more of it, or another kernel, is a fault.
    """

    key: str
    words: str
    before: str
    after: str
    worse: bool

    def __str__(self) -> str:
        return f"{self.words} {self.before} → {self.after}"


@dataclass(frozen=True)
class Moved:
    """One quantity that moved with a cause, as a person reads it.

    `cause` is empty where it is that of the line above.
    """

    cause: str
    what: str
    before: str
    after: str


@dataclass(frozen=True)
class Why:
    """What a slowdown comes from: a paragraph, which also says what is unknown, and what moved."""

    paragraph: str
    moved: tuple[Moved, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """One benchmark's outcome. Times are seconds an operation; None where there was none.

    `p` is adjusted for the number of benchmarks judged together. A change counts from
    `minimum_effect` on. `bound` is how much slower the candidate may be at most, with 99 %
    confidence: a PASS has one that is within the `tolerance`.
    `by_time` is what the time alone says where resources made it a regression. `accepted` is a
    policy's reason why a change does not count. `required` says that a policy misses it, whatever
    either side has. `same_machine_code`: of kernels, and how they are launched; None if one side
    does not tell. `why` is of a regression that was looked into. `counters` are the candidate's.
    Ratios are fractions.
    """

    name: str
    outcome: Outcome
    clock: Clock
    baseline_seconds: float | None = None
    candidate_seconds: float | None = None
    change: Change | None = None
    p: float | None = None
    minimum_effect: float | None = None
    bound: float | None = None
    tolerance: float | None = None
    evidence: Evidence = Evidence.NONE
    processes: tuple[int, int] | None = None  # of the baseline and the candidate
    reason: str = ""
    by_time: Outcome | None = None
    accepted: str = ""
    required: bool = False
    resources: tuple[ResourceChange, ...] = ()
    same_machine_code: bool | None = None
    why: Why | None = None
    counters: Mapping[str, float] = field(default_factory=dict)
    baseline_counters: Mapping[str, float] = field(default_factory=dict)

    @property
    def family(self) -> str:
        return self.name.split("/", 1)[0]

    @property
    def is_changed(self) -> bool:
        return self.outcome in CHANGED

    @property
    def is_unmeasured(self) -> bool:
        return self.outcome in UNMEASURED

    @property
    def is_accepted(self) -> bool:
        """Whether a policy says that what changed here does not count."""
        return bool(self.accepted) and self.outcome is Outcome.PASS

    @property
    def is_unchanged(self) -> bool:
        """Whether there is nothing to say of this benchmark alone."""
        return self.outcome is Outcome.PASS and not self.accepted

    @property
    def in_pairs(self) -> bool:
        return self.evidence in IN_PAIRS

    @property
    def limit_fraction(self) -> float | None:
        """The candidate's share of what its hardware limit allows, if it is known."""
        return self.counters.get("limit_fraction")

    @property
    def causes(self) -> tuple[str, ...]:
        """What likely made a change, an accepted one too: the resources that differ, in words."""
        changed = self.is_changed or bool(self.accepted)
        told = (*map(str, self.resources), *([SAME_CODE] if self.same_machine_code else []))
        return told if changed else ()


@dataclass(frozen=True)
class ContextDifference:
    """One thing that the two sides' contexts say differently."""

    key: str
    baseline: str
    candidate: str


@dataclass(frozen=True)
class Comparison:
    """Two records, compared. `refusal` says why nothing could be, if so.

    `method` is the note on screening and confirming, or on pairs, if any.
    """

    baseline: Record
    candidate: Record
    verdicts: tuple[Verdict, ...]
    notes: tuple[Note, ...] = ()
    differences: tuple[ContextDifference, ...] = ()
    refusal: str | None = None
    alpha: float = ALPHA
    method: Note | None = None

    @property
    def every_note(self) -> tuple[Note, ...]:
        return (self.method, *self.notes) if self.method else self.notes

    @property
    def is_of_plain_files(self) -> bool:
        """Whether a side is a file of Google Benchmark, and not of warpgauge."""
        return Source.GOOGLE_BENCHMARK in (self.baseline.source, self.candidate.source)

    def count(self, *outcomes: Outcome) -> int:
        return sum(verdict.outcome in outcomes for verdict in self.verdicts)

    @property
    def exit_status(self) -> ExitStatus:
        """A regression outranks whatever else was not measured."""
        if self.count(Outcome.REGRESSION):
            return ExitStatus.REGRESSION
        if self.refusal is not None or self.count(*UNMEASURED):
            return ExitStatus.NOT_MEASURED
        return ExitStatus.OK
