# SPDX-License-Identifier: Apache-2.0
"""A branch of a history as long as is wanted, and how long it takes to make and read its database.

By hand, 22 million points by default, from scripts/:
`PYTHONPATH=src:tests/helpers python tests/helpers/long_history.py FOLDER [NIGHTS GPUS ROWS]`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import TypeVar

import numpy as np

from hosted_repository import git
from warpgauge.history import database, lines
from warpgauge.history import series as history
from warpgauge.history.lines import Night, Point, Ratio

BRANCH, NIGHTS, GPUS, ROWS = "history", 3 * 365, 20, 1000
_FIRST = date(2024, 1, 1)
T = TypeVar("T")


def model(number: int) -> str:
    return f"gpu-{number:02}"


def name(number: int) -> str:
    return f"gemm/tiled/f32/n:{number}"


def night(number: int, gpu: int, rows: int, random: np.random.Generator) -> Night:
    """Times of 1 to 1,000 µs that scatter by 0.5 % between nights and processes.

    A third were measured in pairs, too; the base is another one each quarter.
    """
    times = np.logspace(-6, -3, rows) * np.exp(random.normal(0.0, 0.005, rows))
    scatter = 0.005 * random.chisquare(6, rows) / 6
    points = {
        name(row): Point(float(f"{time:.7g}"), float(f"{sd:.3g}"), 7)
        for row, (time, sd) in enumerate(zip(times, scatter, strict=True))
    }
    base, logs = f"{number // 90:040x}", random.normal(0.0, 0.004, rows)
    ratios = {
        name(row): Ratio(round(float(logs[row]), 7), float(f"{sd:.3g}"), 4)
        for row, sd in enumerate(scatter)
        if row % 3 == 0
    }
    day = (_FIRST + timedelta(days=number)).isoformat()
    facts = {"gpu_name": model(gpu), "gpu_uuid": f"GPU-{gpu}", "driver_version": "580.1"}
    moment, commit = f"{day}T02:17:09Z", f"{number:040x}"
    return Night(moment, commit, number, facts, points, {}, (), base, ratios)


def write(folder: Path, numbers: range, gpus: int, rows: int) -> None:
    """Add a commit with these nights to the branch of the repository `folder`, made as needed."""
    git(folder, "init", "--quiet", "--bare") if not (folder / "HEAD").exists() else None
    known = git(folder, "for-each-ref", f"refs/heads/{BRANCH}")
    with subprocess.Popen(
        ["git", "-c", "core.compression=1", "-C", str(folder), "fast-import", "--quiet"],
        stdin=subprocess.PIPE,
    ) as process:
        assert process.stdin
        start = f"commit refs/heads/{BRANCH}\ncommitter a <a@b> 0 +0000\ndata 0\n"
        process.stdin.write(start.encode())
        if known:
            process.stdin.write(f"from refs/heads/{BRANCH}^0\n".encode())
        for path, text in _files(numbers, gpus, rows):
            content = text.encode()
            head = f"M 100644 inline {path}\ndata {len(content)}\n"
            process.stdin.write(head.encode() + content + b"\n")
    assert process.returncode == 0


def _files(numbers: range, gpus: int, rows: int) -> Iterator[tuple[str, str]]:
    for gpu in range(gpus):
        for number in numbers:
            random = np.random.default_rng((gpu, number))
            made = night(number, gpu, rows, random)
            yield f"{model(gpu)}/{made.date[:10]}-{number}.jsonl", lines.line(made)


def timed(what: str, work: Callable[[], T]) -> T:
    begin = time.perf_counter()
    found = work()
    print(f"{what}: {time.perf_counter() - begin:.4f} s", flush=True)
    return found


def main(argv: list[str]) -> None:
    folder = Path(argv[0])
    nights, gpus, rows = map(int, argv[1:]) if argv[1:] else (NIGHTS, GPUS, ROWS)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "HEAD").exists():
        timed("write the branch", lambda: write(folder, range(nights), gpus, rows))
    where = (model(gpus // 2), name(rows // 2))

    def one() -> int:
        return database.ask(
            folder, BRANCH, lambda it: len(history.series(it, where[1], where[0]).nights)
        )

    timed("build, and a series", one)
    path = folder / "build" / "history" / "nights.sqlite"
    print(f"size: {path.stat().st_size / 1e6:.0f} MB")
    for _ in range(3):
        timed("a series", one)
    timed(
        "all series of a model",
        lambda: database.ask(
            folder, BRANCH, lambda it: deque(history.all_series(it, where[0]), maxlen=0)
        ),
    )
    write(folder, range(nights, nights + 1), gpus, rows)
    timed("one more night, and a series", one)


if __name__ == "__main__":
    main(sys.argv[1:])
