# SPDX-License-Identifier: Apache-2.0
"""scripts/bench killed again and again at random moments, and resumed each time."""

from __future__ import annotations

import random
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench_process import BenchProcess, Done


def killed_and_resumed(
    machine: BenchProcess, argv: Sequence[str], *, kills: int, longest_s: float, seed: int
) -> Done:
    """What came of the last `--resume`, which was left in peace.

    `argv` names its run file with --out. A run that ended before its kill is begun anew, so that
    each of the kills hits one.
    """
    moments, journal = random.Random(seed), _journal(machine, argv)
    left = kills
    while left:
        resuming = (journal / "start.json").is_file()
        run = machine.start(*(["--resume", str(journal)] if resuming else argv))
        try:
            run.communicate(timeout=moments.uniform(0.0, longest_s))
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGKILL)
            run.communicate()
            left -= 1
    if not (journal / "start.json").is_file():
        return machine.run(*argv)
    return machine.run("--resume", str(journal))


def left_running(mark: str) -> list[int]:
    """The processes in whose command line `mark` stands."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if entry.name.isdigit() and words[0] and any(mark.encode() in word for word in words[:2]):
            found.append(int(entry.name))
    return found


def _journal(machine: BenchProcess, argv: Sequence[str]) -> Path:
    (out,) = (one.removeprefix("--out=") for one in argv if one.startswith("--out="))
    return machine.root / Path(out).with_suffix(".journal").name
