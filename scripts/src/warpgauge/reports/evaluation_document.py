# SPDX-License-Identifier: Apache-2.0
"""The types of an evaluation's JSON, from which its published schema is made.

Docstrings are the schema's descriptions.
"""

from __future__ import annotations

import msgspec

from warpgauge.records.counters import MAX_ERROR
from warpgauge.records.model import Row
from warpgauge.reports import comparison_json
from warpgauge.reports import evaluation as report
from warpgauge.reports.formats import TERMINAL, format_of
from warpgauge.reports.json_document import Fraction, Number, Seconds
from warpgauge.system import contract
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict import evaluation
from warpgauge.verdict.comparison import Outcome
from warpgauge.verdict.evaluation import MEMORY


class SpeedUp(msgspec.Struct, frozen=True):
    """The base's time over the candidate's, above 1 if faster, with its 95 % interval."""

    ratio: Fraction
    low: Fraction
    high: Fraction | None


class Side(msgspec.Struct, frozen=True):
    """One kernel at one point. `verified`: all verifications of its results passed.

    `max_error` is the largest error of an element against the reference in double precision.
    `limit_fraction` is the fraction of the roofline. Unknown values are null. `error` says why
    there is no result.
    """

    verified: bool
    max_error: Number | None = None
    seconds: Seconds | None = None
    peak_device_bytes: Number | None = None
    limit_fraction: Number | None = None
    error: str | None = None


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """Both kernels at one point. `axes` holds each axis's value as written in the name.

    `outcome`: IMPROVED is faster, PASS equal, REGRESSION slower, INCONCLUSIVE undecided. The others
    have no speed-up, and `reason` says why. `bound`: the candidate is slower by at most this
    fraction, with 99 % confidence. `pairs`: how many pairs of processes were compared.
    """

    axes: dict[str, str]
    outcome: Outcome
    within_memory_limit: bool
    base: Side
    candidate: Side
    speed_up: SpeedUp | None = None
    bound: Number | None = None
    pairs: int | None = None
    reason: str = ""


class Evaluation(contract.Document, frozen=True, kw_only=True, tag="evaluation/1"):
    """The output of scripts/warpgauge evaluate --format json.

    Times are seconds per operation. A later warpgauge may add keys within a version of the format:
    ignore unknown keys. `base` and `candidate` are the kernels as named by the user.

    `exit_status`: 0 the candidate is right, within the memory limit, and faster or equal; 1 it is
    right, but slower at a point; 3 wrong, over the limit, not measured, or undecided.
    `base_alone`, `candidate_alone`: points that only one of them has. `notes`: sentences.
    """

    base: str
    candidate: str
    headline: str
    exit_status: ExitStatus
    gpu_name: str | None = None
    memory_limit_bytes: int | None = None
    points: tuple[Point, ...] = ()
    geometric_mean: SpeedUp | None = None
    base_alone: tuple[str, ...] = ()
    candidate_alone: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def render(found: evaluation.Evaluation) -> str:
    """Return an evaluation as JSON for programs."""
    return comparison_json.written(document(found))


def document(found: evaluation.Evaluation) -> Evaluation:
    """Return an evaluation as the document that `render` writes."""
    return Evaluation(
        base=found.names[0],
        candidate=found.names[1],
        headline=report.headline(found),
        exit_status=found.exit_status,
        gpu_name=found.gpu_name,
        memory_limit_bytes=found.memory_limit,
        points=tuple(map(_point, found.points)),
        geometric_mean=_speed_up(found.geometric_mean),
        base_alone=found.alone[0],
        candidate_alone=found.alone[1],
        notes=tuple(map(str, found.comparison.notes)),
    )


def _point(point: evaluation.Point) -> Point:
    verdict = point.verdict
    parts = (part.partition(":") for part in verdict.name.split("/")[1:])
    return Point(
        axes={axis: value for axis, _, value in parts},
        outcome=verdict.outcome,
        within_memory_limit=point.is_within_memory,
        base=_side(point.base, verdict.baseline_seconds),
        candidate=_side(point.candidate, verdict.candidate_seconds),
        speed_up=_speed_up(point.speed_up),
        bound=verdict.bound,
        pairs=verdict.processes and min(verdict.processes),
        reason=verdict.reason,
    )


def _side(row: Row, seconds: float | None) -> Side:
    return Side(
        verified=row.error is None,
        max_error=row.counters.get(MAX_ERROR),
        seconds=seconds,
        peak_device_bytes=row.counters.get(MEMORY),
        limit_fraction=row.counters.get("limit_fraction"),
        error=row.error,
    )


def _speed_up(found: evaluation.SpeedUp | None) -> SpeedUp | None:
    return None if found is None else SpeedUp(found.ratio, found.low, found.high)


_FIRST = rb"(?:FASTER|EQUAL|SLOWER|UNDECIDED|FAILED|OVER THE MEMORY|NOT MEASURED|NOT COMPARED)"

FORMATS = {
    one.name: one
    for one in (
        format_of(TERMINAL.name, report.plain, "evaluation in plain text", rb"\A" + _FIRST),
        format_of("markdown", report.markdown, "Markdown of an evaluation", rb"\A\*\*" + _FIRST),
        format_of(
            "json", render, "JSON of an evaluation", rb'"warpgauge_format"\s*:\s*"evaluation/'
        ),
    )
}
