# SPDX-License-Identifier: Apache-2.0
"""scripts/bench from end to end, over fake binaries."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import fake_binary
from warpgauge import bench
from warpgauge.errors import ExitStatus, UserError

SCRIPTS = Path(__file__).parents[1]
TIMES = {"sync/idle": 1000.0, "sync/busy": 5000.0}


@dataclass
class Repository:
    """A clone whose binaries are fakes."""

    root: Path
    capsys: pytest.CaptureFixture[str]

    def binary(self, family: str, times: Mapping[str, float] | None = None, **told: str) -> None:
        folder = self.root / "build" / "release" / "benchmarks"
        no_gpu, fault = told.get("no_gpu", ""), told.get("fault", "")
        faults = {"always": fault} if fault else {}
        fake_binary.make(folder, family, times, faults=faults, no_gpu=no_gpu)
        (folder / f"bench_{family}.count").unlink(missing_ok=True)

    def bench(self, *argv: str) -> ExitStatus:
        return bench.main(["--no-build", "--seed=1", *argv], self.root)

    def record(self) -> ExitStatus:
        return self.bench("--record", "--processes=5")

    def output(self) -> tuple[str, str]:
        """Standard output and standard error so far, each in one line."""
        out, err = self.capsys.readouterr()
        return " ".join(out.split()), " ".join(err.split())

    def runs(self) -> list[Path]:
        return sorted((self.root / "build" / "runs").glob("*.json"))


@pytest.fixture
def repository(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Repository:
    monkeypatch.setenv("WARPGAUGE_COMMIT", "0123456789" * 4)
    monkeypatch.setenv("COLUMNS", "120")
    made = Repository(tmp_path, capsys)
    made.binary("host", {"host/copy": 3000.0})
    made.binary("sync", TIMES)
    return made


def test_without_a_baseline_it_shows_the_values_and_how_to_record(repository: Repository) -> None:
    assert repository.bench("--quick") is ExitStatus.NOT_MEASURED
    out, err = repository.output()
    assert "idle" in out
    assert "There is no baseline for NVIDIA Fake yet" in err
    assert "--record" in err
    context = json.loads(repository.runs()[0].read_text())["context"]
    assert context["gpu_name"] == "NVIDIA Fake"
    assert (context["processes"], context["order_seed"]) == ("3", "1")
    assert (context["commit"], context["dirty"]) == ("0123456789" * 4, "false")


def test_a_recorded_run_is_the_baseline_of_the_next(repository: Repository) -> None:
    assert repository.record() is ExitStatus.OK
    recorded = repository.root / "baselines" / "nvidia-fake"
    assert {path.name for path in recorded.iterdir()} == {"host.json", "sync.json"}
    assert "nvidia-fake/sync.json" in repository.output()[0]
    repository.binary("host", {"host/copy": 3000.0})
    repository.binary("sync", TIMES)
    assert repository.bench("--out", str(repository.root / "again.json")) is ExitStatus.OK


def test_a_slower_benchmark_is_a_regression(repository: Repository) -> None:
    repository.record()
    repository.binary("host", {"host/copy": 3000.0})
    repository.binary("sync", {**TIMES, "sync/busy": 9000.0})
    assert repository.bench("--out", str(repository.root / "slow.json")) is ExitStatus.REGRESSION
    assert "busy" in repository.output()[0]


def test_a_crash_is_never_a_pass(repository: Repository) -> None:
    repository.record()
    repository.binary("sync", TIMES, fault="crash")
    assert repository.bench("--out", str(repository.root / "bad.json")) is ExitStatus.NOT_MEASURED
    out, err = repository.output()
    assert "round 1: bench_sync was killed by SIGSEGV: an illegal memory access" in err
    assert "SIGSEGV" in out


def test_a_filter_leaves_the_rest_unasked(repository: Repository) -> None:
    repository.record()
    repository.binary("sync", TIMES)
    out = repository.root / "part.json"
    assert repository.bench("--filter", "sync/idle", "--out", str(out)) is ExitStatus.OK
    assert [row["name"] for row in json.loads(out.read_text())["benchmarks"]] == ["sync/idle"]


def test_a_host_filter_on_a_gpu_machine_knows_its_gpu(repository: Repository) -> None:
    repository.record()
    repository.binary("host", {"host/copy": 3000.0})
    out = repository.root / "part.json"
    assert repository.bench("--filter", "^host", "--out", str(out)) is ExitStatus.OK
    assert json.loads(out.read_text())["context"]["gpu_name"] == "NVIDIA Fake"


def test_the_injection_is_passed_on_and_recorded(repository: Repository) -> None:
    repository.bench("--quick", "--inject", "sync=1.05")
    context = json.loads(repository.runs()[0].read_text())["context"]
    assert context["inject"] == "sync=1.05"


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


def test_without_nvcc_it_says_so(repository: Repository) -> None:
    (repository.root / "build/release/benchmarks/bench_sync").unlink()
    assert repository.bench("--quick") is ExitStatus.NOT_MEASURED
    assert "not built, for want of nvcc" in repository.output()[1]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--device", "3"], "there is no device 3"),
        (["--filter", "nothing_like_it"], "no benchmark matches --filter 'nothing_like_it'"),
        (["--filter", "("], "no regular expression"),
        (["--inject", "nothing_like_it=2"], "no benchmark matches --inject 'nothing_like_it'"),
        (["--baseline", "gone.json"], "gone.json"),
        (["--out", "/dev/null"], "no regular file"),
    ],
)
def test_bad_usage_is_told_before_anything_is_measured(
    repository: Repository, argv: list[str], said: str
) -> None:
    with pytest.raises(UserError, match=re.escape(said)) as caught:
        repository.bench(*argv)
    assert caught.value.status is ExitStatus.BAD_USAGE
    assert not repository.runs()


def test_a_fault_is_one_sentence_of_the_command_and_no_traceback() -> None:
    command = [sys.executable, str(SCRIPTS / "bench"), "--no-build", "--baseline", "gone.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == ExitStatus.BAD_USAGE
    assert done.stderr.startswith("bench: gone.json: cannot be read")
    assert done.stderr.count("\n") == 1


def test_a_folder_that_cannot_be_made_is_one_sentence(repository: Repository) -> None:
    (repository.root / "build" / "runs").write_text("in the way")
    with pytest.raises(UserError, match="File exists"):
        repository.bench()


def test_a_truncated_baseline_is_told_before_anything_is_measured(repository: Repository) -> None:
    path = repository.root / "base.json"
    path.write_text('{"context": {')
    with pytest.raises(UserError, match="breaks off"):
        repository.bench("--baseline", str(path))
    assert not repository.runs()


def test_a_baseline_of_another_gpu_is_not_compared(repository: Repository) -> None:
    repository.record()
    (path,) = repository.root.glob("baselines/*/sync.json")
    path.write_text(path.read_text().replace("NVIDIA Fake", "NVIDIA Other"))
    repository.binary("sync", TIMES)
    status = repository.bench("--filter", "sync", "--baseline", str(path))
    assert status is ExitStatus.NOT_MEASURED
    assert "NVIDIA Other" in repository.output()[0]


def test_a_filter_that_leaves_only_gpu_benchmarks_needs_a_gpu(repository: Repository) -> None:
    repository.binary("sync", TIMES, no_gpu="the driver is too old")
    with pytest.raises(UserError, match="the driver is too old") as caught:
        repository.bench("--filter", "sync")
    assert caught.value.status is ExitStatus.NOT_MEASURED


def test_nothing_is_recorded_without_a_gpu(repository: Repository) -> None:
    repository.binary("sync", TIMES, no_gpu="the driver is too old")
    with pytest.raises(UserError, match="nothing to record: the driver is too old"):
        repository.bench("--record")
    assert not (repository.root / "baselines").exists()


def test_a_tree_of_unknown_commit_is_not_recorded(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WARPGAUGE_COMMIT")
    with pytest.raises(UserError, match="needs to know the commit"):
        repository.bench("--record")


def test_a_failed_row_is_not_recorded_and_the_baseline_stays(repository: Repository) -> None:
    repository.record()
    (path,) = repository.root.glob("baselines/*/sync.json")
    before = path.read_bytes()
    repository.binary("sync", TIMES, fault="errored row")
    with pytest.raises(UserError, match="not recorded"):
        repository.bench("--record", "--out", str(repository.root / "bad.json"))
    assert path.read_bytes() == before
