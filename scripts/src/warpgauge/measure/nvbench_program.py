# SPDX-License-Identifier: Apache-2.0
"""Programs of nvbench as programs of Google Benchmark: each of their states is a benchmark.

A state runs in a process of its own, on the first GPU that it sees:
``PROGRAM --benchmark NAME --axis AXIS=VALUE ... --json FILE``.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, product
from pathlib import Path

from warpgauge.measure import any_command
from warpgauge.records.load import load
from warpgauge.system.errors import UserError
from warpgauge.system.text import file_name

LIST = "--list"
# Lines of the list: a benchmark, an axis with its type and flags, and a value.
_BENCHMARK = re.compile(r"## \[\d+\] `(.*)`")
_AXIS = re.compile(r"\* `(.+?)` : (\w+)(?: (\[.+\]))?$")
_VALUE = re.compile(r"  \* `(.*?)`")
_POWERS, _POWER = "[pow2]", re.compile(r"[0-9]|[1-5][0-9]|6[0-2]")  # of a 64-bit integer
_BEGIN, _LAST = "# Benchmarks", "## [0] ``"

States = dict[str, tuple[str, ...]]  # the options that select a state, by our name of it


def states(listing: str, most: int) -> States:
    """Return up to `most` states that a program lists; none of one that nvbench did not make."""
    found: States = {}
    benchmark, axes = "", list[tuple[str, str, list[str]]]()
    of_benchmarks = listing.partition(f"\n{_BEGIN}\n")[2]  # behind the devices
    for line in [*of_benchmarks.splitlines(), _LAST]:
        if head := _BENCHMARK.match(line):
            if benchmark:
                found |= islice(_of_benchmark(benchmark, axes), most - len(found))
            benchmark, axes = head[1], []
        elif axis := _AXIS.match(line):
            axes.append((f"{axis[1]}{axis[3] or ''}", axis[2], []))
        elif (value := _VALUE.match(line)) and axes:
            axes[-1][2].append(value[1])
    return found


def _of_benchmark(
    benchmark: str, axes: Sequence[tuple[str, str, Sequence[str]]]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for values in product(*(values for _, _, values in axes)):
        parts, options = [benchmark], [f"--benchmark={benchmark}"]
        for (axis, kind, _), value in zip(axes, values, strict=True):
            parts.append(f"{axis.partition('[')[0]}:{_shown(axis, kind, value)}")
            options.append(f"--axis={axis}={value}")
        yield "/".join(parts), tuple(options)


def _shown(axis: str, kind: str, value: str) -> str:
    """Return a value as `records.nvbench` names it."""
    if axis.endswith(_POWERS) and _POWER.fullmatch(value):
        return str(1 << int(value))
    with suppress(ValueError):
        return f"{float(value):.12g}" if kind == "float64" else value
    return value


def provide(build: Path, path: Path, found: States) -> Path:
    """Return a program in `build` that stands in for one of nvbench."""
    made = build / "commands" / file_name("nvbench", str(path)) / path.name
    any_command.write(made, "nvbench_program", str(path), found)
    return made


def main(path: str, found: States, argv: Sequence[str]) -> int:
    """Be the program of Google Benchmark. Return its exit status."""

    def rows(chosen: Sequence[str]) -> Iterator[Mapping[str, object]]:
        for name in chosen:
            try:
                yield {"name": name, **_measured(path, name, found[name])}
            except UserError as failure:  # noqa: PERF203 - a process each
                yield {"name": name, **any_command.failed(str(failure))}

    return any_command.program(path, [*found], rows, argv)


def _measured(path: str, name: str, options: Sequence[str]) -> Mapping[str, object]:
    """Run a state, and return what a row says of it. Raises UserError."""
    words = [word for option in options for word in option.split("=", 1)]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "state.json")
        done = subprocess.run(
            [path, *words, "--json", str(file)],
            env={**os.environ, "CUDA_VISIBLE_DEVICES": visible},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
        )
        if done.returncode or not file.exists():
            last = (done.stderr or done.stdout).strip().rpartition("\n")[2]
            raise UserError(f"it ended with status {done.returncode}: {last or 'no output'}")
        row = load(file).rows.get(name)
    if row is None:
        raise UserError("it measured another state than it was asked for")
    if row.error is not None:
        skip = {"skipped": True, "skip_message": row.error}
        return skip if row.skipped else any_command.failed(row.error)
    return {"real_time": 1e9 * row.seconds, "cpu_time": 1e9 * row.cpu_seconds, **row.counters}
