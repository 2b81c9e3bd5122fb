# SPDX-License-Identifier: Apache-2.0
"""scripts/bench from end to end, over fake binaries."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from clone import TIMES, Repository
from warpgauge.system.errors import ExitStatus


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
    assert "round 1: sync/busy: bench_sync was killed by SIGSEGV: an illegal memory access" in err
    assert "SIGSEGV" in out


def test_a_hang_costs_its_deadline_once_and_its_own_row(repository: Repository) -> None:
    repository.record()
    repository.binary("sync", TIMES, ill={"sync/busy": "hang"})
    out = repository.root / "bad.json"
    assert repository.bench("--timeout=0.6", "--out", str(out)) is ExitStatus.NOT_MEASURED
    told = "bench_sync showed no new row for 0.6 s and was ended"
    shown, err = repository.output()
    assert err.count(f"sync/busy: {told}") == 1
    assert f"in round 1: {told}" in shown
    rows = {row["name"]: row for row in json.loads(out.read_text())["benchmarks"]}
    assert [name for name, row in rows.items() if "error_message" in row] == ["sync/busy"]
    assert len(rows["sync/idle"]["process_medians"]) == 7


@pytest.mark.parametrize("fault", ["noise", "wrong"])
def test_bytes_that_are_no_text_do_no_harm_in_any_format(
    repository: Repository, fault: str
) -> None:
    repository.record()
    repository.binary("sync", TIMES, ill={"sync/busy": fault})
    written = [repository.root / f"report.{name}" for name in ("junit", "json", "svg")]
    formats = [f"--format={path.suffix[1:]}={path}" for path in written]
    out = str(repository.root / "bad.json")
    assert repository.bench("--quick", "--out", out, *formats) is ExitStatus.NOT_MEASURED
    junit, document, picture = written
    failed = ElementTree.parse(junit).getroot().findall(".//error/..")
    assert ["sync/busy" in one.get("name", "") for one in failed] == [True]
    assert ElementTree.parse(picture).getroot() is not None
    assert json.loads(document.read_text())


def test_a_quiet_run_tells_faults_and_what_changes_the_meaning(repository: Repository) -> None:
    repository.binary("sync", TIMES, ill={"sync/busy": "crash"})
    assert repository.bench("--quiet", "--quick") is ExitStatus.NOT_MEASURED
    assert repository.output()[1] == (
        "round 1: sync/busy: bench_sync was killed by SIGSEGV: an illegal memory access There is "
        "no baseline for NVIDIA Fake yet: the same command with --record makes one"
    )


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


def test_a_run_file_of_before_may_be_replaced(repository: Repository) -> None:
    out = repository.root / "run.json"
    for seed in ("2", "3"):
        repository.bench("--quick", "--seed", seed, "--out", str(out))
    assert json.loads(out.read_text())["context"]["order_seed"] == "3"
