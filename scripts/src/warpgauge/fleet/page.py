# SPDX-License-Identifier: Apache-2.0
"""A fleet's report as one HTML page: the outliers, their evidence, and where they are slow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from warpgauge.fleet import text
from warpgauge.fleet.judging import Kind, Model, Outlier, Report
from warpgauge.reports import site
from warpgauge.reports.drawing import fleets
from warpgauge.reports.drawing.fleets import HeatMap, Ranks
from warpgauge.statistics.fleets import GPU_ALPHA
from warpgauge.system.text import inert, percent

# Tells a later run that it may replace the file.
MARK = "<!-- warpgauge fleet -->"

_OUTLIERS, _COLUMNS, _ROWS = 200, 40, 60
_SMALLEST = 1e-300


def render(report: Report) -> str:
    """Return the file's text."""
    parts = [MARK]
    for model in report.models:
        parts += [f"<h2>{_shown(text.sized(model))}</h2>", *_model(model)]
    parts += [f"<p>{_shown(note)}</p>" for note in text.notes(report)]
    return site.page(text.headline(report), "\n".join(parts))


def _model(model: Model) -> Iterator[str]:
    if not model.is_judged:
        yield f"<p>{_shown(text.too_few(model))}</p>"
        return
    if model.outliers:
        heads = ("outlier", "slower by", "slowest benchmarks", "what to do")
        cells = "".join(f'<th scope="col">{one}</th>' for one in heads)
        rows = "".join(map(_row, model.outliers[:_OUTLIERS]))
        table = f"<table><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>"
        yield _wide(table)
    for picture in (_ranks(model), _heat_map(model)):
        if picture:
            yield _wide(picture)


def _row(one: Outlier) -> str:
    slow = [f"{percent(row.slowdown)} {row.benchmark}" for row in one.rows[:5]]
    lines = "<br>".join(map(_shown, slow))
    words = "<br>".join(map(_shown, one.advice))
    head = f'<th scope="row">{_shown(text.named(one))}</th>'
    return f"<tr>{head}<td>{_shown(text.slowest(one))}</td><td>{lines}</td><td>{words}</td></tr>"


def _ranks(model: Model) -> str:
    """Return a picture of all GPUs by their evidence, or ""."""
    found = model.found.gpus
    if found is None:
        return ""
    values = [-math.log10(max(p, _SMALLEST)) for p in found.evidence]
    names = [inert(gpu.uuid) for gpu in model.measured.gpus]
    limit = -math.log10(GPU_ALPHA / len(values))
    title = f"{model.name}: evidence that a GPU is slower"
    return fleets.ranks(Ranks(title, "-log10 of p", values, names, limit))


def _heat_map(model: Model) -> str:
    """Return a picture of the outliers and the benchmarks that are slower in any of them, or ""."""
    some = model.outliers[:_COLUMNS]
    slowest: dict[str, float] = {}
    for one in some:
        for row in one.rows:
            slowest[row.benchmark] = max(slowest.get(row.benchmark, 0.0), row.slowdown)
    rows = sorted(slowest, key=lambda name: -slowest[name])[:_ROWS]
    if not rows:
        return ""
    at = [model.measured.names.index(name) for name in rows]
    changes = [[one.changes[index] for one in some] for index in at]
    title = f"{model.name}: change against the fleet's median"
    return fleets.heat_map(HeatMap(title, rows, [_short(one) for one in some], changes))


def _short(one: Outlier) -> str:
    """Return a column's name: for a GPU its node and the end of its UUID."""
    return f"{one.node} …{one.name[-8:]}" if one.kind is Kind.GPU else one.name


def _wide(inner: str) -> str:
    return f'<div class="wide">{inner}</div>'


def _shown(words: str) -> str:
    return escape(inert(words))
