# SPDX-License-Identifier: Apache-2.0
"""A Google Benchmark program of another project: it knows no option of ours and tells no context.

It may as well be one of this project's, which is then run as it stands, too.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.execution import plain_report
from warpgauge.execution.discovery import LISTING_DEADLINE_S, Binary
from warpgauge.records.fields import is_name
from warpgauge.records.partial_report import Report
from warpgauge.system import process
from warpgauge.system.text import inert, quoted

# Google Benchmark finds nothing by it, so that what is printed is the program's own talk.
_NOTHING = "--benchmark_filter=^$"


@dataclass(frozen=True)
class PlainProgram(Binary):
    """It is its own family, by the name of its file. `names` begin with `prefix`.

    Nobody knows whether it needs a GPU: so the GPU is looked after when it ends badly.
    """

    prefix: str = ""

    @property
    def family(self) -> str:
        return self.path.name

    @property
    def claims(self) -> tuple[str, ...]:
        """The names of its rows; one that cannot be listed has a row of its own name."""
        return self.names or (self.family,)

    def own(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(name.removeprefix(self.prefix) for name in names)

    def told(self, report: Report) -> Report:
        return plain_report.told(report, self.prefix)


def listed(path: Path, scratch: Path, environment: Mapping[str, str]) -> PlainProgram:
    """The program at `path` with its benchmarks, or with the fault that keeps it from running."""
    if path.exists() and not os.access(path, os.X_OK):
        return PlainProgram(path, (), "is not executable: chmod +x it")
    asking = [str(path), "--benchmark_list_tests"]
    ending = process.run(asking, LISTING_DEADLINE_S, scratch, environment)
    if ending.status or ending.ended_for:
        return PlainProgram(path, (), f"cannot list its benchmarks: {ending.description}")
    talk = process.run([*asking, _NOTHING], LISTING_DEADLINE_S, scratch, environment)
    lines = [line for line in ending.stdout.splitlines() if line.strip()]
    names = tuple((Counter(lines) - Counter(talk.stdout.splitlines())).elements())
    return PlainProgram(path, names, _fault(path, names))


def _fault(path: Path, names: Sequence[str]) -> str | None:
    if not names:
        return "lists no benchmark, as if it were no Google Benchmark program: move it elsewhere"
    for name in names:
        if not name.isprintable() or not is_name(f"{path.name}/{name}"):
            return f"cannot list its benchmarks: {quoted(inert(name))} is no name"
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    return None if twice is None else f"has the benchmark {quoted(twice)} twice: rename one"
