# SPDX-License-Identifier: Apache-2.0
"""What comparing two large files takes, in time and memory, in a command of its own.

`python scripts/tests/helpers/speed.py` prints it for run files and for plain files.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

SCRIPTS = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SCRIPTS / "src"))

from large_runs import write_pair, write_plain_pair  # noqa: E402

BENCHMARKS = 10_000
GOAL_S, GOAL_MIB = 2.0, 200.0

# Exit statuses of a comparison that was made: nothing changed, something did, some not comparable.
_COMPARED = (0, 1, 3)

# Starts the command out of a process that is small: Linux counts what a process had in memory when
# it became another as the other's. Prints seconds, KiB, exit status.
_STARTER = """
import os, subprocess, sys, time
begin = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
print(time.perf_counter() - begin, usage.ru_maxrss, process.returncode)
"""


class Cost(NamedTuple):
    """What one command took."""

    wall_s: float
    peak_mib: float


def measured(command: Sequence[str]) -> Cost:
    """Run a command, its output thrown away. Raises SystemExit when it compared nothing."""
    starter = [sys.executable, "-S", "-c", _STARTER, *command]
    done = subprocess.run(starter, capture_output=True, text=True, check=True)
    wall_s, peak_kib, status = done.stdout.split()
    if int(status) not in _COMPARED:
        raise SystemExit(f"speed.py: `{' '.join(command)}` failed: {done.stderr.strip()[-500:]}")
    return Cost(float(wall_s), float(peak_kib) / 1024)


if __name__ == "__main__":
    print(f"goal: {GOAL_S} s, {GOAL_MIB} MiB")
    for write in (write_pair, write_plain_pair):
        with tempfile.TemporaryDirectory() as folder:
            sides = map(str, write(Path(folder), BENCHMARKS))
            cost = measured([sys.executable, str(SCRIPTS / "compare.py"), *sides])
        print(f"{write.__name__}: {cost.wall_s:.2f} s, {cost.peak_mib:.0f} MiB")
