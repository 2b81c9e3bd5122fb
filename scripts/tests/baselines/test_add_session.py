# SPDX-License-Identifier: Apache-2.0
"""A session joins a baseline without touching another one, and what gives way is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_store import FOLDER, ROWS, contents, day

from builders import Json, row, run, scaled, write
from warpgauge.baselines import store
from warpgauge.baselines.prune import SESSIONS_KEPT
from warpgauge.baselines.store import Recorded
from warpgauge.records.load import load
from warpgauge.system.errors import UserError


def added(tmp_path: Path, document: Json) -> Recorded:
    return store.record(write(tmp_path / "run.json", document), tmp_path / "baselines")


def changed(**keys: object) -> list[Json]:
    return [{**one, **keys} for one in ROWS]


def sessions_told(tmp_path: Path) -> dict[str, str]:
    lines = contents(tmp_path)["memcpy.json"].splitlines()
    return {line[1:11]: line.rstrip(",") for line in lines if line.startswith('"2026')}


def test_an_older_session_takes_its_place_by_date(tmp_path: Path) -> None:
    added(tmp_path, run(ROWS, **day(2)))
    added(tmp_path, run(ROWS, **day(1)))
    for one in contents(tmp_path).values():
        assert [key[:10] for key in json.loads(one)["sessions"]] == ["2026-11-01", "2026-11-02"]


def test_an_older_session_changes_no_counter_and_no_label(tmp_path: Path) -> None:
    added(tmp_path, run(changed(label="new", registers=72.0), **day(2)))
    told = added(tmp_path, run(changed(label="old", registers=40.0), **day(1)))
    one = load(tmp_path / "baselines" / FOLDER).rows["memcpy/b"]
    assert (one.counters["registers"], one.label) == (72.0, "new")
    (line,) = [line for line in told.lines() if "counters" in line]
    assert line.startswith("counters and labels stay those of session 2026-11-02-")


def test_the_other_sessions_stay_to_the_last_digit(tmp_path: Path) -> None:
    times = [1.234567, 1.23456, 9.876543, 1.0, 1e-3, 2.5, 1234567.0]
    added(tmp_path, run(changed(process_medians=times), **day(2)))
    before, lines = load(tmp_path / "baselines" / FOLDER), sessions_told(tmp_path)
    for number in (1, 3):
        added(tmp_path, run(changed(process_medians=scaled(2.0)), **day(number)))
    after = load(tmp_path / "baselines" / FOLDER)
    (key,) = before.sessions
    assert lines.items() <= sessions_told(tmp_path).items()
    for name, one in before.rows.items():
        assert after.rows[name].process_medians[key] == one.process_medians[key]


def test_files_that_tell_a_session_differently_keep_their_own_words(tmp_path: Path) -> None:
    added(tmp_path, run(ROWS, **day(1), cublas_version="13"))
    path = tmp_path / "baselines" / FOLDER / "sync.json"
    path.write_text(path.read_text().replace('"cublas_version": "13"', '"cublas_version": "12"'))
    added(tmp_path, run(ROWS, **day(2)))
    after = contents(tmp_path)
    assert '"cublas_version": "12"' in after["sync.json"]
    assert '"cublas_version": "13"' in after["memcpy.json"]


def test_a_benchmark_that_only_an_older_run_has_joins_at_the_end(tmp_path: Path) -> None:
    added(tmp_path, run(ROWS, **day(2)))
    added(tmp_path, run([row("memcpy/first", label="own"), *ROWS], **day(1)))
    record = load(tmp_path / "baselines" / FOLDER)
    assert list(record.rows) == ["memcpy/a", "memcpy/b", "memcpy/first", "sync/c"]
    assert record.rows["memcpy/first"].label == "own"
    assert [key[:10] for key in record.rows["memcpy/first"].process_medians] == ["2026-11-01"]


def test_a_session_that_gives_way_is_told_and_gpus_stay_many(tmp_path: Path) -> None:
    for number, gpu in enumerate("ABBCDEFG", start=1):
        added(tmp_path, run(ROWS, **day(number, gpu_uuid=gpu)))
    told = added(tmp_path, run(ROWS, **day(9, gpu_uuid="H")))
    (line,) = [line for line in told.lines() if line.startswith("dropped")]
    assert line.startswith("dropped: session 2026-11-02-")
    assert line.endswith(" of B, for a baseline keeps 8")
    record = load(tmp_path / "baselines" / FOLDER)
    assert [one.gpu_uuid for one in record.sessions.values()] == list("ABCDEFGH")


def test_an_old_session_that_was_asked_for_is_not_the_one_that_gives_way(tmp_path: Path) -> None:
    for number in range(2, 2 + SESSIONS_KEPT):
        added(tmp_path, run(ROWS, **day(number, gpu_uuid=f"GPU-{number}")))
    added(tmp_path, run(ROWS, **day(1, gpu_uuid="GPU-1")))
    days = [key[8:10] for key in load(tmp_path / "baselines" / FOLDER).sessions]
    assert days == ["01", *(f"{number:02}" for number in range(3, 2 + SESSIONS_KEPT))]


def test_a_run_of_another_gpu_model_is_refused_where_the_folder_is_the_same(
    tmp_path: Path,
) -> None:
    added(tmp_path, run(ROWS, **day(1)))
    before = contents(tmp_path)
    with pytest.raises(UserError, match=r"measured on 'NVIDIA-Test', and .* holds 'NVIDIA Test'"):
        added(tmp_path, run(ROWS, **day(2), gpu_name="NVIDIA-Test"))
    assert contents(tmp_path) == before
