# SPDX-License-Identifier: Apache-2.0
"""What a self-check found, as a table for a person and as a file beside the baselines."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from warpgauge.files.atomic import replace_all
from warpgauge.measurement.self_check import CHANGES, SelfCheck
from warpgauge.records.model import Clock
from warpgauge.records.sessions import newest_last
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import inert, percent, plural
from warpgauge.verdict.comparison import CHANGED, UNMEASURED, Comparison, Outcome, Verdict
from warpgauge.verdict.controls import FAMILY as CONTROLS
from warpgauge.verdict.controls import judged

FORMAT = "self-check/1"

# What of the context tells which GPU and which build were checked.
_SHOWN = "gpu_name gpu_uuid driver_version runtime_version commit date processes".split()

# The share of a family's benchmarks in which a change counts as found by the gate.
FOUND = 0.9


@dataclass(frozen=True)
class Detection:
    """How a family's benchmarks of one clock fared."""

    family: str
    clock: Clock
    benchmarks: int
    alarms: int  # called changed while the code was the same
    unknown: int  # neither changed nor unchanged then
    bounded: int  # PASS then, with a bound that is within the tolerance
    found: Mapping[float, int]  # by the injected change (a fraction) how many were called slower
    covered: int  # injected changes that lie inside the printed interval
    intervals: int  # of all that were injected, as many as have one

    @property
    def smallest(self) -> float | None:
        """The smallest change found in nine of ten benchmarks; None where not even the largest was.

        Between two injected changes the share is taken to grow in proportion. Where the smallest
        one was found so often, that one: what is smaller was not tried.
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
    """Print false alarms and the share found of each change; `screened` is the baseline's word."""
    found = (f"{percent(change, sign=False)} found" for change in CHANGES)
    counts = ("clock", "benchmarks", "false alarms", "unknown", "bounded")
    heads = (*counts, *found, "9 of 10 find", "in interval")
    heading = Cells("family", heads)
    rows = [_cells(one) for one in detections(check.same, check.injected)]
    columns = Columns.fitting([heading, *rows], console.width)
    print_text(console, columns.line(heading, left=(0,)), style="dim")
    for row in rows:
        print_text(console, columns.line(row, left=(0,)))
    if screened is not None:
        print_text(console, f"\n{inert(_against(screened))}")


def text(check: SelfCheck, screened: Comparison | None) -> str:
    """The file: JSON, a family a line, with the names of what was missed."""
    context = newest_last(check.run.sessions.values())[-1].context
    shown = {key: context[key] for key in _SHOWN if key in context}
    rows = ",\n".join(json.dumps(_family(one)) for one in detections(check.same, check.injected))
    missed = ",\n".join(
        f"{json.dumps(f'{change:g}')}: {json.dumps(_missed(comparison))}"
        for change, comparison in check.injected.items()
    )
    against = "null" if screened is None else json.dumps(_against(screened))
    return (
        f'{{\n"warpgauge_format": "{FORMAT}",\n"context": {json.dumps(shown)},\n'
        f'"against_the_baseline": {against},\n'
        f'"families": [\n{rows}\n],\n"not_found_by_change": {{\n{missed}\n}}\n}}\n'
    )


def write(path: Path, check: SelfCheck, screened: Comparison | None) -> None:
    """Raises UserError."""
    replace_all({path: text(check, screened)})


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
    return Cells(one.family, (one.clock.value, *counts, *shares, nine_of_ten, covered))


def _share(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} %" if of else "-"


def _family(one: Detection) -> dict[str, object]:
    return {
        "family": one.family,
        "clock": one.clock.value,
        "benchmarks": one.benchmarks,
        "false_alarms": one.alarms,
        "unknown": one.unknown,
        "bounded_within_tolerance": one.bounded,
        "found": {f"{change:g}": count for change, count in one.found.items()},
        "smallest_change_found_by_nine_of_ten": one.smallest,
        "injected_inside_interval": one.covered,
        "intervals_of_injected": one.intervals,
    }


def _missed(comparison: Comparison) -> Sequence[str]:
    return [
        one.name
        for one in comparison.verdicts
        if one.outcome is not Outcome.REGRESSION and one.family != CONTROLS
    ]


def _against(screened: Comparison) -> str:
    """``Against the baseline (4 sessions): 0 of 101 called changed, 0 unknown.``"""
    changed = screened.count(Outcome.REGRESSION, Outcome.IMPROVED)
    unknown = screened.count(Outcome.INCONCLUSIVE, Outcome.INVALID)
    sessions = plural(len(screened.baseline.sessions), "session")
    of = f"{changed} of {judged(screened)} called changed"
    return f"Against the baseline ({sessions}): {of}, {unknown} unknown."


def detections(same: Comparison, injected: Mapping[float, Comparison]) -> list[Detection]:
    """A family and clock a row, then all of each clock; the host's controls judge nobody."""
    judging = [verdict for verdict in same.verdicts if verdict.family != CONTROLS]
    groups = defaultdict[tuple[str, Clock], list[Verdict]](list)
    for verdict in sorted(judging, key=lambda one: (one.family, one.clock.value)):
        groups[verdict.family, verdict.clock].append(verdict)
    totals = [(("all", clock), [one for one in judging if one.clock is clock]) for clock in Clock]
    slower = {
        change: {one.name for one in found.verdicts if one.outcome is Outcome.REGRESSION}
        for change, found in injected.items()
    }
    inside = defaultdict[str, list[bool]](
        list
    )  # by benchmark, for each change that has an interval
    for change, found in injected.items():
        for one in found.verdicts:
            if one.change is not None:
                inside[one.name].append(one.change.low <= change <= one.change.high)
    return [
        Detection(
            family,
            clock,
            benchmarks=len(verdicts),
            alarms=sum(one.outcome in CHANGED for one in verdicts),
            unknown=sum(one.outcome in UNMEASURED for one in verdicts),
            bounded=sum(map(_is_bounded, verdicts)),
            found={
                change: len(names & {one.name for one in verdicts})
                for change, names in slower.items()
            },
            covered=sum(sum(inside[one.name]) for one in verdicts),
            intervals=sum(len(inside[one.name]) for one in verdicts),
        )
        for (family, clock), verdicts in [*groups.items(), *totals]
        if verdicts
    ]


def _is_bounded(one: Verdict) -> bool:
    if one.outcome is not Outcome.PASS or one.bound is None or one.tolerance is None:
        return False
    return one.bound <= one.tolerance
