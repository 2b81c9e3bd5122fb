# SPDX-License-Identifier: Apache-2.0
"""Read the run files of a folder as arrays, one GPU per file: 1.2 million rows in seconds.

Only a row's name and times are decoded. An unusual file is read again by `records.load`, which says
what is wrong with it. Nothing is cached: the run files are the only source.
"""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from warpgauge.records.benchmark_filter import hint, matches
from warpgauge.records.fields import CONTEXT_LIMIT, is_name
from warpgauge.records.load import RUN_FORMAT, SELF_CHECK, load
from warpgauge.records.model import Clock, Record, Session, Source
from warpgauge.records.sessions import BASE, PAIR_SIDE, only_session, when
from warpgauge.statistics.log_ratios import Array
from warpgauge.system.document import TIME_UNITS
from warpgauge.system.errors import UserError
from warpgauge.system.json_file import SIZE_LIMIT_BYTES
from warpgauge.system.location import Place
from warpgauge.system.text import plural, typed

# The most processes that read, and the files in each piece of work; more take more memory.
_MOST_PROCESSES, _PIECE = 4, 128
_WORTH_PROCESSES = 256  # files from which several processes are used

# The median of n normal values has pi/2 times the variance of their mean.
_MEDIAN_VARIANCE = math.pi / 2


@dataclass(frozen=True, eq=False)
class Gpu:
    """The GPU of a run file, with its context."""

    path: Path
    session: Session

    @property
    def uuid(self) -> str:
        return self.session.gpu_uuid or ""

    @property
    def model(self) -> str:
        return self.session.gpu_name or ""

    @property
    def node(self) -> tuple[str, str]:
        """The host's name, if known, and its boot, because names of containers repeat."""
        context = self.session.context
        return context.get("host_name", ""), context.get("boot_id", "") or str(self.path.parent)


@dataclass(frozen=True)
class Measured:
    """GPUs x benchmarks: median logs of seconds, NaN if missing, and their variances.

    `host` marks benchmarks timed by the host's clock. `faults` name files that cannot be read.
    `older` are files left out because a newer file has the same GPU.
    """

    gpus: tuple[Gpu, ...]
    names: tuple[str, ...]
    host: NDArray[np.bool_]
    logs: Array
    own: Array
    faults: tuple[str, ...] = ()
    older: tuple[Path, ...] = ()

    def of(self, gpus: NDArray[np.intp], names: NDArray[np.intp]) -> Measured:
        """Return the data of some GPUs and benchmarks, given by their numbers."""
        at = np.ix_(gpus, names)
        return replace(
            self,
            gpus=tuple(self.gpus[i] for i in gpus),
            names=tuple(self.names[i] for i in names),
            host=self.host[names],
            logs=self.logs[at],
            own=self.own[at],
        )

    def matching(self, filter: str) -> Measured:
        """Return the data of benchmarks that the expression `filter` selects. Raise UserError."""
        if not filter:
            return self
        names = [i for i, name in enumerate(self.names) if matches(filter, name)]
        if not names:
            raise UserError(f"no benchmark matches {typed(filter)}{hint(filter, self.names)}")
        return self.of(np.arange(len(self.gpus)), np.array(names))


class _Row(msgspec.Struct, gc=False):
    name: str
    time_unit: str = ""
    process_medians: list[float] = []
    error_occurred: bool = False
    skipped: bool | str = False
    host_clock: float = 0.0
    timed_by: str = ""


class _File(msgspec.Struct, gc=False):
    context: dict[str, Any]
    benchmarks: list[_Row]


_DECODER = msgspec.json.Decoder(_File)


@dataclass
class _Piece:
    """Some files; for each, the columns (numbers from `names`) and their values."""

    names: dict[str, int] = field(default_factory=dict)
    host: set[str] = field(default_factory=set)
    gpus: list[Gpu] = field(default_factory=list)
    columns: list[NDArray[np.intp]] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)  # two rows: logs and their variances
    faults: list[str] = field(default_factory=list)

    def add(self, path: Path) -> None:
        """Read a file; an error becomes a fault. The base of a pair is another commit: left out."""
        try:
            gpu, rows, host = _usual(path) or _unusual(path)
            if not gpu.uuid:
                raise Place(path).error("names no GPU", "measure with a program that uses a GPU")
        except UserError as fault:
            self.faults.append(str(fault))
            return
        if gpu.session.context.get(PAIR_SIDE) == BASE:
            return
        self.host |= host
        self.gpus.append(gpu)
        number = self.names.setdefault
        self.columns.append(np.array([number(name, len(self.names)) for name in rows], np.intp))
        self.values.append(_middles([*rows.values()]))


def read(folder: Path) -> Measured:
    """Read all run files below `folder`. Raise UserError if none can be read."""
    paths = [*_paths(folder)]
    if not paths:
        raise UserError(f"{folder}: holds no *.json file; give a folder of run files")
    pieces = [paths[at : at + _PIECE] for at in range(0, len(paths), _PIECE)]
    if len(paths) < _WORTH_PROCESSES:
        return _merged(map(_piece, pieces))
    with ProcessPoolExecutor(
        min(_MOST_PROCESSES, len(os.sched_getaffinity(0))),
        mp_context=get_context("spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),  # only the parent reports an interrupt
    ) as pool:
        try:
            return _merged(pool.map(_piece, pieces))
        finally:
            pool.shutdown(cancel_futures=True)


def _paths(folder: Path) -> Iterator[Path]:
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.endswith(".json") and not name.startswith((".", SELF_CHECK)):
                yield Path(at, name)


def _piece(paths: Sequence[Path]) -> _Piece:
    made = _Piece()
    for path in paths:
        made.add(path)
    return made


_Read = tuple[Gpu, dict[str, list[float]], set[str]]


def _usual(path: Path) -> _Read | None:
    """Return the GPU, the seconds by benchmark, and which benchmarks the host's clock times.

    Return None for a file that `records.load` must read.
    """
    try:
        if path.stat().st_size > SIZE_LIMIT_BYTES:
            return None
        found = _DECODER.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return None
    context = {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in found.context.items()
        if isinstance(value, (str, int, float))
    }
    if context.get("warpgauge_format") != RUN_FORMAT or any(
        len(value) > CONTEXT_LIMIT for value in context.values()
    ):
        return None
    rows: dict[str, list[float]] = {}
    host: set[str] = set()
    for row in found.benchmarks:
        if row.name in rows or not is_name(row.name):
            return None
        if row.error_occurred or row.skipped:
            continue
        unit, times = TIME_UNITS.get(row.time_unit), row.process_medians
        if unit is None or not times or not 0.0 < min(times) * unit <= max(times) * unit < math.inf:
            return None
        rows[row.name] = [unit * time for time in times]
        if row.host_clock or row.timed_by == "host":
            host.add(row.name)
    return Gpu(path, Session(path.name, context)), rows, host


def _unusual(path: Path) -> _Read:
    """Return the same for a file of any layout. Raise UserError."""
    record: Record = load(path)
    if record.source is not Source.RUN:
        what = f"is a {record.source.value}, not a run file"
        raise Place(path).error(what, "give a folder of run files alone")
    measured = [row for row in record.rows.values() if row.error is None]
    times = {row.name: [*next(iter(row.process_medians.values()))] for row in measured}
    host = {row.name for row in measured if row.clock is Clock.HOST}
    return Gpu(path, only_session(record)), times, host


def _middles(rows: Sequence[Sequence[float]]) -> Array:
    """Return for each row the median log and its variance, from the scatter of the processes."""
    found = np.zeros((2, len(rows)))
    for count in {*map(len, rows)}:
        at = [index for index, row in enumerate(rows) if len(row) == count]
        logs = np.log([rows[index] for index in at])
        found[0, at] = np.median(logs, axis=1)
        if count > 1:
            found[1, at] = _MEDIAN_VARIANCE * np.var(logs, axis=1, ddof=1) / count
    return found


def _merged(pieces: Iterable[_Piece]) -> Measured:
    whole = _Piece()
    for one in pieces:
        number = whole.names.setdefault
        columns = np.array([number(name, len(whole.names)) for name in one.names], np.intp)
        whole.host |= one.host
        whole.gpus += one.gpus
        whole.columns += [columns[held] for held in one.columns]
        whole.values += one.values
        whole.faults += one.faults
    if not whole.gpus:
        bases = "all files are the base of a pair; give the candidates' run files"
        first, *_ = [*whole.faults, bases]
        more = plural(len(whole.faults) - 1, "more file")
        others = f" (and {more} cannot be read)" if len(whole.faults) > 1 else ""
        raise UserError(f"{first}{others}")
    order = sorted(range(len(whole.gpus)), key=lambda at: when(whole.gpus[at].session))
    newest = {whole.gpus[at].uuid: at for at in order}
    kept = sorted(newest.values())
    both = np.full((2, len(kept), len(whole.names)), np.nan)
    for row, at in enumerate(kept):
        both[:, row, whole.columns[at]] = whole.values[at]
    names = tuple(whole.names)
    return Measured(
        tuple(whole.gpus[at] for at in kept),
        names,
        np.array([name in whole.host for name in names], dtype=bool),
        both[0],
        both[1],
        tuple(whole.faults),
        tuple(gpu.path for at, gpu in enumerate(whole.gpus) if newest[gpu.uuid] != at),
    )
