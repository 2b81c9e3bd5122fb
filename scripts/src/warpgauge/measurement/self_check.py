# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --self-check: the gate held to what it promises, on this GPU and this build.

One build is measured beside itself in alternating processes: as it is, as it is once more, and with
real extra work of known size. What is then called changed is a false alarm, or found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from warpgauge.measurement import paired, two_stage
from warpgauge.measurement.ab_run import AbRun
from warpgauge.measurement.paired import BASE, Side
from warpgauge.measurement.two_stage import Looks
from warpgauge.records import load
from warpgauge.records.model import Record
from warpgauge.records.sessions import are_paired
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict.comparison import Comparison, Verdict

# The extra work, as fractions.
CHANGES = (0.01, 0.02, 0.03, 0.05, 0.10)

# The rounds of both looks, as a multiple of the first's: fewer than the gate itself may take, for
# seven sides run in each. What is found here, the gate finds too.
_MOST_ROUNDS = 2

# The sides that do extra work, by their names.
_SLOWER = {f"slower-by-{100 * change:g}-percent": change for change in CHANGES}
_AGAIN = "again"

# The sides by name, and what --inject is given in each.
_INJECTED = {BASE: "", _AGAIN: "", **{name: f".={1 + by:g}" for name, by in _SLOWER.items()}}

Judge = Callable[[Record, Record], Comparison]


@dataclass(frozen=True)
class SelfCheck:
    """What the gate said of the same code, and of each change."""

    run: Record  # the build as it is
    same: Comparison
    injected: Mapping[float, Comparison]


def measure(beside: AbRun, folder: Path, judge: Judge) -> Looks[SelfCheck]:
    """Both looks at everything; the run files of all sides are left in `folder`.

    Raises UserError.
    """
    measuring, options = beside.measuring, beside.measuring.options
    if no_gpu := beside.suite.probe.no_gpu:
        raise UserError(f"nothing to check here: {no_gpu}", ExitStatus.NOT_MEASURED)
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name}.json" for name in _INJECTED}
    facts = {"order_seed": str(options.seed), "filter": options.filter}

    def kept_and_judged(sides: Mapping[str, Side]) -> SelfCheck:
        return _found(paired.kept(sides, files, facts, beside.suite.known), judge)

    measuring.note(
        f"Self-check of {beside.suite.size}: as they are, once more, and with "
        f"{len(CHANGES)} sizes of extra work"
    )
    return two_stage.take(
        {name: beside.built_here(inject) for name, inject in _INJECTED.items()},
        options.processes,
        second_look=options.second_look,
        run=measuring.run,
        judge=kept_and_judged,
        left=_undecided,
        say=measuring.note,
        most=_MOST_ROUNDS,
    )


def of_files(folder: Path, judge: Judge) -> SelfCheck:
    """What the run files that an earlier one left in `folder` show. Raises UserError."""
    if not (folder / f"{BASE}.json").is_file():
        raise UserError(f"{folder} holds no self-check: name the folder of one in build/runs")
    records = {name: load.load(folder / f"{name}.json") for name in _INJECTED}
    base = records[BASE]
    for name, record in records.items():
        if not all(_is_of(session.context, name) for session in record.sessions.values()):
            raise UserError(
                f"{record.path} was not made by scripts/bench --self-check: name the folder that "
                "one left in build/runs"
            )
        if record is not base and not are_paired(base, record):
            raise UserError(f"{record.path} is not of the same self-check as {base.path}")
    return _found(records, judge)


def _is_of(context: Mapping[str, str], side: str) -> bool:
    """Whether a run file with this context is of this side of a self-check."""
    known = context.get("pair_side"), context.get("inject", "")
    return known == (side, _INJECTED[side]) and {"gpu_name", "processes"} <= context.keys()


def _undecided(found: SelfCheck) -> list[Verdict]:
    every = (found.same, *found.injected.values())
    return [verdict for one in every for verdict in two_stage.undecided(one)]


def _found(records: Mapping[str, Record], judge: Judge) -> SelfCheck:
    """Every side against the first."""
    base = records[BASE]
    return SelfCheck(
        base,
        judge(base, records[_AGAIN]),
        {change: judge(base, records[name]) for name, change in _SLOWER.items()},
    )
