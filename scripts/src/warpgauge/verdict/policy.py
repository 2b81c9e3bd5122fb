# SPDX-License-Identifier: Apache-2.0
"""baselines/policy.toml: reviewed rules for changes that are too small, required or expected.

Reading the file, and applying its entries to verdicts; the day is given.

A pattern is a Python regular expression, searched anywhere in a benchmark's name; a leading ``-``
or ``all`` has no special meaning. If several entries of a kind match, the last one counts.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated, ClassVar, TypeVar

import msgspec
from msgspec import Meta

from warpgauge.records.benchmark_filter import SEARCH_LIMIT_S, cpu_limit
from warpgauge.records.counters import Clock
from warpgauge.records.model import PROGRAMS, Record, Source
from warpgauge.records.sessions import are_paired
from warpgauge.system import contract
from warpgauge.system.contract import converted, refuse_unknown
from warpgauge.system.location import Place
from warpgauge.system.text import foreign, inert, percent, plural
from warpgauge.verdict.comparison import UNMEASURED, Outcome, Verdict
from warpgauge.verdict.note import ENTRY_UNUSED, HELD_BACK, Note, listed

FILE_NAME = "policy.toml"
FAIL_ON_RESOURCES = "fail_on_resources"
WARNING_DAYS = 14  # before an entry expires: time to fix the slowdown or to renew the entry
LARGEST_PERCENT = 1000

Text = Annotated[str, Meta(min_length=1, pattern=r"\S")]
Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(gt=0, le=1)]
Percent = Annotated[float, Meta(gt=0, lt=LARGEST_PERCENT)]


class Entry(msgspec.Struct, frozen=True):
    """An entry of a policy; `number` counts from 1 within its `kind`."""

    kind: ClassVar[str]
    number: int
    pattern: re.Pattern[str]
    reason: Text

    @property
    def key(self) -> str:
        """What no other entry of its kind may have."""
        return self.pattern.pattern


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


class Energy(Limit, frozen=True):
    """An operation that takes more energy, by more than its `fraction`, fails."""

    kind = "energy"


class Expected(Limit, frozen=True, rename={"percent": "slower_by_at_most_percent"}):
    """Accept slowdowns of up to its `fraction`, up to and including the day `expires`.

    With `resources`, accept that the operation takes more resources too.
    """

    kind = "expected"
    percent: Percent  # repeated, so that `rename` applies
    expires: date
    resources: bool = False


_USES = ("registers", "spills", "shared_bytes", "stack_bytes")


class Pin(Entry, frozen=True):
    """Limit what matching kernels take, on these architectures (``sm_90``) or on all.

    The pattern is searched in a kernel's name as in its source, without parameters.
    """

    kind = "resources"
    reason: Text = ""
    architectures: tuple[Annotated[str, Meta(pattern=r"^sm_[0-9]+$")], ...] = ()
    registers: Count | None = None
    spills: Count | None = None  # instructions
    shared_bytes: Count | None = None
    stack_bytes: Count | None = None
    occupancy: Share | None = None  # at least: of an SM's warps

    def __post_init__(self) -> None:
        if self.occupancy is None and all(getattr(self, name) is None for name in _USES):
            raise ValueError(f"limits nothing: give one of {', '.join(_USES)}, occupancy")

    @property
    def key(self) -> str:
        return " ".join((self.pattern.pattern, *self.architectures))

    def exceeded(self, before: object, after: object) -> Iterator[str]:
        """Yield what a kernel now takes too much of, but did not; None is no kernel."""
        for name in _USES:
            most, old, new = getattr(self, name), getattr(before, name, 0), getattr(after, name, 0)
            if most is not None and old <= most < new:
                yield f"{new} {name.replace('_', ' ')} instead of {old}; at most {most}"
        old, new = (getattr(side, "occupancy", None) for side in (before, after))
        least = self.occupancy
        if least is not None and new is not None and new < least <= (1.0 if old is None else old):
            was = "" if old is None else f" instead of {old}"
            yield f"occupancy {new}{was}; at least {least}"


E = TypeVar("E", bound=Entry)


def last_matching(entries: Sequence[E], name: str) -> E | None:
    """Return the entry that counts for this benchmark, or None if none matches."""
    return next((one for one in reversed(entries) if one.pattern.search(name)), None)


@dataclass(frozen=True)
class Policy:
    """The entries of one file, in its order.

    With `fail_on_resources` an operation that takes more resources regresses whatever its time.
    """

    path: Path
    minimum_effects: tuple[MinimumEffect, ...] = ()
    required: tuple[Required, ...] = ()
    expected: tuple[Expected, ...] = ()
    tolerances: tuple[Tolerance, ...] = ()
    pins: tuple[Pin, ...] = ()
    energies: tuple[Energy, ...] = ()
    fail_on_resources: bool = False

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
        entries: list[Entry] = [*self.minimum_effects, *self.tolerances, *self.energies]
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
    run files in this tree use the policy of `baselines`, as warpgauge bench did to measure them.
    Run files from elsewhere, or of another project's programs, have none. Raise UserError.
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
    kinds = (MinimumEffect, Tolerance, Required, Expected, Pin, Energy)
    known = [FAIL_ON_RESOURCES, *(one.kind for one in kinds)]
    refuse_unknown(top, known, Place(path), "key")
    resources = top.get(FAIL_ON_RESOURCES, False)
    if not isinstance(resources, bool):
        raise Place(path).error(f"'{FAIL_ON_RESOURCES}' is not true or false", "correct it")
    return Policy(
        path,
        minimum_effects=_entries(top, MinimumEffect, path),
        tolerances=_entries(top, Tolerance, path),
        required=_entries(top, Required, path),
        expected=_entries(top, Expected, path),
        pins=_entries(top, Pin, path),
        energies=_entries(top, Energy, path),
        fail_on_resources=resources,
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
        first = found.setdefault(entry.key, entry)
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


# Outcomes that need an expected entry, or may need it once they are decided.
_MAY_NEED = (Outcome.REGRESSION, Outcome.INCONCLUSIVE)

# Outcomes without a valid candidate time.
_NOT_MEASURED = (Outcome.MISSING, Outcome.ERROR, Outcome.INVALID, Outcome.SKIPPED)


def apply(
    policy: Policy, verdicts: Sequence[Verdict], asked: Callable[[str], bool], today: date
) -> tuple[tuple[Verdict, ...], tuple[Note, ...]]:
    """Apply the expected, energy and required entries to verdicts that are otherwise final.

    Return the verdicts, and notes on the policy. The rule has already accepted what is below the
    policy's minimum effect. `asked` tells whether this comparison covers all that a pattern may
    match; otherwise nothing is reported as missing or unused. If resources fail, a REGRESSION may
    be due to them, which only an entry with `resources` accepts.
    """
    unexpired = [one for one in policy.expected if today <= one.expires]
    needed: set[int] = set()
    judged: dict[str, Verdict] = {}
    for verdict in verdicts:
        entry = last_matching(unexpired, verdict.name)
        if entry is not None and verdict.outcome in _MAY_NEED:
            needed.add(entry.number)
            if verdict.outcome is Outcome.REGRESSION:
                verdict = _expected(verdict, entry, policy.fail_on_resources)
        limit = last_matching(policy.energies, verdict.name)
        judged[verdict.name] = _by_energy(verdict, limit)
    notes: tuple[Note, ...] = ()
    if held_back := [verdict.name for verdict in verdicts if verdict.accepted]:
        words = f"Would be a regression without the minimum effect of {foreign(policy.name)}"
        notes = (Note(HELD_BACK, f"{words}: {listed(held_back)}."),)
    every: list[Entry] = [*policy.expected, *policy.minimum_effects, *policy.tolerances]
    for one in (*every, *policy.energies):
        used = isinstance(one, Expected) and one.number in needed
        idle = not used and asked(one.pattern.pattern)
        if found := _state(one, idle, any(map(one.pattern.search, judged)), today):
            kind, words = found
            where = f"{foreign(policy.name)}, {one.kind} entry {one.number}"
            notes += (Note(kind, f"{where} ({foreign(one.pattern.pattern)}) {words}"),)
    # If a pattern is a benchmark's name, this replaces its verdict; else the verdict comes last.
    judged |= {one.name: one for one in _missing(policy, judged, asked)}
    return tuple(judged.values()), notes


def _state(entry: Entry, idle: bool, matches: bool, today: date) -> tuple[str, str] | None:
    """Return the kind and the words of a note on an entry, if any; `idle` if nothing used it."""
    if idle and not matches:
        return "entry_unmatched", "matches no benchmark: correct or remove it."
    if not isinstance(entry, Expected):
        return None
    days, on = (entry.expires - today).days, entry.expires.isoformat()
    if days < 0:
        return "entry_expired", f"expired on {on} and accepts nothing: renew or remove it."
    if idle:
        words = "is unused, because no regression needed it: remove it if that stays so."
        return ENTRY_UNUSED, words
    if days > WARNING_DAYS:
        return None
    left = f"expires in {plural(days, 'day')}, on {on}"
    return "entry_expires", f"{left}: fix the slowdown, or renew the entry."


def _expected(verdict: Verdict, entry: Expected, resources_fail: bool) -> Verdict:
    """Return `verdict`, a regression, after applying the entry that matches it."""
    most, why = percent(entry.fraction, sign=False), inert(entry.reason)
    # A change of unknown size may exceed the entry.
    if verdict.change is None or not verdict.change.ratio <= entry.fraction:
        return _adding(verdict, f"expected at most {most} ({why})")
    if resources_fail and not entry.resources and any(one.worse for one in verdict.resources):
        return _adding(verdict, f"the slower time is expected ({why}), the use of resources is not")
    if verdict.by_time in UNMEASURED:  # its resources are accepted, but its time is still unknown
        reason = f"the use of resources is expected ({why}), the slower time is not"
        return replace(verdict, outcome=verdict.by_time, reason=reason)
    tolerance = max(verdict.tolerance or 0.0, entry.fraction)
    if verdict.bound is None or not verdict.bound <= tolerance:
        open_ = replace(verdict, outcome=Outcome.INCONCLUSIVE, by_time=None, tolerance=tolerance)
        return _adding(open_, f"expected at most {most} ({why})")
    until = f"{why}, until {entry.expires.isoformat()}"
    accepted = "; ".join(filter(None, (verdict.accepted, until)))
    # The reason says that resources fail. A PASS lists them among its causes instead.
    reason = verdict.reason if verdict.by_time is None else ""
    return replace(
        verdict, outcome=Outcome.PASS, accepted=accepted, reason=reason, tolerance=tolerance
    )


def _by_energy(verdict: Verdict, entry: Energy | None) -> Verdict:
    """Return a regression if the operation takes more energy than its entry allows."""
    energy, own = verdict.energy, verdict.outcome
    if own is Outcome.REGRESSION or not entry or not energy or energy.low <= entry.fraction:
        return verdict
    most, why = percent(entry.fraction, sign=False), inert(entry.reason)
    reason = f"fails on its energy, at most {most} more ({why}); judged by its time: {own.value}"
    failed = replace(verdict, outcome=Outcome.REGRESSION, by_time=own, reason=reason)
    return replace(failed, fails_on_energy=True)


def _adding(verdict: Verdict, words: str) -> Verdict:
    return replace(verdict, reason="; ".join(filter(None, (verdict.reason, words))))


def _missing(
    policy: Policy, known: Mapping[str, Verdict], asked: Callable[[str], bool]
) -> list[Verdict]:
    """Return a verdict for each required pattern without a measured benchmark."""
    measured = [name for name, one in known.items() if one.outcome not in _NOT_MEASURED]
    found = []
    for required in policy.required:
        pattern = required.pattern.pattern
        if not asked(pattern) or any(map(required.pattern.search, measured)):
            continue
        why = inert(required.reason) or "no benchmark that matches was measured"
        reason = f"required by {inert(policy.name)}: {why}"
        lost = Verdict(pattern, Outcome.MISSING, Clock.DEVICE)
        # A pattern that is also a benchmark's name already has a verdict.
        own = known.get(pattern, lost)
        outcome = Outcome.MISSING if own.outcome is Outcome.SKIPPED else own.outcome
        found.append(replace(_adding(own, reason), outcome=outcome, required=True))
    return found
