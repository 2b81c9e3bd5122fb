# SPDX-License-Identifier: Apache-2.0
"""The report of self-checks: a table for the console, and a file beside the baselines."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from rich.console import Console

from warpgauge.measure.ab_run import MEASURED_SECONDS, ORDER_SEED
from warpgauge.measure.progress import clock
from warpgauge.measure.self_check import CHANGES, Case, SelfCheck
from warpgauge.records.model import Clock
from warpgauge.system.git import short
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import inert, named, percent, plural
from warpgauge.verdict.comparability import TOLERANCE
from warpgauge.verdict.comparison import CHANGED, Comparison, Outcome, Verdict
from warpgauge.verdict.controls import judged
from warpgauge.verdict.paired_tests import LOOKS

FORMAT = "self-check/3"

# Context fields that identify the GPU and the build, and those of the run itself.
_SHOWN = (
    *"gpu_name gpu_uuid driver_version runtime_version commit date looks".split(),
    *(ORDER_SEED, MEASURED_SECONDS),
)

# The family (None for a total), the clock, and the tolerance if a policy widened it.
_Group = tuple[str | None, Clock, float | None]


class Share(NamedTuple):
    """How many of how many benchmarks."""

    number: int
    of: int

    @staticmethod
    def counted(whether: Iterable[bool]) -> Share:
        each = list(whether)
        return Share(sum(each), len(each))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}" if self.of else "-"


@dataclass(frozen=True)
class Detection:
    """Results of a family's benchmarks on one clock after the gate's last look.

    Benchmarks with a wider `tolerance` from a policy are grouped by it rather than by family,
    because smaller changes need not be found there.
    """

    family: str | None  # None for a total
    clock: Clock
    benchmarks: int
    alarms: int  # reported as changed without extra work, or as faster with it
    bounded: Share  # PASS with a bound within the tolerance, of those without extra work
    found: Mapping[float, Share]  # extra work (a fraction) -> REGRESSION, of those that did it
    covered: Share  # extra work (0 included) inside the printed interval, of those that have one
    inconclusive: int
    pairs: float  # mean number of pairs
    tolerance: float | None = None


def render(checks: Sequence[SelfCheck], screened: Sequence[Comparison], console: Console) -> None:
    """Print the sums of all `checks`; `screened` are comparisons of their bases with a baseline."""
    counts = ("clock", "benchmarks", "unchanged", "false alarms", "bounded")
    sizes = (f"+{percent(change, sign=False)}" for change in CHANGES)
    heading = Cells("family", (*counts, *sizes, "in interval", "inconclusive", "pairs"))
    counted = detections(case for check in checks for case in check.cases)
    rows = [_cells(one) for one in counted if one.tolerance is None]
    columns = Columns.fitting([heading, *rows], console.width)
    print_text(console, columns.line(heading, left=(0,)), style="dim")
    for row in rows:
        print_text(console, columns.line(row, left=(0,)))
    everything = sum(one.benchmarks for one in counted if one.family is None)
    further = [_apart(one, everything) for one in counted if one.tolerance is not None]
    further += [told for check in checks for told in _run(check)]
    further += map(_against, screened)
    print_text(console, "\n" + "\n".join(map(inert, further)))


def text(check: SelfCheck, screened: Comparison | None) -> str:
    """Return the JSON file, one family per line, with the names of missed benchmarks."""
    shown = {key: check.context[key] for key in _SHOWN if key in check.context}
    counted = detections(check.cases)
    totals = ",\n".join(json.dumps(_row(one)) for one in counted if one.family is None)
    rows = ",\n".join(json.dumps(_row(one)) for one in counted if one.family is not None)
    missed = ",\n".join(
        f"{json.dumps(f'{change:g}')}: {json.dumps(_missed(check.cases, change))}"
        for change in CHANGES
    )
    against = "null" if screened is None else json.dumps(_against(screened))
    return (
        f'{{\n"warpgauge_format": "{FORMAT}",\n"context": {json.dumps(shown)},\n'
        f'"against_the_baseline": {against},\n"totals": [\n{totals}\n],\n'
        f'"families": [\n{rows}\n],\n"missed_by_extra_work": {{\n{missed}\n}}\n}}\n'
    )


def _run(check: SelfCheck) -> Iterator[str]:
    """Yield what the run was, so that sums of unlike ones are seen, and what it lacks."""
    context = check.context
    commit, looks = short(context.get("commit", "")), context.get(LOOKS, "")
    of = f"{context['gpu_name']}, commit {commit}, looks after {looks} pairs"
    yield f"{of}, measured in {clock(float(context[MEASURED_SECONDS]))}."
    if check.comparison.refusal is not None:
        yield f"Nothing was compared: {check.comparison.refusal}."
    if check.failed:
        yield f"No result: {named(check.failed)}."


def _cells(one: Detection) -> Cells:
    counts = (one.benchmarks, one.bounded.of, one.alarms, one.bounded)
    cells = (*counts, *one.found.values(), one.covered, one.inconclusive, f"{one.pairs:.1f}")
    return Cells(one.family or "all", (one.clock.value, *map(str, cells)))


def _apart(one: Detection, of: int) -> str:
    """Return ``3 of 10 have a tolerance of 10 %: found 1 % in 0/1; false alarms in 0.``"""
    assert one.tolerance is not None
    tried = ((by, share) for by, share in one.found.items() if share.of)
    found = (f"found {percent(by, sign=False)} in {share}" for by, share in tried)
    have = f"{one.benchmarks} of {of} have a tolerance of {percent(one.tolerance, sign=False)}"
    return f"{have}: {', '.join([*found, f'false alarms in {one.alarms}'])}."


def _row(one: Detection) -> dict[str, object]:
    return {
        **({"family": one.family} if one.family is not None else {}),
        "clock": one.clock.value,
        **({"tolerance": one.tolerance} if one.tolerance is not None else {}),
        "benchmarks": one.benchmarks,
        "unchanged": one.bounded.of,
        "false_alarms": one.alarms,
        "bounded_within_tolerance": one.bounded.number,
        "found_of": {f"{change:g}": share for change, share in one.found.items()},
        "inside_interval_of": one.covered,
        "inconclusive": one.inconclusive,
        "mean_pairs": round(one.pairs, 2),
    }


def _missed(cases: Iterable[Case], change: float) -> list[str]:
    """Return the benchmarks whose extra work of this size should have been found."""
    missed = (case.verdict for case in cases if case.extra == change and not case.is_found)
    return [one.name for one in missed if _wider(one) is None]


def _against(screened: Comparison) -> str:
    """Return ``Against the baseline (4 sessions): 0 of 101 called changed, 0 unknown.``"""
    changed = screened.count(*CHANGED)
    unknown = screened.count(Outcome.INCONCLUSIVE, Outcome.INVALID)
    sessions = plural(len(screened.baseline.sessions), "session")
    of = f"{changed} of {judged(screened)} called changed"
    return f"Against the baseline ({sessions}): {of}, {unknown} unknown."


def detections(cases: Iterable[Case]) -> list[Detection]:
    """Return a row per family and clock, then totals per clock, then one per wider tolerance."""
    groups = defaultdict[_Group, list[Case]](list)
    for case in cases:
        verdict, tolerance = case.verdict, _wider(case.verdict)
        groups[None, verdict.clock, tolerance].append(case)
        if tolerance is None:
            groups[verdict.family, verdict.clock, None].append(case)

    def place(group: _Group) -> tuple[bool, float, str, str]:
        family, clock, tolerance = group
        return family is None, tolerance or 0.0, family or "", clock.value

    return [_detection(*key, groups[key]) for key in sorted(groups, key=place)]


def _detection(
    family: str | None, clock: Clock, tolerance: float | None, cases: Sequence[Case]
) -> Detection:
    verdicts = [case.verdict for case in cases]
    pairs = [one.processes[1] for one in verdicts if one.processes is not None]
    return Detection(
        family,
        clock,
        benchmarks=len(cases),
        alarms=sum(case.is_false_alarm for case in cases),
        bounded=Share.counted(_is_bounded(case.verdict) for case in cases if not case.extra),
        found={
            change: Share.counted(case.is_found for case in cases if case.extra == change)
            for change in CHANGES
        },
        covered=Share.counted(
            case.verdict.change.low <= case.extra <= case.verdict.change.high
            for case in cases
            if case.verdict.change is not None
        ),
        inconclusive=sum(one.outcome is Outcome.INCONCLUSIVE for one in verdicts),
        pairs=fmean(pairs) if pairs else 0.0,
        tolerance=tolerance,
    )


def _wider(one: Verdict) -> float | None:
    """Return a policy's tolerance if it exceeds the built-in one."""
    is_wider = one.tolerance is not None and one.tolerance > TOLERANCE[one.clock]
    return one.tolerance if is_wider else None


def _is_bounded(one: Verdict) -> bool:
    if one.outcome is not Outcome.PASS or one.bound is None or one.tolerance is None:
        return False
    return one.bound <= one.tolerance
