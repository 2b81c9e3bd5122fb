# SPDX-License-Identifier: Apache-2.0
"""baselines/policy.toml: reviewed rules for changes that are too small, required or expected.

A pattern is a Python regular expression, searched anywhere in a benchmark's name; a leading ``-``
or ``all`` has no special meaning. If several entries of a kind match, the last one counts.
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

from warpgauge.records.benchmark_filter import SEARCH_LIMIT_S, cpu_limit
from warpgauge.records.model import PROGRAMS, Record, Source
from warpgauge.records.sessions import are_paired
from warpgauge.system import contract
from warpgauge.system.contract import converted, refuse_unknown
from warpgauge.system.location import Place

FILE_NAME = "policy.toml"
LARGEST_PERCENT = 1000

Text = Annotated[str, Meta(min_length=1)]
Percent = Annotated[float, Meta(gt=0, lt=LARGEST_PERCENT)]


class Entry(msgspec.Struct, frozen=True):
    """An entry of a policy; `number` counts from 1 within its `kind`."""

    kind: ClassVar[str]
    number: int
    pattern: re.Pattern[str]
    reason: Text


class Required(Entry, frozen=True):
    """Require that at least one matching benchmark is measured."""

    kind = "required"
    reason: Text = ""


class Limit(Entry, frozen=True):
    """An entry with a percentage."""

    percent: Percent

    @property
    def fraction(self) -> float:
        return self.percent / 100.0


class MinimumEffect(Limit, frozen=True):
    """Changes below its `fraction` do not fail."""

    kind = "minimum_effect"


class Tolerance(Limit, frozen=True):
    """A PASS is slower by at most its `fraction`."""

    kind = "tolerance"


class Expected(Limit, frozen=True, rename={"percent": "slower_by_at_most_percent"}):
    """Accept slowdowns of up to its `fraction`, up to and including the day `expires`.

    With `resources`, accept that the operation takes more resources too.
    """

    kind = "expected"
    percent: Percent  # repeated, so that `rename` applies
    expires: date
    resources: bool = False


E = TypeVar("E", bound=Entry)


def last_matching(entries: Sequence[E], name: str) -> E | None:
    """Return the entry that counts for this benchmark, or None if none matches."""
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
        """The last two parts of its path: ``baselines/policy.toml``."""
        return "/".join(self.path.parts[-2:])

    def minimum_effect(self, name: str) -> MinimumEffect | None:
        """Return the entry that counts for this benchmark, or None for the default."""
        return last_matching(self.minimum_effects, name)

    def tolerance(self, name: str) -> Tolerance | None:
        """Return the entry that counts for this benchmark, or None for the default."""
        return last_matching(self.tolerances, name)

    def used_up(self, before: Policy) -> list[Expected]:
        """Return the expected entries that `before` also has: their slowdown is in that commit."""
        there = [msgspec.structs.replace(one, number=0) for one in before.expected]
        return [one for one in self.expected if msgspec.structs.replace(one, number=0) in there]

    def without(self, entries: Collection[Expected]) -> Policy:
        """Return the policy without these expected entries."""
        return replace(self, expected=tuple(one for one in self.expected if one not in entries))

    def require_quick(self, names: Collection[str]) -> None:
        """Raise UserError if searching `names` for a pattern takes too long."""
        entries: list[Entry] = [*self.minimum_effects, *self.tolerances]
        for entry in [*entries, *self.required, *self.expected]:
            place = Place(self.path, f"{entry.kind} entry {entry.number}")
            fault = place.error("'pattern' takes too long to search", "simplify it")
            with cpu_limit(SEARCH_LIMIT_S, str(fault)):
                for name in names:
                    entry.pattern.search(name)


def named_or_in(baselines: Path, named: Path | None) -> Policy | None:
    """Return the policy `named`, or the one in a folder of baselines, or None if it has none.

    Raise UserError for a file that cannot be read.
    """
    path = named or baselines / FILE_NAME
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        if named is None:
            return None
    except OSError:  # unknown whether it exists: `load` reports the error
        pass
    return load(path)


def of(baseline: Record, candidate: Record, baselines: Path, named: Path | None) -> Policy | None:
    """Return the policy `named`, or the one of a baseline, or None if there is none.

    A baseline, ``baselines/nvidia-h200`` or a file in it, uses the policy in ``baselines``. Paired
    run files in this tree use the policy of `baselines`, as scripts/bench did to measure them. Run
    files from elsewhere, or of another project's programs, have none. Raise UserError.
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
    """Return the policy in a file. Raise UserError that names the faulty entry."""
    top = contract.read_toml(path)
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
        entry: E = converted(given, type_, place, _searched)
        entry = msgspec.structs.replace(entry, reason=" ".join(entry.reason.split()))
        first = found.setdefault(entry.pattern.pattern, entry)
        if first is not entry:
            fault = f"has the pattern of entry {first.number}"
            raise place.error(fault, "remove one of them")
    return tuple(found.values())


def _searched(_: type, value: object) -> re.Pattern[str]:
    """Return a compiled regular expression. Raise ValueError for an invalid one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(msgspec.convert(value, Text))
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None  # msgspec adds the key
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"is not a regular expression ({error})") from None
