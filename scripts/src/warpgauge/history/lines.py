# SPDX-License-Identifier: Apache-2.0
"""The stored history: one line of JSON per night and GPU on the branch `history`.

`<gpu>/<day>-<run>.jsonl` holds what one workflow run measured on a GPU model. `Night` is a line,
`History` reads them, and `Times` are the tables for statistics and pictures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import stdev
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from msgspec.structs import astuple
from numpy.typing import NDArray

from warpgauge.records.counters import Clock
from warpgauge.records.fields import NAME_LIMIT
from warpgauge.records.model import Record
from warpgauge.records.sessions import only_session
from warpgauge.statistics.log_ratios import Array, centre
from warpgauge.system import contract, git
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import Output, print_text
from warpgauge.system.location import Place
from warpgauge.system.text import cut, plural, quoted, suggestion, typed
from warpgauge.verdict.incompatibility import disturbed

# Facts that may explain a step in the times, or that identify a machine.
FACTS = tuple(
    "gpu_name gpu_uuid boot_id driver_version runtime_version cublas_version "
    "nccl_version nvcc_version kernel_release cpu_model power_limit_watts".split()
)

LONGEST_REASON = 200  # characters
_DIGITS = 7  # of a time: rounding is a hundred times below the repeatability of any benchmark
_SD_DIGITS = 3  # seven processes determine it within a factor of two
_REMEDY = "update warpgauge, or fix the line"
_FILE = re.compile(r"([a-z0-9]+(?:-[a-z0-9]+)*)/[A-Za-z0-9._-]+\.jsonl")

# No benchmark is shorter or longer, and a ratio of such times could overflow.
Seconds = Annotated[float, Meta(ge=1e-12, le=1e6)]
Sd = Annotated[float, Meta(ge=0.0, le=100.0)] | None
Name = Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]


class Point(msgspec.Struct, frozen=True, array_like=True):
    """The centre of the process medians in seconds, and their scatter.

    `sd` is the standard deviation of the logarithms of the process medians, None for a single one;
    `processes` is their number.
    """

    seconds: Seconds
    sd: Sd
    processes: Annotated[int, Meta(ge=0, le=1_000_000)]


class Ratio(msgspec.Struct, frozen=True, array_like=True):
    """The centre of the pairs' log ratios; above zero is slower than the base.

    `sd` is their standard deviation, None for a single pair; `pairs` is their number.
    """

    log_ratio: Annotated[float, Meta(ge=-50.0, le=50.0)]
    sd: Sd
    pairs: Annotated[int, Meta(ge=1, le=1_000_000)]


class Night(contract.Document, frozen=True, tag="history/4"):
    """The measurements of one night; `unmeasured` says why a benchmark has no time.

    `host` names the benchmarks with host times; all others have device times. `ratios` are to the
    commit `base`, for benchmarks that were also measured in pairs.

    `date` is when the run began according to GitHub, because a runner's clock may be wrong and
    dates order the nights.
    """

    date: str
    commit: str
    run: Annotated[int, Meta(ge=0, le=2**63 - 1)]  # its number on GitHub
    facts: dict[str, str]
    benchmarks: dict[Name, Point]
    unmeasured: dict[Name, str]
    host: tuple[Name, ...] = ()
    base: str = ""
    ratios: dict[Name, Ratio] = msgspec.field(default_factory=dict)


_DECODER = msgspec.json.Decoder(Night)


def of(record: Record, date: str, commit: str, run: int) -> Night:
    """The night in a run file of the workflow run `run`. Raises UserError.

    Disturbed rows count as unmeasured.
    """
    session = only_session(record)
    benchmarks, unmeasured = {}, {}
    for row in record.rows.values():
        reason = row.error
        if reason is None and (invalid := disturbed(row, record.sessions)):
            reason = invalid[0]
        if reason is not None:
            unmeasured[row.name] = cut(reason, LONGEST_REASON)
            continue
        medians = np.log(row.process_medians[session.key]).tolist()
        time = float(np.exp(centre(np.array(medians))))
        benchmarks[row.name] = Point(_rounded(time, _DIGITS), _sd(medians), len(medians))
    facts = {key: session.context[key] for key in FACTS if session.context.get(key)}
    host = tuple(row.name for row in record.rows.values() if row.clock is Clock.HOST)
    return _checked(Night(date, commit, run, facts, benchmarks, unmeasured, host))


def with_ratios(night: Night, base: str, pairs: Mapping[str, Sequence[float]]) -> Night:
    """Add the centres of these log ratios, for benchmarks that have a time. Raises UserError."""
    ratios = {}
    for name, logs in pairs.items():
        if name not in night.benchmarks or not logs:
            continue
        ratio = round(float(centre(np.array(logs))), _DIGITS)
        ratios[name] = Ratio(ratio, _sd(logs), len(logs))
    return _checked(msgspec.structs.replace(night, base=base if ratios else "", ratios=ratios))


def _checked(night: Night) -> Night:
    """The night, if its line can be read again. Raises UserError."""
    try:
        return msgspec.convert(msgspec.to_builtins(night), Night)
    except msgspec.ValidationError as fault:
        raise UserError(f"a value is impossible ({contract.in_words(fault)})") from None


def line(night: Night) -> str:
    """The JSON of a night, with a line break."""
    return json.dumps(msgspec.to_builtins(night), allow_nan=False, separators=(",", ":")) + "\n"


def read(text: bytes, place: Place) -> Night:
    """The night in a line. Raises UserError."""
    try:
        return _DECODER.decode(text)
    except msgspec.ValidationError as fault:
        wanted = Night.__struct_config__.tag
        raise place.error(f"is no {wanted} ({contract.in_words(fault)})", _REMEDY) from None
    except (msgspec.DecodeError, RecursionError):
        raise place.error("is not valid JSON", _REMEDY) from None


@dataclass(frozen=True)
class History:
    """The history at one commit of a clone.

    `files` holds git's hash of each file's content, by GPU model's slug and path. `faults` gets a
    sentence for each unreadable line that `nights` meets.
    """

    root: Path
    files: Mapping[str, Mapping[str, str]]
    faults: list[str] = field(default_factory=list)

    @staticmethod
    def at(root: Path, ref: str) -> History:
        """The history at `ref`. Raises UserError if the clone `root` has no such commit."""
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        commit = git.run(root, *words)
        if commit.returncode:
            raise UserError(
                f"{quoted(ref)} is not a branch of this clone: to get the history, if there is one "
                "yet, run git fetch origin history"
            )
        files: dict[str, dict[str, str]] = {}
        words = ("ls-tree", "-r", "-z", "--full-tree", commit.stdout.strip())
        for entry in git.require(root, *words).split("\0"):
            about, _, path = entry.partition("\t")
            match = _FILE.fullmatch(path)
            if match and about.startswith("100"):  # a regular file, not a link
                files.setdefault(match[1], {})[path] = about.split()[2]
        return History(root, files)

    def models(self, asked: str = "") -> Iterator[tuple[str, list[Night]]]:
        """Each GPU model's slug and nights, or only those `asked` for. Raises UserError if none."""
        if asked and self.files and asked not in self.files:
            known = suggestion(asked, sorted(self.files))
            raise UserError(f"the history has no nights of {typed(asked)}: {known}")
        is_empty = True
        for gpu in sorted(self.files):
            if asked in ("", gpu) and (nights := self.nights(gpu)):
                yield gpu, nights
                is_empty = False
        if is_empty:
            raise UserError("the history has no nights yet: the workflow nightly adds them")

    def nights(self, gpu: str) -> list[Night]:
        """The nights of a GPU model by date and run; none if the history does not have it."""
        nights = []
        files = self.files.get(gpu, {})
        for path, content in zip(files, git.blobs(self.root, [*files.values()]), strict=True):
            for number, text in enumerate(content.splitlines(), 1):
                try:
                    if text.strip():
                        nights.append(read(text, Place(Path(path), f"line {number}")))
                except UserError as fault:  # noqa: PERF203
                    self.faults.append(str(fault))
        return sorted(nights, key=lambda night: (night.date, night.run))


@dataclass(frozen=True)
class Times:
    """Tables with a row per benchmark and a column per night, NaN where nothing was measured.

    `host` says which benchmarks have host times. `errors` are standard errors of `log_seconds` from
    the scatter between that night's processes, NaN for one process. `log_ratios` are to the night's
    base, with standard errors from the scatter between pairs.
    """

    nights: Sequence[Night]
    names: Sequence[str]
    host: NDArray[np.bool_]
    log_seconds: Array
    errors: Array
    log_ratios: Array
    ratio_errors: Array

    @staticmethod
    def of(nights: Sequence[Night], wanted: Collection[str] | None = None) -> Times:
        """The times of all benchmarks that have any in these nights, or of the `wanted` ones."""
        every = dict.fromkeys(name for night in nights for name in night.benchmarks)
        names = [name for name in every if wanted is None or name in wanted]
        rows = {name: row for row, name in enumerate(names)}
        points, pairs = np.full((2, 3, len(names), len(nights)), np.nan)
        for column, night in enumerate(nights):
            _fill(points[..., column], night.benchmarks, rows)
            _fill(pairs[..., column], night.ratios, rows)
        timed_by_host = {name for night in nights for name in night.host}
        host = np.array([name in timed_by_host for name in names], dtype=bool)
        errors, ratio_errors = (standard_error(sd, count) for _, sd, count in (points, pairs))
        return Times(nights, names, host, np.log(points[0]), errors, pairs[0], ratio_errors)


def _fill(
    column: Array, measured: Mapping[str, Point] | Mapping[str, Ratio], rows: Mapping[str, int]
) -> None:
    known = {rows[name]: astuple(one) for name, one in measured.items()
             if name in rows}  # fmt: skip
    column[:, [*known]] = np.array([*known.values()], dtype=np.float64).reshape(-1, 3).T


def standard_error(sd: Array, count: Array) -> Array:
    """The standard error, within 3 %, of the `samples.centre` of `count` normal values.

    For many values it is the mean's standard error times the square root of pi/3.
    """
    return np.asarray(sd * np.sqrt(np.pi / (3.0 * np.maximum(count, 1.0))))


def _sd(logs: Sequence[float]) -> float | None:
    return _rounded(stdev(logs), _SD_DIGITS) if len(logs) > 1 else None


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def left_out(faults: Sequence[str]) -> ExitStatus:
    """Name the unreadable lines of the history on standard error. Returns the exit status."""
    if not faults:
        return ExitStatus.OK
    notes = Output(stderr=True)
    for sentence in [*faults, f"{plural(len(faults), 'line')} of the history left out"]:
        print_text(notes, sentence)
    return ExitStatus.NOT_MEASURED
