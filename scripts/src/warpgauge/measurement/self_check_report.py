# SPDX-License-Identifier: Apache-2.0
"""The report of a self-check: a table for the console, and a file beside the baselines."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from rich.console import Console

from warpgauge.measurement import looks
from warpgauge.measurement.progress import clock
from warpgauge.measurement.self_check import CHANGES, MEASURED_SECONDS, SelfCheck
from warpgauge.records.model import Clock
from warpgauge.records.sessions import newest
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import inert, percent, plural
from warpgauge.verdict.comparability import TOLERANCE
from warpgauge.verdict.comparison import CHANGED, UNMEASURED, Comparison, Outcome, Verdict
from warpgauge.verdict.controls import FAMILY as CONTROLS
from warpgauge.verdict.controls import judged

FORMAT = "self-check/2"

# Context fields that identify the GPU and the build.
_SHOWN = (
    *"gpu_name gpu_uuid driver_version runtime_version commit date looks".split(),
    MEASURED_SECONDS,
)

# A change counts as found in a family if at least this share of its benchmarks reports it.
FOUND = 0.9


@dataclass(frozen=True)
class Detection:
    """Results of a family's benchmarks on one clock after the gate's last look.

    Benchmarks with a wider `tolerance` from a policy are grouped by it rather than by family,
    because smaller changes need not be found there.
    """

    family: str
    clock: Clock
    benchmarks: int
    alarms: int  # reported as changed although the code was the same
    unknown: int  # neither changed nor unchanged
    bounded: int  # PASS with a bound within the tolerance
    found: Mapping[float, int]  # injected change (a fraction) -> benchmarks reported as slower
    covered: int  # injected changes inside the printed interval
    intervals: int  # injected changes that have an interval
    pairs: float  # mean number of pairs per comparison, unchanged or injected
    tolerance: float | None = None

    @property
    def smallest(self) -> float | None:
        """The smallest change found in nine of ten benchmarks; None if not even the largest was.

        The share is interpolated linearly between two injected changes. If the smallest injected
        change was found that often, return it: nothing smaller was tried.
        """
        below, share_below = 0.0, 0.0
        for change in sorted(self.found):
            share = self.found[change] / self.benchmarks
            if share >= FOUND:
                if below == 0.0:
                    return change
                return below + (change - below) * (FOUND - share_below) / (share - share_below)
            below, share_below = change, share
        return None


def render(check: SelfCheck, screened: Comparison | None, console: Console) -> None:
    """Print false alarms and the share found; `screened` is the comparison with the baseline."""
    found = (f"{percent(change, sign=False)} found" for change in CHANGES)
    counts = ("clock", "benchmarks", "false alarms", "unknown", "bounded")
    heads = (*counts, *found, "9 of 10 find", "in interval", "pairs")
    heading = Cells("family", heads)
    counted = detections(check.same, check.injected)
    rows = [_cells(one) for one in counted if one.tolerance is None]
    columns = Columns.fitting([heading, *rows], console.width)
    print_text(console, columns.line(heading, left=(0,)), style="dim")
    for row in rows:
        print_text(console, columns.line(row, left=(0,)))
    everything = sum(one.benchmarks for one in counted if one.family == "all")
    further = [_apart(one, everything) for one in counted if one.tolerance is not None]
    comparisons = everything * (1 + len(check.injected))
    further.append(f"{_undecided(check)} of {comparisons} comparisons stayed undecided.")
    if took := newest(check.run).context.get(MEASURED_SECONDS):
        further[-1] += f" Measured in {clock(float(took))}."
    if screened is not None:
        further.append(_against(screened))
    print_text(console, "\n" + "\n".join(map(inert, further)))


def text(check: SelfCheck, screened: Comparison | None) -> str:
    """Return the JSON file, one family per line, with the names of missed benchmarks."""
    context = newest(check.run).context
    shown = {key: context[key] for key in _SHOWN if key in context}
    rows = ",\n".join(json.dumps(_family(one)) for one in detections(check.same, check.injected))
    missed = ",\n".join(
        f"{json.dumps(f'{change:g}')}: {json.dumps(_missed(comparison))}"
        for change, comparison in check.injected.items()
    )
    against = "null" if screened is None else json.dumps(_against(screened))
    return (
        f'{{\n"warpgauge_format": "{FORMAT}",\n"context": {json.dumps(shown)},\n'
        f'"against_the_baseline": {against},\n"undecided": {_undecided(check)},\n'
        f'"families": [\n{rows}\n],\n"not_found_by_change": {{\n{missed}\n}}\n}}\n'
    )


def _cells(one: Detection) -> Cells:
    smallest = one.smallest
    if smallest is None:
        nine_of_ten = f"> {percent(max(CHANGES), sign=False)}"
    else:
        least = "≤ " if smallest <= min(CHANGES) else ""
        nine_of_ten = f"{least}{percent(smallest, sign=False)}"
    shares = (_share(one.found[change], one.benchmarks) for change in CHANGES)
    counts = [str(count) for count in (one.benchmarks, one.alarms, one.unknown)]
    counts += [_share(one.bounded, one.benchmarks)]
    covered = _share(one.covered, one.intervals)
    pairs = f"{one.pairs:.1f}"
    return Cells(one.family, (one.clock.value, *counts, *shares, nine_of_ten, covered, pairs))


def _apart(one: Detection, of: int) -> str:
    """Return ``3 of 10 have a tolerance of 10 %: found 1 % in 0, 10 % in 3; false alarms in 0.``"""
    assert one.tolerance is not None
    found = (f"{percent(by, sign=False)} in {count}" for by, count in one.found.items())
    have = f"{one.benchmarks} of {of} have a tolerance of {percent(one.tolerance, sign=False)}"
    return f"{have}: found {', '.join(found)}; false alarms in {one.alarms}."


def _share(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} %" if of else "-"


def _family(one: Detection) -> dict[str, object]:
    return {
        "family": one.family,
        "clock": one.clock.value,
        **({"tolerance": one.tolerance} if one.tolerance is not None else {}),
        "benchmarks": one.benchmarks,
        "false_alarms": one.alarms,
        "unknown": one.unknown,
        "bounded_within_tolerance": one.bounded,
        "found": {f"{change:g}": count for change, count in one.found.items()},
        "smallest_change_found_by_nine_of_ten": one.smallest,
        "injected_inside_interval": one.covered,
        "intervals_of_injected": one.intervals,
        "mean_pairs": round(one.pairs, 2),
    }


def _undecided(check: SelfCheck) -> int:
    """Count the comparisons that the last look left open, over all changes."""
    return sum(len(looks.open_rows(one)) for one in (check.same, *check.injected.values()))


def _missed(comparison: Comparison) -> Sequence[str]:
    return [
        one.name
        for one in comparison.verdicts
        if one.outcome is not Outcome.REGRESSION and one.family != CONTROLS and _wider(one) is None
    ]


def _against(screened: Comparison) -> str:
    """Return ``Against the baseline (4 sessions): 0 of 101 called changed, 0 unknown.``"""
    changed = screened.count(Outcome.REGRESSION, Outcome.IMPROVED)
    unknown = screened.count(Outcome.INCONCLUSIVE, Outcome.INVALID)
    sessions = plural(len(screened.baseline.sessions), "session")
    of = f"{changed} of {judged(screened)} called changed"
    return f"Against the baseline ({sessions}): {of}, {unknown} unknown."


def detections(same: Comparison, injected: Mapping[float, Comparison]) -> list[Detection]:
    """Return a row per family and clock, then totals per clock, then one per wider tolerance.

    The host's controls are left out.
    """
    groups = defaultdict[tuple[str, Clock, float | None], list[Verdict]](list)
    totals = defaultdict[tuple[str, Clock, float | None], list[Verdict]](list)
    for verdict in sorted(same.verdicts, key=lambda one: (one.family, one.clock.value)):
        if verdict.family == CONTROLS:
            continue
        tolerance = _wider(verdict)
        totals["all", verdict.clock, tolerance].append(verdict)
        if tolerance is None:
            groups[verdict.family, verdict.clock, None].append(verdict)
    by_name = defaultdict[str, dict[float, Verdict]](dict)
    for change, found in injected.items():
        for one in found.verdicts:
            by_name[one.name][change] = one
    in_order = sorted(totals.items(), key=lambda item: (item[0][2] or 0.0, item[0][1].value))
    return [
        _detection(*key, verdicts, [by_name[one.name] for one in verdicts], injected)
        for key, verdicts in [*groups.items(), *in_order]
    ]


def _detection(
    family: str,
    clock: Clock,
    tolerance: float | None,
    same: Sequence[Verdict],
    injected: Sequence[Mapping[float, Verdict]],
    changes: Iterable[float],
) -> Detection:
    """Summarise benchmarks from their verdicts unchanged (`same`) and with each injected change."""
    inside = [
        one.change.low <= change <= one.change.high
        for by_change in injected
        for change, one in by_change.items()
        if one.change is not None
    ]
    every = [*same, *(one for by_change in injected for one in by_change.values())]
    pairs = [one.processes[1] for one in every if one.processes is not None]
    return Detection(
        family,
        clock,
        benchmarks=len(same),
        alarms=sum(one.outcome in CHANGED for one in same),
        unknown=sum(one.outcome in UNMEASURED for one in same),
        bounded=sum(map(_is_bounded, same)),
        found={
            change: sum(
                change in one and one[change].outcome is Outcome.REGRESSION for one in injected
            )
            for change in changes
        },
        covered=sum(inside),
        intervals=len(inside),
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
