# SPDX-License-Identifier: Apache-2.0
"""What is not recorded, and that a baseline outlives every fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_store import FOLDER, ROWS, contents, day, recorded

from builders import failed, google, google_row, row, run
from warpgauge.system.errors import UserError

REFUSED = {
    "dirty": (run(ROWS, dirty="true"), "uncommitted changes; commit them"),
    "dirty unknown": (run(ROWS, dirty=""), "uncommitted changes"),
    "debug": (run(ROWS, build_type="Debug"), "build type is 'Debug'; build Release"),
    "injected": (run(ROWS, inject="a=2"), "extra work was injected; measure again without"),
    "filtered": (run(ROWS, filter="a"), "only a part was measured; measure again without"),
    "no date": (run(ROWS, date="yesterday"), "date 'yesterday' is none that ISO 8601 knows"),
    "no gpu": (run(ROWS, gpu_name=""), "its context has no gpu_name"),
    "no boot": (run(ROWS, boot_id=""), "its context has no boot_id"),
    "failed": (run([*ROWS, failed("sync/d", "boom")]), "sync/d failed (boom); mend it"),
    "four": (
        run([*ROWS, row("sync/d", [1.0] * 4)]),
        "sync/d was measured in 4 processes; measure again in at least 5",
    ),
    "throttled": (
        run([*ROWS, row("sync/d", throttled=4.0, clock_event_reasons=4.0)]),
        "sync/d: the SM clock was lowered in 4 of 7 processes (power cap); let the GPU cool",
    ),
    "foreign": (
        run([*ROWS, row("sync/d", other_processes=1.0)]),
        "sync/d: 1 other process used the GPU; end what else uses the GPU, then measure again",
    ),
    "host functions": (run([*ROWS, row("sync/d", host_nodes=1.0)]), "holds 1 host function"),
    "foreign before": (run(ROWS, other_processes="2"), "others used the GPU when it began"),
    "plain": (google([google_row("a", 1.0)]), "it is a Google Benchmark JSON; give a run file"),
    "lost": (run(ROWS[1:]), "it lacks 'memcpy/a' of"),
    "family": (run([*ROWS, row("../x")]), "the family of '../x' makes no file name; rename it"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_names_reason_and_remedy_and_changes_nothing(tmp_path: Path, case: str) -> None:
    document, sentence = REFUSED[case]
    recorded(tmp_path, run(ROWS, **day(1)))
    before = contents(tmp_path)
    with pytest.raises(UserError) as raised:
        recorded(tmp_path, document)
    assert sentence in str(raised.value)
    assert contents(tmp_path) == before


def test_a_damaged_baseline_is_reported_and_left_alone(tmp_path: Path) -> None:
    recorded(tmp_path, run(ROWS, **day(1)))
    broken = tmp_path / "baselines" / FOLDER / "sync.json"
    broken.write_text("{")
    before = contents(tmp_path)
    with pytest.raises(UserError, match=r"sync\.json: breaks off"):
        recorded(tmp_path, run(ROWS, **day(2)))
    assert contents(tmp_path) == before


def test_a_baseline_file_of_another_name_is_reported(tmp_path: Path) -> None:
    recorded(tmp_path, run(ROWS, **day(1)))
    folder = tmp_path / "baselines" / FOLDER
    (folder / "sync.json").rename(folder / "mine.json")
    with pytest.raises(UserError, match=r"mine\.json is not named after the family"):
        recorded(tmp_path, run(ROWS, **day(2)))


def test_a_folder_that_cannot_be_made_gives_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "baselines").write_text("a file in the way")
    with pytest.raises(UserError, match="cannot be written"):
        recorded(tmp_path, run(ROWS))
