# SPDX-License-Identifier: Apache-2.0
"""A verdict in one line: of a whole comparison, and of one benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from warpgauge.records.model import Clock
from warpgauge.reports.decision_text import at_most, bound_words, rounded_up
from warpgauge.system.errors import ExitStatus
from warpgauge.system.text import (
    LONGEST_NAME,
    LONGEST_TEXT,
    cut,
    duration,
    inert,
    of_limit,
    percent,
    percent_number,
    plural,
)
from warpgauge.verdict.comparison import IN_PAIRS, Change, Comparison, Outcome, Verdict
from warpgauge.verdict.controls import is_quiet, judged

# Words for the counts of benchmarks that are neither changed nor unchanged.
_REST = {
    Outcome.INCONCLUSIVE: "inconclusive",
    Outcome.INVALID: "not comparable",
    Outcome.ERROR: "failed",
    Outcome.MISSING: "missing",
    Outcome.NEW: "new",
    Outcome.SKIPPED: "skipped",
}


# In order of precedence.
EXIT_MEANINGS = {
    ExitStatus.REGRESSION: "something regressed",
    ExitStatus.BAD_USAGE: "could not be done",
    ExitStatus.NOT_MEASURED: "not everything was measured or is comparable",
    ExitStatus.OK: "nothing regressed, everything was measured",
}

# Unmeasured outcomes, the most serious first.
_GRAVEST = (Outcome.ERROR, Outcome.MISSING, Outcome.INVALID, Outcome.INCONCLUSIVE)


@dataclass(frozen=True)
class Headline:
    """`verdict` is our text; `refusal` and the worst's name are foreign text, not yet inert."""

    verdict: str
    refusal: str | None = None
    worst: Verdict | None = None

    def __str__(self) -> str:
        """Return the line, inert: ``1 regression, …; 3 of 4 unchanged. Worst: a/b (+5.0 %).``"""
        if self.refusal is not None:
            return f"{self.verdict} {cut(inert(self.refusal), LONGEST_TEXT)}"
        if self.worst is None:
            return f"{self.verdict}."
        name = cut(inert(self.worst.name), LONGEST_NAME)
        return f"{self.verdict}. Worst: {name}{size(self.worst)}."


def headline(comparison: Comparison) -> Headline:
    """Return the headline of a comparison; a regression outranks a refusal."""
    if comparison.refusal is not None and not comparison.count(Outcome.REGRESSION):
        return Headline("Not compared.", comparison.refusal)
    accepted = sum(verdict.is_accepted for verdict in comparison.verdicts)
    controls = sum(map(is_quiet, comparison.verdicts))
    unchanged = [one for one in comparison.verdicts if one.is_unchanged and not is_quiet(one)]
    regressions = comparison.count(Outcome.REGRESSION)
    improvements = comparison.count(Outcome.IMPROVED)
    expected = judged(comparison)
    parts = [
        f"{plural(regressions, 'regression')}, {plural(improvements, 'improvement')}; "
        f"{len(unchanged)} of {expected} unchanged{_bounds(comparison, unchanged)}"
    ]
    parts += [f"{accepted} accepted"] if accepted else []
    parts += [f"{plural(controls, 'control')} of the host"] if controls and not expected else []
    parts += [f"{n} {word}" for outcome, word in _REST.items() if (n := comparison.count(outcome))]
    return Headline(", ".join(parts), worst=worst(comparison))


def _bounds(comparison: Comparison, unchanged: Sequence[Verdict]) -> str:
    """Return the largest bound, `` (at most +0.30 %)``, or one for each clock if both occur."""
    found: dict[Clock, list[float]] = {}
    for verdict in unchanged:
        if verdict.bound is not None:
            found.setdefault(verdict.clock, []).append(verdict.bound)
    if not found:
        return ""
    if comparison.is_of_plain_files or len(found) == 1:
        return f" ({at_most(*(bound for bounds in found.values() for bound in bounds))})"
    sizes = ", ".join(f"{rounded_up(max(found[clock]))} {clock.value}" for clock in Clock)
    return f" (at most {sizes})"


def worst(comparison: Comparison) -> Verdict | None:
    """Return the regression with the largest change of time, else one by resources alone."""

    def severity(verdict: Verdict) -> tuple[bool, float]:
        return verdict.by_time is None, verdict.change.ratio if verdict.change else 0.0

    slower = (v for v in comparison.verdicts if v.outcome is Outcome.REGRESSION)
    return max(slower, key=severity, default=None)


def decisive(comparison: Comparison) -> Verdict | None:
    """Return the row to show first: the worst, else the most serious undecided, else the best."""
    undecided = [v for v in comparison.verdicts if v.is_unmeasured]
    faster = [v for v in comparison.verdicts if v.outcome is Outcome.IMPROVED]

    def gravity(verdict: Verdict) -> tuple[int, float]:
        return _GRAVEST.index(verdict.outcome), -(verdict.bound or 0.0)

    def gain(verdict: Verdict) -> float:
        return verdict.change.ratio if verdict.change else 0.0

    return (
        worst(comparison)
        or min(undecided, key=gravity, default=None)
        or min(faster, key=gain, default=None)
    )


def size(verdict: Verdict) -> str:
    """Return `` (+5.0 %)``, `` (by its resources)``, or "" if there is no change."""
    if verdict.by_time is not None:
        return " (by its resources)"
    return f" ({percent(verdict.change.ratio)})" if verdict.change is not None else ""


def interval(change: Change) -> str:
    """Return the ends of the interval in percent: ``+29.9 … +30.1``."""
    return f"{percent_number(change.low)} … {percent_number(change.high)}"


class Values(NamedTuple):
    """The numbers of a row as all tables show them; "" if missing."""

    baseline: str
    candidate: str
    change: str
    interval: str
    bound: str
    limit: str


def values(verdict: Verdict) -> Values:
    before, after, change = verdict.baseline_seconds, verdict.candidate_seconds, verdict.change
    return Values(
        "" if before is None else duration(before),
        "" if after is None else duration(after),
        "" if change is None else percent(change.ratio),
        "" if change is None else interval(change),
        "" if verdict.bound is None else rounded_up(verdict.bound),
        of_limit(verdict.limit_fraction),
    )


def how_found(comparison: Comparison) -> str:
    """Return a sentence on the evidence for the changed rows, or "" if no row changed."""
    changed = [verdict for verdict in comparison.verdicts if verdict.is_changed]
    alternating, in_turns = (sum(v.evidence is one for v in changed) for one in IN_PAIRS)
    if not changed:
        return ""
    where = "GPU" if any(s.gpu_name for s in comparison.candidate.sessions.values()) else "machine"
    if in_turns == len(changed):
        return f"Confirmed in lock-step: both builds took turns on one {where}, slice by slice."
    if alternating == len(changed):
        return f"Confirmed in alternating processes of both builds on one {where}."
    paired = alternating + in_turns
    if paired == len(changed):
        return (
            f"Confirmed in pairs of both builds on one {where}: {in_turns} in lock-step, "
            f"{alternating} in alternating processes."
        )
    if not paired:
        if comparison.is_of_plain_files:
            several = all(min(one.processes or (1,)) > 1 for one in changed)
            what = "several processes of each side" if several else "one process of each side"
            return f"Found by comparing {what}, not confirmed."
        return "Found against the baseline, not confirmed in pairs."
    return (
        f"{paired} of the changes {('is' if paired == 1 else 'are')} confirmed in pairs of both "
        f"builds on one {where}; {len(changed) - paired} only found against the baseline."
    )


def sentence(verdict: Verdict, *, causes: bool = True) -> str:
    """Return what was found and why, inert: ``+5.0 % (95 % interval …), 60 µs → …``."""
    parts = [*filter(None, (bound_words(verdict), inert(verdict.reason)))]
    before, after, change = verdict.baseline_seconds, verdict.candidate_seconds, verdict.change
    if before is not None and after is not None and change is not None:
        parts.append(f"{percent(change.ratio)} (95 % interval {interval(change)})")
        parts[-1] += f", {duration(before)} → {duration(after)}"
    limit = of_limit(verdict.limit_fraction)
    if limit and change is not None:
        parts.append(f"{limit} of the limit")
    if causes and verdict.causes:
        parts.append(f"likely cause: {inert('; '.join(verdict.causes))}")
    if verdict.accepted:
        parts.append(f"accepted: {inert(verdict.accepted)}")
    return cut("; ".join(parts), LONGEST_TEXT) or verdict.outcome.value
