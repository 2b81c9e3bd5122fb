# SPDX-License-Identifier: Apache-2.0
"""The result of a comparison, for every output format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from warpgauge.records.benchmark_filter import NOT_BUILT
from warpgauge.records.counters import RESOURCES, Clock
from warpgauge.records.model import PROGRAMS, Record
from warpgauge.statistics.error_rates import ALPHA
from warpgauge.system.errors import ExitStatus
from warpgauge.system.text import inert, percent, plural, quantity, span
from warpgauge.verdict.note import SKIPPED, Note, sentence

if TYPE_CHECKING:
    from warpgauge.records.row import Row, Why


class Outcome(Enum):
    """The outcome for one benchmark: its name, the word for people, and the exit status.

    In the order in which people read the rows. NOT_MEASURED: it was not measured, not comparable or
    not bounded, and never passes.
    """

    _value_: str
    word: str
    status: ExitStatus

    def __new__(cls, value: str, word: str, status: ExitStatus) -> Outcome:
        made = object.__new__(cls)
        made._value_, made.word, made.status = value, word, status
        return made

    REGRESSION = "REGRESSION", "slower", ExitStatus.REGRESSION
    IMPROVED = "IMPROVED", "faster", ExitStatus.OK
    INCONCLUSIVE = "INCONCLUSIVE", "undecided", ExitStatus.NOT_MEASURED
    INVALID = "INVALID", "not comparable", ExitStatus.NOT_MEASURED
    ERROR = "ERROR", "failed", ExitStatus.NOT_MEASURED
    MISSING = "MISSING", "missing", ExitStatus.NOT_MEASURED
    NEW = "NEW", "new", ExitStatus.OK
    # This machine cannot run it, and nobody expects a time.
    SKIPPED = "SKIPPED", "skipped", ExitStatus.OK
    PASS = "PASS", "within tolerance", ExitStatus.OK


class Evidence(Enum):
    """What a verdict rests on."""

    NONE = "none"  # nothing was compared
    SCREENED = "screened"  # compared with the sessions of a baseline
    PAIRED = "paired"  # base and candidate in alternating processes on one GPU
    LOCK_STEP = "lock_step"  # base and candidate processes that take turns, slice by slice


CHANGED = (Outcome.REGRESSION, Outcome.IMPROVED)

UNMEASURED = tuple(one for one in Outcome if one.status is ExitStatus.NOT_MEASURED)

# Likely, not proven: addresses or clocks may differ.
SAME_CODE = "machine code identical, so the cause is outside the kernel"


@dataclass(frozen=True)
class Change:
    """A relative change of time (0.05: 5 % slower) and its 95 % interval; or one of energy."""

    ratio: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{percent(self.ratio)} ({span(self.low, self.high)})"


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


# Resources of which less is worse, and resources whose change is neither better nor worse.
_LESS_IS_WORSE = frozenset(("blocks_per_sm",))
_NEUTRAL = frozenset(("shared_bytes",))

# The resource that is shown in larger units than bytes.
_LARGE = "peak_device_bytes"

KERNEL = "kernel"

# How many characters of a kernel's name are shown before and after the first difference.
_BEFORE, _AFTER = 16, 30


def resource_changes(baseline: Row, candidate: Row) -> tuple[ResourceChange, ...]:
    """Return each resource that both sides state and that differs, then the kernel's name."""
    before, after = baseline.counters, candidate.counters
    changes = [
        _change(key, words, before[key], after[key])
        for key, words in RESOURCES.items()
        if key in before and key in after and before[key] != after[key]
    ]
    if baseline.label and candidate.label and baseline.label != candidate.label:
        kernels = _kernels(baseline.label, candidate.label)
        changes.append(ResourceChange(KERNEL, KERNEL, *kernels, worse=True))
    return tuple(changes)


def same_machine_code(baseline: Row, candidate: Row) -> bool | None:
    """Return whether both run the same kernels, launched alike; None if a side does not say."""
    codes = baseline.machine_code, candidate.machine_code
    return codes[0] == codes[1] if all(codes) else None


def _change(key: str, words: str, before: float, after: float) -> ResourceChange:
    more = after > before
    worse = key not in _NEUTRAL and more != (key in _LESS_IS_WORSE)
    short = [quantity(size, "B") for size in (before, after)]
    if key == _LARGE and short[0] != short[1]:
        return ResourceChange(key, words, short[0], short[1], worse)
    unit = " bytes" if key == _LARGE else ""
    return ResourceChange(key, words, f"{before:.10g}", f"{after:.10g}{unit}", worse)


def _kernels(baseline: str, candidate: str) -> tuple[str, str]:
    """Cut two kernel names around their first difference, because CUB's names fill a page."""
    longest = min(len(baseline), len(candidate))
    common = next((i for i in range(longest) if baseline[i] != candidate[i]), longest)
    start = common - _BEFORE if common > _BEFORE + _AFTER else 0
    before, after = (_cut(name, start, common + _AFTER) for name in (baseline, candidate))
    return inert(before), inert(after)


def _cut(name: str, start: int, end: int) -> str:
    return ("…" if start else "") + name[start:end] + ("…" if end < len(name) else "")


@dataclass(frozen=True)
class Verdict:
    """One benchmark's outcome. Times are seconds per operation, None if not measured.

    `p` is adjusted for the number of benchmarks judged together. A change of at least
    `minimum_effect` counts. `bound` is the largest slowdown that the data leave possible, with 99 %
    confidence; a PASS has a bound within `tolerance`. Ratios are fractions.
    `energy` is the change of energy if larger than the meter's error, with the ends that this
    leaves possible. `by_time` is the outcome by time alone, if resources made it a regression, or
    it `fails_on_energy`. `accepted` is a policy's reason for not counting a change. `required` is
    true if a policy requires the benchmark and it was not measured. `same_machine_code` covers the
    kernels and their launches; None if a side does not state it. A `control` measures the machine,
    not the code. `why` is set for a regression that was investigated. `counters` are the
    candidate's.
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
    energy: Change | None = None
    by_time: Outcome | None = None
    fails_on_energy: bool = False
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
    def is_quiet(self) -> bool:
        """Whether both sides measured this control; a failed or missing control is a fault."""
        return self.control and self.outcome is Outcome.PASS

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
        return self.evidence in (Evidence.PAIRED, Evidence.LOCK_STEP)

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
    def not_built(self) -> tuple[Note, ...]:
        """What names the programs that were not built, and so measured nothing."""
        return tuple(note for note in self.notes if note.kind == NOT_BUILT)

    @property
    def is_of_plain_files(self) -> bool:
        """Whether a side is a file that warpgauge did not write."""
        return self.baseline.source.is_plain or self.candidate.source.is_plain

    @property
    def is_other_project(self) -> bool:
        """Whether the candidate is another project's programs."""
        return any(PROGRAMS in one.context for one in self.candidate.sessions.values())

    @property
    def judged(self) -> int:
        """How many benchmarks were judged: not new or skipped ones, nor the host's controls."""
        rest = self.count(Outcome.NEW, Outcome.SKIPPED)
        return len(self.verdicts) - rest - sum(one.is_quiet for one in self.verdicts)

    def count(self, *outcomes: Outcome) -> int:
        return sum(verdict.outcome in outcomes for verdict in self.verdicts)


def skip_notes(verdicts: Iterable[Verdict]) -> Iterator[Note]:
    """Yield a note for each reason why benchmarks were skipped."""
    skipped: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.outcome is Outcome.SKIPPED:
            skipped.setdefault(verdict.reason, []).append(verdict.name)
    for why, names in skipped.items():
        yield Note(SKIPPED, f"{plural(len(names), 'benchmark')} skipped: {sentence(why)}.")


def exit_status(comparison: Comparison) -> ExitStatus:
    """Return the exit status. A regression outranks anything that was not measured."""
    if comparison.count(Outcome.REGRESSION):
        return ExitStatus.REGRESSION
    gaps = comparison.refusal is not None or bool(comparison.not_built)
    if gaps or comparison.count(*UNMEASURED):
        return ExitStatus.NOT_MEASURED
    return ExitStatus.OK
