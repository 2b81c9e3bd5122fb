# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the comparison itself measures what it says; loading stays in its bounds."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from large_runs import write_pair
from warpgauge.records.load import load


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
