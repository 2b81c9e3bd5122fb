# SPDX-License-Identifier: Apache-2.0
"""The columns of each table in the Markdown of a comparison, and the cells of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warpgauge.records.model import Clock
from warpgauge.records.sessions import are_paired
from warpgauge.reports.decision_text import IN_PAIRS, bound_words, rounded_up
from warpgauge.reports.headline import interval
from warpgauge.reports.markdown.text import IN_CELL, breakable, code, prose, unbroken
from warpgauge.reports.provenance import told_values
from warpgauge.system.text import duration, of_limit, percent, plural
from warpgauge.verdict.comparison import (
    CHANGED,
    Comparison,
    ContextDifference,
    Evidence,
    Outcome,
    Verdict,
)


@dataclass(frozen=True)
class Column:
    """A heading and its cell of a verdict; numbers align to the right."""

    heading: str
    cell: Callable[[Verdict], str]
    is_number: bool = False


def _change(verdict: Verdict) -> str:
    """The change and its interval, which may stand below each other."""
    if (change := verdict.change) is None:
        return ""
    return f"{unbroken(percent(change.ratio))} {unbroken(f'({interval(change)})')}"


def _times(verdict: Verdict) -> str:
    """Both times, which may stand below each other; one where there is one."""
    return _arrow(_time(verdict.baseline_seconds), _time(verdict.candidate_seconds))


def _time(seconds: float | None) -> str:
    return unbroken(duration(seconds)) if seconds is not None else ""


def _of_limit(verdict: Verdict) -> str:
    """The share, and before it the old one where both are known and differ to a reader.

    The old one of a pair only: that of a baseline is of other sessions than the time beside it.
    """
    if "limit_fraction" not in verdict.counters:
        return ""
    sides = (verdict.baseline_counters, verdict.counters)
    before, after = (unbroken(of_limit(counters.get("limit_fraction"))) for counters in sides)
    paired = verdict.evidence in IN_PAIRS
    return after if before == after or not paired else _arrow(before, after)


def _arrow(before: str, after: str) -> str:
    return f"{before} →\N{NO-BREAK SPACE}{after}" if before and after else after or before


def _sentence(*parts: str) -> str:
    return prose("; ".join(filter(None, parts)), IN_CELL)


def _why(verdict: Verdict) -> str:
    bound = bound_words(verdict) if verdict.outcome is Outcome.INCONCLUSIVE else ""
    return _sentence(bound, verdict.reason, *verdict.causes, verdict.accepted)


def _bound(verdict: Verdict) -> str:
    return unbroken(rounded_up(verdict.bound)) if verdict.bound is not None else ""


def _certainty(verdict: Verdict) -> str:
    how, *figures = confidence(verdict)
    return ", ".join([how, *map(unbroken, figures)])


_NAME = Column("benchmark", lambda verdict: breakable(verdict.name))
# Where only numbers stand beside it: so many characters of a name fit in a line.
_LONG_NAME = Column("benchmark", lambda verdict: breakable(verdict.name, 40))
_VERDICT = Column("verdict", lambda verdict: verdict.outcome.value)
_TIME = Column("time", lambda verdict: _time(verdict.candidate_seconds), is_number=True)
_CHANGE = Column("change (95 % interval)", _change, is_number=True)
_TIMES = Column("old → new", _times, is_number=True)
_LIMIT = Column("of limit", _of_limit, is_number=True)
_WHY = Column("why", _why)
_BOUND = Column("at most", _bound, is_number=True)
_CERTAINTY = Column("how sure", _certainty)

# What a reader of ten seconds asks comes first: of what, how much, how sure, why. Where a page is
# narrow, the columns behind those are scrolled to.
UNMEASURED = (_NAME, _VERDICT, _WHY, _CHANGE)
ACCEPTED = (_NAME, _CHANGE, _WHY, _TIMES, _LIMIT)
NEW = (_LONG_NAME, _TIME, _LIMIT)
UNCHANGED = (_LONG_NAME, _BOUND, _CHANGE, _TIMES, _LIMIT)


def changed(comparison: Comparison) -> tuple[Column, ...]:
    """The columns of what got slower or faster: the cause may lie in the whole comparison."""
    likely = likely_causes(comparison)

    def cause(verdict: Verdict) -> str:
        return _sentence(verdict.reason, likely(verdict), verdict.accepted)

    return (_NAME, _CHANGE, _CERTAINTY, Column("likely cause", cause), _TIMES, _LIMIT)


def worth_showing(columns: Sequence[Column], verdicts: Sequence[Verdict]) -> list[Column]:
    """Without those that would stand empty."""
    return [column for column in columns if any(map(column.cell, verdicts))]


def difference(one: ContextDifference) -> list[str]:
    return [code(one.key), *map(code, told_values(one))]


def confidence(verdict: Verdict) -> list[str]:
    """``confirmed in lock-step``, ``7 pairs``, ``p < 0.001``; ``screened only``, ``p = 0.004``."""
    if verdict.by_time is not None:
        return ["exact: resources carry no noise"]
    if verdict.evidence is Evidence.NONE:
        return [""]
    how, pair = _HOW[verdict.evidence]
    told = [how]
    if pair and verdict.processes is not None:
        told.append(plural(verdict.processes[0], pair))
    if verdict.p is not None:  # smaller ones say no more to anybody
        told.append("p < 0.001" if verdict.p < 0.001 else f"p = {verdict.p:.2g}")
    return told


# And what there are several of, if anything.
_HOW = {
    Evidence.NONE: ("", ""),
    Evidence.SCREENED: ("screened only", ""),
    Evidence.PAIRED: ("confirmed in pairs", "round"),
    Evidence.LOCK_STEP: ("confirmed in lock-step", "pair"),
}

# What a person asks first where nothing differs, each in a word.
_SHORT = {"registers": "registers", "blocks_per_sm": "occupancy", "kernels": "kernels"}

# Of the contexts' differences, in words, those that move times by themselves, and those that move
# the host's alone.
_OF_EVERY_TIME = {
    "driver_version": "driver",
    "cuda_driver_version": "the driver's CUDA",
    "runtime_version": "CUDA runtime",
    "cublas_version": "cuBLAS",
    "nvcc_version": "nvcc",
    "flags": "compiler flags",
    "library_build_type": "build of the library",
    "ecc": "ECC",
    "power_limit_watts": "power limit",
    "sm_clock_target_hz": "SM clock",
    "max_sm_clock_hz": "highest SM clock",
}
_OF_HOST_TIME = {
    "host_compiler": "host compiler",
    "library_version": "Google Benchmark",
    "cpu_model": "CPU",
    "kernel_release": "Linux",
    "num_cpus": "number of CPUs",
    "cpu_scaling_enabled": "CPU scaling",
}

# More would not be read here; all of it stands in a table of its own.
_DIFFERENCES_TOLD = 2
_LONGEST_VALUE = 24


def likely_causes(comparison: Comparison) -> Callable[[Verdict], str]:
    """``registers 40 → 72``, ``none seen: registers, kernels unchanged``; empty if none is known.

    Foreign text in it is not yet inert. What is the same for all verdicts is looked for once.
    """
    paired = are_paired(comparison.baseline, comparison.candidate)
    around = {clock: _environment(comparison.differences, clock) for clock in Clock}

    def cause(verdict: Verdict) -> str:
        # Of what was confirmed later, the base ran again on the candidate's own machine.
        confirmed = verdict.evidence in IN_PAIRS and not paired
        return _cause(verdict, "" if confirmed else around[verdict.clock])

    return cause


def _cause(verdict: Verdict, around: str) -> str:
    if verdict.causes or verdict.outcome not in CHANGED:
        return "; ".join(verdict.causes)
    # Of what an operation takes: what both sides tell, and tell alike.
    alike = dict(verdict.baseline_counters.items() & verdict.counters.items())
    unchanged = ", ".join(word for key, word in _SHORT.items() if key in alike)
    seen = f"none seen: {unchanged} unchanged" if unchanged else ""
    return "; ".join(filter(None, (seen, around and f"perhaps {around}")))


def _environment(differences: Sequence[ContextDifference], clock: Clock) -> str:
    """What else differs between two times of this clock."""
    words = {**_OF_EVERY_TIME, **(_OF_HOST_TIME if clock is Clock.HOST else {})}
    found = [one for one in differences if one.key in words]
    parts = []
    for one in found[:_DIFFERENCES_TOLD]:
        long = max(len(one.baseline), len(one.candidate)) > _LONGEST_VALUE
        parts.append(
            words[one.key] + (" changed" if long else f" {one.baseline} → {one.candidate}")
        )
    if more := len(found) - len(parts):
        parts.append(f"{more} more")
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
