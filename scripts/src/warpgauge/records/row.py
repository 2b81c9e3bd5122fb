# SPDX-License-Identifier: Apache-2.0
"""The type of a row, from a process's report to the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from statistics import median
from typing import Annotated

import msgspec
from msgspec import Meta

from warpgauge.records.counters import Clock
from warpgauge.system.text import LONGEST_NAME, foreign

ALSO_CHANGED = "also changed"  # in place of the cause of what explains no time


@dataclass(frozen=True)
class Moved:
    """A quantity that changed, in words; an empty `cause` is that of the line above."""

    cause: str
    what: str
    before: str
    after: str


MOST_LINES, MOST_PROVED = 3, 10  # lines of a change, and changes, that are shown of a row
_Fraction = Annotated[float, Meta(ge=-1000.0, le=1000.0)]


@dataclass(frozen=True)
class Proved:
    """Lines of a change, and their share of a slowdown, measured by putting them back.

    `words` say what changed at `place`, and `lines` are its first ones, as a diff shows them.
    `note` says why there are several places, or what is not certain.
    """

    words: str
    place: str
    lines: Annotated[tuple[str, ...], Meta(max_length=MOST_LINES)]
    share: _Fraction
    low: _Fraction
    high: _Fraction
    note: str = ""

    @property
    def head(self) -> str:
        """What changed and where, as foreign text."""
        return f"{foreign(self.words, LONGEST_NAME)} ({foreign(self.place, LONGEST_NAME)})"

    @property
    def size(self) -> str:
        """The share with its 95 % interval: ``98 % (95 to 101 %)``."""
        low, high = (f"{100 * end:.0f}" for end in (self.low, self.high))
        interval = f" ({low} to {high} %)" if low != high else ""
        return f"{100 * self.share:.0f} %{interval}"


@dataclass(frozen=True)
class Why:
    """The cause of a slowdown: a paragraph, which also names what is unknown, and what changed.

    The largest of the `proved` causes is the first.
    """

    paragraph: str
    moved: tuple[Moved, ...] = ()
    proved: Annotated[tuple[Proved, ...], Meta(max_length=MOST_PROVED)] = ()

    @property
    def cause(self) -> str:
        """The cause that explains most; "" if none was found."""
        first = self.moved[0].cause if self.moved else ""
        return "" if first == ALSO_CHANGED else first


MOST_ROUNDS = 10_000  # of a run
LARGEST_LOG = 700.0  # of a ratio: exp() of more overflows


class Pair(msgspec.Struct, frozen=True, gc=False):
    """What is known of one process of a candidate beside the base's process of the same round.

    `log_ratio` is the log of the candidate's time over the base's, by `slices` slices in lock-step;
    None if the two processes followed each other: then that of their times counts.
    `look` is the number, from 1, of the look at the results that was the first to include the pair.
    """

    base_first: bool  # the base's process started first
    look: Annotated[int, Meta(ge=1, le=MOST_ROUNDS)] = 1
    log_ratio: Annotated[float, Meta(ge=-LARGEST_LOG, le=LARGEST_LOG)] | None = None
    slices: Annotated[int, Meta(ge=0)] = 0


class Row(msgspec.Struct, frozen=True, gc=False):
    """One benchmark: for each session the median time of every process, in seconds.

    It is the type of a row from a process's report to the page. Of a report, `process_medians` has
    the times of its repetitions, and `launches` how each kernel is launched, by its mangled name.
    `rounds` numbers the processes if they ran in pairs with the other side's; `pairs`, of a
    candidate, has an entry for each of them.
    `elapsed` are, by round, the seconds that a slice (in lock-step), or the process of a plain
    program beyond what it reports, took by the driver's clock; None where unknown.
    `error` says why there are no times. If `skipped`, the machine cannot run it, which is no fault.
    `contradicted` means that the file's own summary differs from the times. `iterations` are those
    of all processes, `cpu_seconds` the CPU time per iteration: 0 if unknown.
    `machine_code` is a digest of its kernels' code and launches; empty if unknown.
    `why` explains a slowdown of the candidate, if the run looked into it.
    """

    name: str
    process_medians: Mapping[str, tuple[float, ...]]
    clock: Clock
    counters: Mapping[str, float] = {}
    label: str = ""
    error: str | None = None
    rounds: tuple[int, ...] = ()
    pairs: tuple[Pair, ...] = ()
    elapsed: tuple[float | None, ...] = ()
    contradicted: bool = False
    iterations: int = 0
    cpu_seconds: float = 0.0
    skipped: bool = False
    machine_code: str = ""
    why: Why | None = None
    launches: Mapping[str, float] = {}

    @property
    def family(self) -> str:
        return self.name.split("/", 1)[0]

    @property
    def times(self) -> list[float]:
        """The times of all processes."""
        return [*chain.from_iterable(self.process_medians.values())]

    @property
    def seconds(self) -> float:
        """The median over sessions of the median over processes. Only of a row without an error."""
        return median(map(median, self.process_medians.values()))

    @property
    def fault(self) -> str:
        """Why there are no times, in words; empty if there are."""
        return f"skipped: {self.error}" if self.skipped else self.error or ""
