# SPDX-License-Identifier: Apache-2.0
"""An evaluation on a terminal and as JSON: the result, and a row per point.

Docstrings of the JSON's types are the descriptions in its published schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import msgspec
from rich.console import Console
from rich.text import Text

from warpgauge.records.counters import MAX_ERROR
from warpgauge.reports.format import TERMINAL, Format
from warpgauge.reports.formats.json import Verdict, verdict_of, written
from warpgauge.system import contract, layout, text
from warpgauge.system.errors import ExitStatus
from warpgauge.system.layout import Cells, Columns, print_facts, print_text
from warpgauge.system.text import clause, digits, duration, inert, of_limit, percent, plural
from warpgauge.verdict import evaluation as judged
from warpgauge.verdict.comparison import Outcome
from warpgauge.verdict.evaluation import MEMORY, SpeedUp
from warpgauge.verdict.note import listed

_HEADING = ("correct", "memory", "→", "time", "→", "speed-up", "95 % interval", "of limit",
            "result")  # fmt: skip
_DISPENSABLE = (7, 1, 2, 6)  # columns that a narrow terminal drops, in this order
_STYLES = {Outcome.IMPROVED: "green", Outcome.PASS: "", Outcome.REGRESSION: "red"}
_NO_AXES = "(no axes)"


def headline(evaluation: judged.Evaluation) -> str:
    """Return the result in one line: correctness and memory before speed."""
    points = evaluation.points
    right = [point for point in points if point.is_right]
    wrong = len(points) - len(right)
    large = sum(not point.is_within_memory for point in right)
    lost = sum(not point.is_measured for point in right)
    slower, faster = map(evaluation.count, (Outcome.REGRESSION, Outcome.IMPROVED))
    undecided = evaluation.count(Outcome.INCONCLUSIVE)
    of = f"of {plural(len(points), 'point')}"
    if wrong:  # before a refused comparison, which may follow from it
        return f"FAILED at {wrong} {of}: wrong result, or none."
    if evaluation.comparison.refusal is not None:
        return f"NOT COMPARED: {inert(evaluation.comparison.refusal)}"
    if large:
        return f"OVER THE MEMORY LIMIT at {large} {of}."
    if lost or not points:
        return f"NOT MEASURED at {lost} {of}."
    for count, result in ((slower, "SLOWER"), (undecided, "UNDECIDED")):
        if count:
            return f"{result} at {count} {of}, faster at {faster}."
    if faster:
        return f"FASTER at {faster} {of}, slower at none."
    return f"EQUAL at {plural(len(points), 'point')}."


def render(evaluation: judged.Evaluation, console: Console) -> None:
    """Print the report to a terminal, or to what has its width."""
    style = {ExitStatus.OK: "bold green", ExitStatus.REGRESSION: "bold red"}
    line = Text(headline(evaluation))
    verdict = line.plain.split(" at ")[0].split(":")[0]
    line.stylize(style.get(evaluation.exit_status, "bold yellow"), 0, len(verdict))
    print_text(console, line)
    console.print()
    print_facts(console, _facts(evaluation))
    if evaluation.points:
        console.print()
        heading, rows = Cells("point", _HEADING), [_cells(one) for one in evaluation.points]
        columns = Columns.fitting([heading, *rows], console.width, _DISPENSABLE)
        print_text(console, columns.line(heading), style="dim")
        for row in rows:
            print_text(console, columns.line(row))
    if mean := _mean(evaluation):
        print_text(console, f"\n{mean}", style="bold")
    for index, sentence in enumerate(_remarks(evaluation)):
        print_text(console, sentence if index else f"\n{sentence}")


def _facts(evaluation: judged.Evaluation) -> list[tuple[str, str]]:
    base, candidate = evaluation.names
    facts = {"base": base, "candidate": candidate, "GPU": evaluation.gpu_name or ""}
    if evaluation.memory_limit is not None:
        facts["memory limit"] = text.quantity(evaluation.memory_limit, "B")
    return [(key, inert(value)) for key, value in facts.items() if value]


def _cells(point: judged.Point) -> Cells:
    speed_up, verdict = point.speed_up, point.verdict
    memory = (row.counters.get(MEMORY) for row in (point.base, point.candidate))
    seconds = verdict.baseline_seconds, verdict.candidate_seconds
    is_large = point.is_right and not point.is_within_memory
    result = "equal" if verdict.outcome is Outcome.PASS else verdict.outcome.word
    cells = (
        _correct(point),
        *("" if size is None else text.quantity(size, "B") for size in memory),
        *("" if time is None else duration(time) for time in seconds),
        *(("", "") if speed_up is None else _speed_up_words(speed_up)),
        of_limit(point.candidate.counters.get("limit_fraction")),
        "over limit" if is_large else result,
    )
    style = "yellow" if is_large else _STYLES.get(verdict.outcome, "yellow")
    return Cells(inert(_axes(point)), cells, style)


def _axes(point: judged.Point) -> str:
    return point.verdict.name.partition("/")[2] or _NO_AXES


def _correct(point: judged.Point) -> str:
    """Return "yes" and the largest error against the reference, or "no" if a row failed."""
    error = point.candidate.counters.get(MAX_ERROR)
    yes = "yes" if error is None else f"yes, {error:.2g}"
    return yes if point.is_right else "no"


def _speed_up_words(speed_up: SpeedUp) -> tuple[str, str]:
    """Return the factor and its interval."""
    return f"{digits(speed_up.ratio)}×", f"{digits(speed_up.low)} … {digits(speed_up.high)}"


def _mean(evaluation: judged.Evaluation) -> str:
    """Return a sentence on the mean, or "" without one."""
    if evaluation.geometric_mean is None:
        return ""
    known = sum(point.speed_up is not None for point in evaluation.points)
    some = "" if known == len(evaluation.points) else f" of {plural(known, 'point')}"
    factor, interval = _speed_up_words(evaluation.geometric_mean)
    return f"Geometric mean of the speed-ups{some}: {factor} (95 % interval {interval})."


def _remarks(evaluation: judged.Evaluation) -> Iterator[str]:
    """Yield why points have no result, what was not measured, and what to do about it."""
    reasons: dict[str, list[str]] = {}
    for point in evaluation.points:
        name, reason = _axes(point), point.verdict.reason
        if reason == evaluation.comparison.refusal:
            reason = point.candidate.error or point.base.error or ""
        if reason:
            reasons.setdefault(reason, []).append(name)
        if point.is_right and MEMORY not in point.candidate.counters and not point.is_within_memory:
            unknown = "its peak device memory is unknown, so it is not within the limit"
            reasons.setdefault(unknown, []).append(name)
    for reason, names in reasons.items():
        yield inert(f"{text.plain(listed(names))}: {clause(reason)}.")
    for side, lonely in zip(("base", "candidate"), evaluation.alone, strict=True):
        if lonely:
            yield f"Only the {side} has {text.plain(listed(lonely))}: not measured."
    for note in evaluation.comparison.notes:
        yield str(note)
    verdicts = [point.verdict for point in evaluation.points]
    undecided = [one.bound for one in verdicts if one.outcome is Outcome.INCONCLUSIVE]
    if bounds := [bound for bound in undecided if bound is not None]:
        most = percent(max(bounds), sign=False)
        yield (
            f"Undecided points may be slower by up to {most}. Measure longer, with a larger "
            "--budget or --processes."
        )


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """Both kernels at one point. `axes` holds each axis's value as written in the name.

    `verdict.outcome`: IMPROVED is faster, PASS equal, REGRESSION slower, INCONCLUSIVE undecided.
    The others have no speed-up. A side without an error is right. Of the counters, max_error is the
    largest error of an element against the reference in double precision.
    """

    axes: dict[str, str]
    base_error: str | None
    candidate_error: str | None
    within_memory_limit: bool
    speed_up: SpeedUp | None
    verdict: Verdict


class Evaluation(contract.Document, frozen=True, kw_only=True, tag="evaluation/3"):
    """The output of warpgauge evaluate --format json.

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
    gpu_name: str | None
    memory_limit_bytes: int | None
    points: tuple[Point, ...]
    geometric_mean: SpeedUp | None
    base_alone: tuple[str, ...]
    candidate_alone: tuple[str, ...]
    notes: tuple[str, ...]


def json(found: judged.Evaluation) -> str:
    """Return an evaluation as JSON for programs."""
    document = Evaluation(
        base=found.names[0],
        candidate=found.names[1],
        headline=headline(found),
        exit_status=found.exit_status,
        gpu_name=found.gpu_name,
        memory_limit_bytes=found.memory_limit,
        points=tuple(map(_point_of, found.points)),
        geometric_mean=found.geometric_mean,
        base_alone=found.alone[0],
        candidate_alone=found.alone[1],
        notes=tuple(map(str, found.comparison.notes)),
    )
    return written(document)


def _point_of(point: judged.Point) -> Point:
    parts = (part.partition(":") for part in point.verdict.name.split("/")[1:])
    return Point(
        axes={axis: value for axis, _, value in parts},
        base_error=point.base.error,
        candidate_error=point.candidate.error,
        within_memory_limit=point.is_within_memory,
        speed_up=point.speed_up,
        verdict=verdict_of(point.verdict),
    )


_FIRST = rb"\A(?:FASTER|EQUAL|SLOWER|UNDECIDED|FAILED|OVER THE MEMORY|NOT MEASURED|NOT COMPARED)"
_OWN = rb'"warpgauge_format"\s*:\s*"evaluation/'
FORMATS = {
    form.name: form
    for form in (
        Format(TERMINAL, lambda found: layout.plain(partial(render, found)),
               "evaluation in plain text", re.compile(_FIRST)),
        Format("json", json, "JSON of an evaluation", re.compile(_OWN)),
    )
}  # fmt: skip
