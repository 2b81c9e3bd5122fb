# SPDX-License-Identifier: Apache-2.0
"""The two sides of a comparison, measured in pairs of processes round by round."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.measure import run_file, selection
from warpgauge.measure.discovery import Binary
from warpgauge.measure.plan import Lane
from warpgauge.measure.run_file import Content
from warpgauge.measure.turn_result import TurnResult
from warpgauge.records import load
from warpgauge.records.model import Record
from warpgauge.records.sessions import PAIR_KEY, PAIR_SIDE

# Runs the lanes' processes for a range of rounds.
Run = Callable[[Sequence[Lane], range], Iterable[TurnResult]]


@dataclass(frozen=True)
class Side:
    """One of several builds: its programs, how they are called, and their results so far.

    `facts` are context fields of this side alone: commit, dirty, inject.
    """

    binaries: tuple[Binary, ...]
    facts: Mapping[str, str]
    arguments: tuple[str, ...] = ()
    outcomes: tuple[TurnResult, ...] = ()

    def only(self, names: Collection[str]) -> Side:
        """Return this side with only these benchmarks, as far as it has them."""
        return replace(self, binaries=tuple(selection.only(self.binaries, names)))

    def without(self, names: Collection[str]) -> Side:
        """Return this side without these benchmarks."""
        binaries = []
        for binary in self.binaries:
            left = tuple(name for name in binary.names if name not in names)
            if left or not binary.names:
                binaries.append(replace(binary, names=left))
        return replace(self, binaries=tuple(binaries))

    def lane(self, name: str = "") -> Lane:
        return Lane(self.binaries, self.arguments, name)


def measure(
    sides: Mapping[str, Side],
    names: Collection[str] | None,
    rounds: range,
    run: Run,
) -> dict[str, Side]:
    """Measure `rounds` and return the sides, by name, with the results added.

    If `names` is given, only these benchmarks run. One that only one side has runs alone.
    """
    lanes = [
        (side if names is None else side.only(names)).lane(name) for name, side in sides.items()
    ]
    found = list(run(lanes, rounds))
    return {
        name: replace(side, outcomes=side.outcomes + tuple(o for o in found if o.side == name))
        for name, side in sides.items()
    }


def kept(
    sides: Mapping[str, Side],
    files: Mapping[str, Path],
    facts: Mapping[str, str],
    known: Mapping[str, str],
) -> dict[str, Record]:
    """Write each side's run file with a common `pair_id`, and load it again. Raises UserError.

    `facts` hold for both sides; `known` fills in what the programs do not report.
    """
    of_all = {**facts, PAIR_KEY: secrets.token_hex(8)}
    run_file.write(
        {
            files[name]: document(side, {**of_all, PAIR_SIDE: name}, known)
            for name, side in sides.items()
        }
    )
    return {name: load.load(files[name]) for name in sides}


def document(side: Side, facts: Mapping[str, str], known: Mapping[str, str]) -> Content:
    rounds = {outcome.round for outcome in side.outcomes}
    own = {"processes": str(len(rounds)), **side.facts, **facts}
    return run_file.document(side.binaries, side.outcomes, own, known, paired=True)
