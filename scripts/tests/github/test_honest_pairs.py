# SPDX-License-Identifier: Apache-2.0
"""No honest result is refused: simulated suites with new, failed, skipped and disturbed rows.

`WARPGAUGE_SIMULATIONS=whole` judges ten thousand suites, otherwise a few hundred.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from builders import failed, pairs, row, run
from devtools.simulations.pairs import NOISES
from gate_pair import BASE, HEAD, MEMBERS, Json
from hosted_run import HostedRun
from warpgauge.records.load import load
from warpgauge.reports.formats.markdown import MARK
from warpgauge.reports.view import check_word
from warpgauge.statistics.log_ratios import Array
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.comparison import exit_status
from warpgauge.verdict.judge import judge

WHOLE = os.environ.get("WARPGAUGE_SIMULATIONS") == "whole"
SUITES = (10_000 if WHOLE else 220) // len(NOISES)
ROWS, PAIRS = 12, (8, 12, 28, 84)  # of a suite
SKIPPED: Json = {"error_occurred": True, "skipped": True, "error_message": "needs 2 GPUs"}
SPOILED: list[Json] = [{"throttled": 3.0}, {"other_processes": 1.0}, {"beyond_ceiling": 2.0}]


def suite(source: np.random.Generator, noise: str) -> tuple[bytes, bytes]:
    """Both run files of a gate, in which anything may have happened that happens."""
    pairs = int(source.choice(PAIRS))
    changes = np.where(source.random(ROWS) < 0.1, 0.05, 0.0)
    log_ratios = 3.0 * NOISES[noise](source, pairs)[:ROWS] + changes[:, None]
    typical = source.uniform(1e-6, 20e-6, (ROWS, 1))
    base = typical * np.exp(source.normal(0.0, 0.01, (ROWS, pairs)))
    seconds = np.stack([base, base * np.exp(log_ratios)], axis=1)
    rounds = [*range(1, pairs + 1)]
    facts = {"gpu_name": "NVIDIA H200", "suite": "default", "pair_id": "p"}
    sides = []
    state = source.integers(0, 30, ROWS)
    for side, commit in enumerate((BASE, HEAD)):
        rows = [
            row_of(f"{name}/{index}", seconds[index], side, rounds, int(state[index]))
            for index, name in enumerate(("gemm", "sync", "memcpy", "host") * (ROWS // 4))
        ]
        kept = [one for one in rows if one is not None]
        word = ("base", "candidate")[side]
        sides.append(json.dumps(run(kept, commit=commit, pair_side=word, **facts)).encode())
    return sides[0], sides[1]


def row_of(name: str, of: Array, side: int, rounds: list[int], state: int) -> Json | None:
    times = [float(f"{1e6 * time:.7g}") for time in of[side].tolist()]
    made = row(name, times, process_rounds=rounds)
    made["real_time"] = float(f"{np.median(times):.7g}")
    if side == 1 and state % 2:
        made["pairs"] = pairs((of[1] / of[0]).tolist(), (4, 8, 12, 28, 84))
    if not name.startswith("gemm"):
        made["host_clock"] = 1.0
    match state:
        case 0 | 1 if side == state:  # new, or lost
            return None
        case 2 if side == 1:
            return failed(name)
        case 3:
            return {**failed(name), **SKIPPED}
        case 4 | 5 | 6 if side == 1:
            made |= SPOILED[state - 4]
    return made


@pytest.mark.parametrize("noise", sorted(NOISES))
def test_no_honest_result_is_refused(
    hosted: HostedRun, noise: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = np.random.default_rng(7)
    words = set()
    for _ in range(SUITES):
        files = suite(source, noise)
        paths = [tmp_path / Path(member).name for member in MEMBERS]
        for path, content in zip(paths, files, strict=True):
            path.write_bytes(content)
        word = check_word(exit_status(judge(load(paths[0]), load(paths[1]))))
        hosted.replace(files)
        hosted.ended("success" if word == "PASS" else "failure")
        hosted.comments.clear()
        assert hosted.comment() is ExitStatus.OK, capsys.readouterr().err
        assert hosted.body.startswith(f"{MARK}**{word}**")
        assert "Its job ended" not in hosted.body
        words.add(word)
    assert len(words) >= 2
