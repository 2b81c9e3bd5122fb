# SPDX-License-Identifier: Apache-2.0
"""The stored history: one line of JSON per night and GPU on the branch `history`.

`<gpu>/<day>-<run>.jsonl` holds what one workflow run measured on a GPU model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import stdev
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from warpgauge.records.fields import NAME_LIMIT
from warpgauge.records.model import Clock, Record
from warpgauge.records.sessions import only_session
from warpgauge.statistics.samples import centre
from warpgauge.system import contract, git
from warpgauge.system.errors import UserError
from warpgauge.system.location import Place
from warpgauge.system.text import cut, quoted, suggestion, typed
from warpgauge.verdict import disturbance

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

# Seconds. No benchmark is shorter or longer, and a ratio of such times could overflow.
_SHORTEST, _LONGEST = 1e-12, 1e6
_MOST_LOG = 50.0
Seconds = Annotated[float, Meta(ge=_SHORTEST, le=_LONGEST)]
Sd = Annotated[float, Meta(ge=0.0, le=100.0)] | None
Name = Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]
Run = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Point(msgspec.Struct, frozen=True, array_like=True):
    """The centre of the process medians in seconds, and their scatter.

    The centre is the median in lines of history/2, and `samples.centre` in later ones. `sd` is the
    standard deviation of the logarithms of the process medians, None for a single one; `processes`
    is their number.
    """

    seconds: Seconds
    sd: Sd
    processes: Annotated[int, Meta(ge=0, le=1_000_000)]


class Ratio(msgspec.Struct, frozen=True, array_like=True):
    """The centre of the pairs' log ratios; above zero is slower than the base.

    `sd` is their standard deviation, None for a single pair; `pairs` is their number.
    """

    log_ratio: Annotated[float, Meta(ge=-_MOST_LOG, le=_MOST_LOG)]
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
    run: Run  # its number on GitHub
    facts: dict[str, str]
    benchmarks: dict[Name, Point]
    unmeasured: dict[Name, str]
    host: tuple[Name, ...] = ()
    base: str = ""
    ratios: dict[Name, Ratio] = msgspec.field(default_factory=dict)


class _NightWithoutRatios(Night, frozen=True, tag="history/3"):
    """Has no `base` and no `ratios`."""


class _NightOfMedians(Night, frozen=True, tag="history/2"):
    """Has no `base` and no `ratios` either; times are medians."""


_DECODER = msgspec.json.Decoder(Night | _NightWithoutRatios | _NightOfMedians)


def of(record: Record, date: str, commit: str, run: int) -> Night:
    """The night in a run file of the workflow run `run`. Raises UserError.

    Disturbed rows count as unmeasured.
    """
    session = only_session(record)
    benchmarks, unmeasured = {}, {}
    for row in record.rows.values():
        reason = row.error
        if reason is None and (disturbed := disturbance.of(row, record.sessions)) is not None:
            reason = disturbed.fault
        if reason is not None:
            unmeasured[row.name] = cut(reason, LONGEST_REASON)
            continue
        medians = np.log(row.process_medians[session.key]).tolist()
        time = float(np.exp(centre(np.array(medians))))
        if not _SHORTEST <= time <= _LONGEST:
            raise UserError(
                f"{record.path}: {quoted(row.name)} takes {time:g} s, which is impossible; "
                "nothing is added"
            )
        benchmarks[row.name] = Point(_rounded(time, _DIGITS), _sd(medians), len(medians))
    facts = {key: session.context[key] for key in FACTS if session.context.get(key)}
    host = tuple(row.name for row in record.rows.values() if row.clock is Clock.HOST)
    return Night(date, commit, run, facts, benchmarks, unmeasured, host)


def with_ratios(night: Night, base: str, pairs: Mapping[str, Sequence[float]]) -> Night:
    """Add the centres of these log ratios, for benchmarks that have a time. Raises UserError."""
    ratios = {}
    for name, logs in pairs.items():
        if name not in night.benchmarks or not logs:
            continue
        if max(map(abs, logs)) > _MOST_LOG:
            raise UserError(f"{quoted(name)} has an impossible ratio")
        ratio = round(float(centre(np.array(logs))), _DIGITS)
        ratios[name] = Ratio(ratio, _sd(logs), len(logs))
    return msgspec.structs.replace(night, base=base if ratios else "", ratios=ratios)


def line(night: Night) -> str:
    """The JSON of a night, with a line break."""
    return json.dumps(msgspec.to_builtins(night), allow_nan=False, separators=(",", ":")) + "\n"


def read(text: bytes, place: Place) -> Night:
    """The night in a line of this or an older format. Raises UserError."""
    try:
        return _DECODER.decode(text)
    except msgspec.ValidationError as fault:
        wanted = contract.format_of(Night)
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
        for entry in git.require(
            root, "ls-tree", "-r", "-z", "--full-tree", commit.stdout.strip()
        ).split("\0"):
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


def _sd(logs: Sequence[float]) -> float | None:
    return _rounded(stdev(logs), _SD_DIGITS) if len(logs) > 1 else None


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")
