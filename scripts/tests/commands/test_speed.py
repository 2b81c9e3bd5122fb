# SPDX-License-Identifier: Apache-2.0
"""Loading stays within its bounds of time and memory."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

import speed
from large_runs import write_pair, write_plain_pair
from warpgauge.records.load import load


def test_the_largest_plain_files_are_compared_in_200_mib(tmp_path: Path) -> None:
    sides = map(str, write_plain_pair(tmp_path, speed.BENCHMARKS))
    cost = speed.measured([sys.executable, str(speed.SCRIPTS / "compare.py"), *sides])
    assert cost.peak_mib <= speed.GOAL_MIB


@pytest.mark.timed
def test_loading_grows_with_the_file_and_no_faster(tmp_path: Path) -> None:
    seconds = []
    for count in (500, 4000):
        path, _ = write_pair(tmp_path, count)
        begin = time.process_time()
        load(path)
        seconds.append(time.process_time() - begin)
    # 0.02 ms a row on a quiet machine. A row eight times as many may cost thrice as much.
    assert seconds[1] < max(24 * seconds[0], 1.0)
