# SPDX-License-Identifier: Apache-2.0
"""Why a benchmark is slower: the evidence of both sides, the causes, and both in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field

import msgspec
from rich.console import Console

from warpgauge.records.row import ALSO_CHANGED, Moved
from warpgauge.system import layout
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import clause, digits, duration, inert, percent, quantity
from warpgauge.verdict.comparison import ContextDifference
from warpgauge.why.code_change import CodeChange
from warpgauge.why.cupti import Calls
from warpgauge.why.machine_code import Kernel

FORMAT = "why/1"
TITLE = "Why it is slower"
# Causes that lie only in the code.
OF_CODE = frozenset(("spills", "unrolling", "precise", "fp64", "fp32", "narrower"))
_MOST_NAMED = 3  # kernels
_MOST, _LITTLE = 0.5, 0.05  # shares
# What a document has of a reason, and of a cause.
_OF_REASON = (
    *("name", "slowdown", "may_be_chance", "unexplained", "paragraph", "differs", "others"),
    *("same_code", "missing"),
)
_OF_CAUSE = ("key", "words", "changes", "share")


@dataclass(frozen=True)
class Evidence:
    """One side's evidence for one operation. None means unknown.

    `seconds` is the time of an operation as the benchmark measures it; `host_clock` tells whether
    the host's clock took it. `resources` are the row's counters. `counters` are those of
    ncu.py, over all kernels of an operation. `device` is all work of the device by kind: kernels,
    memsets, and copies by their memory. `calls` are the host's. `code` is the machine code of its
    kernels found in the program; `code_is_whole` tells whether all were found.
    """

    seconds: float
    host_clock: bool = False
    resources: Mapping[str, float] = field(default_factory=dict)
    counters: Mapping[str, float] | None = None
    device: Calls | None = None
    calls: Calls | None = None
    code: Mapping[str, Kernel] | None = None
    code_is_whole: bool = False


@dataclass(frozen=True)
class Change:
    """One quantity on both sides."""

    words: str
    before: float
    after: float
    unit: str = ""

    @property
    def cells(self) -> tuple[str, str, str]:
        before, after = (_value(value, self.unit) for value in (self.before, self.after))
        return inert(self.words), before, after

    @property
    def text(self) -> str:
        words, before, after = self.cells
        return f"{words} {before} → {after}"


@dataclass(frozen=True)
class Cause:
    """A possible cause of a slower operation; `key` identifies it for programs.

    `words` begin with what differs. `seconds` is the part of the slowdown that it may explain, None
    if unknown; `share` what it does explain beside the others, None unless the estimate `is_sound`.
    `rank` 0 changes what runs and how it is launched, 1 how it works; 2 is a consequence of these
    or has no other name. Time explained by a lower rank is not explained again.
    """

    key: str
    words: str
    changes: tuple[Change, ...]
    seconds: float | None = None
    rank: int = 1
    is_sound: bool = True
    share: float | None = None


@dataclass(frozen=True)
class Reason:
    """Why one benchmark is slower by `slowdown`, a fraction, None if it was not measured.

    The `causes` have the largest share first; `unexplained` is the remaining share, None if
    unknown. `others` changed too, but explain no time. `missing` has a sentence for each
    unavailable source of evidence.

    `code` is the change of each kernel's machine code; `same_code` tells whether both sides are
    known to run the same. `may_be_chance` if the slowdown is not beyond chance.

    `differs` is what the sides differ in beside their source, and `remark` what that means.
    """

    name: str
    slowdown: float | None = None
    causes: tuple[Cause, ...] = ()
    unexplained: float | None = None
    others: tuple[Change, ...] = ()
    missing: tuple[str, ...] = ()
    code: Mapping[str, CodeChange] = field(default_factory=dict)
    sides: tuple[Evidence, Evidence] | None = None
    same_code: bool = False
    may_be_chance: bool = False
    differs: tuple[ContextDifference, ...] = ()
    remark: str = ""

    @property
    def changed_code(self) -> dict[str, CodeChange]:
        return {name: change for name, change in self.code.items() if not change.is_same}

    @property
    def table(self) -> tuple[Moved, ...]:
        """What moved, the causes first."""
        rows = []
        for cause in self.causes:
            moved = [change.cells for change in cause.changes] or [("", "", "")]
            words = [inert(cause.words), *[""] * len(moved)]
            rows += [Moved(word, *cells) for word, cells in zip(words, moved, strict=False)]
        return (*rows, *(Moved(ALSO_CHANGED, *change.cells) for change in self.others))

    @property
    def code_lines(self) -> list[str]:
        """What changed in the machine code, kernel by kernel."""
        found = []
        for name, change in self.changed_code.items():
            found.append(f"Machine code of {inert(name)}:")
            found += [f"  {inert(line)}" for line in change.lines()]
        return found

    @property
    def paragraph(self) -> str:
        """What changed, how much of the slowdown it explains, and what is unexplained."""
        size = self.slowdown
        sentences = [f"{self.name} is not measured."] if size is None else self._with_time(size)
        first = [self.remark] if self.remark else []
        return " ".join(map(inert, (*first, *sentences, *self.missing)))

    def _with_time(self, slowdown: float) -> Iterator[str]:
        size = percent(abs(slowdown), sign=False)
        chance = ", which may be chance" if self.may_be_chance else ""
        if not slowdown > 0.0:
            faster = f"{size} faster" if slowdown < 0.0 else "not slower"
            yield f"{self.name} is {faster}{chance}. There is nothing to explain."
            return
        yield f"{self.name} is {size} slower{chance}."
        left = self.unexplained
        if not self.causes:
            enough = "" if left is None else ": nothing changed enough to explain the time"
            yield from [] if self.remark else [f"The cause of the slowdown is unknown{enough}."]
        yield from (_sentence(cause, is_first=not n) for n, cause in enumerate(self.causes))
        if not any(cause.key in OF_CODE or cause.share for cause in self.causes):
            for name, change in [*self.changed_code.items()][:_MOST_NAMED]:
                yield f"The machine code of {name} changed: {change.lines()[0]}."
        if self.same_code:
            yield "The machine code is the same: the cause is the call, or outside the kernel."
        if left is not None and all(cause.share is not None for cause in self.causes):
            yield f"{_share(left)} is unexplained." if left > _LITTLE else "Nothing is unexplained."


def plain(found: Sequence[Reason]) -> str:
    """Return the text for a terminal."""

    def show(console: Console) -> None:
        for reason in found:
            print_text(console, f"{TITLE}: {inert(reason.name)}")
            moved = [astuple(row)[1:] for row in reason.table if row.what]
            differs = [astuple(difference) for difference in reason.differs]
            for heading, rows in {"differs": differs, "what moved": moved}.items():
                if rows:
                    cells = [Cells(heading, ("before", "after"))]
                    cells += (Cells(inert(name), (old, new)) for name, old, new in rows)
                    columns = Columns.fitting(cells, console.width)
                    console.print()
                    for line in cells:
                        console.print(columns.line(line))
            if reason.code_lines:
                console.print()
            for text in reason.code_lines:
                print_text(console, text)
            console.print()
            print_text(console, reason.paragraph)
            console.print()

    return layout.plain(show)


def document(found: Sequence[Reason]) -> str:
    """Return the reasons as JSON, with the evidence, which `msgspec.convert` reads."""
    benchmarks = [
        {
            **{key: getattr(reason, key) for key in _OF_REASON},
            "causes": [{key: getattr(it, key) for key in _OF_CAUSE} for it in reason.causes],
            "code": reason.code_lines,
            "evidence": reason.sides,
        }
        for reason in found
    ]
    content = {"format": FORMAT, "benchmarks": benchmarks}
    return msgspec.json.format(msgspec.json.encode(content, enc_hook=dict), indent=1).decode()


def _sentence(cause: Cause, is_first: bool) -> str:
    share, explains = cause.share, ""
    if share is None:
        lead = "Likely" if is_first else "Perhaps also"
    else:
        lead = "Also" if not is_first else "Mostly" if share > _MOST else "In part"
        explains = f", which explains {_share(share)} of the slowdown"
    moved = ", ".join(change.text for change in cause.changes if change.text not in cause.words)
    return f"{lead}: {clause(cause.words)}{moved and f' ({moved})'}{explains}."


def _share(part: float) -> str:
    return f"{100 * part:.0f} %"


def _value(value: float, unit: str) -> str:
    if unit == "%":
        return f"{100 * value:.1f} %"
    if unit:
        return duration(value) if unit == "s" else quantity(value, unit)
    return f"{value:.0f}" if value == int(value) else digits(value)
