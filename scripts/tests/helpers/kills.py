# SPDX-License-Identifier: Apache-2.0
"""scripts/bench killed again and again at random moments, and resumed each time."""

from __future__ import annotations

import random
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bench_process import BenchProcess, Done


def killed_and_resumed(
    machine: BenchProcess, argv: Sequence[str], *, kills: int, longest_s: float, seed: int
) -> Done:
    """What came of the last `--resume`, which was left in peace.

    `argv` names its run file with --out. A run that ended before its kill is begun anew, so that
    each of the kills hits one.
    """
    (out,) = (word.removeprefix("--out=") for word in argv if word.startswith("--out="))
    journal = machine.root / Path(out).with_suffix(".journal").name
    moments, left = random.Random(seed), kills

    def words() -> Sequence[str]:
        return ["--resume", str(journal)] if (journal / "start.json").is_file() else argv

    while left:
        run = machine.start(*words())
        try:
            run.communicate(timeout=moments.uniform(0.0, longest_s))
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGKILL)
            run.communicate()
            left -= 1
    return machine.run(*words())


def left_running(mark: str) -> list[int]:
    """The processes in whose command line `mark` stands."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it may have ended
            words = (process / "cmdline").read_bytes().split(b"\0")
            found += [int(process.name)] * any(mark.encode() in word for word in words)
    return found
