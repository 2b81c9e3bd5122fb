# SPDX-License-Identifier: Apache-2.0
"""Loading stays within its bounds of work and memory."""

from __future__ import annotations

import sys
from pathlib import Path

import speed
from large_runs import write_pair, write_plain_pair
from warpgauge.records.load import load
from work import calls


def test_the_largest_plain_files_are_compared_in_200_mib(tmp_path: Path) -> None:
    sides = map(str, write_plain_pair(tmp_path, speed.BENCHMARKS))
    cost = speed.measured([sys.executable, str(speed.SCRIPTS / "compare.py"), *sides])
    assert cost.peak_mib <= speed.GOAL_MIB


def test_loading_grows_with_the_file_and_no_faster(tmp_path: Path) -> None:
    def of(count: int) -> int:
        path, _ = write_pair(tmp_path, count)
        return calls(lambda: load(path))

    assert of(4000) < 10 * of(500)
