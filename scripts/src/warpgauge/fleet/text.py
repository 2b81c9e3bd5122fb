# SPDX-License-Identifier: Apache-2.0
"""A fleet's report for a terminal."""

from __future__ import annotations

from rich.console import Console

from warpgauge.fleet import judging
from warpgauge.fleet.judging import Kind, Model, Outlier, Report
from warpgauge.statistics.outliers import FEWEST_UNITS
from warpgauge.system import layout
from warpgauge.system.layout import print_line, print_text
from warpgauge.system.text import inert, listed, percent, plural

_OUTLIERS, _ROWS, _FILES = 50, 3, 5
_WIDTH = 100


def headline(report: Report) -> str:
    """Return a line such as ``2 outliers (1 GPU, 1 node) among 64 GPUs``."""
    gpus = sum(len(model.measured.gpus) for model in report.models)
    among = f"among {plural(gpus, 'GPU')}"
    found = report.outliers
    if not found:
        whole = all(model.is_judged for model in report.models)
        return f"{'No outlier' if whole else 'Not judged: too few GPUs'} {among}"
    counts = [
        plural(count, words)
        for kind, words in ((Kind.LEVEL, "level"), (Kind.NODE, "node"), (Kind.GPU, "GPU"))
        if (count := sum(one.kind is kind for one in found))
    ]
    return f"{plural(len(found), 'outlier')} ({', '.join(counts)}) {among}"


def named(one: Outlier) -> str:
    """Return a name such as ``GPU-7… on node0012``. Inert."""
    if one.kind is Kind.LEVEL:
        return inert(f"{one.name} ({plural(one.gpus, 'GPU')})")
    if one.kind is Kind.NODE:
        return inert(f"node {one.name} ({plural(one.gpus, 'GPU')})")
    return inert(f"{one.name} on {one.node}")


def slowest(one: Outlier) -> str:
    """Return an outlier's range of slowdowns, and its number of benchmarks."""
    low, high = percent(one.rows[-1].slowdown), percent(one.rows[0].slowdown)
    span = low if low == high else f"{low} to {high}"
    return f"{span} in {plural(len(one.rows), 'benchmark')}"


def render(report: Report, console: Console) -> None:
    """Print the report."""
    print_text(console, f"{headline(report)}.", style="bold")
    for model in report.models:
        _model(model, console)
    for note in notes(report):
        console.print()
        print_text(console, note)


def plain(report: Report) -> str:
    """Return the report as text for a file."""
    return layout.plain(lambda console: render(report, console), _WIDTH)


def _model(model: Model, console: Console) -> None:
    console.print()
    print_text(console, sized(model))
    if not model.is_judged:
        print_text(console, too_few(model), 2)
    for one in model.outliers[:_OUTLIERS]:
        console.print()
        print_line(console, f"  {named(one)}: {slowest(one)}")
        for row in one.rows[:_ROWS]:
            print_line(console, f"    {percent(row.slowdown):>8}  {inert(row.benchmark)}")
        if len(one.rows) > _ROWS:
            print_line(console, f"              and {len(one.rows) - _ROWS} more")
        for words in one.advice:
            print_text(console, words, 4)
    if len(model.outliers) > _OUTLIERS:
        print_text(console, f"and {len(model.outliers) - _OUTLIERS} more: --format json has all", 2)


def sized(model: Model) -> str:
    """Return how much of a model was judged. Inert."""
    counts = (
        plural(len(model.measured.gpus), "GPU"),
        plural(model.nodes, "node"),
        plural(len(model.measured.names), "benchmark"),
    )
    return f"{inert(model.name or 'unnamed GPU')}: {', '.join(counts)}"


def too_few(model: Model) -> str:
    return (
        f"not judged: at least {FEWEST_UNITS} GPUs are needed to know the scatter between "
        "healthy ones"
    )


def notes(report: Report) -> list[str]:
    """Return notes on what does not count. Inert."""
    found = []
    incomplete = {gpu: names for model in report.models for gpu, names in model.incomplete.items()}
    if incomplete:
        lacking = [
            f"{gpu.uuid} on {judging.node_name(gpu)} has no time of {listed(names)}"
            for gpu, names in [*incomplete.items()][:_FILES]
        ]
        more = len(incomplete) - _FILES
        told = "; ".join(lacking) + (f"; and {more} more GPUs lack some" if more > 0 else "")
        found.append(inert(f"Measured differently from the others: {told}."))
    if report.faults:
        more = len(report.faults) - _FILES
        shown = "; ".join(report.faults[:_FILES]) + (f"; and {more} more" if more > 0 else "")
        found.append(inert(f"{plural(len(report.faults), 'file')} cannot be read: {shown}."))
    if report.older:
        found.append(inert(
            f"{plural(len(report.older), 'file')} left out because a newer file has the same GPU, "
            f"e.g. {report.older[0]}."
        ))  # fmt: skip
    return found
