# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --self-check: measures how well the gate works on this GPU with this build.

This build is compared with itself, as the gate compares two commits; in the candidate, most
benchmarks do real extra work of a known size. A change reported for an unchanged benchmark is a
false alarm; a regression reported for extra work is a detection. How much a benchmark does is drawn
from the seed of the run and its name alone, so that run files can be judged again, and the results
of runs with other seeds add up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.measure import looks, selection
from warpgauge.measure.ab_run import MEASURED_SECONDS, ORDER_SEED, AbRun
from warpgauge.measure.discovery import Binary
from warpgauge.measure.looks import Looks
from warpgauge.records import load
from warpgauge.records.model import Record
from warpgauge.records.sessions import BASE, CANDIDATE, PAIR_SIDE, are_paired, only_session
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.controls import FAMILY as CONTROLS

# The extra work as fractions of a benchmark's time.
CHANGES = (0.01, 0.02, 0.03, 0.05, 0.10)

# What is drawn from: a third does none, and all sizes are equally likely.
_DRAWN_FROM = (*(0.0,) * 5, *CHANGES * 2)

# Context field of both run files. It tells how the extra work was drawn: change it with the draw.
_MARK = {"self_check": "1"}

_FAILED = (Outcome.ERROR, Outcome.INVALID, Outcome.MISSING)

Judge = Callable[[Record, Record], Comparison]


@dataclass(frozen=True)
class Case:
    """A verdict on a benchmark, and its extra work as a fraction: 0 for none."""

    verdict: Verdict
    extra: float

    @property
    def is_found(self) -> bool:
        return self.extra > 0 and self.verdict.outcome is Outcome.REGRESSION

    @property
    def is_false_alarm(self) -> bool:
        return self.verdict.is_changed and not self.is_found


@dataclass(frozen=True)
class SelfCheck:
    """This build compared with itself, and the extra work of each benchmark as a fraction."""

    comparison: Comparison
    extra: Mapping[str, float]

    @property
    def base(self) -> Record:
        return self.comparison.baseline

    @property
    def context(self) -> Mapping[str, str]:
        return only_session(self.base).context

    @property
    def cases(self) -> list[Case]:
        """Every benchmark with a result, except the host's controls, which decide nothing."""
        return [
            Case(verdict, self.extra[verdict.name])
            for verdict in self.comparison.verdicts
            if verdict.family != CONTROLS and verdict.outcome not in (*_FAILED, Outcome.SKIPPED)
        ]

    @property
    def failed(self) -> list[str]:
        """The benchmarks that have no result on some side."""
        return [one.name for one in self.comparison.verdicts if one.outcome in _FAILED]


def extra_work(seed: str, name: str) -> float:
    """Return the extra work of a benchmark, as a fraction; none for the host's controls."""
    if name.partition("/")[0] == CONTROLS:
        return 0.0
    digest = hashlib.sha256(f"{seed} {name}".encode(errors="surrogatepass")).digest()
    return _DRAWN_FROM[int.from_bytes(digest, "big") % len(_DRAWN_FROM)]


def injections(seed: str, binaries: Iterable[Binary]) -> list[str]:
    """Return the values of --inject that give each benchmark its extra work."""
    names: dict[float, list[str]] = {change: [] for change in CHANGES}
    for binary in binaries:
        for name in binary.names:
            if extra := extra_work(seed, name):
                names[extra] += binary.own([name])
    return [
        f"{selection.exactly(part)}={1 + extra:g}"
        for extra, its in names.items()
        for part in selection.in_parts(its)
    ]


def measure(beside: AbRun, folder: Path, judge: Judge) -> Looks[SelfCheck]:
    """Measure and judge both sides as the gate does; leave their run files in `folder`.

    Raises UserError.
    """
    measuring, options = beside.measuring, beside.measuring.options
    if no_gpu := beside.suite.probe.no_gpu:
        raise UserError(f"nothing to check: {no_gpu}", ExitStatus.NOT_MEASURED)
    folder.mkdir(parents=True, exist_ok=True)
    injected = injections(str(options.seed), beside.suite.binaries)
    base, candidate = (
        replace(side, facts={**side.facts, **_MARK})
        for side in (beside.built_here(), beside.built_here(*injected))
    )
    measuring.note(f"Self-check of {beside.suite.size}: two thirds of them do extra work")
    return beside.compared(
        base,
        candidate,
        options.filter,
        _files(folder),
        lambda base, run: _judged(base, run, judge),
        lambda found: looks.open_rows(found.comparison),
    )


def of_folders(folders: Sequence[Path], judge: Judge) -> list[SelfCheck]:
    """Judge the run files of earlier self-checks. Raises UserError.

    It also does so if two have one seed: they do not add up, for their benchmarks did the same.
    """
    checks = [_of_folder(folder, judge) for folder in folders]
    seen: dict[str, Path] = {}
    for folder, check in zip(folders, checks, strict=True):
        seed = check.context[ORDER_SEED]
        other = seen.setdefault(seed, folder)
        if other is not folder:
            raise UserError(
                f"{other} and {folder} have the same extra work (seed {seed}): name one"
            )
    return checks


def _of_folder(folder: Path, judge: Judge) -> SelfCheck:
    files = _files(folder)
    if not files[0].is_file():
        raise UserError(f"{folder} holds no self-check: name the folder of one in build/runs")
    base, run = map(load.load, files)
    for side, record in {BASE: base, CANDIDATE: run}.items():
        if not all(_is_of(session.context, side) for session in record.sessions.values()):
            raise UserError(
                f"{record.path} was not made by this version of scripts/bench --self-check: name "
                "the folder of a self-check in build/runs"
            )
    if not are_paired(base, run):
        raise UserError(f"{run.path} and {base.path} are from different self-checks")
    return _judged(base, run, judge)


def _files(folder: Path) -> tuple[Path, Path]:
    return folder / f"{BASE}.json", folder / f"{CANDIDATE}.json"


def _is_of(context: Mapping[str, str], side: str) -> bool:
    """Return whether a run file with this context is of this side of a self-check."""
    stated = {PAIR_SIDE: side, **_MARK}
    needed = {"gpu_name", ORDER_SEED, MEASURED_SECONDS}
    return stated.items() <= context.items() and needed <= context.keys()


def _judged(base: Record, run: Record, judge: Judge) -> SelfCheck:
    found, seed = judge(base, run), only_session(run).context[ORDER_SEED]
    return SelfCheck(found, {one.name: extra_work(seed, one.name) for one in found.verdicts})
