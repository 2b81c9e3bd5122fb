# SPDX-License-Identifier: Apache-2.0
"""Read the run files of a folder as arrays, one GPU per file, and what the GPUs share."""

from __future__ import annotations

import csv
import io
import math
import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from warpgauge.records.benchmark_filter import hint, matches
from warpgauge.records.counters import Clock
from warpgauge.records.load import SELF_CHECK, load
from warpgauge.records.model import Session, Source
from warpgauge.records.sessions import BASE, PAIR_SIDE, only_session, when
from warpgauge.statistics.fleets import Levels
from warpgauge.statistics.log_ratios import Array
from warpgauge.system.errors import UserError
from warpgauge.system.location import Place, text_of
from warpgauge.system.text import listed, plural, quoted, suggestion, typed

# The most processes that read, the files that each takes at a time, and those worth a process.
_MOST_PROCESSES, _CHUNK, _WORTH_PROCESSES = 4, 32, 256

# The median of n normal values has pi/2 times the variance of their mean.
_MEDIAN_VARIANCE = math.pi / 2

# Context keys that differ between machines and may make them slower.
CONTEXT = (
    *"driver_version cuda_driver_version runtime_version cublas_version nccl_version".split(),
    *"kernel_release cpu_model cpu_scaling_enabled ecc power_limit_watts persistence_mode".split(),
    *"max_memory_clock_mhz max_sm_clock_hz memory_bytes sm_count commit".split(),
    *"link nvlink_generation nvlink_count pcie_generation pcie_width".split(),
)


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

    @property
    def node_name(self) -> str:
        """The host's name, or the boot ID if the file has no host name."""
        return self.node[0] or self.node[1]


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

    def of(self, gpus: Sequence[int], names: Sequence[int]) -> Measured:
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
        names = [i for i, name in enumerate(self.names) if matches(filter, name)]
        if filter and not names:
            raise UserError(f"no benchmark matches {typed(filter)}{hint(filter, self.names)}")
        return self.of(range(len(self.gpus)), names) if filter else self


@dataclass(frozen=True)
class _File:
    """What counts of a run file: by benchmark the median log of its time and its variance."""

    gpu: Gpu
    medians: dict[str, tuple[float, float]]
    host: set[str]


def read(folder: Path) -> Measured:
    """Read all run files below `folder`. Raise UserError if none can be read."""
    paths = [*_paths(folder)]
    if not paths:
        raise UserError(f"{folder}: holds no *.json file; give a folder of run files")
    if len(paths) < _WORTH_PROCESSES:
        return _merged(map(_read, paths))
    with ProcessPoolExecutor(
        min(_MOST_PROCESSES, len(os.sched_getaffinity(0))),
        mp_context=get_context("spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),  # only the parent reports an interrupt
    ) as pool:
        try:
            return _merged(pool.map(_read, paths, chunksize=_CHUNK))
        finally:
            pool.shutdown(cancel_futures=True)


def _paths(folder: Path) -> Iterator[Path]:
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.endswith(".json") and not name.startswith((".", SELF_CHECK)):
                yield Path(at, name)


def _read(path: Path) -> _File | str | None:
    """Read a file, or return its fault, or None for the base of a pair: that is another commit."""
    try:
        record = load(path)
        if record.source is not Source.RUN:
            what = f"is a {record.source.value}, not a run file"
            raise Place(path).error(what, "give a folder of run files alone")
        gpu = Gpu(path, only_session(record))
        if not gpu.uuid:
            raise Place(path).error("names no GPU", "measure with a program that uses a GPU")
    except UserError as fault:
        return str(fault)
    if gpu.session.context.get(PAIR_SIDE) == BASE:
        return None
    measured = [row for row in record.rows.values() if row.error is None]
    medians = {row.name: _median(*row.process_medians.values()) for row in measured}
    return _File(gpu, medians, {row.name for row in measured if row.clock is Clock.HOST})


def _median(times: Sequence[float]) -> tuple[float, float]:
    """Return the median log, and its variance, from the scatter of the processes."""
    logs, count = [math.log(time) for time in times], len(times)
    mean = sum(logs) / count
    squares = sum((log - mean) ** 2 for log in logs) / max(count - 1, 1)
    return median(logs), _MEDIAN_VARIANCE * squares / count


def _merged(read: Iterable[_File | str | None]) -> Measured:
    files: list[_File] = []
    faults: list[str] = []
    for found in read:
        if isinstance(found, str):
            faults.append(found)
        elif found is not None:
            files.append(found)
    if not files:
        first = faults[0] if faults else "all files are the base of a pair; give the candidates'"
        more = plural(len(faults) - 1, "more file")
        raise UserError(first + (f" (and {more} cannot be read)" if len(faults) > 1 else ""))
    newest = {file.gpu.uuid: file for file in sorted(files, key=lambda it: when(it.gpu.session))}
    kept = [file for file in files if newest[file.gpu.uuid] is file]
    names = tuple(dict.fromkeys(name for file in kept for name in file.medians))
    number = {name: at for at, name in enumerate(names)}
    both = np.full((2, len(kept), len(names)), np.nan)
    for row, file in enumerate(kept):
        for name, values in file.medians.items():
            both[:, row, number[name]] = values
    host = {name for file in kept for name in file.host}
    older = tuple(file.gpu.path for file in files if newest[file.gpu.uuid] is not file)
    return Measured(
        tuple(file.gpu for file in kept),
        names,
        np.array([name in host for name in names], dtype=bool),
        both[0],
        both[1],
        tuple(faults),
        older,
    )


def factors(gpus: Sequence[Gpu], table: Path | None) -> Levels:
    """Return each GPU's level ("" if unknown) of factors with several levels.

    Factors are keys of the context, and columns of a CSV by node or GPU. Raise UserError.
    """
    found = {key: [gpu.session.context.get(key, "") for gpu in gpus] for key in CONTEXT}
    if table is not None:
        found |= _of_table(gpus, table)
    return {key: levels for key, levels in found.items() if len({*levels} - {""}) > 1}


def _of_table(gpus: Sequence[Gpu], path: Path) -> dict[str, list[str]]:
    place = Place(path)
    reader = csv.DictReader(io.StringIO(text_of(place)), strict=True, restval="")
    try:
        key, *names = reader.fieldnames or [""]
        rows = [*reader]
    except csv.Error as fault:
        raise place.error(f"is not CSV ({fault})", "separate its columns by commas") from None
    if key not in ("node", "gpu_uuid") or not names or len({*names}) < len(names):
        wanted = "the first column is 'node' or 'gpu_uuid', the others are factors"
        raise place.error(f"begins with the columns {listed([key, *names])}", wanted)
    table = {row[key]: row for row in rows}
    if len(table) < len(rows) or any(None in row for row in rows):
        raise place.error(f"has a {key} twice, or too many columns", "write one line for each")
    of_gpu = [gpu.uuid if key == "gpu_uuid" else gpu.node_name for gpu in gpus]
    if table.keys().isdisjoint(of_gpu):
        first = next(iter(table), "")
        near = suggestion(first, sorted({*of_gpu}))
        raise UserError(f"{path}: no run file belongs to {quoted(first)} or the others: {near}")
    return {name: [table.get(of, {}).get(name, "") for of in of_gpu] for name in names}
