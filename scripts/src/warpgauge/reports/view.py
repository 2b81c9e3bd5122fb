# SPDX-License-Identifier: Apache-2.0
"""What a person should see of a comparison, in words: every format shows this view.

Foreign text among our words is marked (`text.foreign`), and each format quotes it in its own way.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from warpgauge.records.counters import Clock
from warpgauge.records.model import PROCESSES, PROGRAMS, Record, by_family
from warpgauge.records.sessions import are_paired, newest
from warpgauge.system.errors import ExitStatus
from warpgauge.system.git import short
from warpgauge.system.text import (
    LONGEST_NAME,
    LONGEST_TEXT,
    MINUS,
    cut,
    duration,
    foreign,
    inert,
    nearby,
    of_limit,
    percent,
    percent_number,
    plain,
    plural,
)
from warpgauge.verdict.comparability import OF_HOST_TIME, TOLERANCE
from warpgauge.verdict.comparison import (
    KERNEL,
    SAME_CODE,
    UNMEASURED,
    Comparison,
    Evidence,
    Outcome,
    ResourceChange,
    Verdict,
    exit_status,
)

if TYPE_CHECKING:
    from warpgauge.records.row import Proved

ACCEPTED, CONTROL, WITHIN = "accepted", "control", Outcome.PASS.word
NOT_SLOWER = "not slower"  # within tolerance, and the bound is below zero

# Unmeasured outcomes, the most serious first.
_GRAVEST = UNMEASURED[::-1]

# A person's words, in the order in which rows are shown.
_ORDER = [outcome.word for outcome in Outcome]
_ORDER = [*_ORDER[:-3], ACCEPTED, *_ORDER[-3:], CONTROL]

# In order of precedence.
EXIT_MEANINGS = {
    ExitStatus.REGRESSION: "something regressed",
    ExitStatus.BAD_USAGE: "could not be done",
    ExitStatus.NOT_MEASURED: "not everything was measured or is comparable",
    ExitStatus.OK: "nothing regressed, everything was measured",
}

NO_CAUSE = "no cause found"

# The largest bound, as a fraction, that is printed exactly.
_NO_BOUND = 9.99

_LONGEST_VALUE = 60  # characters of a value that differs

# Context keys whose difference changes no time.
_OF_NO_TIME = (PROGRAMS, PROCESSES, "commit", "dirty")

# Resources by how well they explain a change of time: a spill before the registers it saved.
_TELLING = (
    "local_bytes", KERNEL, "kernels", "registers", "blocks_per_sm", "shared_bytes",
    "peak_device_bytes",
)  # fmt: skip


def check_word(status: ExitStatus) -> str:
    """Return PASS, FAIL or, for any other exit status, NOT DECIDED, which is not a pass."""
    return {ExitStatus.OK: "PASS", ExitStatus.REGRESSION: "FAIL"}.get(status, "NOT DECIDED")


def word(verdict: Verdict) -> str:
    if verdict.is_accepted:
        return ACCEPTED
    return CONTROL if verdict.is_quiet else verdict.outcome.word


def rank(verdict: Verdict) -> tuple[int, bool, float]:
    """Return a sort key: changed rows by the size of the change, undecided ones by how far their
    bound exceeds the tolerance, others in the order of the file.

    Rows that fail on their resources alone come after slower rows.
    """
    changed, size = verdict.is_changed, 0.0
    if changed and verdict.change is not None:
        size = abs(verdict.change.ratio)
    elif verdict.outcome is Outcome.INCONCLUSIVE and verdict.bound and verdict.tolerance:
        size = verdict.bound / verdict.tolerance
    return _ORDER.index(word(verdict)), changed and verdict.by_time is not None, -size


class Numbers(NamedTuple):
    """The numbers of a row as all tables show them; "" if missing."""

    old: str
    new: str
    change: str
    interval: str
    bound: str
    limit: str


@dataclass(frozen=True)
class Row:
    """A benchmark; the `causes` are in words: the largest proved one, or the likely ones."""

    verdict: Verdict
    causes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name, which is foreign text."""
        return self.verdict.name

    @property
    def family(self) -> str:
        return self.verdict.family

    @property
    def word(self) -> str:
        return word(self.verdict)

    @property
    def cause(self) -> str:
        return "; ".join(self.causes)

    @property
    def proved(self) -> tuple[Proved, ...]:
        return self.verdict.why.proved if self.verdict.why else ()

    @property
    def numbers(self) -> Numbers:
        one, change = self.verdict, self.verdict.change
        return Numbers(
            "" if one.baseline_seconds is None else duration(one.baseline_seconds),
            "" if one.candidate_seconds is None else duration(one.candidate_seconds),
            "" if change is None else percent(change.ratio),
            "" if change is None else " … ".join(map(percent_number, (change.low, change.high))),
            "" if one.bound is None else rounded_up(one.bound),
            of_limit(one.limit_fraction),
        )

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it has its verdict, without the causes of a change."""
        one = self.verdict
        own = own_tolerance(one)
        bound = own and f"tolerance {own}" if self.word == WITHIN else bound_words(one)
        accepted = f"accepted: {foreign(one.accepted, LONGEST_TEXT)}" if one.accepted else ""
        energy = f"energy {one.energy}" if one.energy and not one.fails_on_energy else ""
        return (*filter(None, (bound, foreign(one.reason, LONGEST_TEXT), accepted, energy)),)

    @property
    def details(self) -> tuple[str, ...]:
        """What stands below the row, whose group names the cause of a change."""
        return self.reasons if self.verdict.is_changed else (*self.reasons, *self.causes)

    @property
    def size(self) -> str:
        """The change or the bound that is shown first; else the verdict."""
        one = self.verdict
        if one.by_time is not None:
            return f"by its {'energy' if one.fails_on_energy else 'resources'}"
        if one.change is not None and (one.is_changed or one.is_accepted):
            return percent(one.change.ratio)
        return self.word if one.bound is None else at_most(one.bound)

    @property
    def sentence(self) -> str:
        """What was found and why: ``+5.0 % (95 % interval …), 60 µs → …``."""
        shown = self.numbers
        bound = bound_words(self.verdict) if self.word == WITHIN else ""
        change = f"{shown.change} (95 % interval {shown.interval}), {shown.old} → {shown.new}"
        limit = f"{shown.limit} of the limit" if shown.limit and shown.change else ""
        likely = "" if self.proved else "likely "
        cause = f"{likely}cause: {self.cause}" if self.causes else ""
        parts = (bound, *self.reasons, change if shown.change else "", limit, cause)
        return cut(plain("; ".join(filter(None, parts))), LONGEST_TEXT) or self.word


@dataclass(frozen=True)
class Group:
    """Rows with the same verdict, and changed rows with the same cause."""

    word: str
    cause: str
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        count = f", {len(self.rows)} rows" if self.cause and len(self.rows) > 1 else ""
        return f"{self.word}{count}: {self.cause}" if self.cause else self.word


@dataclass(frozen=True)
class View:
    comparison: Comparison

    @property
    def check(self) -> str:
        return check_word(exit_status(self.comparison))

    @property
    def is_refused(self) -> bool:
        """Whether everything was refused, so that each row would repeat the headline."""
        found = self.comparison
        return all(verdict.reason == found.refusal for verdict in found.verdicts)

    @cached_property
    def groups(self) -> list[Group]:
        """The rows by verdict and cause, the worst first, but those without a cause last."""
        found: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            cause = (row.cause or NO_CAUSE) if row.verdict.is_changed else ""
            found.setdefault((row.word, cause), []).append(row)
        last = sorted(found, key=lambda key: (_ORDER.index(key[0]), key[1] == NO_CAUSE))
        return [Group(*key, tuple(found[key])) for key in last]

    @cached_property
    def every_row(self) -> list[Row]:
        """The rows in the order of the file, refused ones too."""
        found = self.comparison
        return [Row(one, tuple(_causes(found, one))) for one in found.verdicts]

    @cached_property
    def rows(self) -> list[Row]:
        """The rows, the worst first; none if everything was refused."""
        return [] if self.is_refused else sorted(self.every_row, key=lambda row: rank(row.verdict))

    def of(self, *words: str) -> list[Row]:
        return [row for row in self.rows if row.word in words]

    @property
    def unmeasured(self) -> list[Row]:
        return self.of(*(outcome.word for outcome in _GRAVEST))

    def families(self, word: str) -> dict[str, list[Row]]:
        """Return the rows of a verdict by family."""
        return by_family(self.of(word))

    @cached_property
    def decisive(self) -> Row | None:
        """The row to show first: the worst, else the most serious undecided, else the best."""

        def gravity(row: Row) -> tuple[int, float]:
            return _GRAVEST.index(row.verdict.outcome), -(row.verdict.bound or 0.0)

        undecided = sorted(self.unmeasured, key=gravity)
        return next(iter(self.of("slower") or undecided or self.of("faster")), None)


def _causes(comparison: Comparison, verdict: Verdict) -> Iterator[str]:
    """Yield the largest proved cause of a change, or else the likely ones, the largest first.

    First comes the cause that was found by looking into the change. Then come resources that
    differ, else the environment, and whether the code is the same.
    """
    if not verdict.is_changed and not verdict.accepted:
        return
    if verdict.why is not None and verdict.why.proved:
        yield verdict.why.proved[0].head
        return
    yield from [f"energy {verdict.energy}"] if verdict.fails_on_energy else []
    cause = verdict.why.cause if verdict.why is not None else ""
    yield from [foreign(cause, LONGEST_TEXT)] if cause else []
    slower = verdict.change is None or verdict.change.ratio > 0.0

    def weight(one: ResourceChange) -> tuple[bool, int]:
        explains = one.key == KERNEL or one.worse is slower
        return not explains, _TELLING.index(one.key)

    for one in sorted(verdict.resources, key=weight):
        # GitHub takes a number of seven digits for a commit.
        is_ours = one.key != KERNEL and max(len(one.before), len(one.after)) < 7
        if str(one) not in cause:  # which may name it
            yield str(one) if is_ours else f"{one.words} {_differs(one.before, one.after)}"
    # Pairs of a commit with the baseline's commit ran in one environment.
    alike = verdict.in_pairs and not are_paired(comparison.baseline, comparison.candidate)
    if verdict.is_changed and not verdict.resources and not alike:
        of_host = verdict.clock is Clock.HOST
        for differs in comparison.differences:
            if differs.key not in (*_OF_NO_TIME, *(() if of_host else OF_HOST_TIME)):
                what = differs.key.removesuffix("_version").replace("_", " ")
                yield f"perhaps {what} {_differs(differs.baseline, differs.candidate)}"
    if verdict.same_machine_code:
        yield SAME_CODE


def _differs(before: str, after: str) -> str:
    return foreign(f"{cut(before, _LONGEST_VALUE)} → {cut(after, _LONGEST_VALUE)}")


def headline(comparison: Comparison, *, names: bool = True) -> str:
    """Return ``1 slower: NAME +5.0 % · 123 within tolerance (at most +0.96 %)`` and the like.

    It `names` the worst row that is slower. Say why nothing was compared instead, unless something
    is slower, which outranks a refusal.
    """
    if comparison.refusal is not None and not comparison.count(Outcome.REGRESSION):
        return f"Not compared: {foreign(comparison.refusal, LONGEST_TEXT)}"
    counts = Counter(map(word, comparison.verdicts))
    shown = {WITHIN: _within(comparison)}
    if names and (slowest := worst(comparison)) is not None:
        which = ":" if counts["slower"] == 1 else ", worst"
        name = foreign(slowest.name, LONGEST_NAME)
        shown["slower"] = f"slower{which} {name} {Row(slowest, ()).size}"
    order = dict.fromkeys(("slower", "faster", WITHIN, *_ORDER[:-1]))
    parts = [f"{counts[name]} {shown.get(name, name)}" for name in order if counts[name]]
    parts += ["not built" for _ in comparison.not_built[:1]]
    controls = f"{plural(counts[CONTROL], 'control')} of the host"
    return " · ".join(parts) or (controls if counts[CONTROL] else "no benchmarks")


def _within(comparison: Comparison) -> str:
    """Return ``within tolerance (at most +0.30 %; 3 with a tolerance of 10 %)`` and the like.

    The largest bound of each clock is that of its usual tolerance.
    """
    found, others = dict[Clock, float](), list[Verdict]()
    for verdict in comparison.verdicts:
        if verdict.is_unchanged and verdict.bound is not None and not verdict.is_quiet:
            if own_tolerance(verdict):
                others.append(verdict)
            else:
                found[verdict.clock] = max(verdict.bound, found.get(verdict.clock, -math.inf))
    bounds = own_tolerances(others)
    if len(found) > 1 and not comparison.is_of_plain_files:
        both = ", ".join(f"{rounded_up(found[clock])} {clock.value}" for clock in Clock)
        bounds.insert(0, f"at most {both}")
    elif found:
        bounds.insert(0, at_most(max(found.values())))
    is_faster = bool(found) and max(found.values()) < 0.0 and not others
    name = NOT_SLOWER if is_faster else WITHIN
    return f"{name} ({'; '.join(bounds)})" if bounds else name


def own_tolerance(verdict: Verdict) -> str:
    """Return the tolerance that a policy gives a row instead of its clock's, or ""."""
    own, usual = verdict.tolerance, TOLERANCE[verdict.clock]
    return "" if own is None or own == usual else percent(own, sign=False)


def own_tolerances(verdicts: Iterable[Verdict]) -> list[str]:
    """Return ``2 with a tolerance of 10 %`` for each tolerance that rows have of their own."""
    counts = Counter(filter(None, map(own_tolerance, verdicts)))
    return [f"{count} with a tolerance of {size}" for size, count in counts.items()]


def worst(comparison: Comparison) -> Verdict | None:
    """Return the regression with the largest change of time, else one by resources alone."""
    slower = (one for one in comparison.verdicts if one.outcome is Outcome.REGRESSION)
    return min(slower, key=rank, default=None)


def how_found(comparison: Comparison) -> str:
    """Return a sentence on the evidence for the changed rows, or "" if no row changed."""
    changed = [verdict for verdict in comparison.verdicts if verdict.is_changed]
    counts = Counter(verdict.evidence for verdict in changed)
    screened = "found against the baseline, not confirmed in pairs"
    if comparison.is_of_plain_files:
        several = all(min(one.processes or (1,)) > 1 for one in changed)
        how = "several processes" if several else "one process"
        screened = f"found by comparing {how} of each side, not confirmed"
    words = {
        Evidence.LOCK_STEP: "confirmed in lock-step",
        Evidence.PAIRED: "confirmed in alternating processes of both builds",
        Evidence.SCREENED: screened,
    }
    parts = [f"{counts[kind]} {how}" for kind, how in words.items() if counts[kind]]
    if len(parts) == 1:
        return f"{parts[0].partition(' ')[2].capitalize()}."
    return f"{'; '.join(parts)}." if parts else ""


def rule(comparison: Comparison) -> str:
    """Return when a row is slower or faster, and when within tolerance; "" if none was judged."""
    judged = [one for one in comparison.verdicts if one.minimum_effect is not None]
    if not judged:
        return ""
    pairs = " in pairs of both builds" if all(one.in_pairs for one in judged) else ""
    least = _of_each_clock(comparison, [(one.clock, one.minimum_effect) for one in judged])
    bounded = (one for one in comparison.verdicts if not one.is_accepted)
    most = _of_each_clock(comparison, [(one.clock, one.tolerance) for one in bounded])
    changed = f"Slower or faster: p below {comparison.alpha:g}{pairs} (over the whole suite)"
    within = f" Within tolerance: slower by at most {most}, with 99 % confidence." if most else ""
    return f"{changed} and at least {least}.{within}"


def _of_each_clock(comparison: Comparison, sizes: Iterable[tuple[Clock, float | None]]) -> str:
    """Return the range for each clock: ``1 % of device time and 20 % of host time``."""
    groups: dict[str, list[float]] = {}
    for clock, size in sizes:
        if size is not None:
            what = "the" if comparison.is_of_plain_files else clock.value
            groups.setdefault(what, []).append(size)
    return " and ".join(
        f"{_range(min(of), max(of))} % of {what} time" for what, of in groups.items()
    )


def _range(low: float, high: float) -> str:
    return " to ".join(dict.fromkeys(percent_number(end, sign=False) for end in (low, high)))


def at_most(bound: float) -> str:
    """Return the bound, rounded up: ``at most +0.40 %``, or ``more than +999 %``.

    Of one below zero: ``at least 5.4 % faster``.
    """
    shown = rounded_up(bound)
    if shown.startswith(MINUS):
        return f"at least {shown.removeprefix(MINUS)} faster"
    return f"at most {shown}" if bound <= _NO_BOUND else shown


def rounded_up(bound: float) -> str:
    """Return a percentage like `percent`, but rounded up."""
    if bound > _NO_BOUND:
        return f"more than {percent(_NO_BOUND)}"
    size = 1.0 if abs(bound) >= 0.9995 else 10.0 if abs(bound) >= 0.00995 else 100.0
    return percent(math.ceil(100.0 * bound * size - 1e-9) / size / 100.0)


def bound_words(verdict: Verdict) -> str:
    """Return ``at most +7.2 %``, for an undecided row with its tolerance, or ""."""
    if verdict.bound is None or verdict.is_changed or verdict.is_accepted:
        return ""
    if verdict.outcome is Outcome.PASS:
        return f"{NOT_SLOWER if verdict.bound < 0.0 else WITHIN}, {at_most(verdict.bound)}"
    tolerance = verdict.tolerance
    known = "" if tolerance is None else f", tolerance {percent(tolerance, sign=False)}"
    return f"{at_most(verdict.bound)}{known}"


def side(record: Record) -> str:
    """Return path, GPU, date and commit, inert; a path below the working directory is relative.

    Return "none" for the missing side of a run without a baseline.
    """
    if not record.sessions:
        return "none"
    context = newest(record).context
    facts, of = [str(nearby(record.path))], "sessions"
    if record.source.is_plain:
        of_several = f" of {context[PROCESSES]} processes" if PROCESSES in context else ""
        facts, of = [*facts, f"{record.source.value}{of_several}"], "programs"
    facts.append(context.get("gpu_name", ""))
    several = f"{len(record.sessions)} {of}, newest " if len(record.sessions) > 1 else ""
    if context.get("date"):
        facts.append(f"{several}{context['date'][:10]}")
    if commit := _commit(record):
        facts.append(f"commit {commit}")
    return inert(" · ".join(filter(None, facts)))


def side_name(record: Record) -> str:
    """Return the commit, or else the path, in a few words, inert."""
    if not record.sessions:
        return "none"
    return inert(_commit(record) or str(nearby(record.path)))


def _commit(record: Record) -> str:
    context = newest(record).context
    changed = " and changes" if context.get("dirty") == "true" else ""
    return f"{short(context['commit'])}{changed}" if context.get("commit") else ""


def gpu_name(record: Record) -> str:
    """Return the GPU's name in the newest session, not yet inert, or ""."""
    return newest(record).context.get("gpu_name", "")


def differences_beside(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return what differs between the contexts and the two `side`s do not show, not yet inert."""
    return [astuple(one) for one in comparison.differences if one.key not in ("commit", "dirty")]
