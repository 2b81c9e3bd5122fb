# SPDX-License-Identifier: Apache-2.0
"""A fleet's report for a terminal, as an HTML page, and as JSON for programs."""

from __future__ import annotations

import math
import re
from functools import partial
from html import escape

import msgspec
from rich.console import Console

from warpgauge.fleet.judging import Kind, Model, Outlier, Report
from warpgauge.reports import pages as site
from warpgauge.reports.drawing import fleets
from warpgauge.reports.drawing.fleets import HeatMap, Ranks
from warpgauge.reports.format import TERMINAL, Format
from warpgauge.reports.formats.json import Count, written
from warpgauge.statistics.fleets import FEWEST_UNITS, GPU_ALPHA
from warpgauge.system import contract, layout
from warpgauge.system.errors import ExitStatus
from warpgauge.system.layout import print_line, print_text
from warpgauge.system.text import inert, listed, percent, plural

# The most that are shown in a terminal, of all or of one outlier, and on a page.
_OUTLIERS, _ROWS, _FILES = 50, 3, 5
_OUTLIERS_OF_PAGE, _ROWS_OF_PAGE, _COLUMNS_OF_MAP, _ROWS_OF_MAP = 200, 5, 40, 60
_WIDTH = 100
# Tells a later run that it may replace the file.
_PAGE = "<!-- warpgauge fleet -->"


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
    parts = [_PAGE]
    for model in report.models:
        title, *why = _judged(model)
        parts += [f"<h2>{escape(title)}</h2>", *(f"<p>{escape(words)}</p>" for words in why)]
        if model.outliers:
            heads = ("outlier", "slower by", "slowest benchmarks", "what to do")
            cells = "".join(f'<th scope="col">{head}</th>' for head in heads)
            rows = "".join(map(_table_row, model.outliers[:_OUTLIERS_OF_PAGE]))
            parts.append(
                _wide(f"<table><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>")
            )
        parts += map(_wide, _pictures(model))
    parts += [f"<p>{escape(note)}</p>" for note in _notes(report)]
    return site.page(headline(report), "\n".join(parts))


def _table_row(outlier: Outlier) -> str:
    slow = [f"{percent(row.slowdown)} {row.benchmark}" for row in outlier.rows[:_ROWS_OF_PAGE]]
    group = [f"the group: {', '.join(outlier.members)}"] if outlier.members else []
    cells = ([_slowest(outlier)], slow, [*group, *outlier.advice])
    columns = ["<br>".join(escape(inert(words)) for words in lines) for lines in cells]
    head = f'<th scope="row">{escape(_named(outlier))}</th>'
    return f"<tr>{head}{''.join(f'<td>{column}</td>' for column in columns)}</tr>"


def _wide(inner: str) -> str:
    return f'<div class="wide">{inner}</div>'


def _pictures(model: Model) -> list[str]:
    """Return all GPUs by their evidence, and the slower benchmarks of the first outliers."""
    pictures = []
    if model.found is not None:
        values = [-math.log10(p) for p in model.found.gpus.p]
        names = [inert(gpu.uuid) for gpu in model.measured.gpus]
        title = f"{model.name}: evidence that a GPU is slower"
        limit = -math.log10(GPU_ALPHA / len(values))
        pictures.append(fleets.ranks(Ranks(title, "-log10 of p", values, names, limit)))
    some = model.outliers[:_COLUMNS_OF_MAP]
    slowest: dict[str, float] = {}
    for outlier in some:
        for row in outlier.rows:
            slowest[row.benchmark] = max(slowest.get(row.benchmark, 0.0), row.slowdown)
    if slowest:
        rows = sorted(slowest, key=lambda name: -slowest[name])[:_ROWS_OF_MAP]
        at = [model.measured.names.index(name) for name in rows]
        changes = [[math.expm1(its[row]) for its in model.excess[: len(some)]] for row in at]
        columns = [
            f"{its.node} …{its.name[-8:]}" if its.kind is Kind.GPU else its.name for its in some
        ]
        title = f"{model.name}: change against the fleet's median, or the baseline"
        pictures.append(fleets.heat_map(HeatMap(title, rows, columns, changes)))
    return pictures


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
    """The output of scripts/warpgauge fleet --format json.

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
        Format("html", _page, "page of a fleet", re.compile(_PAGE.encode())),
    )
}  # fmt: skip
