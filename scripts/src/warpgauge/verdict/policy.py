# SPDX-License-Identifier: Apache-2.0
"""baselines/policy.toml: which changes are too small, required or expected, as reviewed text.

Patterns are Python's regular expressions, found anywhere in a benchmark's name; a leading ``-`` or
``all`` means nothing more. Of several entries of a kind that match, the last one counts.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated, ClassVar, TypeVar

import msgspec
from msgspec import Meta

from warpgauge.files import toml_file
from warpgauge.files.location import Place
from warpgauge.files.toml_file import Words, converted, refuse_unknown
from warpgauge.records.benchmark_filter import SEARCH_LIMIT_S, cpu_limit
from warpgauge.records.model import Record, Source
from warpgauge.records.sessions import are_paired
from warpgauge.verdict.comparability import PROGRAMS

FILE_NAME = "policy.toml"
LARGEST_PERCENT = 1000

_SAYING = r"\S"
_PERCENTAGE = f"give a percentage above 0 and below {LARGEST_PERCENT}"
_WORDS = Words(
    patterns={_SAYING: ("is empty", "give a value")},
    remedies={
        "percent": _PERCENTAGE,
        "slower_by_at_most_percent": _PERCENTAGE,
        "expires": "write a date without quotes and time, e.g. 2027-01-31",
    },
)
Text = Annotated[str, Meta(pattern=_SAYING)]
Percent = Annotated[float, Meta(gt=0, lt=LARGEST_PERCENT)]


class Entry(msgspec.Struct, frozen=True):
    """One of a policy; `number` counts from 1 within a `kind`."""

    kind: ClassVar[str]
    number: int
    pattern: re.Pattern[str]
    reason: Text


class Required(Entry, frozen=True):
    """At least one benchmark that matches must be measured."""

    kind = "required"
    reason: Text = ""


class Limit(Entry, frozen=True):
    """An entry with a percentage."""

    percent: Percent

    @property
    def fraction(self) -> float:
        """The percentage as a fraction."""
        return self.percent / 100.0


class MinimumEffect(Limit, frozen=True):
    """A change below its `fraction` fails nobody."""

    kind = "minimum_effect"


class Tolerance(Limit, frozen=True):
    """What passes is slower by at most its `fraction`."""

    kind = "tolerance"


class Expected(Limit, frozen=True, rename={"percent": "slower_by_at_most_percent"}):
    """What matches may be slower by its `fraction` up to and including the day `expires`.

    With `resources` what it takes may have grown too.
    """

    kind = "expected"
    percent: Percent  # once more, for its name in the file
    expires: date
    resources: bool = False


E = TypeVar("E", bound=Entry)


def last_matching(entries: Sequence[E], name: str) -> E | None:
    """The entry that counts for this benchmark; None where none matches."""
    return next((one for one in reversed(entries) if one.pattern.search(name)), None)


@dataclass(frozen=True)
class Policy:
    """The entries of one file, in its order."""

    path: Path
    minimum_effects: tuple[MinimumEffect, ...] = ()
    required: tuple[Required, ...] = ()
    expected: tuple[Expected, ...] = ()
    tolerances: tuple[Tolerance, ...] = ()

    @property
    def name(self) -> str:
        """The file as people call it: ``baselines/policy.toml``."""
        return "/".join(self.path.parts[-2:])

    def minimum_effect(self, name: str) -> MinimumEffect | None:
        """The entry that counts for this benchmark; None: as everywhere."""
        return last_matching(self.minimum_effects, name)

    def tolerance(self, name: str) -> Tolerance | None:
        """Likewise."""
        return last_matching(self.tolerances, name)

    def used_up(self, before: Policy) -> list[Expected]:
        """The expected entries that `before` has, too: what they accept is in that commit."""
        there = [msgspec.structs.replace(one, number=0) for one in before.expected]
        return [one for one in self.expected if msgspec.structs.replace(one, number=0) in there]

    def without(self, entries: Collection[Expected]) -> Policy:
        """Without these expected entries."""
        return replace(self, expected=tuple(one for one in self.expected if one not in entries))

    def require_quick(self, names: Collection[str]) -> None:
        """Raises UserError for a pattern that would take years to search in `names`."""
        entries: list[Entry] = [*self.minimum_effects, *self.tolerances]
        for entry in [*entries, *self.required, *self.expected]:
            place = Place(self.path, f"{entry.kind} entry {entry.number}")
            fault = place.error("'pattern' takes too long to search", "simplify it")
            with cpu_limit(SEARCH_LIMIT_S, str(fault)):
                for name in names:
                    entry.pattern.search(name)


def named_or_in(baselines: Path, named: Path | None) -> Policy | None:
    """The policy that somebody named, or that lies in a folder of baselines; None where none is.

    Raises UserError.
    """
    path = named or baselines / FILE_NAME
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        if named is None:
            return None
    except OSError:  # it cannot be told: `load` says why
        pass
    return load(path)


def of(baseline: Record, candidate: Record, baselines: Path, named: Path | None) -> Policy | None:
    """The policy that somebody named, or that a baseline has; None where there is none.

    A baseline, ``baselines/nvidia-h200`` or a file in it, has that of the folder ``baselines``. A
    pair of run files in this tree has that of its `baselines`, as when scripts/bench measured it;
    one from elsewhere, or of another project's programs, is of another suite. Raises UserError.
    """
    here = candidate.path.resolve().is_relative_to(baselines.resolve().parent)
    ours = not any(PROGRAMS in session.context for session in candidate.sessions.values())
    if named is not None or (here and ours and are_paired(baseline, candidate)):
        return named_or_in(baselines, named)
    if baseline.source is not Source.BASELINE:
        return None
    there = baseline.path.resolve()
    return named_or_in(there.parent if there.is_dir() else there.parent.parent, None)


def load(path: Path) -> Policy:
    """The policy in a file. Raises UserError that names the entry at fault."""
    top = toml_file.read(path)
    kinds = (MinimumEffect, Tolerance, Required, Expected)
    refuse_unknown(top, [one.kind for one in kinds], Place(path), "table")
    return Policy(
        path,
        minimum_effects=_entries(top, MinimumEffect, path),
        tolerances=_entries(top, Tolerance, path),
        required=_entries(top, Required, path),
        expected=_entries(top, Expected, path),
    )


def _entries(top: Mapping[str, object], type_: type[E], path: Path) -> tuple[E, ...]:
    tables = top.get(type_.kind, [])
    if not isinstance(tables, list):
        fault = f"'{type_.kind}' is not a list of tables"
        raise Place(path).error(fault, f"write [[{type_.kind}]]")
    known = [key for key in type_.__struct_encode_fields__ if key != "number"]
    found: dict[str, E] = {}
    for number, table in enumerate(tables, start=1):
        place = Place(path, f"{type_.kind} entry {number}")
        refuse_unknown(table, known, place)
        given = {**table, "number": number} if isinstance(table, dict) else table
        entry: E = converted(given, type_, place, _WORDS, _searched)
        entry = msgspec.structs.replace(entry, reason=" ".join(entry.reason.split()))
        first = found.setdefault(entry.pattern.pattern, entry)
        if first is not entry:
            fault = f"has the pattern of entry {first.number}"
            raise place.error(fault, "remove one of them")
    return tuple(found.values())


def _searched(_: type, value: object) -> re.Pattern[str]:
    """A regular expression, searched in names."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(msgspec.convert(value, Text))
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None  # msgspec adds the key
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"is not a regular expression ({error})") from None
