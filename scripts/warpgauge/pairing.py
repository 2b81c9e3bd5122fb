# SPDX-License-Identifier: Apache-2.0
"""Which times of the two sides meet; what is said of a benchmark whose times cannot."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from warpgauge import disturbance
from warpgauge.comparison import Outcome, Verdict
from warpgauge.context import same_clock, same_model
from warpgauge.kinship import Kin, references
from warpgauge.model import Clock, Record, Row, Session, Source
from warpgauge.sessions import newest_last
from warpgauge.text import inert, quantity


@dataclass(frozen=True)
class Pairing:
    """A benchmark that both sides measured, and the sessions of it to compare.

    `session` is the candidate's; `references` are the nearest ones to it, by the kinship `kin`;
    `known` are all that may be compared with it, and tell how far times move by themselves.
    """

    baseline: Row
    candidate: Row
    references: tuple[Session, ...]
    known: tuple[Session, ...]
    session: Session
    kin: Kin


def pair(
    baseline: Record, candidate: Record, names: Iterable[str]
) -> tuple[list[Pairing], list[Verdict]]:
    """Pairings of `names`, and verdicts of those that cannot be paired."""
    pairings: list[Pairing] = []
    unpaired: list[Verdict] = []
    matches = _Matches(baseline, candidate)
    for name in names:
        base, cand = baseline.rows.get(name), candidate.rows.get(name)
        disturbed = disturbance.told({"candidate": (candidate, cand), "baseline": (baseline, base)})
        if cand is not None and base is None and cand.error is None:
            unpaired.append(_no_result(cand, disturbed) if disturbed else matches.new(cand))
            continue
        if base is None or cand is None or base.error is not None or cand.error is not None:
            unpaired.append(_one_sided(name, base, cand))
            continue
        if base.clock is not cand.clock and not matches.plain:
            reason = f"timed by the {cand.clock.value} clock, in the baseline by the "
            unpaired.append(_invalid(cand, f"{reason}{base.clock.value} clock"))
            continue
        if disturbed:
            unpaired.append(_no_result(cand, disturbed))
            continue
        met = matches.of(base, cand)
        if met.references:
            pairings.append(Pairing(base, cand, met.references, met.known, met.session, met.kin))
        else:
            unpaired.append(_invalid(cand, matches.apart(base, met.session)))
    return pairings, unpaired


def _invalid(row: Row, reason: str) -> Verdict:
    return Verdict(row.name, Outcome.INVALID, row.clock, reason=reason, counters=row.counters)


def _no_result(row: Row, reason: str) -> Verdict:
    """Without the rates, which are no result either."""
    return Verdict(row.name, Outcome.INVALID, row.clock, reason=reason)


def _one_sided(name: str, base: Row | None, cand: Row | None) -> Verdict:
    """The verdict of a benchmark that lacks a time on at least one side."""
    if cand is not None and cand.error is not None:
        return Verdict(name, Outcome.ERROR, cand.clock, reason=inert(cand.error))
    if base is not None and base.error is not None:
        reason = f"failed in the baseline: {inert(base.error)}"
        return Verdict(name, Outcome.ERROR, base.clock, reason=reason)
    if base is not None:
        reason = "in the baseline, but the candidate does not have it"
        return Verdict(name, Outcome.MISSING, base.clock, reason=reason)
    raise KeyError(name)


@dataclass(frozen=True)
class _Met:
    """The sessions of a Pairing, which rows that have the same ones share."""

    references: tuple[Session, ...]
    known: tuple[Session, ...]
    session: Session
    kin: Kin


class _Matches:
    """Finds the sessions to compare; rows of one file share few combinations, so it remembers."""

    def __init__(self, baseline: Record, candidate: Record) -> None:
        self.plain = Source.GOOGLE_BENCHMARK in (baseline.source, candidate.source)
        self._newest = {s.key: i for i, s in enumerate(newest_last(candidate.sessions.values()))}
        self._candidate = candidate
        self._comparable = {
            key: {session.key: session for session in same_model(baseline, cand)}
            for key, cand in candidate.sessions.items()
        }
        self._met: dict[tuple[tuple[str, ...], tuple[str, ...], Clock], _Met] = {}

    def new(self, row: Row) -> Verdict:
        """The verdict of a benchmark that the baseline does not know."""
        times = row.process_medians[max(row.process_medians, key=self._newest.__getitem__)]
        seconds = statistics.median(times)
        return Verdict(
            row.name, Outcome.NEW, row.clock, candidate_seconds=seconds, counters=row.counters
        )

    def of(self, base: Row, cand: Row) -> _Met:
        """Whom a row meets: of the candidate its newest session."""
        combination = (tuple(base.process_medians), tuple(cand.process_medians), cand.clock)
        if combination not in self._met:
            key = max(combination[1], key=self._newest.__getitem__)
            session = self._candidate.sessions[key]
            same = self._same_model(base, session)
            known = tuple(one for one in same if same_clock(one, session, cand.clock))
            chosen, kinship = references(known, session)
            kinship = Kin.UNKNOWN if self.plain else kinship
            self._met[combination] = _Met(tuple(chosen), known, session, kinship)
        return self._met[combination]

    def apart(self, base: Row, session: Session) -> str:
        """Why no session of a row of the baseline meets `session`."""
        found = {one.sm_clock_target_hz for one in self._same_model(base, session)} - {None}
        if not found:
            return "the baseline has it from other GPU models only"
        ours, theirs = (_clocks(targets) for targets in ({session.sm_clock_target_hz}, found))
        return f"measured at an SM clock of {ours}, in the baseline of {theirs}"

    def _same_model(self, base: Row, session: Session) -> list[Session]:
        comparable = self._comparable[session.key]
        return [comparable[key] for key in base.process_medians if key in comparable]


def _clocks(targets: Iterable[float | None]) -> str:
    return " and ".join(quantity(hz, "Hz") for hz in sorted(hz for hz in targets if hz is not None))
