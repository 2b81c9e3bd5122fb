# SPDX-License-Identifier: Apache-2.0
"""Recording adds a session, refuses what must not be held up as good, and never damages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import GPU, Json, failed, google, google_row, row, run, scaled, write
from warpgauge.baselines import store
from warpgauge.baselines.store import SESSIONS_KEPT, Recorded
from warpgauge.records.load import load
from warpgauge.records.model import Record
from warpgauge.records.sessions import only_session
from warpgauge.system.errors import UserError
from warpgauge.verdict.comparison import Outcome
from warpgauge.verdict.judge import judge

ROWS = [row("memcpy/a", label="k"), row("memcpy/b", registers=40.0), row("sync/c", host_clock=1.0)]
FOLDER = Path("baselines/nvidia-test")


def recorded(tmp_path: Path, rows: list[Json], day: int = 1, **keys: str) -> Recorded:
    """What became of recording a run of one day, on a boot of its own."""
    about = {"date": f"2026-11-{day:02}T10:00:00+00:00", "boot_id": f"boot-{day}", **keys}
    path = write(tmp_path / "run.json", run(rows, **about))
    return store.record(path, tmp_path / "baselines")


def changed(**keys: object) -> list[Json]:
    return [{**row, **keys} for row in ROWS]


def held(tmp_path: Path) -> Record:
    return load(tmp_path / FOLDER)


def days(record: Record) -> list[int]:
    return [int(key[8:10]) for key in record.sessions]


def contents(tmp_path: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (tmp_path / "baselines").rglob("*.*")}


def session_lines(tmp_path: Path) -> list[str]:
    lines = contents(tmp_path)["memcpy.json"].splitlines()
    return [line.rstrip(",") for line in lines if line.startswith('"2026')]


def test_a_gpu_model_has_a_folder() -> None:
    gpus = ("NVIDIA H200", "NVIDIA A100-SXM4-80GB", "../etc")
    assert [*map(store.slug, gpus)] == ["nvidia-h200", "nvidia-a100-sxm4-80gb", "etc"]
    with pytest.raises(UserError):
        store.slug("///")


def test_the_first_recording_makes_a_file_a_family_that_compares_as_the_run(tmp_path: Path) -> None:
    baselines, folder = tmp_path / "baselines", tmp_path / FOLDER
    assert store.find(baselines, GPU) is None
    assert recorded(tmp_path, ROWS).files == (folder / "memcpy.json", folder / "sync.json")
    assert store.find(baselines, GPU) == folder
    assert sorted(contents(tmp_path)) == ["memcpy.json", "sync.json"]
    comparison = judge(held(tmp_path), load(tmp_path / "run.json"))
    assert comparison.count(Outcome.PASS) == len(ROWS)
    for verdict in comparison.verdicts:
        assert verdict.baseline_seconds == pytest.approx(verdict.candidate_seconds)


def test_a_session_is_one_more_line_and_recorded_twice_no_other_byte(tmp_path: Path) -> None:
    recorded(tmp_path, ROWS)
    (first,) = session_lines(tmp_path)
    recorded(tmp_path, ROWS, 2)
    before = contents(tmp_path)
    lines = before["memcpy.json"].splitlines()
    rows = [json.loads(line.rstrip(",")) for line in lines if '"name"' in line]
    assert [row["name"] for row in rows] == ["memcpy/a", "memcpy/b"]
    assert f"{first}," in lines
    assert [line[:11] for line in session_lines(tmp_path)] == ['"2026-11-01', '"2026-11-02']
    recorded(tmp_path, ROWS, 2)
    assert contents(tmp_path) == before


def test_a_session_of_the_same_boot_and_gpu_is_replaced(tmp_path: Path) -> None:
    recorded(tmp_path, ROWS, boot_id="same")
    result = recorded(tmp_path, changed(process_medians=scaled(2.0)), 9, boot_id="same")
    (line,) = result.changes
    assert line.startswith("replaced: session 2026-11-01-")
    record = held(tmp_path)
    assert days(record) == [9]
    (times,) = record.rows["memcpy/a"].process_medians.values()
    assert times == pytest.approx([1e-6 * time for time in scaled(2.0)])


def test_the_newest_sessions_stay(tmp_path: Path) -> None:
    for day in range(1, 3 + SESSIONS_KEPT):
        recorded(tmp_path, ROWS, day)
    record = held(tmp_path)
    assert days(record) == [*range(3, 3 + SESSIONS_KEPT)]
    assert all(list(row.process_medians) == list(record.sessions) for row in record.rows.values())


def test_the_session_that_was_asked_for_stays_however_old_it_is(tmp_path: Path) -> None:
    for day in (*range(2, 2 + SESSIONS_KEPT), 1):
        recorded(tmp_path, ROWS, day, gpu_uuid=f"GPU-{day}")
    assert days(held(tmp_path)) == [1, *range(3, 2 + SESSIONS_KEPT)]


def test_a_session_that_gives_way_is_told_and_gpus_stay_many(tmp_path: Path) -> None:
    for day, gpu in enumerate("ABBCDEFGH", start=1):
        result = recorded(tmp_path, ROWS, day, gpu_uuid=gpu)
    (line,) = [line for line in result.lines() if line.startswith("dropped")]
    assert line.startswith("dropped: session 2026-11-02-")
    assert line.endswith(" of B, because a baseline keeps at most 8")
    assert [session.gpu_uuid for session in held(tmp_path).sessions.values()] == list("ABCDEFGH")


def test_counters_and_labels_are_those_of_the_newest_session(tmp_path: Path) -> None:
    recorded(tmp_path, ROWS, 2)
    recorded(tmp_path, changed(label="new", registers=72.0), 3)
    result = recorded(tmp_path, changed(label="old", registers=40.0), 1)
    for path in result.files:
        assert days(load(path)) == [1, 2, 3]
    newest = held(tmp_path).rows["memcpy/b"]
    assert (newest.counters["registers"], newest.label) == (72.0, "new")
    (line,) = result.changes
    assert line.startswith("counters and labels are still those of session 2026-11-03-")


def test_the_other_sessions_stay_to_the_last_digit(tmp_path: Path) -> None:
    times = [1.234567, 1.23456, 9.876543, 1.0, 1e-3, 2.5, 1234567.0]
    recorded(tmp_path, changed(process_medians=times), 2)
    before, lines = held(tmp_path), session_lines(tmp_path)
    for day in (1, 3):
        recorded(tmp_path, changed(process_medians=scaled(2.0)), day)
    after = held(tmp_path)
    (key,) = before.sessions
    assert set(lines) <= set(session_lines(tmp_path))
    for name, unchanged in before.rows.items():
        assert after.rows[name].process_medians[key] == unchanged.process_medians[key]


def test_files_that_tell_a_session_differently_keep_their_own_words(tmp_path: Path) -> None:
    recorded(tmp_path, ROWS, cublas_version="13")
    path = tmp_path / FOLDER / "sync.json"
    path.write_text(path.read_text().replace('"cublas_version": "13"', '"cublas_version": "12"'))
    recorded(tmp_path, ROWS, 2)
    after = contents(tmp_path)
    assert '"cublas_version": "12"' in after["sync.json"]
    assert '"cublas_version": "13"' in after["memcpy.json"]


def test_a_benchmark_that_only_an_older_run_has_joins_at_the_end(tmp_path: Path) -> None:
    recorded(tmp_path, ROWS, 2)
    recorded(tmp_path, [row("memcpy/first", label="own"), *ROWS], 1)
    key = only_session(load(tmp_path / "run.json")).key
    record = held(tmp_path)
    assert list(record.rows) == ["memcpy/a", "memcpy/b", "memcpy/first", "sync/c"]
    assert record.rows["memcpy/first"].label == "own"
    assert list(record.rows["memcpy/first"].process_medians) == [key]


def test_nothing_of_the_machine_and_no_nan_is_kept(tmp_path: Path) -> None:
    machine = {"host_name": "secret-host", "executable": "/home/me/bench"}
    # How Google Benchmark was packaged.
    rows = [row("a/b", spread=float("nan"))]
    recorded(tmp_path, rows, 1, **machine, library_build_type="debug")
    text = contents(tmp_path)["a.json"]
    assert [word for word in ("secret-host", "/home/me", "debug", "NaN") if word in text] == []


def test_nothing_of_the_minute_and_no_line_of_the_source_is_kept(tmp_path: Path) -> None:
    measured = row("a/b", registers=40.0, sm_clock_hz=1.98e9, source_line=43.0)
    recorded(tmp_path, [measured], power_limit_watts="700")
    before = contents(tmp_path)
    assert "power_limit_watts" in before["a.json"]
    assert "source_line" not in before["a.json"]
    minute = {"power_watts": 512.3, "temperature_celsius": 48.0, "clock_event_reasons": 4.0}
    noted = {**minute, "other_processes": 0.0, "discarded": 3.0, "processes_left_out": 1.0}
    noted |= {"energy_joules": 1.0, "energy_error_joules": 0.1}
    context = {**minute, "other_processes": 0, "memory_used_bytes": 1e9, "power_limit_watts": 700}
    about = {key: str(value) for key, value in context.items()}
    recorded(tmp_path, [{**measured, **noted, "source_line": 57.0}], 1, **about)
    assert contents(tmp_path) == before


def test_a_line_of_the_source_that_moved_changes_no_verdict(tmp_path: Path) -> None:
    base = write(tmp_path / "base.json", run([row("a/b", source_line=43.0)]))
    candidate = write(tmp_path / "candidate.json", run([row("a/b", source_line=57.0)]))
    comparison = judge(load(base), load(candidate))
    (verdict,) = comparison.verdicts
    assert (verdict.outcome, verdict.resources) == (Outcome.PASS, ())
    assert (comparison.notes, comparison.differences) == ((), ())


def test_what_kernels_take_is_kept_to_the_last_digit(tmp_path: Path) -> None:
    recorded(tmp_path, [row("a/b", peak_device_bytes=8589934593.0, spread=0.123456789)])
    counters = held(tmp_path).rows["a/b"].counters
    assert counters == {"peak_device_bytes": 8589934593.0, "spread": 0.1234568}


def test_a_time_is_the_median_of_the_sessions(tmp_path: Path) -> None:
    for day, factor in ((3, 1.5), (1, 1.0), (2, 1.01)):
        recorded(tmp_path, changed(process_medians=scaled(factor)), day)
    assert json.loads(contents(tmp_path)["sync.json"])["benchmarks"][0]["real_time"] == 1010.0


def with_another(row: Json) -> Json:
    return run([*ROWS, row])


REFUSED: list[tuple[Json, str]] = [
    (run(ROWS, dirty="true"), "uncommitted changes; commit them"),
    (run(ROWS, dirty=""), "uncommitted changes"),
    (run(ROWS, build_type="Debug"), "build type is 'Debug'; build Release"),
    (run(ROWS, inject="a=2"), "extra work was injected; measure again without"),
    (run(ROWS, not_built="gemm"), "programs were not built; measure again without"),
    (run(ROWS, filter="a"), "only part of the suite was measured; measure again without"),
    (run(ROWS, date="yesterday"), "date 'yesterday' is not an ISO 8601 date"),
    (run(ROWS, gpu_name=""), "its context has no gpu_name"),
    (run(ROWS, boot_id=""), "its context has no boot_id"),
    (run(ROWS, gpu_name="NVIDIA-Test"), "it was measured on 'NVIDIA-Test', but "),
    (run(ROWS, other_processes="2"), "others used the GPU at the start"),
    (run(ROWS, pair_id="1234"), "measured in pairs"),
    (run(ROWS[1:]), "it lacks 'memcpy/a' of"),
    (google([google_row("a", 1.0)]), "it is a Google Benchmark JSON; give a run file"),
    (with_another(failed("sync/d", "boom")), "sync/d failed (boom); correct it"),
    (with_another(row("sync/d", [1.0] * 4)), "in 4 processes; measure again in at least 5"),
    (
        with_another(row("sync/d", throttled=4.0, clock_event_reasons=4.0)),
        "sync/d: the SM clock was lowered in 4 of 7 processes (power cap); let the GPU cool",
    ),
    (
        with_another(row("sync/d", other_processes=1.0)),
        "sync/d: 1 other process used the GPU; end other processes that use the GPU",
    ),
    (with_another(row("sync/d", host_nodes=1.0)), "holds 1 host function"),
    (with_another(row("../x")), "the family of '../x' cannot be a file name; rename it"),
]


@pytest.mark.parametrize(("document", "sentence"), REFUSED)
def test_a_refusal_names_reason_and_remedy_and_changes_nothing(
    tmp_path: Path, document: Json, sentence: str
) -> None:
    recorded(tmp_path, ROWS)
    before = contents(tmp_path)
    with pytest.raises(UserError) as raised:
        store.record(write(tmp_path / "run.json", document), tmp_path / "baselines")
    assert sentence in str(raised.value)
    assert contents(tmp_path) == before


def test_a_baseline_that_is_damaged_or_misnamed_is_reported_and_left_alone(tmp_path: Path) -> None:
    recorded(tmp_path, ROWS)
    path = tmp_path / FOLDER / "sync.json"
    misnamed = path.rename(path.with_name("mine.json"))
    with pytest.raises(UserError, match=r"mine\.json is not named after the family"):
        recorded(tmp_path, ROWS, 2)
    misnamed.rename(path).write_text("{")
    before = contents(tmp_path)
    with pytest.raises(UserError, match=r"sync\.json: ends in the middle"):
        recorded(tmp_path, ROWS, 2)
    assert contents(tmp_path) == before


def test_a_folder_that_cannot_be_made_gives_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "baselines").write_text("a file in the way")
    with pytest.raises(UserError, match="cannot be written"):
        recorded(tmp_path, ROWS)
