# SPDX-License-Identifier: Apache-2.0
"""What comparing two large files takes, in time and memory, in commands of their own.

Run by hand: python scripts/tests/helpers/speed.py (--help). tests/commands/test_speed.py keeps it
alive.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SCRIPTS / "src"))

from large_runs import PROCESSES, write_pair, write_plain_pair  # noqa: E402
from warpgauge.system import environment  # noqa: E402

PEERS = (Path("/usr/share/benchmark/compare.py"), Path("/usr/share/benchmark/tools/compare.py"))
BENCHMARKS, TIMES = 10_000, 3
GOAL_S, GOAL_MIB = 2.0, 200.0

# Exit statuses of a comparison that was made: nothing changed, something did, some not comparable.
_COMPARED = (0, 1, 3)


# Starts the command out of a process that is small: Linux counts what a process had in memory when
# it became another as the other's. Prints seconds, those of CPUs, KiB, exit status.
_STARTER = """
import os, subprocess, sys, time
begin = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
wall_s = time.perf_counter() - begin
process.returncode = os.waitstatus_to_exitcode(status)
print(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, process.returncode)
"""


@dataclass(frozen=True)
class Cost:
    """What one command took."""

    wall_s: float
    cpu_s: float
    peak_mib: float


def measured(command: Sequence[str]) -> Cost:
    """Run a command, its output thrown away. Raises SystemExit when it compared nothing."""
    starter = [sys.executable, "-S", "-c", _STARTER, *command]
    done = subprocess.run(starter, capture_output=True, text=True, check=True)
    wall_s, cpu_s, peak_kib, status = done.stdout.split()
    if int(status) not in _COMPARED:
        raise SystemExit(f"speed.py: `{' '.join(command)}` failed: {done.stderr.strip()[-500:]}")
    return Cost(float(wall_s), float(cpu_s), float(peak_kib) / 1024)


def best(command: Sequence[str], times: int) -> Cost:
    """The quickest of several runs: what disturbs a machine only ever adds."""
    return min((measured(command) for _ in range(times)), key=lambda cost: cost.wall_s)


def peer_command(paths: Sequence[Path]) -> list[str] | None:
    """Google Benchmark's own comparison of the same files, where it is installed."""
    tool = next((path for path in PEERS if path.exists()), None)
    if tool is None:
        return None
    return [sys.executable, str(tool), "--no-color", "benchmarks", *map(str, paths)]


def report(
    benchmarks: int, times: int, options: Sequence[str], peer: bool, plain: bool = False
) -> str:
    """The table; `options` go to our compare.py as they are."""
    with tempfile.TemporaryDirectory() as folder:
        paths = (write_plain_pair if plain else write_pair)(Path(folder), benchmarks)
        what = "plain files" if plain else "run files"
        each = "repetitions" if plain else "processes"
        megabytes = sum(path.stat().st_size for path in paths) / 1e6
        sides = list(map(str, paths))
        ours = [sys.executable, str(SCRIPTS / "compare.py"), *sides, *options]
        lines = [
            f"two {what} of {benchmarks} benchmarks x {PROCESSES} {each}, {megabytes:.1f} MB",
            f"{'command':<34}{'wall s':>8}{'CPU s':>8}{'peak MiB':>10}",
            _line("compare.py " + " ".join(options), best(ours, times)),
        ]
        if peer:
            theirs = peer_command(paths)
            if theirs is None:
                lines.append("Google Benchmark's: not here (Debian package libbenchmark-tools)")
            else:
                lines.append(_line("Google Benchmark's compare.py", measured(theirs)))
    lines.append(f"{'goal, for 10000 benchmarks':<34}{GOAL_S:>8.2f}{'':>8}{GOAL_MIB:>10.0f}")
    return "\n".join(lines)


def _line(name: str, cost: Cost) -> str:
    return f"{name.strip():<34}{cost.wall_s:>8.2f}{cost.cpu_s:>8.2f}{cost.peak_mib:>10.0f}"


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="speed.py",
        description=__doc__,
        epilog="What stands behind -- is given to compare.py, as in: speed.py -- --format markdown",
    )
    parser.add_argument("--benchmarks", type=int, default=BENCHMARKS, help="in each file")
    parser.add_argument("--times", type=int, default=TIMES, help="runs, of which the best counts")
    parser.add_argument("--plain", action="store_true", help="Google Benchmark files")
    parser.add_argument("--peer", action="store_true", help="Google Benchmark's, too: 80 s")
    parser.add_argument("options", nargs="*", help="of compare.py")
    given = parser.parse_args(argv)
    environment.ensure(["numpy", "scipy", "rich", "msgspec"])
    print(report(given.benchmarks, given.times, given.options, given.peer, given.plain))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
