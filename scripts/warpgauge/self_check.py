# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --self-check: the gate held to what it promises, on this GPU and this build.

One build is measured beside itself in alternating processes: as it is, as it is once more, and with
real extra work of known size. What is then called changed is a false alarm, or found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from warpgauge import load, looks, paired, runfile
from warpgauge.beside import Beside
from warpgauge.comparison import Comparison, Verdict
from warpgauge.errors import ExitStatus, UserError
from warpgauge.looks import Looks
from warpgauge.model import Record
from warpgauge.paired import BASE, Side

# The extra work, as fractions.
CHANGES = (0.01, 0.02, 0.03, 0.05, 0.10)

# The second look's rounds, as a multiple of the first's: fewer than the gate itself may take, for
# seven sides run in each. What is found here, the gate finds too.
_MOST_ROUNDS = 4

_AGAIN = "again"

Judge = Callable[[Record, Record], Comparison]


@dataclass(frozen=True)
class SelfCheck:
    """What the gate said of the same code, and of each change."""

    run: Record  # the build as it is
    same: Comparison
    injected: Mapping[float, Comparison]


def measure(beside: Beside, folder: Path, judge: Judge) -> Looks[SelfCheck]:
    """Both looks at everything; the run files of all sides are left in `folder`.

    Raises UserError.
    """
    measuring, options = beside.measuring, beside.measuring.options
    if beside.suite.probe.no_gpu:
        raise UserError(
            f"nothing to check here: {beside.suite.probe.no_gpu}", ExitStatus.NOT_MEASURED
        )
    sides = {BASE: beside.built_here(), _AGAIN: beside.built_here()}
    sides |= {_name(change): beside.built_here(inject=f".={1.0 + change:g}") for change in CHANGES}
    measuring.note(
        f"Self-check of {beside.suite.size}: as they are, once more, and with "
        f"{len(CHANGES)} sizes of extra work"
    )
    return looks.take(
        sides,
        options.processes,
        second_look=options.second_look,
        run=measuring.run,
        judge=lambda measured: _judged(beside, measured, folder, judge),
        left=_undecided,
        say=measuring.note,
        most=_MOST_ROUNDS,
    )


def _undecided(found: SelfCheck) -> list[Verdict]:
    every = (found.same, *found.injected.values())
    return [verdict for one in every for verdict in looks.undecided(one)]


def _judged(beside: Beside, sides: Mapping[str, Side], folder: Path, judge: Judge) -> SelfCheck:
    """Every side against the first, out of the run files that are written."""
    options = beside.measuring.options
    facts = {
        "order_seed": str(options.seed),
        "filter": options.filter,
        "pair_id": paired.new_id(),
    }
    files = {name: folder / f"{name}.json" for name in sides}
    folder.mkdir(parents=True, exist_ok=True)
    runfile.write_all(
        {
            files[name]: paired.document(side, {**facts, "pair_side": name}, beside.suite.known)
            for name, side in sides.items()
        }
    )
    records = {name: load.load(path) for name, path in files.items()}
    base = records[BASE]
    return SelfCheck(
        base,
        judge(base, records[_AGAIN]),
        {change: judge(base, records[_name(change)]) for change in CHANGES},
    )


def _name(change: float) -> str:
    """``slower-by-1-percent``: of the side and its file."""
    return f"slower-by-{100 * change:g}-percent"
