# SPDX-License-Identifier: Apache-2.0
"""Notes that help a reader weigh a comparison: facts, and the one table that words them.

A note is stored as its kind and values, and is worded where it is shown. So no sentence from
another program's file is ever shown as ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from string import Formatter
from typing import Any

from warpgauge.system.git import short
from warpgauge.system.text import (
    LONGEST_NAME,
    LONGEST_TEXT,
    clause,
    cut,
    duration,
    inert,
    percent,
    plural,
)
from warpgauge.verdict.override import Override

Value = int | float | str | tuple[str, ...]
Quote = Callable[[str], str]  # makes foreign text harmless where it is shown

MOST = 2**53  # the largest count

# How many names a note lists before it counts the rest, and how many characters of each.
_LISTED, _LONGEST_LISTED = 3, 120

_ENTRY = "{policy}, {entry:entry} entry {number:number} ({pattern}) "
_PAIRS = (
    "{pairs:pair}[, and up to {most_pairs:number} for {open_benchmarks:open benchmark}]"
    "[, of which {still_open:number} stayed open][, and no more for {undecided:open benchmark}]"
    "[, interrupted{interrupted:flag}][ (budget {budget_seconds:time})]."
)
_SCREENED = "Screened against the baseline: {flagged:number} of {screened:benchmark} flagged. "


# The text before a value, the value's name and its type, if there is one.
_Part = list[tuple[str, str | None, str | None]]


class Kind(Enum):
    """The subject of a note, and its wording.

    ``{value:type}`` stands for a value (`_FORMATS`; any other type is the noun of a count).
    Brackets enclose a part that is left out unless all its values are given and not zero.
    Backticks enclose a command.
    """

    INJECTED = "The candidate was measured with injected extra work ({work})."
    EDITED = (
        "The {side:side}'s real_time is not the median of its process_medians, as if the file had "
        "been edited, in {names:names}; only process_medians count."
    )
    SIBLINGS = (
        "The baseline has no session of this {gpu}. It is compared with {sessions:session} of "
        "other GPUs of the model, and those differ even without a cause. Only changes of device "
        "time of at least {minimum_effect:%} or {minimum_seconds:time} per kernel, whichever is "
        "more, count. `scripts/bench --against COMMIT` detects smaller ones."
    )
    FEW_PROCESSES = (
        "At most {processes:process|processes} of {sides:sides}: too few to know the scatter "
        "between processes. A standard deviation of {assumed:%} is assumed, or that of all changes "
        "if it is larger."
    )
    FEW_FILES = (
        "At most {processes:process|processes} of {sides:sides}, and repetitions do not show the "
        "scatter between processes. A standard deviation of {assumed:%} between two processes of "
        "the same code is assumed (`--process-scatter`), or that of all changes if it is larger. "
        "Measure at least {enough:process|processes} per side, and give all their files "
        "(`--processes`)."
    )
    SEVERAL_SESSIONS = (
        "The candidate holds {sessions:session}; each benchmark is judged by its newest session."
    )
    ALTERNATED = (
        "Measured in alternating processes, which scatter more than lock-step pairs: {names:names}."
    )
    LEFT_OUT = (
        "Some processes do not count, because the SM clock was lowered or others used the GPU: "
        "{left_out:number} of {processes:number} of {name} ({side:side})"
        "[, and {more:more benchmark}]."
    )
    KERNELS_VARY = "The candidate's processes did not all run the same kernels: {names:names}."
    POWER_LIMITED = (
        "The power limit lowered the clock while these ran, so their times depend on the GPU's "
        "power and cooling: {names:names}."
    )
    SLOW_PROCESS = (
        "An empty kernel took longer around these than when their process began, because an "
        "earlier benchmark slowed it: {names:names}. Measure them alone with `--filter`."
    )
    TIMED_BY_EVENTS = (
        "Timed by events around each call, which may be off by up to {error:time}: {names:names}."
    )
    RESOURCES = (
        "Resources changed, but the time did not: {name} ({differences:names})"
        "[, and {more:more benchmark}]."
    )
    HOST_MOVED = (
        "The host was not the same on both sides: {name} moved by {moved:%}[ against session "
        "{session}][, of another {other:host}] (its median[; with its noise, up to {limit:%}]). "
        "Changes of host time up to that size say nothing about the code."
    )
    FILTERED = "{benchmarks:benchmark} skipped by `--filter` {filter}."
    OF_FULL_SUITE = "{benchmarks:benchmark} of the full suite skipped."
    OF_PROGRAMS = "{benchmarks:benchmark} skipped by `--programs`."
    SKIPPED = "{names:benchmarks} skipped: {reasons:names}."
    OTHER_SYSTEM = (
        "The system differs from the baseline's ({differences:names}): for {benchmarks:benchmark} "
        "of {clock:clock} time only changes of at least {minimum_effect:%} count."
    )
    OVERRIDDEN = "{override:override}[: {fact:sentence}][: {names:names}]."
    OVERRIDE_UNUSED = "`--allow` {override} was not needed."
    ENTRY_UNMATCHED = _ENTRY + "matches no benchmark: correct or remove it."
    ENTRY_EXPIRED = _ENTRY + "expired on {expires} and accepts nothing: renew or remove it."
    ENTRY_UNUSED = _ENTRY + (
        "is unused, because no regression needed it: remove it if that stays so."
    )
    ENTRY_EXPIRES = _ENTRY + (
        "expires in {days:day}, on {expires}: fix the slowdown, or renew the entry."
    )
    HELD_BACK = "Would be a regression without the minimum effect of {policy}: {names:names}."
    UNDATED = (
        "The baseline does not say when it was measured; refresh it with `scripts/bench --record`."
    )
    FUTURE = (
        "The baseline's newest session, {session}, is dated in the future ({date}, in {days:day}): "
        "the clock of this machine or of the measuring machine is wrong."
    )
    STALE = (
        "The baseline's newest session is {days:day} old ({date}, commit {commit:commit}); refresh "
        "it with `scripts/bench --record`."
    )
    USED_UP = (
        "The entry that expects {names:names} to be slower is also in commit {commit:commit}: the "
        "slowdown that it accepts is already in the base. A further change needs its own entry."
    )
    REMOVED = "Removed from both candidate and baseline: {names:names}."
    NO_GPU = "No GPU was measured: {reason:sentence}."
    NOT_THE_CODE = (
        "Not caused by the code: {names:names}. These differ from the recorded baseline, but the "
        "baseline's commit gives the same times here now. The GPU, machine, driver or toolkit is "
        "another; `--no-confirm` judges by the baseline alone."
    )
    PAIRED = "Measured in pairs with commit {commit:commit}: " + _PAIRS
    PAIRED_FOLDERS = "Measured in pairs, programs in {base} against those in {candidate}: " + _PAIRS
    UNSCREENED = (
        "The baseline has no session of this GPU. Measured in pairs with its commit "
        "{commit:commit}: " + _PAIRS
    )
    CONFIRMED = _SCREENED + (
        f"Measured again in pairs with its commit {{commit:commit}}: {_PAIRS} Of these"
        "[, {slower:number} slower][, {faster:number} faster]"
        "[, {unchanged:number} within tolerance]"
        "[, {inconclusive:number} undecided][, {accepted:number} accepted]"
        "[, {not_measured:number} could not be measured so]."
    )
    UNCONFIRMED = _SCREENED + (
        "Not measured again in pairs with its commit: {reason:sentence}.[ To decide the "
        "undecided benchmarks, run {remedy:command}, or record a new session.]"
    )

    @property
    def word(self) -> str:
        """The kind's name in files."""
        return self.name.lower()

    @cached_property
    def parts(self) -> list[_Part]:
        """The parts of its template; every second one stands in brackets."""
        texts = re.split(r"\[(.*?)\]", self.value)
        return [[one[:3] for one in Formatter().parse(text)] for text in texts]


@dataclass(frozen=True, init=False)
class Note:
    """One fact; a value that is None is left out."""

    kind: Kind
    values: Mapping[str, Value]

    def __init__(self, kind: Kind, /, **values: Value | None) -> None:
        given = {name: value for name, value in values.items() if value is not None}
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "values", given)

    def words(self, quote: Quote) -> str:
        """Return its sentences, with each foreign text passed through `quote`."""
        words = ""
        for index, part in enumerate(self.kind.parts):
            if index % 2 and not all(self.values.get(name) for _, name, _ in part if name):
                continue
            for before, name, spec in part:
                words += re.sub("`(.*?)`", lambda command: quote(command[1]), before)
                if name:
                    words += _format(spec)(quote, self.values[name])
        return words

    def __str__(self) -> str:
        return self.words(inert)


def _names(quote: Quote, names: Sequence[str]) -> str:
    """Return names such as ``a, b, c and 2 more``."""
    shown = ", ".join(quote(cut(name, _LONGEST_LISTED)) for name in names[:_LISTED])
    return f"{shown} and {len(names) - _LISTED} more" if len(names) > _LISTED else shown


def _override(quote: Quote, word: str) -> str:
    despite = {one.word: f" although {one.although}" for one in Override}
    return f"{quote(f'--allow {cut(word, LONGEST_NAME)}')}: compared{despite.get(word, '')}"


_Format = Callable[[Quote, Any], str]


def _format(spec: str | None) -> _Format:
    """Return the function that formats a value of this type; any other type is a noun."""
    nouns = (spec or "").split("|")
    return _FORMATS.get(spec or "", lambda quote, count: plural(count, *nouns))


_FORMATS: Mapping[str, _Format] = {
    "": lambda quote, name: quote(cut(name, LONGEST_NAME)),
    "sentence": lambda quote, text: quote(cut(clause(text), LONGEST_TEXT)),
    "names": _names,
    "benchmarks": lambda quote, names: plural(len(names), "benchmark"),
    "commit": lambda quote, commit: quote(short(commit)) or "unknown",
    "override": _override,
    "%": lambda quote, size: percent(size, sign=False),
    "time": lambda quote, seconds: duration(seconds),
    "flag": lambda quote, flag: "",
    "sides": lambda quote, sides: " and ".join(f"the {side}" for side in sides),
    "command": lambda quote, command: quote(command),
    # Our own words and numbers.
    **dict.fromkeys(("number", "side", "clock", "host", "entry"), lambda quote, value: str(value)),
}
