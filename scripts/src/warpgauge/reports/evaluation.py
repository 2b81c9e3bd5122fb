# SPDX-License-Identifier: Apache-2.0
"""An evaluation for people, on a terminal and as Markdown: the result, and a row per point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from warpgauge.records.counters import MAX_ERROR
from warpgauge.records.model import Row
from warpgauge.reports.markdown import text as markdown_text
from warpgauge.system import layout
from warpgauge.system.errors import ExitStatus
from warpgauge.system.layout import Cells, Columns, print_facts, print_text
from warpgauge.system.text import (
    clause,
    digits,
    duration,
    inert,
    of_limit,
    percent,
    plural,
    quantity,
)
from warpgauge.verdict.comparison import Outcome
from warpgauge.verdict.evaluation import MEMORY, Evaluation, Point, SpeedUp

_HEADING = (
    *("correct", "memory", "→", "time", "→", "speed-up", "95 % interval", "of limit"),
    "result",
)
_DISPENSABLE = (7, 1, 2, 6)  # columns that a narrow terminal drops, in this order

_WORDS = {
    Outcome.IMPROVED: "faster",
    Outcome.PASS: "equal",
    Outcome.REGRESSION: "slower",
    Outcome.INCONCLUSIVE: "undecided",
}
_STYLES = {"faster": "green", "equal": "", "slower": "red"}


def headline(evaluation: Evaluation) -> str:
    """Return the result in one line: correctness and memory before speed."""
    points = evaluation.points
    wrong = sum(not one.is_right for one in points)
    large = sum(not one.is_within_memory for one in points if one.is_right)
    lost = sum(not one.is_measured for one in points if one.is_right)
    slower, faster = map(evaluation.count, (Outcome.REGRESSION, Outcome.IMPROVED))
    undecided = evaluation.count(Outcome.INCONCLUSIVE)
    of = f"of {plural(len(points), 'point')}"
    if wrong:  # before a refused comparison, which may follow from it
        return f"FAILED at {wrong} {of}: wrong result, or none."
    if evaluation.comparison.refusal is not None:
        return f"NOT COMPARED: {evaluation.comparison.refusal}"
    if large:
        return f"OVER THE MEMORY LIMIT at {large} {of}."
    if lost or not points:
        return f"NOT MEASURED at {lost} {of}."
    if slower:
        return f"SLOWER at {slower} {of}, faster at {faster}."
    if undecided:
        return f"UNDECIDED at {undecided} {of}, faster at {faster}."
    if faster:
        return f"FASTER at {faster} {of}, slower at none."
    return f"EQUAL at {plural(len(points), 'point')}."


def plain(evaluation: Evaluation) -> str:
    """Return the whole report without colour, for a file."""
    return layout.plain(lambda console: render(evaluation, console))


def render(evaluation: Evaluation, console: Console) -> None:
    """Print the report to a terminal, or to what has its width."""
    style = {ExitStatus.OK: "bold green", ExitStatus.REGRESSION: "bold red"}
    text = Text(headline(evaluation))
    verdict = text.plain.split(" at ")[0].split(":")[0]
    text.stylize(style.get(evaluation.exit_status, "bold yellow"), 0, len(verdict))
    print_text(console, text)
    console.print()
    print_facts(console, _facts(evaluation))
    if evaluation.points:
        console.print()
        heading, rows = Cells("point", _HEADING), [_cells(one) for one in evaluation.points]
        columns = Columns.fitting([heading, *rows], console.width, _DISPENSABLE)
        print_text(console, columns.line(heading), style="dim")
        for row in rows:
            print_text(console, columns.line(row))
    if evaluation.geometric_mean is not None:
        print_text(console, f"\n{_mean(evaluation)}", style="bold")
    for index, sentence in enumerate(_remarks(evaluation)):
        print_text(console, sentence if index else f"\n{sentence}")


def markdown(evaluation: Evaluation) -> str:
    """Return the report as Markdown, with names and reasons as code."""
    lines = [f"**{markdown_text.prose(headline(evaluation))}**\n"]
    facts = [f"- {key}: {markdown_text.in_sentence(value)}" for key, value in _facts(evaluation)]
    lines += ["\n".join(facts) + "\n"]
    if evaluation.points:
        numbers = range(1, len(_HEADING))
        table = markdown_text.table_head(("point", *_HEADING), numbers)
        for point in evaluation.points:
            row = _cells(point)
            cells = (markdown_text.name(row.name), *map(markdown_text.unbroken, row.cells))
            table += f"{markdown_text.table_row(cells)}\n"
        lines += [table]
    if evaluation.geometric_mean is not None:
        lines += [f"**{_mean(evaluation)}**\n"]
    lines += [f"- {markdown_text.prose(one)}" for one in _remarks(evaluation)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _facts(evaluation: Evaluation) -> list[tuple[str, str]]:
    facts = [*zip(("base", "candidate"), evaluation.names, strict=True)]
    if gpu := evaluation.gpu_name:
        facts += [("GPU", gpu)]
    if evaluation.memory_limit is not None:
        facts += [("memory limit", quantity(evaluation.memory_limit, "B"))]
    return [(key, inert(value)) for key, value in facts]


def _cells(point: Point) -> Cells:
    speed_up, verdict = point.speed_up, point.verdict
    sides = point.base.counters, point.candidate.counters
    memory = (quantity(one[MEMORY], "B") if MEMORY in one else "" for one in sides)
    seconds = verdict.baseline_seconds, verdict.candidate_seconds
    return Cells(
        inert(verdict.name.partition("/")[2]) or "(no axes)",
        (
            _correct(point.base, point.candidate),
            *memory,
            *("" if one is None else duration(one) for one in seconds),
            "" if speed_up is None else f"{digits(speed_up.ratio)}×",
            "" if speed_up is None else _interval(speed_up),
            of_limit(point.candidate.counters.get("limit_fraction")),
            result := _result(point),
        ),
        _STYLES.get(result, "yellow"),
    )


def _result(point: Point) -> str:
    if point.is_right and not point.is_within_memory:
        return "over limit"
    return _WORDS.get(point.verdict.outcome, point.verdict.outcome.value)


def _correct(base: Row, candidate: Row) -> str:
    """Return "yes" and the largest error against the reference, or "no" if a row failed."""
    if base.error is not None or candidate.error is not None:
        return "no"
    error = candidate.counters.get(MAX_ERROR)
    return "yes" if error is None else f"yes, {error:.2g}"


def _interval(speed_up: SpeedUp) -> str:
    return f"{digits(speed_up.low)} … {digits(speed_up.high)}"


def _mean(evaluation: Evaluation) -> str:
    """Return a sentence on the mean, or "" without one."""
    mean = evaluation.geometric_mean
    if mean is None:
        return ""
    known = sum(one.speed_up is not None for one in evaluation.points)
    all_points = "" if known == len(evaluation.points) else f" of {plural(known, 'point')}"
    shown = f"{digits(mean.ratio)}× (95 % interval {_interval(mean)})"
    return f"Geometric mean of the speed-ups{all_points}: {shown}."


def _remarks(evaluation: Evaluation) -> Iterator[str]:
    """Yield why points have no result, what was not measured, and what to do about it."""
    reasons: dict[str, list[str]] = {}
    for point in evaluation.points:
        name = point.verdict.name.partition("/")[2] or "(no axes)"
        reason = point.verdict.reason
        if reason == evaluation.comparison.refusal:
            reason = point.candidate.error or point.base.error or ""
        if reason:
            reasons.setdefault(reason, []).append(name)
        if point.is_right and MEMORY not in point.candidate.counters and not point.is_within_memory:
            unknown = "its peak device memory is unknown, so it is not within the limit"
            reasons.setdefault(unknown, []).append(name)
    for reason, names in reasons.items():
        yield inert(f"{_few(names)}: {clause(reason)}.")
    for side, lonely in zip(("base", "candidate"), evaluation.alone, strict=True):
        if lonely:
            yield inert(f"Only the {side} has {_few(lonely)}: not measured.")
    for note in evaluation.comparison.notes:
        yield str(note)
    undecided = [one.verdict for one in evaluation.points if one.is_undecided]
    bounds = [one.bound for one in undecided if one.bound is not None]
    if bounds:
        most = percent(max(bounds), sign=False)
        yield (
            f"Undecided points may be slower by up to {most}. Measure longer, with a larger "
            "--budget or --processes."
        )


def _few(points: Sequence[str]) -> str:
    """Return names such as ``n:8, n:16 and 3 more``."""
    shown = ", ".join(points[:3])
    return f"{shown} and {len(points) - 3} more" if len(points) > 3 else shown
