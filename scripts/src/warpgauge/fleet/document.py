# SPDX-License-Identifier: Apache-2.0
"""A fleet's report as JSON for programs, and the formats of such a report."""

from __future__ import annotations

import msgspec

from warpgauge.fleet import judging, page, text
from warpgauge.fleet.judging import Kind
from warpgauge.reports import comparison_json
from warpgauge.reports.formats import TERMINAL, format_of
from warpgauge.reports.json_document import Chance, Count
from warpgauge.system import contract
from warpgauge.system.errors import ExitStatus


class Outlier(msgspec.Struct, frozen=True):
    """`kind`: a GPU, a node, or a level, which is something shared by several nodes or GPUs.

    `name` is a UUID, a node's name, or ``rack=7``. `gpus` counts the GPUs concerned. `p` is the
    probability that a healthy one looks like this, not adjusted for their number.
    """

    kind: Kind
    name: str
    model: str
    gpus: Count
    p: Chance
    rows: tuple[judging.Slower, ...]
    advice: tuple[str, ...]
    node: str = ""


class Model(msgspec.Struct, frozen=True):
    """The GPUs of a model; fewer than four are not judged.

    `incomplete` lists, by UUID, the missing benchmarks that most other GPUs have.
    """

    name: str
    gpus: Count
    nodes: Count
    benchmarks: Count
    judged: bool
    incomplete: dict[str, tuple[str, ...]]


class Fleet(contract.Document, frozen=True, kw_only=True, tag="fleet/1"):
    """The output of scripts/warpgauge fleet --format json.

    `exit_status`: 0 no outlier; 1 an outlier; 3 something was not judged. `faults` name files that
    cannot be read. `left_out` are files of GPUs that have a newer file.
    """

    headline: str
    exit_status: ExitStatus
    models: tuple[Model, ...]
    outliers: tuple[Outlier, ...]
    faults: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def document(report: judging.Report) -> Fleet:
    """Return a report as the document of its JSON."""
    return Fleet(
        headline=text.headline(report),
        exit_status=report.exit_status,
        models=tuple(
            Model(one.name, len(one.measured.gpus), one.nodes, len(one.measured.names),
                  one.is_judged, {gpu.uuid: tuple(names) for gpu, names in one.incomplete.items()})
            for one in report.models
        ),
        outliers=tuple(
            _outlier(one, model.name) for model in report.models for one in model.outliers
        ),
        faults=report.faults,
        left_out=tuple(map(str, report.older)),
    )  # fmt: skip


def _outlier(one: judging.Outlier, model: str) -> Outlier:
    return Outlier(one.kind, one.name, model, one.gpus, one.p, one.rows, one.advice, one.node)


def _json(report: judging.Report) -> str:
    return comparison_json.written(document(report))


FORMATS = {
    one.name: one
    for one in (
        format_of(TERMINAL.name, text.plain, "report of a fleet in plain text",
                  rb"\A(?:No outlier|Not judged|\d+ outliers?)"),
        format_of("json", _json, "JSON of a fleet", rb'"warpgauge_format"\s*:\s*"fleet/'),
        format_of("html", page.render, "page of a fleet", page.MARK.encode()),
    )
}  # fmt: skip
