# SPDX-License-Identifier: Apache-2.0
"""The table of scripts/fidelity: both times of every benchmark, and whether they agree."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from warpgauge.measurement.fidelity.finding import (
    ALLOWED_NS_PER_KERNEL,
    ALLOWED_RATIO,
    Finding,
    Truth,
)
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import duration, inert, percent, plural, signed_duration

_STYLES = {
    Truth.WITHIN: "green",
    Truth.DISTURBED: "yellow",
    Truth.OUTSIDE: "bold red",
    Truth.ERROR: "yellow",
}
_HEADINGS = (
    "kernels",
    "replay",
    "with CUPTI",
    "CUPTI busy",
    "difference",
    "",
    "allowed",
    "verdict",
)


def print_table(findings: Sequence[Finding], console: Console) -> None:
    """Print `findings` in their order, what is wrong with one below it, and the sum of it first."""
    print_text(console, summary(findings))
    heading = Cells("benchmark", _HEADINGS)
    cells = [_cells(finding) for finding in findings]
    columns = Columns.fitting([heading, *cells], console.width)
    verdict_column = len(_HEADINGS) - 1
    console.print()
    print_text(console, columns.line(heading, left=(verdict_column,)), style="dim")
    for finding, line in zip(findings, cells, strict=True):
        print_text(console, columns.line(line, left=(verdict_column,)))
        if finding.error is not None:
            print_text(console, inert(finding.error), indent=6, style="yellow")


def summary(findings: Sequence[Finding]) -> str:
    """One sentence on all of them."""
    count = {truth: sum(one.truth is truth for one in findings) for truth in Truth}
    rule = f"{percent(ALLOWED_RATIO, sign=False)} or {ALLOWED_NS_PER_KERNEL:g} ns a kernel"
    total = plural(len(findings), "benchmark")
    text = f"{count[Truth.WITHIN]} of {total} within {rule} of CUPTI's busy time"
    others = {
        Truth.OUTSIDE: "outside",
        Truth.DISTURBED: "disturbed by CUPTI",
        Truth.ERROR: "not measured",
    }
    for truth, words in others.items():
        text += f", {count[truth]} {words}" if count[truth] else ""
    measured = [one for one in findings if one.truth is not Truth.ERROR]
    if measured:
        worst = max(measured, key=lambda one: abs(one.difference_ns) / one.allowed_ns)
        farthest = f"{signed_duration(worst.difference_ns * 1e-9)}, {percent(worst.ratio)}"
        text += f". Farthest, for what it may: {inert(worst.name)} ({farthest})"
    return f"{text}."


def _cells(finding: Finding) -> Cells:
    truth = finding.truth
    if truth is Truth.ERROR:
        blank = ("",) * (len(_HEADINGS) - 1)
        return Cells(inert(finding.name), (*blank, truth.value), _STYLES[truth])
    return Cells(
        inert(finding.name),
        (
            str(finding.kernels),
            duration(finding.replay_ns * 1e-9),
            duration(finding.traced_ns * 1e-9),
            duration(finding.busy_ns * 1e-9),
            signed_duration(finding.difference_ns * 1e-9),
            percent(finding.ratio),
            duration(finding.allowed_ns * 1e-9),
            truth.value,
        ),
        _STYLES[truth],
    )
