# SPDX-License-Identifier: Apache-2.0
"""Where there is no GPU scripts/bench measures the host, shows what was recorded, and says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clone import TIMES, Repository
from warpgauge.system.errors import ExitStatus, UserError


def test_without_a_gpu_it_measures_the_host_and_shows_what_was_recorded(
    repository: Repository,
) -> None:
    repository.record()
    (path,) = repository.root.glob("baselines/*/sync.json")
    repository.output()
    add_second_session(path)
    add_second_session(path.with_name("host.json"))
    repository.binary("sync", TIMES, no_gpu="no CUDA-capable device is detected")
    out = repository.root / "host.json"
    assert repository.bench("--quick", "--out", str(out)) is ExitStatus.NOT_MEASURED
    shown, err = repository.output()
    assert "No GPU is measured here: no CUDA-capable device is detected." in err
    assert "RECORDED on NVIDIA Fake, not measured here" in shown
    assert [row["name"] for row in json.loads(out.read_text())["benchmarks"]] == ["host/copy"]


def test_a_report_of_a_run_without_a_gpu_says_so(repository: Repository) -> None:
    repository.record()
    (folder,) = repository.root.glob("baselines/*/")
    repository.binary("sync", TIMES, no_gpu="no CUDA-capable device is detected")
    report = repository.root / "report.md"
    argv = ("--quick", "--no-confirm", "--baseline", str(folder), f"--format=markdown={report}")
    assert repository.bench(*argv) is ExitStatus.NOT_MEASURED
    assert "No GPU was measured: no CUDA-capable device is detected." in report.read_text()


def add_second_session(path: Path) -> None:
    """The same session again, of another boot."""
    baseline = json.loads(path.read_text())
    (key,) = baseline["sessions"]
    other = f"2026-11-21-{'f' * 8}"
    context = {**baseline["sessions"][key], "boot_id": "b007ed", "date": "2026-11-21T12:00:00"}
    baseline["sessions"][other] = context
    for row in baseline["benchmarks"]:
        row["process_medians"][other] = row["process_medians"][key]
    path.write_text(json.dumps(baseline))


def test_a_filter_that_leaves_only_gpu_benchmarks_needs_a_gpu(repository: Repository) -> None:
    repository.binary("sync", TIMES, no_gpu="the driver is too old")
    with pytest.raises(UserError, match="the driver is too old") as caught:
        repository.bench("--filter", "sync")
    assert caught.value.status is ExitStatus.NOT_MEASURED


def test_nothing_is_recorded_without_a_gpu(repository: Repository) -> None:
    repository.binary("sync", TIMES, no_gpu="the driver is too old")
    with pytest.raises(UserError, match="nothing to record: the driver is too old") as caught:
        repository.bench("--record")
    assert caught.value.status is ExitStatus.NOT_MEASURED
    assert not (repository.root / "baselines").exists()


def test_extra_work_needs_a_benchmark_that_runs_here(repository: Repository) -> None:
    repository.binary("sync", TIMES, no_gpu="the driver is too old")
    with pytest.raises(UserError, match="no benchmark that will run matches --inject 'sync'"):
        repository.bench("--inject", "sync=2")
    assert not repository.runs()
