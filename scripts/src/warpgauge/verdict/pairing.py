# SPDX-License-Identifier: Apache-2.0
"""Select the times to compare, and judge benchmarks that have none."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from warpgauge.records.counters import FULL_SUITE, HOST_CLOCK, SOURCE_LINE, Clock
from warpgauge.records.model import BUILD_DIR, FILE, MANIFEST, PROGRAMS, Record, Session
from warpgauge.records.sessions import are_paired
from warpgauge.system.text import inert, quantity
from warpgauge.verdict.comparability import Comparability, references, same_clock
from warpgauge.verdict.comparison import Outcome, Verdict
from warpgauge.verdict.incompatibility import (
    Incompatibility,
    Override,
    disturbances,
    newest_of,
    reason,
    same_model,
)

if TYPE_CHECKING:
    from warpgauge.records.row import Row

# The family of the controls.
FAMILY = "host"


@dataclass(frozen=True)
class Pairing:
    """A benchmark measured on both sides, and its sessions to compare.

    `session` is the candidate's. `references` are the sessions most comparable with it
    (`comparability`).
    """

    baseline: Row
    candidate: Row
    references: tuple[Session, ...]
    session: Session
    comparability: Comparability

    @property
    def is_control(self) -> bool:
        return is_control(self.candidate, self.session)


def is_control(row: Row, session: Session) -> bool:
    """Return whether a row of this session measures the machine, not the code.

    A family of this name may be another project's, and a plain Google Benchmark program's, whose
    rows lack the counter.
    """
    foreign = {PROGRAMS, BUILD_DIR, MANIFEST, FILE} & session.context.keys()
    return row.family == FAMILY and bool(row.counters.get(HOST_CLOCK)) and not foreign


def pair(
    baseline: Record,
    candidate: Record,
    names: Iterable[str],
    allow: Collection[Override] = frozenset(),
) -> tuple[list[Pairing], list[Verdict], dict[Override, list[str]]]:
    """Return pairings of `names`, verdicts on names without one, and what `allow` waived."""
    pairings: list[Pairing] = []
    unpaired: list[Verdict] = []
    waived: dict[Override, list[str]] = {}
    matches = _Matches(baseline, candidate, allow)
    whose = "base" if are_paired(baseline, candidate) else "baseline"
    for name in names:
        base, cand = baseline.rows.get(name), candidate.rows.get(name)
        known = None if base is None or base.skipped else base
        if cand is None or any(row is not None and row.error is not None for row in (known, cand)):
            unpaired.append(_one_sided(name, base, cand, whose))
            continue
        found = matches.incompatibilities(known, cand)
        if forbidden := [one for one in found if one.override not in allow]:
            unpaired.append(_invalid(cand, forbidden))
            continue
        for override in {one.override for one in found}:
            waived.setdefault(override, []).append(name)
        if known is not None:
            pairings.append(Pairing(known, cand, *matches.sessions(known, cand)[0]))
            continue
        seconds = statistics.median(cand.process_medians[newest_of(cand, candidate.sessions).key])
        new = Verdict(name, Outcome.NEW, cand.clock, None, seconds, counters=cand.counters)
        unpaired.append(new)
    return pairings, unpaired, waived


def _invalid(row: Row, forbidden: Collection[Incompatibility]) -> Verdict:
    """Return an INVALID verdict, without the rates if these are invalid too."""
    counters = {} if any(one.remedy for one in forbidden) else row.counters
    words = reason(forbidden)
    return Verdict(row.name, Outcome.INVALID, row.clock, reason=words, counters=counters)


def _one_sided(name: str, base: Row | None, cand: Row | None, whose: str) -> Verdict:
    """Judge a benchmark without a time on one side; `whose` names the baseline's side."""
    skip = base if cand is None else cand
    if skip is not None and skip.skipped:
        reason, counters = inert(skip.error or ""), skip.counters
        if base is None or base.skipped:
            return Verdict(name, Outcome.SKIPPED, skip.clock, reason=reason, counters=counters)
        if base.error is None:
            reason = f"in the {whose}, but skipped: {reason}"
            return Verdict(name, Outcome.MISSING, base.clock, reason=reason, counters=counters)
    elif cand is not None and cand.error is not None:
        # Rates of a failed row are dropped, but its source line and its suite are kept.
        kept = (SOURCE_LINE, FULL_SUITE)
        return Verdict(
            name,
            Outcome.ERROR,
            cand.clock,
            reason=inert(cand.error),
            counters={key: cand.counters[key] for key in kept if key in cand.counters},
            baseline_counters=base.counters if base is not None else {},
        )
    if base is None:
        raise KeyError(name)
    if base.error is not None:
        reason = f"failed in the {whose}: {inert(base.error)}"
        return Verdict(name, Outcome.ERROR, base.clock, reason=reason)
    reason = f"in the {whose}, but missing from the candidate"
    return Verdict(name, Outcome.MISSING, base.clock, reason=reason)


class _Matches:
    """Finds the sessions to compare. Rows share few combinations, so results are cached."""

    def __init__(self, baseline: Record, candidate: Record, allow: Collection[Override]) -> None:
        sides = (baseline, candidate)
        # Nobody knows the clock of Google Benchmark's rows, so what they are compared with has any.
        self._alike = baseline.source is candidate.source
        self._plain = any(one.source.is_plain for one in sides)
        several = all(one.of_processes for one in sides)
        self._of_plain_files = Comparability.PLAIN_PROCESSES if several else Comparability.UNKNOWN
        self._baseline, self._candidate, self._allow = baseline, candidate, allow
        self._found: dict[object, tuple[_Sessions, list[Incompatibility]]] = {}

    def incompatibilities(self, base: Row | None, cand: Row) -> list[Incompatibility]:
        """Return what forbids comparing two rows, or calling the candidate's new, waived or not.

        SM clocks are compared only between sessions that may be compared at all.
        """
        sides = ("candidate", self._candidate, cand), ("baseline", self._baseline, base)
        found = [
            replace(one, fact=f"{side}: {one.fact}")
            for side, record, row in sides
            if row is not None
            for one in disturbances(row, record.sessions)
        ]
        if base is None:
            return found
        if base.clock is not cand.clock and (self._alike or not self._plain):
            fact = f"timed by the {cand.clock.value} clock, in the baseline by the "
            fact += f"{base.clock.value} clock"
            found.insert(0, Incompatibility(Override.TIMING, fact))
        return found + self.sessions(base, cand)[1]

    def sessions(self, base: Row, cand: Row) -> tuple[_Sessions, list[Incompatibility]]:
        """Return the sessions to compare, and what forbids it. The candidate's is its newest."""
        newest = newest_of(cand, self._candidate.sessions)
        key = tuple(base.process_medians), newest.key, cand.clock
        if key not in self._found:
            everything = [self._baseline.sessions[one] for one in base.process_medians]
            self._found[key] = self._match(everything, newest, cand.clock)
        return self._found[key]

    def _match(
        self, everything: list[Session], session: Session, clock: Clock
    ) -> tuple[_Sessions, list[Incompatibility]]:
        found = []
        alike = same_model(self._baseline, session)
        same = [one for one in everything if one in alike]
        if not same:
            fact = "the baseline has it only from other GPU models"
            found.append(Incompatibility(Override.GPU_MODEL, fact))
            same = everything if Override.GPU_MODEL in self._allow else []
        known = [one for one in same if same_clock(one, session, clock)]
        if same and not known:
            fact = f"measured at an SM clock of {_clocks([session])}, in the baseline of "
            found.append(Incompatibility(Override.SM_CLOCK, fact + _clocks(same)))
            known = same if Override.SM_CLOCK in self._allow else []
        chosen, nearest = references(known, session, clock)
        nearness = self._of_plain_files if self._plain else nearest
        return (tuple(chosen), session, nearness), found


# The last three fields of a Pairing.
_Sessions = tuple[tuple[Session, ...], Session, Comparability]


def _clocks(sessions: Iterable[Session]) -> str:
    targets = {hz for one in sessions if (hz := one.sm_clock_target_hz) is not None}
    return " and ".join(quantity(hz, "Hz") for hz in sorted(targets))
