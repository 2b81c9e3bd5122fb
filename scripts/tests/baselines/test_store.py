# SPDX-License-Identifier: Apache-2.0
"""Recording adds a session, refuses what must not be held up as good, and never damages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import GPU, Json, row, run, scaled, write
from warpgauge.baselines import store
from warpgauge.baselines.prune import SESSIONS_KEPT
from warpgauge.records.load import load
from warpgauge.system.errors import UserError
from warpgauge.verdict.comparison import Outcome
from warpgauge.verdict.judge import judge

ROWS = [row("memcpy/a", label="k"), row("memcpy/b", registers=40.0), row("sync/c", host_clock=1.0)]
FOLDER = "nvidia-test"


def day(number: int, **keys: str) -> dict[str, str]:
    """The context of the session of one day, on a boot of its own."""
    date = f"2026-11-{number:02}T10:00:00+00:00"
    return {"date": date, "boot_id": f"boot-{number}", **keys}


def recorded(tmp_path: Path, document: Json) -> list[Path]:
    path = write(tmp_path / "run.json", document)
    return list(store.record(path, tmp_path / "baselines").files)


def contents(tmp_path: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (tmp_path / "baselines").rglob("*.*")}


@pytest.mark.parametrize(
    ("gpu", "slug"),
    [
        ("NVIDIA H200", "nvidia-h200"),
        ("NVIDIA A100-SXM4-80GB", "nvidia-a100-sxm4-80gb"),
        ("../etc", "etc"),
    ],
)
def test_a_gpu_model_has_a_folder(gpu: str, slug: str) -> None:
    assert store.slug(gpu) == slug


def test_a_gpu_without_a_nameable_character_is_refused() -> None:
    with pytest.raises(UserError):
        store.slug("///")


def test_the_first_recording_makes_a_file_a_family(tmp_path: Path) -> None:
    assert store.find(tmp_path / "baselines", GPU) is None
    written = recorded(tmp_path, run(ROWS))
    folder = tmp_path / "baselines" / FOLDER
    assert written == [folder / "memcpy.json", folder / "sync.json"]
    assert store.find(tmp_path / "baselines", GPU) == folder
    assert sorted(contents(tmp_path)) == ["memcpy.json", "sync.json"]


def test_what_was_recorded_compares_as_the_run_itself(tmp_path: Path) -> None:
    recorded(tmp_path, run(ROWS))
    comparison = judge(load(tmp_path / "baselines" / FOLDER), load(tmp_path / "run.json"))
    assert comparison.count(Outcome.PASS) == len(ROWS)
    for verdict in comparison.verdicts:
        assert verdict.baseline_seconds == pytest.approx(verdict.candidate_seconds)


def test_a_file_has_a_line_a_row_and_a_line_a_session(tmp_path: Path) -> None:
    recorded(tmp_path, run(ROWS, **day(1)))
    recorded(tmp_path, run(ROWS, **day(2)))
    lines = contents(tmp_path)["memcpy.json"].splitlines()
    assert [line[:11] for line in lines if line.startswith('"2026')] == [
        '"2026-11-01',
        '"2026-11-02',
    ]
    assert [json.loads(line.rstrip(","))["name"] for line in lines if '"name"' in line] == [
        "memcpy/a",
        "memcpy/b",
    ]


def test_recording_the_same_run_twice_changes_no_byte(tmp_path: Path) -> None:
    recorded(tmp_path, run(ROWS, **day(1)))
    recorded(tmp_path, run(ROWS, **day(2)))
    before = contents(tmp_path)
    recorded(tmp_path, run(ROWS, **day(2)))
    assert contents(tmp_path) == before


def test_a_new_session_leaves_the_lines_of_the_old_alone(tmp_path: Path) -> None:
    recorded(tmp_path, run(ROWS, **day(1)))
    before = contents(tmp_path)["sync.json"].splitlines()
    recorded(tmp_path, run(ROWS, **day(2)))
    after = contents(tmp_path)["sync.json"].splitlines()
    (session,) = [line for line in before if line.startswith('"2026')]
    assert f"{session}," in after


def test_a_session_of_the_same_boot_and_gpu_is_replaced(tmp_path: Path) -> None:
    recorded(tmp_path, run(ROWS, **day(1)))
    again = [{**one, "process_medians": scaled(2.0)} for one in ROWS]
    recorded(tmp_path, run(again, **day(1, date="2026-11-09T10:00:00+00:00")))
    record = load(tmp_path / "baselines" / FOLDER)
    assert [key[:10] for key in record.sessions] == ["2026-11-09"]
    (times,) = record.rows["memcpy/a"].process_medians.values()
    assert times == pytest.approx([1e-6 * time for time in scaled(2.0)])


def test_the_newest_sessions_stay(tmp_path: Path) -> None:
    for number in range(1, 3 + SESSIONS_KEPT):
        recorded(tmp_path, run(ROWS, **day(number)))
    record = load(tmp_path / "baselines" / FOLDER)
    newest = range(3, 3 + SESSIONS_KEPT)
    assert [key[8:10] for key in record.sessions] == [f"{number:02}" for number in newest]
    assert all(list(one.process_medians) == list(record.sessions) for one in record.rows.values())


def test_the_time_of_a_row_is_the_median_of_its_sessions(tmp_path: Path) -> None:
    for number, factor in ((1, 1.0), (2, 5.0), (3, 2.0)):
        rows = [{**one, "process_medians": scaled(factor)} for one in ROWS]
        recorded(tmp_path, run(rows, **day(number)))
    document = json.loads(contents(tmp_path)["sync.json"])
    assert document["benchmarks"][0]["real_time"] == 2.0


def test_counters_and_labels_become_those_of_the_new_run(tmp_path: Path) -> None:
    recorded(tmp_path, run(ROWS, **day(1)))
    recorded(tmp_path, run([{**one, "registers": 72.0, "label": "n"} for one in ROWS], **day(2)))
    one = load(tmp_path / "baselines" / FOLDER).rows["memcpy/b"]
    assert (one.counters["registers"], one.label) == (72.0, "n")


def test_nothing_of_the_machines_paths_and_names_is_kept(tmp_path: Path) -> None:
    machine = {"host_name": "secret-host", "executable": "/home/me/bench"}
    # How Google Benchmark was packaged.
    recorded(tmp_path, run(ROWS, **machine, library_build_type="debug"))
    kept = "".join(contents(tmp_path).values())
    assert [word for word in ("secret-host", "/home/me", "debug") if word in kept] == []


def test_a_counter_that_is_no_number_does_not_break_the_file(tmp_path: Path) -> None:
    recorded(tmp_path, run([row("a/b", spread=float("nan"))]))
    assert "NaN" not in contents(tmp_path)["a.json"]


def test_nothing_of_the_minute_is_kept(tmp_path: Path) -> None:
    rows = [row("a/b", registers=40.0, sm_clock_hz=1.98e9)]
    recorded(tmp_path, run(rows, **day(1), power_limit_watts="700"))
    before = contents(tmp_path)
    minute = {"power_watts": 512.3, "temperature_celsius": 48.0, "clock_event_reasons": 4.0}
    told = {**minute, "other_processes": 0, "memory_used_bytes": 1e9}
    noted = {**minute, "other_processes": 0.0, "discarded": 3.0, "processes_left_out": 1.0}
    context = {**day(1), **{key: str(value) for key, value in told.items()}}
    recorded(tmp_path, run([{**rows[0], **noted}], **context, power_limit_watts="700"))
    assert contents(tmp_path) == before
    assert "power_limit_watts" in before["a.json"]


def test_a_line_of_the_source_that_moved_changes_no_baseline_and_no_verdict(tmp_path: Path) -> None:
    recorded(tmp_path, run([row("a/b", source_line=43.0)], **day(1)))
    before = contents(tmp_path)
    assert "source_line" not in before["a.json"]
    recorded(tmp_path, run([row("a/b", source_line=57.0)], **day(1)))
    assert contents(tmp_path) == before
    old = write(tmp_path / "old.json", run([row("a/b", source_line=43.0)], **day(1)))
    comparison = judge(load(old), load(tmp_path / "run.json"))
    (verdict,) = comparison.verdicts
    assert (verdict.outcome, verdict.resources, comparison.notes) == (Outcome.PASS, (), ())
    assert comparison.differences == ()


def test_what_kernels_take_is_kept_to_the_last_digit(tmp_path: Path) -> None:
    recorded(tmp_path, run([row("a/b", peak_device_bytes=8589934593.0, spread=0.123456789)]))
    (only,) = load(tmp_path / "baselines" / FOLDER).rows.values()
    assert only.counters == {"peak_device_bytes": 8589934593.0, "spread": 0.1234568}


def test_a_recorded_comparison_needs_two_sessions(tmp_path: Path) -> None:
    recorded(tmp_path, run(ROWS, **day(1)))
    assert store.recorded_comparison(tmp_path / "baselines" / FOLDER) is None


def test_a_recorded_comparison_judges_the_newest_by_the_older(tmp_path: Path) -> None:
    for number, factor in ((3, 1.5), (1, 1.0), (2, 1.0)):
        rows = [{**one, "process_medians": scaled(factor)} for one in ROWS]
        recorded(tmp_path, run(rows, **day(number)))
    pair = store.recorded_comparison(tmp_path / "baselines" / FOLDER)
    assert pair is not None
    assert [len(side.sessions) for side in pair] == [2, 1]
    comparison = judge(*pair)
    assert comparison.count(Outcome.REGRESSION) == len(ROWS)
    assert comparison.notes == ()
