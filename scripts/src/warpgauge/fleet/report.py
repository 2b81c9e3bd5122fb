# SPDX-License-Identifier: Apache-2.0
"""A fleet's report for a terminal, as an HTML page, and as JSON for programs."""

from __future__ import annotations

import math
import re
from functools import partial

import msgspec
import numpy as np
from rich.console import Console

from warpgauge.fleet.judging import Kind, Model, Outlier, Report
from warpgauge.reports import pages as site
from warpgauge.reports.format import TERMINAL, Format
from warpgauge.reports.formats.json import Count, written
from warpgauge.statistics.fleets import FEWEST_UNITS
from warpgauge.system import contract, layout
from warpgauge.system.errors import ExitStatus
from warpgauge.system.layout import print_line, print_text
from warpgauge.system.text import inert, listed, percent, percent_number, plural

# The most that are shown in a terminal, of all or of one outlier, and on a page.
_OUTLIERS, _ROWS, _FILES = 50, 3, 5
_OUTLIERS_OF_PAGE, _ROWS_OF_PAGE, _COLUMNS_OF_MAP, _ROWS_OF_MAP = 200, 5, 40, 60
_SHADES = (0.01, 0.03, 0.10)  # changes at which a square becomes darker
_WIDTH = 100
# Tells a later run that it may replace the file.
_MARK = "warpgauge fleet"


def headline(report: Report) -> str:
    """Return a line such as ``2 outliers (1 GPU, 1 node) among 64 GPUs``."""
    gpus = sum(len(model.measured.gpus) for model in report.models)
    among = f"among {plural(gpus, 'GPU')}"
    found = report.outliers
    if not found:
        whole = all(model.found is not None for model in report.models)
        return f"{'No outlier' if whole else 'Not judged: too few GPUs'} {among}"
    counts = [
        plural(count, kind.value)
        for kind in Kind
        if (count := sum(outlier.kind is kind for outlier in found))
    ]
    return f"{plural(len(found), 'outlier')} ({', '.join(counts)}) {among}"


def _named(outlier: Outlier) -> str:
    """Return a name such as ``GPU-7… on node0012``. Inert."""
    if outlier.kind is Kind.GPU:
        return inert(f"{outlier.name} on {outlier.node}")
    if outlier.kind is Kind.GROUP:
        return f"{plural(outlier.gpus, 'GPU')} form a slower group in these benchmarks"
    if outlier.kind is Kind.MODEL:
        return inert(f"the median of all {outlier.gpus} {outlier.name} against the baseline")
    node = "node " if outlier.kind is Kind.NODE else ""
    return inert(f"{node}{outlier.name} ({plural(outlier.gpus, 'GPU')})")


def _slowest(outlier: Outlier) -> str:
    """Return an outlier's range of slowdowns, and its number of benchmarks."""
    low, high = percent(outlier.rows[-1].slowdown), percent(outlier.rows[0].slowdown)
    span = low if low == high else f"{low} to {high}"
    return f"{span} in {plural(len(outlier.rows), 'benchmark')}"


def _judged(model: Model) -> list[str]:
    """Return how much of a model was judged, and why it was not, if so. Inert."""
    counts = (
        plural(len(model.measured.gpus), "GPU"),
        plural(model.nodes, "node"),
        plural(len(model.measured.names), "benchmark"),
    )
    needed, why = f"at least {FEWEST_UNITS}", []
    if model.found is None:
        why = [f"not judged: {needed} GPUs of a model are needed to know how healthy ones differ"]
    elif model.found.nodes is None:
        why = [f"hosts are not judged: {needed} nodes are needed"]
    return [f"{inert(model.name or 'unnamed GPU')}: {', '.join(counts)}", *why]


def _notes(report: Report) -> list[str]:
    """Return notes on what does not count. Inert."""
    lacking = [
        f"{gpu.uuid} on {gpu.node_name} has no time of {listed(names)}"
        for model in report.models
        for gpu, names in model.incomplete.items()
    ]
    notes = []
    if lacking:
        notes.append(f"Measured differently from the others: {_first(lacking)}.")
    if report.faults:
        count = plural(len(report.faults), "file")
        notes.append(f"{count} cannot be read: {_first(report.faults)}.")
    if report.older:
        why = f"left out because a newer file has the same GPU, e.g. {report.older[0]}"
        notes.append(f"{plural(len(report.older), 'file')} {why}.")
    return [inert(note) for note in notes]


def _first(texts: list[str] | tuple[str, ...]) -> str:
    more = len(texts) - _FILES
    return "; ".join(texts[:_FILES]) + (f"; and {more} more" if more > 0 else "")


def render(report: Report, console: Console) -> None:
    """Print the report."""
    print_text(console, f"{headline(report)}.", style="bold")
    for model in report.models:
        console.print()
        for indent, line in enumerate(_judged(model)):
            print_text(console, line, 2 * indent)
        for outlier in model.outliers[:_OUTLIERS]:
            console.print()
            print_line(console, f"  {_named(outlier)}: {_slowest(outlier)}")
            for row in outlier.rows[:_ROWS]:
                print_line(console, f"    {percent(row.slowdown):>8}  {inert(row.benchmark)}")
            if len(outlier.rows) > _ROWS:
                print_line(console, f"              and {len(outlier.rows) - _ROWS} more")
            if outlier.members:
                print_text(console, f"the group: {_first(outlier.members)}", 4)
            for words in outlier.advice:
                print_text(console, words, 4)
        if (more := len(model.outliers) - _OUTLIERS) > 0:
            print_text(console, f"and {more} more: --format json has all", 2)
    for note in _notes(report):
        console.print()
        print_text(console, note)


def _page(report: Report) -> str:
    """Return the HTML page: the outliers, their evidence, and where they are slow."""
    models = []
    for model in report.models:
        title, *why = _judged(model)
        outliers = [*map(_table_row, model.outliers[:_OUTLIERS_OF_PAGE])]
        shown = {"title": title, "why": why, "outliers": outliers}
        models.append({**shown, "strip": _strip(model), "heat_map": _heat_map(model)})
    values = {"models": models, "notes": _notes(report)}
    return site.render("fleet.html", headline(report), values, mark=_MARK)


def _table_row(outlier: Outlier) -> tuple[str | list[str], ...]:
    slow = [f"{percent(row.slowdown)} {row.benchmark}" for row in outlier.rows[:_ROWS_OF_PAGE]]
    group = [f"the group: {', '.join(outlier.members)}"] if outlier.members else []
    return _named(outlier), _slowest(outlier), slow, [*group, *outlier.advice]


def _strip(model: Model) -> list[float]:
    """Return the median change of each GPU over the fleet's median."""
    if model.found is None:
        return []
    return [math.expm1(np.nanmedian(its)) for its in model.found.gpus.excess]


def _heat_map(model: Model) -> dict[str, object]:
    """Return the slower benchmarks of the first outliers, with a class and words for each square.

    Empty without any.
    """
    some = model.outliers[:_COLUMNS_OF_MAP]
    slowest: dict[str, float] = {}
    for outlier in some:
        for row in outlier.rows:
            slowest[row.benchmark] = max(slowest.get(row.benchmark, 0.0), row.slowdown)
    names = sorted(slowest, key=lambda name: -slowest[name])[:_ROWS_OF_MAP]
    rows = []
    for name in names:
        at = model.measured.names.index(name)
        rows.append((name, [_square(its[at]) for its in model.excess[: len(some)]]))
    columns = [f"{its.node} …{its.name[-8:]}" if its.kind is Kind.GPU else its.name for its in some]
    title = f"{model.name}: change against the fleet's median, or the baseline"
    return {"title": title, "columns": columns, "rows": rows} if rows else {}


def _square(log_ratio: float) -> tuple[str, str]:
    """Return the class and the words of a change; the class is "" if it is small or unknown."""
    if math.isnan(log_ratio):
        return "", "–"
    change = math.expm1(log_ratio)
    shade = sum(abs(change) >= least for least in _SHADES)
    return f"{'s' if change > 0 else 'f'}{shade}" if shade else "", percent_number(change)


class JudgedModel(msgspec.Struct, frozen=True):
    """The GPUs of a model; fewer than eight are not judged, nor the hosts of fewer nodes.

    `incomplete` lists, by UUID, the missing benchmarks that most other GPUs have.
    """

    name: str
    gpus: Count
    nodes: Count
    benchmarks: Count
    judged: bool
    hosts_judged: bool
    incomplete: dict[str, list[str]]


class Fleet(contract.Document, frozen=True, kw_only=True, tag="fleet/1"):
    """The output of warpgauge fleet --format json.

    `exit_status`: 0 no outlier; 1 an outlier; 3 something was not judged. `faults` name files that
    cannot be read. `left_out` are files of GPUs that have a newer file.
    """

    headline: str
    exit_status: ExitStatus
    models: tuple[JudgedModel, ...]
    outliers: tuple[Outlier, ...]
    faults: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def _json(report: Report) -> str:
    models = tuple(
        JudgedModel(its.name, len(its.measured.gpus), its.nodes, len(its.measured.names),
                    its.found is not None, its.found is not None and its.found.nodes is not None,
                    {gpu.uuid: names for gpu, names in its.incomplete.items()})
        for its in report.models
    )  # fmt: skip
    document = Fleet(
        headline=headline(report),
        exit_status=report.exit_status,
        models=models,
        outliers=tuple(report.outliers),
        faults=report.faults,
        left_out=tuple(map(str, report.older)),
    )
    return written(document)


_FIRST = re.compile(rb"\A(?:No outlier|Not judged|\d+ outliers?)")
_JSON = re.compile(rb'"warpgauge_format"\s*:\s*"fleet/')
FORMATS = {
    form.name: form
    for form in (
        Format(TERMINAL, lambda report: layout.plain(partial(render, report), _WIDTH),
               "report of a fleet in plain text", _FIRST),
        Format("json", _json, "JSON of a fleet", _JSON),
        Format("html", _page, "page of a fleet", re.compile(f'content="{_MARK}"'.encode())),
    )
}  # fmt: skip
