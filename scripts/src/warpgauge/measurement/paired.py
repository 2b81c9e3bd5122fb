# SPDX-License-Identifier: Apache-2.0
"""The two sides of a comparison, measured in pairs of processes round by round."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from warpgauge.execution import selection
from warpgauge.execution.discovery import Binary
from warpgauge.execution.plan import Lane
from warpgauge.execution.turn_result import TurnResult
from warpgauge.measurement import run_file
from warpgauge.measurement.run_file import Content
from warpgauge.records import load
from warpgauge.records.model import Record

BASE, CANDIDATE = "base", "candidate"

# Runs the lanes' processes of some rounds.
Run = Callable[[Sequence[Lane], range], Iterable[TurnResult]]


@dataclass(frozen=True)
class Side:
    """One of two builds: its programs, how they are called, and what they delivered so far.

    `facts` are what its context says of it alone: commit, dirty, inject. `filters` leave of each
    family's program what its binary names.
    """

    binaries: tuple[Binary, ...]
    facts: Mapping[str, str]
    arguments: tuple[str, ...] = ()
    filters: Mapping[str, str] = field(default_factory=dict)
    outcomes: tuple[TurnResult, ...] = ()

    def only(self, names: Collection[str]) -> Side:
        """With these benchmarks alone; those that it does not have are left out."""
        binaries = tuple(selection.only(self.binaries, names))
        filters = {
            one.family: selection.exactly(one.own(one.names)) for one in binaries if one.names
        }
        return replace(self, binaries=binaries, filters=filters)

    def without(self, names: Collection[str]) -> Side:
        """The same without these benchmarks."""
        binaries, filters = [], dict(self.filters)
        for binary in self.binaries:
            left = tuple(name for name in binary.names if name not in names)
            if left and left != binary.names:
                filters[binary.family] = selection.exactly(binary.own(left))
            if left or not binary.names:
                binaries.append(replace(binary, names=left))
        return replace(self, binaries=tuple(binaries), filters=filters)

    def lane(self, name: str = "") -> Lane:
        return Lane(self.binaries, self.arguments, name, self.filters)


def measure(
    sides: Mapping[str, Side],
    names: Mapping[str, Collection[str]] | None,
    rounds: range,
    run: Run,
) -> dict[str, Side]:
    """Sides, by name, with what `rounds` delivered, added to what they had before.

    All their benchmarks run or, if given, each side's `names` only; sides without an entry do not
    run. A benchmark that only one side has runs alone.
    """
    lanes = [
        (side if names is None else side.only(names[name])).lane(name)
        for name, side in sides.items()
        if names is None or name in names
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
    """Each side's run file, written and read again; they share a `pair_id`. Raises UserError.

    `facts` hold for all sides; `known` is said where the programs themselves do not say it.
    """
    of_all = {**facts, "pair_id": secrets.token_hex(8)}
    run_file.write(
        {
            files[name]: document(side, {**of_all, "pair_side": name}, known)
            for name, side in sides.items()
        }
    )
    return {name: load.load(files[name]) for name in sides}


def document(side: Side, facts: Mapping[str, str], known: Mapping[str, str]) -> Content:
    rounds = {outcome.round for outcome in side.outcomes}
    own = {"processes": str(len(rounds)), **side.facts, **facts}
    return run_file.document(side.binaries, side.outcomes, own, known, paired=True)
