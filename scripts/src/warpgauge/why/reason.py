# SPDX-License-Identifier: Apache-2.0
"""An explanation for people and programs: the paragraph, a table, and the change of the code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from warpgauge.system.errors import ExitStatus
from warpgauge.system.text import clause, digits, duration, inert, listed, percent, plural, quantity
from warpgauge.why import code_change_text
from warpgauge.why.calls import Call
from warpgauge.why.code_change import CodeChange
from warpgauge.why.evidence import Cause, Change, Evidence, Explanation

FORMAT = "why/1"
TITLE = "Why it is slower"
_MOST_CALLS = 12
_MOST_NAMED = 3  # kernels
_CHANCE = ", which may be chance"


@dataclass(frozen=True)
class Reason:
    """Why one benchmark is slower. Without a measurement there is only the `code`, by kernel.

    The code then covers all kernels of two programs. `of_program` counts the changed kernels and
    those of only one program; None if their machine code could not be compared.
    """

    name: str
    explanation: Explanation | None
    code: Mapping[str, CodeChange]
    sides: tuple[Evidence, Evidence] | None = None
    same_code: bool = False
    missing: tuple[str, ...] = ()
    of_program: tuple[int, int] | None = None
    is_shown: bool = True  # whether the slowdown is beyond chance

    @property
    def table(self) -> list[tuple[str, str, str, str]]:
        """What moved, the causes first: cause, what, before, after."""
        if self.explanation is None:
            return []
        rows = []
        for cause in self.explanation.causes:
            for number, change in enumerate(cause.changes):
                rows.append(("" if number else _with_share(cause), *_row(change)))
        rows += [("also changed", *_row(change)) for change in self.explanation.others]
        return rows

    @property
    def calls(self) -> list[tuple[str, str, str]]:
        """The host's calls of an operation that its clock times: call, before, after."""
        if self.sides is None or not self.sides[0].host_clock:
            return []
        before, after = (side.calls or {} for side in self.sides)
        both = {**before, **after}
        most = sorted(both, key=lambda name: -both[name].seconds)[:_MOST_CALLS]
        return [
            (inert(name), _of_call(before.get(name)), _of_call(after.get(name))) for name in most
        ]

    @property
    def code_lines(self) -> list[str]:
        """What changed in the machine code, kernel by kernel, each with its hunk."""
        found = []
        for name, change in self.code.items():
            if not change.is_same:
                found.append(f"{inert(name)}:")
                found += [f"  {inert(line)}" for line in code_change_text.lines(change)]
                found += [f"    {inert(line)}" for line in change.hunk]
        return found

    @property
    def paragraph(self) -> str:
        """What changed, how much of the slowdown it explains, and what is unexplained."""
        return " ".join((*self._sentences(), *map(inert, self.missing)))

    def _sentences(self) -> Iterator[str]:
        name, told = inert(self.name), self.explanation
        if told is None:
            yield f"{name} is not measured."
            if self.of_program is not None:
                yield from self._of_program(*self.of_program)
            return
        size, chance = percent(abs(told.slowdown), sign=False), "" if self.is_shown else _CHANCE
        if not told.slowdown > 0.0:
            faster = f"{size} faster" if told.slowdown < 0.0 else "not slower"
            yield f"{name} is {faster}{chance}. There is nothing to explain."
            return
        yield f"{name} is {size} slower{chance}."
        if not told.causes and told.unexplained is None:
            yield "The cause of the slowdown is unknown."
            yield from map(inert, self._changed_code())
        elif not told.causes:
            yield (
                "The cause of the slowdown is unknown: nothing changed enough to explain the time."
            )
        for number, cause in enumerate(told.causes):
            lead = "Mostly" if number == 0 and (cause.share or 0.0) > _MOST else "Also"
            if cause.share is None:
                lead = "Perhaps also" if number else "Likely"
            elif number == 0 and lead == "Also":
                lead = "In part"
            moved = ", ".join(map(_moved, cause.changes))
            share = cause.share
            explains = "" if share is None else f", which explains {_share(share)} of the slowdown"
            words = clause(cause.words)
            yield f"{lead}: {inert(words)} ({inert(moved)}){explains}."
        if self.same_code:
            yield "The machine code is the same: the cause is the call, or outside the kernel."
        if told.causes and told.unexplained is not None:
            left = told.unexplained
            yield f"{_share(left)} is unexplained." if left > _LITTLE else "Nothing is unexplained."
        yield from map(inert, told.missing)

    def _of_program(self, changed: int, alone: int) -> Iterator[str]:
        if not changed:
            yield "Its program's kernels have the same machine code as before."
        else:
            names = listed([name for name, change in self.code.items() if not change.is_same])
            kernels = plural(changed, "kernel")
            yield (
                f"{kernels} of its program changed, whether or not the benchmark runs them: "
                f"{names}."
            )
        if alone:
            yield f"{plural(alone, 'kernel')} {('is' if alone == 1 else 'are')} only on one side."

    def _changed_code(self) -> Iterator[str]:
        """Yield changes of the code that are not known to be a cause."""
        for name, change in [*self.code.items()][:_MOST_NAMED]:
            if not change.is_same:
                what = code_change_text.lines(change)[0]
                yield f"The machine code of {name} changed: {what}."


@dataclass(frozen=True)
class Reasons:
    """The reasons of all requested benchmarks."""

    reasons: tuple[Reason, ...]

    @property
    def exit_status(self) -> ExitStatus:
        """0 if every slowdown was measured."""
        measured = all(one.explanation is not None for one in self.reasons)
        return ExitStatus.OK if measured and self.reasons else ExitStatus.NOT_MEASURED


def plain(found: Reasons) -> str:
    """Return the text for a terminal."""
    return "\n\n".join("\n".join(_plain(one)) for one in found.reasons) + "\n"


def _plain(one: Reason) -> Iterator[str]:
    yield f"{TITLE}: {inert(one.name)}"
    for head, rows in _tables(one):
        yield ""
        widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
        for row in (head, *rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            yield "  ".join(cells).rstrip()
    if one.code_lines:
        yield ""
        yield "Machine code"
        yield from one.code_lines
    yield ""
    yield one.paragraph


def markdown(found: Reasons) -> str:
    """Return Markdown for a comment or a report."""
    return "\n\n".join("\n".join(_markdown(one)) for one in found.reasons) + "\n"


def _markdown(one: Reason) -> Iterator[str]:
    yield f"### {TITLE}: {_escaped(one.name)}"
    yield ""
    yield _escaped(one.paragraph)
    for head, rows in _tables(one):
        yield ""
        for row in (head, ("---",) * len(head), *rows):
            yield f"| {' | '.join(map(_escaped, row))} |"
    if one.code_lines:
        yield ""
        yield "<details><summary>Machine code</summary>"
        yield ""
        yield from (f"    {line}" for line in one.code_lines)
        yield ""
        yield "</details>"


def _tables(one: Reason) -> Iterator[tuple[tuple[str, ...], Sequence[tuple[str, ...]]]]:
    if one.table:
        yield ("cause", "what moved", "before", "after"), one.table
    if one.calls:
        yield ("call of an operation", "before", "after"), one.calls


def document(found: Reasons) -> str:
    """Return the reasons as JSON."""
    return json.dumps({"format": FORMAT, "benchmarks": [*map(as_json, found.reasons)]}, indent=1)


def as_json(one: Reason) -> dict[str, object]:
    """Return one benchmark's part of the document."""
    told = one.explanation
    return {
        "name": one.name,
        "slowdown": None if told is None else told.slowdown,
        "may_be_chance": not one.is_shown,
        "unexplained": None if told is None else told.unexplained,
        "paragraph": one.paragraph,
        "causes": [] if told is None else msgspec.to_builtins(told.causes),
        "others": [] if told is None else msgspec.to_builtins(told.others),
        "code": one.code_lines,
        "same_code": one.same_code,
        "evidence": None if one.sides is None else [side.as_json() for side in one.sides],
        "missing": [*one.missing, *(() if told is None else told.missing)],
    }


_MOST, _LITTLE = 0.5, 0.05
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~@])")


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", inert(text))


def _of_call(call: Call | None) -> str:
    """Return how often an operation makes the call, and how long each takes."""
    if call is None or not call.count:
        return "–"
    return f"{digits(call.count)} × {duration(call.seconds / call.count)}"


def _with_share(cause: Cause) -> str:
    words = inert(cause.words)
    return words if cause.share is None else f"{words}: {_share(cause.share)}"


def _share(part: float) -> str:
    return f"{100 * part:.0f} %"


def _row(change: Change) -> tuple[str, str, str]:
    unit = change.unit
    return inert(change.words), _value(change.before, unit), _value(change.after, unit)


def _moved(change: Change) -> str:
    words, before, after = _row(change)
    return f"{words} {before} → {after}"


def _value(value: float, unit: str) -> str:
    if unit == "%":
        return f"{100 * value:.1f} %"
    if unit == "s":
        return duration(value)
    if unit:
        return quantity(value, unit)
    return f"{value:.0f}" if value == int(value) else digits(value)
