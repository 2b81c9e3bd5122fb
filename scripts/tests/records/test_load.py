# SPDX-License-Identifier: Apache-2.0
"""Run files and baselines become the model; what they say survives, what they lack is absent."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from conftest import Loader

import builders
from builders import baseline, failed, row, run
from warpgauge.records.counters import Clock
from warpgauge.records.load import load
from warpgauge.records.model import Source
from warpgauge.records.row import Pair
from warpgauge.records.sessions import session_key
from warpgauge.system.errors import UserError


def test_a_run_file_has_one_session_named_after_day_gpu_and_boot(loaded: Loader) -> None:
    rows = [
        row(
            "b/z",
            [1.0, 2.0],
            process_rounds=[3, 1],
            pairs=builders.pairs([None, 2.0]),
            elapsed=[2, None],
        ),
        row("a/y", host_clock=1.0),
        row("b/x"),
    ]
    record = loaded(run(rows))
    key = session_key({"gpu_uuid": "GPU-1", "boot_id": "boot-1"}, "2026-11-20T10:00:00+00:00")
    assert record.source is Source.RUN
    assert list(record.sessions) == [key]
    assert key.startswith("2026-11-20-")
    assert len(key) == len("2026-11-20-") + 8
    assert record.rows["b/z"].process_medians == {key: (1e-6, 2e-6)}
    assert list(record.rows) == ["b/z", "a/y", "b/x"]
    assert record.rows["b/z"].rounds == (3, 1)
    first, second = record.rows["b/z"].pairs
    assert first == Pair(base_first=True)
    assert second == Pair(base_first=False, log_ratio=math.log(2.0), slices=5)
    assert record.rows["b/z"].elapsed == (2.0, None)
    assert record.rows["a/y"].rounds == ()
    assert record.rows["a/y"].pairs == ()
    assert [row.clock for row in record.rows.values()] == [Clock.DEVICE, Clock.HOST, Clock.DEVICE]


def test_counters_are_the_doubles_that_are_not_google_benchmarks_own(loaded: Loader) -> None:
    kept = {"registers": 40, "fraction": 0.5, "minus": -2.0}
    lost = {"nan": float("nan"), "endless": float("inf"), "long": 10**400, "flag": True}
    text = {"label": "kernel", "remark": "x", "tags": ["y"]}
    only = loaded(run([row("a/b", **kept, **lost, **text)])).rows["a/b"]
    assert only.counters == kept
    assert only.label == "kernel"


def test_an_errored_row_keeps_its_message_but_no_whole_log_and_has_no_time(loaded: Loader) -> None:
    rows = [failed("a/b", "out of memory"), failed("a/log", "x" * 10**6), row("a/c")]
    short, long, _ = loaded(run(rows)).rows.values()
    assert short.error == "out of memory"
    assert short.process_medians == {}
    assert long.error == "x" * 1000 + "…"


def test_a_baseline_has_its_sessions_and_lends_them_its_gpu(loaded: Loader) -> None:
    times = {"one": [1.0, 1.1], "two": [2.0, 2.1]}
    sessions: dict[str, builders.Json] = {"one": {"gpu_uuid": "u"}, "two": {"gpu_name": "other"}}
    rows = [row("a/b", process_medians=times, process_rounds="nonsense", pairs="nonsense")]
    record = loaded(baseline(rows, sessions))
    assert record.source is Source.BASELINE
    assert record.rows["a/b"].process_medians["two"] == pytest.approx((2e-6, 2.1e-6))
    assert record.sessions["one"].gpu_name == builders.GPU
    assert record.sessions["two"].gpu_name == "other"
    assert record.rows["a/b"].rounds == ()


def test_a_folder_is_the_sum_of_its_files_but_of_no_filter(tmp_path: Path) -> None:
    context = {"cublas_version": "13", "filter": "gemm"}
    builders.write(tmp_path / "gemm.json", run([row("gemm/a")], **context))
    builders.write(tmp_path / "sync.json", run([row("sync/b")], filter="sync"))
    (tmp_path / "notes.txt").write_text("not a result")
    (tmp_path / ".half.json").write_text("not a result either")
    record = load(tmp_path)
    assert list(record.rows) == ["gemm/a", "sync/b"]
    (session,) = record.sessions.values()
    assert session.context["cublas_version"] == "13"
    assert "filter" not in session.context


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (run([row("a/b")]), r"'a/b' is in one\.json and in two\.json"),
        (builders.google([builders.google_row("c", 1.0)]), "give files of one kind"),
    ],
)
def test_a_folder_of_a_benchmark_twice_or_of_two_kinds_is_refused(
    tmp_path: Path, other: builders.Json, sentence: str
) -> None:
    builders.write(tmp_path / "one.json", run([row("a/b")]))
    builders.write(tmp_path / "two.json", other)
    with pytest.raises(UserError, match=sentence):
        load(tmp_path)


def test_a_folder_without_results_points_to_the_one_below(tmp_path: Path) -> None:
    builders.write(tmp_path / "nvidia-test" / "a.json", run([row("a/b")]))
    with pytest.raises(
        UserError, match=r"no \*\.json or \*\.xml file; did you mean .*nvidia-test\?"
    ):
        load(tmp_path)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    path = builders.write(tmp_path / "a.json", run([row("a/b")]))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert list(load(path).rows) == ["a/b"]
