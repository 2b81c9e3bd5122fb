# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --self-check: measures how well the gate works on this GPU with this build.

All sides run one build together: unchanged twice, and with real extra work of known sizes. A change
reported for the unchanged side is a false alarm; one reported for extra work is a detection.
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

# The extra work as fractions of a benchmark's time.
CHANGES = (0.01, 0.02, 0.03, 0.05, 0.10)

# Names of the sides with extra work.
_SLOWER = {f"slower-by-{100 * change:g}-percent": change for change in CHANGES}
_AGAIN = "again"

# The value of --inject for each side.
_INJECTED = {BASE: "", _AGAIN: "", **{name: f".={1 + by:g}" for name, by in _SLOWER.items()}}

# Context field of the run files: measuring time in seconds.
MEASURED_SECONDS = "measured_seconds"

Judge = Callable[[Record, Record], Comparison]


@dataclass(frozen=True)
class SelfCheck:
    """Verdicts on the unchanged build and on each injected change."""

    run: Record  # of the unchanged base
    same: Comparison
    injected: Mapping[float, Comparison]


def measure(beside: AbRun, folder: Path, judge: Judge) -> Looks[SelfCheck]:
    """Measure all sides, judge each as if it were alone, and leave its run file in `folder`.

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
    """Judge the run files of an earlier self-check in `folder`. Raises UserError."""
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
    """Return whether a run file with this context is of this side of a self-check."""
    known = context.get("pair_side"), context.get("inject", "")
    return known == (side, _INJECTED[side]) and {"gpu_name", "processes"} <= context.keys()


def _open_rows(found: SelfCheck) -> dict[str, list[str]]:
    """Return the undecided benchmarks of each side."""
    injected = {name: found.injected[change] for name, change in _SLOWER.items()}
    compared = {_AGAIN: found.same, **injected}
    return {name: looks.open_rows(one) for name, one in compared.items()}


def _found(records: Mapping[str, Record], judge: Judge) -> SelfCheck:
    """Judge each side against the base."""
    base = records[BASE]
    return SelfCheck(
        base,
        judge(base, records[_AGAIN]),
        {change: judge(base, records[name]) for name, change in _SLOWER.items()},
    )
