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
from warpgauge.why.code_change import CodeChange
from warpgauge.why.cupti import Call
from warpgauge.why.evidence import Cause, Change, Evidence, Explanation

FORMAT = "why/1"
TITLE = "Why it is slower"
_MOST_CALLS = 12
_MOST_NAMED = 3  # kernels
_MOST, _LITTLE = 0.5, 0.05  # shares
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~@])")


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
    def changed_code(self) -> dict[str, CodeChange]:
        return {name: change for name, change in self.code.items() if not change.is_same}

    @property
    def table(self) -> list[tuple[str, str, str, str]]:
        """What moved, the causes first: cause, what, before, after."""
        if self.explanation is None:
            return []
        rows = []
        for cause in self.explanation.causes:
            words = cause.words if cause.share is None else f"{cause.words}: {_share(cause.share)}"
            for number, change in enumerate(cause.changes):
                rows.append(("" if number else inert(words), *_row(change)))
        return rows + [("also changed", *_row(change)) for change in self.explanation.others]

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
        for name, change in self.changed_code.items():
            found.append(f"{inert(name)}:")
            found += [f"  {inert(line)}" for line in change.lines()]
            found += [f"    {inert(line)}" for line in change.hunk]
        return found

    @property
    def paragraph(self) -> str:
        """What changed, how much of the slowdown it explains, and what is unexplained."""
        sentences = self._without_time() if self.explanation is None else self._with_time()
        return " ".join(map(inert, (*sentences, *self.missing)))

    def _without_time(self) -> Iterator[str]:
        yield f"{self.name} is not measured."
        if self.of_program is None:
            return
        changed, alone = self.of_program
        if changed:
            yield (
                f"{plural(changed, 'kernel')} of its program changed, whether or not the benchmark "
                f"runs them: {listed([*self.changed_code])}."
            )
        else:
            yield "Its program's kernels have the same machine code as before."
        if alone:
            yield f"{plural(alone, 'kernel')} {'is' if alone == 1 else 'are'} only on one side."

    def _with_time(self) -> Iterator[str]:
        found = self.explanation or Explanation(0.0)
        size = percent(abs(found.slowdown), sign=False)
        chance = "" if self.is_shown else ", which may be chance"
        if not found.slowdown > 0.0:
            faster = f"{size} faster" if found.slowdown < 0.0 else "not slower"
            yield f"{self.name} is {faster}{chance}. There is nothing to explain."
            return
        yield f"{self.name} is {size} slower{chance}."
        left = found.unexplained
        if not found.causes:
            enough = "" if left is None else ": nothing changed enough to explain the time"
            yield f"The cause of the slowdown is unknown{enough}."
            if left is None:
                for name, change in [*self.code.items()][:_MOST_NAMED]:
                    if not change.is_same:
                        yield f"The machine code of {name} changed: {change.lines()[0]}."
        yield from (_sentence(cause, is_first=not n) for n, cause in enumerate(found.causes))
        if self.same_code:
            yield "The machine code is the same: the cause is the call, or outside the kernel."
        if found.causes and left is not None:
            yield f"{_share(left)} is unexplained." if left > _LITTLE else "Nothing is unexplained."
        yield from found.missing

    def as_json(self) -> dict[str, object]:
        """Return this benchmark's part of the document."""
        found = self.explanation
        causes = [msgspec.to_builtins(one) for one in (found.causes if found else ())]
        for one in causes:
            del one["seconds"], one["rank"]
        return {
            "name": self.name,
            "slowdown": found and found.slowdown,
            "may_be_chance": not self.is_shown,
            "unexplained": found and found.unexplained,
            "paragraph": self.paragraph,
            "causes": causes,
            "others": msgspec.to_builtins(found.others) if found else [],
            "code": self.code_lines,
            "same_code": self.same_code,
            "evidence": self.sides and [side.as_json() for side in self.sides],
            "missing": [*self.missing, *(found.missing if found else ())],
        }


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
    for table in _tables(one):
        yield ""
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for row in table:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            yield "  ".join(cells).rstrip()
    if one.code_lines:
        yield from ("", "Machine code", *one.code_lines)
    yield from ("", one.paragraph)


def markdown(found: Reasons) -> str:
    """Return Markdown for a comment or a report."""
    return "\n\n".join("\n".join(_markdown(one)) for one in found.reasons) + "\n"


def _markdown(one: Reason) -> Iterator[str]:
    yield from (f"### {TITLE}: {_escaped(one.name)}", "", _escaped(one.paragraph))
    for head, *rows in _tables(one):
        yield ""
        for row in (head, ("---",) * len(head), *rows):
            yield f"| {' | '.join(map(_escaped, row))} |"
    if one.code_lines:
        yield from ("", "<details><summary>Machine code</summary>", "")
        yield from (f"    {line}" for line in one.code_lines)
        yield from ("", "</details>")


def _tables(one: Reason) -> Iterator[Sequence[tuple[str, ...]]]:
    """Yield tables that are not empty, each after its head."""
    if one.table:
        yield [("cause", "what moved", "before", "after"), *one.table]
    if one.calls:
        yield [("call of an operation", "before", "after"), *one.calls]


def document(found: Reasons) -> str:
    """Return the reasons as JSON."""
    benchmarks = [one.as_json() for one in found.reasons]
    return json.dumps({"format": FORMAT, "benchmarks": benchmarks}, indent=1)


def _sentence(cause: Cause, is_first: bool) -> str:
    share, explains = cause.share, ""
    if share is None:
        lead = "Likely" if is_first else "Perhaps also"
    else:
        lead = "Also" if not is_first else "Mostly" if share > _MOST else "In part"
        explains = f", which explains {_share(share)} of the slowdown"
    rows = map(_row, cause.changes)
    moved = ", ".join(f"{words} {before} → {after}" for words, before, after in rows)
    return f"{lead}: {clause(cause.words)} ({moved}){explains}."


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", inert(text))


def _of_call(call: Call | None) -> str:
    """Return how often an operation makes the call, and how long each takes."""
    return f"{digits(call.count)} × {duration(call.each)}" if call and call.count else "–"


def _share(part: float) -> str:
    return f"{100 * part:.0f} %"


def _row(change: Change) -> tuple[str, str, str]:
    before, after = (_value(value, change.unit) for value in (change.before, change.after))
    return inert(change.words), before, after


def _value(value: float, unit: str) -> str:
    if unit == "%":
        return f"{100 * value:.1f} %"
    if unit:
        return duration(value) if unit == "s" else quantity(value, unit)
    return f"{value:.0f}" if value == int(value) else digits(value)
