# SPDX-License-Identifier: Apache-2.0
"""warpgauge bench --self-check: measures how well the gate works on this GPU with this build.

This build is compared with itself, as the gate compares two commits; in the candidate, most
benchmarks do real extra work. A change without any is a false alarm. How much is asked of a
benchmark is drawn from the seed of the run and its name. Intervals are held to what the engine
measured of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

import msgspec
from rich.console import Console

from warpgauge.measure import selection
from warpgauge.measure.ab_run import MEASURED_SECONDS, ORDER_SEED, AbRun, Looks, open_rows
from warpgauge.measure.discovery import Binary
from warpgauge.measure.progress import clock as minutes
from warpgauge.records.counters import EXTRA_WORK
from warpgauge.records.load import SELF_CHECK
from warpgauge.records.model import Record
from warpgauge.records.sessions import BASE, CANDIDATE, only_session
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import inert, named, percent, plural
from warpgauge.verdict.comparability import TOLERANCE
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.paired_tests import looks_of
from warpgauge.verdict.pairing import FAMILY as CONTROLS

FORMAT = "self-check/5"

# The extra work that is asked for, as fractions of a benchmark's time.
CHANGES = (0.01, 0.02, 0.03, 0.05, 0.10)

# What is drawn from: a third does none, and all sizes are equally likely.
_DRAWN_FROM = (*(0.0,) * 5, *CHANGES * 2)

# Context fields of the result, which identify the GPU, the build and the run.
_SHOWN = "gpu_name gpu_uuid driver_version runtime_version commit date".split()
_SHOWN += [ORDER_SEED, MEASURED_SECONDS]

_FAILED = (Outcome.ERROR, Outcome.INVALID, Outcome.MISSING)

Judge = Callable[[Record, Record], Comparison]


@dataclass(frozen=True)
class Case:
    """A verdict on a benchmark, and the extra work asked of it as a fraction: 0 for none."""

    verdict: Verdict
    extra: float

    @property
    def achieved(self) -> float | None:
        """The extra work that was measured; None if it was not."""
        return self.verdict.counters.get(EXTRA_WORK) if self.extra else 0.0

    @property
    def is_found(self) -> bool:
        return self.extra > 0 and self.verdict.outcome is Outcome.REGRESSION

    @property
    def is_false_alarm(self) -> bool:
        return self.verdict.is_changed and not self.is_found


@dataclass(frozen=True)
class SelfCheck:
    """This build compared with itself, and the extra work asked of each benchmark."""

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
        """Every benchmark with a result, except the host's controls, which decide nothing.

        Those whose tolerance a policy widened are left out: smaller changes need not be found.
        """
        return [
            Case(verdict, self.extra[verdict.name])
            for verdict in self.comparison.verdicts
            if verdict.family != CONTROLS
            and verdict.outcome not in (*_FAILED, Outcome.SKIPPED)
            and (verdict.tolerance or 0.0) <= TOLERANCE[verdict.clock]
        ]

    @property
    def failed(self) -> list[str]:
        """The benchmarks that have no result on some side."""
        verdicts = self.comparison.verdicts
        return [verdict.name for verdict in verdicts if verdict.outcome in _FAILED]

    @property
    def status(self) -> ExitStatus:
        """1 for a false alarm; else 3 if anything lacks its result, or its bound."""
        if any(case.is_false_alarm for case in self.cases):
            return ExitStatus.REGRESSION
        unknown = any(case.verdict.is_unmeasured for case in self.cases if not case.extra)
        lacks = self.failed or not self.cases or self.comparison.refusal is not None
        return ExitStatus.NOT_MEASURED if unknown or lacks else ExitStatus.OK


def extra_work(seed: str, name: str) -> float:
    """Return the extra work to ask of a benchmark; none for the host's controls."""
    is_control = name.partition("/")[0] == CONTROLS
    return 0.0 if is_control else _DRAWN_FROM[_drawn(f"{seed} {name}") % len(_DRAWN_FROM)]


def is_left_out(seed: str, name: str) -> bool:
    """Return whether a run leaves a benchmark to others: all in one would take too long."""
    return _drawn(f"{seed} left out {name}") % 2 == 0


def _drawn(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode(errors="surrogatepass")).digest(), "big")


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
    seed, binaries = str(options.seed), beside.suite.binaries
    every = [name for binary in binaries for name in binary.names]
    left_out = [name for name in every if not options.filter and is_left_out(seed, name)]
    base, candidate = (
        side.without(left_out)
        for side in (beside.built_here(), beside.built_here(*injections(seed, binaries)))
    )
    checked = plural(len(every) - len(left_out), "benchmark")
    measuring.note(f"Self-check of {checked}: two thirds of them do extra work")
    return beside.compared(
        base,
        candidate,
        options.filter,
        _files(folder),
        lambda base, run: _judged(base, run, judge),
        lambda found: open_rows(found.comparison),
    )


def _files(folder: Path) -> tuple[Path, Path]:
    return folder / f"{BASE}.json", folder / f"{CANDIDATE}.json"


def _judged(base: Record, run: Record, judge: Judge) -> SelfCheck:
    found, seed = judge(base, run), only_session(run).context[ORDER_SEED]
    names = [verdict.name for verdict in found.verdicts]
    return SelfCheck(found, {name: extra_work(seed, name) for name in names})


class Share(NamedTuple):
    """How many of how many benchmarks."""

    number: int
    of: int

    @staticmethod
    def counted(whether: Iterable[bool]) -> Share:
        each = list(whether)
        return Share(sum(each), len(each))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}" if self.of else "-"


class Detection(msgspec.Struct, frozen=True, kw_only=True):
    """Results of all benchmarks on one clock after the gate's last look."""

    clock: str
    benchmarks: int
    no_extra_work: int
    false_alarms: int
    within_tolerance: int  # of those without extra work
    found_of: dict[str, Share]  # extra work asked for (a fraction) -> REGRESSION, of how many
    achieved: dict[str, float]  # extra work asked for -> the median of what was measured
    no_extra_work_inside_of: Share  # whose interval holds 0
    extra_work_inside_of: Share  # whose interval holds the extra work that was measured
    undecided: int
    mean_pairs: float


def detections(cases: Sequence[Case]) -> list[Detection]:
    """Return a row per clock."""
    clocks = sorted({case.verdict.clock.value for case in cases})
    return [
        _detection(clock, [case for case in cases if case.verdict.clock.value == clock])
        for clock in clocks
    ]


def _detection(clock: str, cases: Sequence[Case]) -> Detection:
    verdicts = [case.verdict for case in cases]
    without = [case for case in cases if not case.extra]
    by_size = {
        f"{change:g}": [case for case in cases if case.extra == change] for change in CHANGES
    }
    pairs = [verdict.processes[1] for verdict in verdicts if verdict.processes is not None]
    return Detection(
        clock=clock,
        benchmarks=len(cases),
        no_extra_work=len(without),
        false_alarms=sum(case.is_false_alarm for case in cases),
        within_tolerance=sum(case.verdict.outcome is Outcome.PASS for case in without),
        found_of={
            size: Share.counted(case.is_found for case in those) for size, those in by_size.items()
        },
        achieved={
            size: round(median(achieved), 5)
            for size, those in by_size.items()
            if (achieved := [case.achieved for case in those if case.achieved is not None])
        },
        no_extra_work_inside_of=_inside(without),
        extra_work_inside_of=_inside(case for case in cases if case.extra),
        undecided=sum(verdict.outcome is Outcome.INCONCLUSIVE for verdict in verdicts),
        mean_pairs=round(fmean(pairs), 2) if pairs else 0.0,
    )


def _inside(cases: Iterable[Case]) -> Share:
    """Return how many intervals hold the extra work that was measured, of those where it was."""
    return Share.counted(
        case.verdict.change.low <= case.achieved <= case.verdict.change.high
        for case in cases
        if case.verdict.change is not None and case.achieved is not None
    )


def render(check: SelfCheck, console: Console) -> None:
    totals = detections(check.cases)
    lines = [("", *(found.clock for found in totals)), *_lines(totals)]
    rows = [Cells(label, tuple(cells)) for label, *cells in lines]
    columns = Columns.fitting(rows, console.width)
    for row in rows:
        print_text(console, columns.line(row), style="" if row.name else "dim")
    alarms = [case.verdict.name for case in check.cases if case.is_false_alarm]
    lists = {
        "False alarms": alarms,
        "Extra work not measured": _unmeasured(check.cases),
        "No result": check.failed,
    }
    further = [f"{what}: {named(names)}." for what, names in lists.items() if names]
    if check.comparison.refusal is not None:
        further.append(f"Nothing was compared: {check.comparison.refusal}.")
    looks = " ".join(map(str, looks_of(check.comparison.candidate)))
    took = minutes(float(check.context[MEASURED_SECONDS]))
    further.append(f"Looks after {looks} pairs, measured in {took}.")
    print_text(console, "\n" + "\n".join(map(inert, further)))


def _lines(totals: Sequence[Detection]) -> list[tuple[str, ...]]:
    """Return the lines of a table, with a column for each of `totals`."""
    columns = [*map(_column, totals)] or [{}]
    return [(label, *(column[label] for column in columns)) for label in columns[0]]


def _column(found: Detection) -> dict[str, str]:
    """Return the cells of a column by the labels of their lines."""
    sizes = {f"+{percent(float(size), sign=False)} found": size for size in found.found_of}
    return {
        "benchmarks": str(found.benchmarks),
        "false alarms": str(found.false_alarms),
        "no extra work: within tolerance": str(Share(found.within_tolerance, found.no_extra_work)),
        "no extra work: inside the interval": str(found.no_extra_work_inside_of),
        **{label: str(found.found_of[size]) for label, size in sizes.items()},
        "extra work: inside the interval": str(found.extra_work_inside_of),
        "undecided": str(found.undecided),
        "mean number of pairs": f"{found.mean_pairs:.1f}",
    }


def _unmeasured(cases: Iterable[Case]) -> list[str]:
    return [case.verdict.name for case in cases if case.achieved is None]


def text(check: SelfCheck) -> str:
    """Return the JSON file, with the names of missed benchmarks."""
    missed = {
        f"{change:g}": [
            case.verdict.name for case in check.cases if case.extra == change and not case.is_found
        ]
        for change in CHANGES
    }
    document = {
        "warpgauge_format": FORMAT,
        "context": {key: check.context[key] for key in _SHOWN if key in check.context},
        "totals": msgspec.to_builtins(detections(check.cases)),
        "missed_by_extra_work": missed,
        "extra_work_not_measured": _unmeasured(check.cases),
    }
    return json.dumps(document, indent=1) + "\n"


def table(baselines: Path) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return heads and lines of the results kept there, without those of older formats."""
    heads, totals = [""], list[Detection]()
    for path in sorted(baselines.glob(f"{SELF_CHECK}*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["warpgauge_format"] == FORMAT:
            found = msgspec.convert(document["totals"], list[Detection])
            heads += [f"{document['context']['gpu_name']}, {total.clock}" for total in found]
            totals += found
    return heads, _lines(totals)
