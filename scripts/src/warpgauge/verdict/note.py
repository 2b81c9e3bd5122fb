# SPDX-License-Identifier: Apache-2.0
"""A note helps a reader weigh a comparison: its kind, and sentences of ours.

Text of files and commands in a note is marked (`text.foreign`), and each format quotes it in its
own way. So no sentence of a file is shown as ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from warpgauge.system.git import short
from warpgauge.system.text import LONGEST_TEXT, clause, duration, foreign, plain, plural, shown_as

# Kinds that programs select; any other kind is only shown.
SKIPPED, SIBLINGS, ENTRY_UNUSED, HELD_BACK = "skipped", "siblings", "entry_unused", "held_back"
MOVED_ALIKE = "moved_alike"  # most rows of a clock
RECORDED = "recorded"  # not measured on the reader's machine

# How many names a note lists before it counts the rest, and how many characters of each.
_LISTED, _LONGEST_LISTED = 3, 120


@dataclass(frozen=True)
class Note:
    """One fact: its `kind`, one word for programs, and its sentences, with marks."""

    kind: str
    text: str

    def words(self, quote: Callable[[str], str]) -> str:
        """Return its sentences, with each foreign text passed through `quote`."""
        return shown_as(self.text, quote)

    def __str__(self) -> str:
        return plain(self.text)


def listed(names: Iterable[str]) -> str:
    """Return names such as ``a, b, c and 2 more``."""
    every = [*names]
    shown = ", ".join(foreign(name, _LONGEST_LISTED) for name in every[:_LISTED])
    return f"{shown} and {len(every) - _LISTED} more" if len(every) > _LISTED else shown


def and_more(count: int) -> str:
    """Return ``, and 2 more benchmarks``, or "" for none."""
    return f", and {plural(count, 'more benchmark')}" if count else ""


def sentence(text: str) -> str:
    """Return a sentence of a file, without its full stop, as part of ours."""
    return foreign(clause(text), LONGEST_TEXT)


def commit_words(commit: str) -> str:
    return foreign(short(commit)) or "unknown"


@dataclass(frozen=True)
class Rounds:
    """How many pairs were measured: all `first` ones, and those of open benchmarks up to `most`.

    `opened` benchmarks were measured further, and `still_open` ones stayed undecided.
    """

    first: int
    most: int = 0
    opened: int = 0
    still_open: int = 0
    interrupted: bool = False
    budget_seconds: float = 0.0

    def __str__(self) -> str:
        words = plural(self.first, "pair")
        if self.most:
            words += f", and up to {self.most} for {plural(self.opened, 'open benchmark')}"
            words += f", of which {self.still_open} stayed open" if self.still_open else ""
        elif self.still_open:
            words += f", and no more for {plural(self.still_open, 'open benchmark')}"
        words += ", interrupted" if self.interrupted else ""
        return words + (f" (budget {duration(self.budget_seconds)})" if self.budget_seconds else "")


def paired(commit: str, rounds: Rounds) -> Note:
    words = f"Measured in pairs with commit {commit_words(commit)}: {rounds}."
    return Note("paired", words)


def removed(names: Sequence[str]) -> Note:
    return Note("removed", f"Removed from both candidate and baseline: {listed(names)}.")


def not_the_code(names: Sequence[str]) -> Note:
    return Note(
        "not_the_code",
        f"Not caused by the code: {listed(names)}. These differ from the recorded baseline, but "
        "the baseline's commit gives the same times here now. The GPU, machine, driver or toolkit "
        f"is another; {foreign('--no-confirm')} judges by the baseline alone.",
    )
