# SPDX-License-Identifier: Apache-2.0
"""The columns of each table in the Markdown of a comparison, and the cells of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from warpgauge.records.model import Clock
from warpgauge.records.sessions import are_paired
from warpgauge.reports.headline import interval
from warpgauge.reports.markdown.text import IN_CELL, breakable, code, prose, unbroken
from warpgauge.reports.provenance import told_values
from warpgauge.reports.ranking import CHANGED
from warpgauge.system.text import duration, of_limit, percent, plural
from warpgauge.verdict.comparison import Comparison, ContextDifference, Evidence, Verdict


@dataclass(frozen=True)
class Column:
    """A heading and its cell of a verdict; numbers align to the right."""

    heading: str
    cell: Callable[[Verdict], str]
    is_number: bool = False


def _change(verdict: Verdict) -> str:
    """The change and its interval, which may stand below each other."""
    if verdict.change is None:
        return ""
    ends = unbroken(f"({interval(verdict.change)})")
    return f"{unbroken(percent(verdict.change.ratio))} {ends}"


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
    before, after = (unbroken(of_limit(one.get("limit_fraction"))) for one in sides)
    paired = verdict.evidence is Evidence.PAIRED
    return after if before == after or not paired else _arrow(before, after)


def _arrow(before: str, after: str) -> str:
    return f"{before} →{_NBSP}{after}" if before and after else after or before


def _why(verdict: Verdict) -> str:
    return "; ".join(filter(None, (verdict.reason, *verdict.causes, verdict.accepted)))


def _certainty(verdict: Verdict) -> str:
    how, *figures = confidence(verdict)
    return ", ".join([how, *map(unbroken, figures)])


_NBSP = "\N{NO-BREAK SPACE}"

_NAME = Column("benchmark", lambda one: breakable(one.name))
# Where few columns stand beside it.
_WHOLE_NAME = Column("benchmark", lambda one: code(one.name))
_VERDICT = Column("verdict", lambda one: one.outcome.value)
_CHANGE = Column("change (95 % interval)", _change, is_number=True)
_TIMES = Column("old → new", _times, is_number=True)
_LIMIT = Column("of limit", _of_limit, is_number=True)
_WHY = Column("why", lambda one: prose(_why(one), IN_CELL))
_CERTAINTY = Column("how sure", _certainty)

# What a reader of ten seconds asks comes first: of what, how much, how sure, why. Where a page is
# narrow, the columns behind those are scrolled to.
UNMEASURED = (_NAME, _VERDICT, _WHY, _CHANGE)
ACCEPTED = (_NAME, _CHANGE, _WHY, _TIMES, _LIMIT)
NEW = (
    _WHOLE_NAME,
    Column("time", lambda one: _time(one.candidate_seconds), is_number=True),
    _LIMIT,
)
UNCHANGED = (_WHOLE_NAME, _CHANGE, _TIMES, _LIMIT)


def changed(comparison: Comparison) -> tuple[Column, ...]:
    """The columns of what got slower or faster: the cause may lie in the whole comparison."""
    likely = likely_causes(comparison)

    def cause(verdict: Verdict) -> str:
        words = (verdict.reason, likely(verdict), verdict.accepted)
        return prose("; ".join(filter(None, words)), IN_CELL)

    return (_NAME, _CHANGE, _CERTAINTY, Column("likely cause", cause), _TIMES, _LIMIT)


def worth_showing(columns: Sequence[Column], verdicts: Sequence[Verdict]) -> list[Column]:
    """Without those that would stand empty."""
    return [column for column in columns if any(map(column.cell, verdicts))]


def difference(one: ContextDifference) -> list[str]:
    return [code(one.key), *map(code, told_values(one))]


# Smaller ones say no more to anybody.
_LEAST_P = 0.001


def confidence(verdict: Verdict) -> list[str]:
    """``confirmed in turns``, ``7 rounds``, ``p < 0.001``; ``screened only``, ``p = 0.004``."""
    if verdict.by_time is not None:
        return ["exact: resources carry no noise"]
    if verdict.evidence is Evidence.NONE:
        return [""]
    rounds = verdict.processes[0] if verdict.processes is not None else 0
    paired = verdict.evidence is Evidence.PAIRED
    how = ["confirmed in turns"] if paired else ["screened only"]
    how += [plural(rounds, "round")] if paired and rounds else []
    how += [_chance(verdict.p)] if verdict.p is not None else []
    return how


def _chance(p: float) -> str:
    if p < _LEAST_P:
        return f"p < {_LEAST_P}"
    return f"p = {p:.2g}"


# What a person asks first where nothing differs, each in a word.
_SHORT: Mapping[str, str] = MappingProxyType(
    {"registers": "registers", "blocks_per_sm": "occupancy", "kernels": "kernels"}
)

# Of the contexts' differences, in words, those that move times by themselves, and those that move
# the host's alone.
_OF_EVERY_TIME: Mapping[str, str] = MappingProxyType(
    {
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
)
_OF_HOST_TIME: Mapping[str, str] = MappingProxyType(
    {
        "host_compiler": "host compiler",
        "library_version": "Google Benchmark",
        "cpu_model": "CPU",
        "kernel_release": "Linux",
        "num_cpus": "number of CPUs",
        "cpu_scaling_enabled": "CPU scaling",
    }
)

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
        confirmed = verdict.evidence is Evidence.PAIRED and not paired
        return _cause(verdict, "" if confirmed else around[verdict.clock])

    return cause


def _cause(verdict: Verdict, around: str) -> str:
    if verdict.causes or verdict.outcome not in CHANGED:
        return "; ".join(verdict.causes)
    unchanged = _unchanged(verdict)
    seen = f"none seen: {unchanged} unchanged" if unchanged else ""
    return "; ".join(filter(None, (seen, around and f"perhaps {around}")))


def _unchanged(verdict: Verdict) -> str:
    """Of what an operation takes: what both sides tell, and tell alike."""
    before, after = verdict.baseline_counters, verdict.counters
    return ", ".join(
        word
        for key, word in _SHORT.items()
        if key in before and key in after and before[key] == after[key]
    )


def _environment(differences: Sequence[ContextDifference], clock: Clock) -> str:
    """What else differs between two times of this clock."""
    words = {**_OF_EVERY_TIME, **(_OF_HOST_TIME if clock is Clock.HOST else {})}
    found = [one for one in differences if one.key in words]
    told = [_told(words[one.key], one) for one in found[:_DIFFERENCES_TOLD]]
    more = len(found) - len(told)
    return _listed([*told, f"{more} more"] if more else told)


def _told(word: str, one: ContextDifference) -> str:
    """``driver 575.57 → 580.65``; only that it changed where the values are long."""
    if max(len(one.baseline), len(one.candidate)) > _LONGEST_VALUE:
        return f"{word} changed"
    return f"{word} {one.baseline} → {one.candidate}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
