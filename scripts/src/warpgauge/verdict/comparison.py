# SPDX-License-Identifier: Apache-2.0
"""The result of a comparison, for every output format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from warpgauge.records.model import Clock, Record, Source, Why
from warpgauge.statistics.error_rates import ALPHA
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.note import Note


class Outcome(Enum):
    """The outcome for one benchmark."""

    REGRESSION = "REGRESSION"
    IMPROVED = "IMPROVED"
    INCONCLUSIVE = "INCONCLUSIVE"
    INVALID = "INVALID"
    ERROR = "ERROR"
    MISSING = "MISSING"
    NEW = "NEW"
    SKIPPED = "SKIPPED"  # this machine cannot run it, and nobody expects a time
    PASS = "PASS"


class Evidence(Enum):
    """What a verdict rests on."""

    NONE = "none"  # nothing was compared
    SCREENED = "screened"  # compared with the sessions of a baseline
    PAIRED = "paired"  # base and candidate in alternating processes on one GPU
    LOCK_STEP = "lock_step"  # base and candidate processes that take turns, slice by slice


IN_PAIRS = (Evidence.PAIRED, Evidence.LOCK_STEP)

CHANGED = (Outcome.REGRESSION, Outcome.IMPROVED)

# A benchmark with one of these was not measured or not comparable. It never passes.
UNMEASURED = (Outcome.INCONCLUSIVE, Outcome.INVALID, Outcome.ERROR, Outcome.MISSING)

# Likely, not proven: addresses or clocks may differ.
SAME_CODE = "the same machine code: the cause is outside the kernel"


@dataclass(frozen=True)
class Change:
    """A relative change of time (0.05: 5 % slower) and its 95 % interval."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class ResourceChange:
    """A resource of an operation that differs between the sides.

    `key` is the counter's name, or "kernel" for the kernel's name. `words`, `before` and `after`
    are for a person. `worse` says whether more of it, or another kernel, is a fault.
    """

    key: str
    words: str
    before: str
    after: str
    worse: bool

    def __str__(self) -> str:
        return f"{self.words} {self.before} → {self.after}"


@dataclass(frozen=True)
class Verdict:
    """One benchmark's outcome. Times are seconds per operation, None if not measured.

    `p` is adjusted for the number of benchmarks judged together. A change of at least
    `minimum_effect` counts. `bound` is the largest slowdown that the data leave possible, with 99 %
    confidence; a PASS has a bound within `tolerance`. Ratios are fractions.
    `by_time` is the outcome by time alone, if resources made it a regression. `accepted` is a
    policy's reason for not counting a change. `required` is true if a policy requires the benchmark
    and it was not measured. `same_machine_code` covers the kernels and their launches; None if a
    side does not state it. A `control` measures the machine, not the code. `why` is set for a
    regression that was investigated. `counters` are the candidate's.
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
    control: bool = False
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
        """Whether a policy accepts a change of this benchmark."""
        return bool(self.accepted) and self.outcome is Outcome.PASS

    @property
    def is_unchanged(self) -> bool:
        """Whether this benchmark needs no mention of its own."""
        return self.outcome is Outcome.PASS and not self.accepted

    @property
    def in_pairs(self) -> bool:
        return self.evidence in IN_PAIRS

    @property
    def limit_fraction(self) -> float | None:
        """The candidate's share of its hardware limit, or None if unknown."""
        return self.counters.get("limit_fraction")

    @property
    def causes(self) -> tuple[str, ...]:
        """The likely causes of a change, accepted or not: the differing resources, in words."""
        changed = self.is_changed or bool(self.accepted)
        told = (*map(str, self.resources), *([SAME_CODE] if self.same_machine_code else []))
        return told if changed else ()


@dataclass(frozen=True)
class ContextDifference:
    """A context key on which the two sides differ."""

    key: str
    baseline: str
    candidate: str


@dataclass(frozen=True)
class Comparison:
    """Two compared records. `refusal` says why they could not be compared, or is None.

    `method` is the note on screening and confirmation, or on pairs, if any.
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
        """Whether a side is a Google Benchmark file that warpgauge did not write."""
        return Source.GOOGLE_BENCHMARK in (self.baseline.source, self.candidate.source)

    def count(self, *outcomes: Outcome) -> int:
        return sum(verdict.outcome in outcomes for verdict in self.verdicts)


def exit_status(comparison: Comparison) -> ExitStatus:
    """Return the exit status. A regression outranks anything that was not measured."""
    if comparison.count(Outcome.REGRESSION):
        return ExitStatus.REGRESSION
    if comparison.refusal is not None or comparison.count(*UNMEASURED):
        return ExitStatus.NOT_MEASURED
    return ExitStatus.OK
