# SPDX-License-Identifier: Apache-2.0
"""baselines/policy.toml: which changes are too small, required or expected, as reviewed text.

Patterns are Python's regular expressions, found anywhere in a benchmark's name; a leading ``-`` or
``all`` means nothing more. Of several entries of a kind that match, the last one counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import ClassVar

from warpgauge.files import toml_file
from warpgauge.files.location import Place
from warpgauge.records.benchmark_filter import SEARCH_LIMIT_S, cpu_limit
from warpgauge.records.model import Record, Source
from warpgauge.records.sessions import are_paired
from warpgauge.verdict.context import PROGRAMS
from warpgauge.verdict.policy_entry import entries

FILE_NAME = "policy.toml"


@dataclass(frozen=True)
class MinimumEffect:
    """A change below `fraction` fails nobody."""

    kind: ClassVar = "minimum_effect"
    number: int
    pattern: re.Pattern[str]
    fraction: float
    reason: str


@dataclass(frozen=True)
class Tolerance:
    """What passes is slower by at most `fraction`."""

    kind: ClassVar = "tolerance"
    number: int
    pattern: re.Pattern[str]
    fraction: float
    reason: str


@dataclass(frozen=True)
class Required:
    """At least one benchmark that matches must be measured."""

    kind: ClassVar = "required"
    number: int
    pattern: re.Pattern[str]
    reason: str


@dataclass(frozen=True)
class Expected:
    """What matches may be slower by `fraction` up to and including the day `expires`.

    With `resources` what it takes may have grown too.
    """

    kind: ClassVar = "expected"
    number: int
    pattern: re.Pattern[str]
    fraction: float
    reason: str
    expires: date
    resources: bool


@dataclass(frozen=True)
class Policy:
    """The entries of one file, in its order; `number` counts from 1 within a kind."""

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
        """The entry that counts for this benchmark, of several the last; None: as everywhere."""
        found = [one for one in self.minimum_effects if one.pattern.search(name)]
        return found[-1] if found else None

    def tolerance(self, name: str) -> Tolerance | None:
        """Likewise."""
        found = [one for one in self.tolerances if one.pattern.search(name)]
        return found[-1] if found else None

    def used_up(self, before: Policy) -> list[Expected]:
        """The expected entries that `before` has, too: what they accept is in that commit."""
        there = [replace(one, number=0) for one in before.expected]
        return [one for one in self.expected if replace(one, number=0) in there]

    def without(self, entries: Collection[Expected]) -> Policy:
        """Without these expected entries."""
        return replace(self, expected=tuple(one for one in self.expected if one not in entries))

    def require_quick(self, names: Collection[str]) -> None:
        """Raises UserError for a pattern that would take years to search in `names`."""
        entries: list[MinimumEffect | Tolerance | Required | Expected] = [*self.minimum_effects]
        for entry in [*entries, *self.tolerances, *self.required, *self.expected]:
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
    tables = entries(toml_file.read(path), path)
    effects = (
        MinimumEffect(one.number, one.pattern(), one.fraction("percent"), one.sentence("reason"))
        for one in tables["minimum_effect"]
    )
    tolerances = (
        Tolerance(one.number, one.pattern(), one.fraction("percent"), one.sentence("reason"))
        for one in tables["tolerance"]
    )
    required = (
        Required(one.number, one.pattern(), one.sentence("reason")) for one in tables["required"]
    )
    expected = (
        Expected(
            one.number,
            one.pattern(),
            one.fraction("slower_by_at_most_percent"),
            one.sentence("reason"),
            one.day("expires"),
            one.flag("resources"),
        )
        for one in tables["expected"]
    )
    return Policy(path, tuple(effects), tuple(required), tuple(expected), tuple(tolerances))
