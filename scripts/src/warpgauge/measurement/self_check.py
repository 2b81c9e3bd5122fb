# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --self-check: the gate held to what it promises, on this GPU and this build.

One build is measured beside itself, all sides together: as it is, as it is once more, and with real
extra work of known size. What is then called changed is a false alarm, or found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.measurement import looks, paired
from warpgauge.measurement.ab_run import AbRun
from warpgauge.measurement.looks import Looks
from warpgauge.measurement.paired import BASE, Side
from warpgauge.records import load
from warpgauge.records.model import Record
from warpgauge.records.sessions import are_paired
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.paired_tests import LOOKS

# The extra work, as fractions.
CHANGES = (0.01, 0.02, 0.03, 0.05, 0.10)

# The sides that do extra work, by their names.
_SLOWER = {f"slower-by-{100 * change:g}-percent": change for change in CHANGES}
_AGAIN = "again"

# The sides by name, and what --inject is given in each.
_INJECTED = {BASE: "", _AGAIN: "", **{name: f".={1 + by:g}" for name, by in _SLOWER.items()}}

# In the context of the run files: how long their measuring took, in seconds.
MEASURED_SECONDS = "measured_seconds"

Judge = Callable[[Record, Record], Comparison]


@dataclass(frozen=True)
class SelfCheck:
    """Verdicts on the unchanged build, and on each injected change."""

    run: Record  # the build as it is
    same: Comparison
    injected: Mapping[float, Comparison]


def measure(beside: AbRun, folder: Path, judge: Judge) -> Looks[SelfCheck]:
    """The gate's looks, at each side as if it were the only one; its run file is left in `folder`.

    Raises UserError.
    """
    measuring, options = beside.measuring, beside.measuring.options
    if no_gpu := beside.suite.probe.no_gpu:
        raise UserError(f"nothing to check: {no_gpu}", ExitStatus.NOT_MEASURED)
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name}.json" for name in _INJECTED}
    facts = {"order_seed": str(options.seed), "filter": options.filter}

    def kept_and_judged(sides: Mapping[str, Side], looked: Sequence[int]) -> SelfCheck:
        took = f"{measuring.budget.spent:.0f}"
        of_all = {**facts, LOOKS: " ".join(map(str, looked)), MEASURED_SECONDS: took}
        return _found(paired.kept(sides, files, of_all, beside.suite.known), judge)

    measuring.note(
        f"Self-check of {beside.suite.size}: unchanged, unchanged again, and with {len(CHANGES)} "
        "sizes of extra work"
    )
    return looks.take(
        {name: beside.built_here(inject) for name, inject in _INJECTED.items()},
        options.schedule,
        run=measuring.run,
        judge=kept_and_judged,
        open_rows=_open_rows,
        say=measuring.note,
        budget=measuring.budget,
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
                f"{record.path} was not made by scripts/bench --self-check: name the folder of a "
                "self-check in build/runs"
            )
        if record is not base and not are_paired(base, record):
            raise UserError(f"{record.path} and {base.path} are from different self-checks")
    return _found(records, judge)


def _is_of(context: Mapping[str, str], side: str) -> bool:
    """Whether a run file with this context is of this side of a self-check."""
    known = context.get("pair_side"), context.get("inject", "")
    return known == (side, _INJECTED[side]) and {"gpu_name", "processes"} <= context.keys()


def _open_rows(found: SelfCheck) -> dict[str, list[str]]:
    """The undecided benchmarks of each side."""
    injected = {name: found.injected[change] for name, change in _SLOWER.items()}
    compared = {_AGAIN: found.same, **injected}
    return {name: looks.open_rows(one) for name, one in compared.items()}


def _found(records: Mapping[str, Record], judge: Judge) -> SelfCheck:
    """Each side judged against the base."""
    base = records[BASE]
    return SelfCheck(
        base,
        judge(base, records[_AGAIN]),
        {change: judge(base, records[name]) for name, change in _SLOWER.items()},
    )
