# SPDX-License-Identifier: Apache-2.0
"""--device all: every GPU as by itself, apart by UUID; what becomes of one is nothing to others."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import fake_binary
from bench_process import BenchProcess, uuid
from builders import baseline, write
from clocks import wait_until
from clone import HOST_TIMES, TIMES
from warpgauge.commands import bench
from warpgauge.measure import discovery
from warpgauge.system import environment
from warpgauge.system.errors import ExitStatus, UserError

GPUS = [uuid(1), uuid(2)]
ONE, TWO = GPUS
OK, REGRESSION, NOT_MEASURED = ExitStatus.OK, ExitStatus.REGRESSION, ExitStatus.NOT_MEASURED


@pytest.fixture
def machine(tmp_path: Path) -> BenchProcess:
    """With two GPUs."""
    programs(found := BenchProcess(tmp_path))
    return found


def programs(machine: BenchProcess, **more: Any) -> None:  # noqa: ANN401 - fake_binary's own
    shutil.rmtree(machine.built, ignore_errors=True)
    device = {"kernels": 1.0}
    # A process adds a nanosecond, which is nothing here.
    host, sync = ({name: 1e3 * one for name, one in of.items()} for of in (HOST_TIMES, TIMES))
    fake_binary.make(machine.built, "host", host, counters={"all": {"host_clock": 1.0}})
    fake_binary.make(machine.built, "sync", sync, gpus=GPUS, counters={"all": device}, **more)


def with_baseline(machine: BenchProcess) -> None:
    """Of the first GPU's times, which are the second's, too: a session of each."""
    found = machine.run("--processes=5", "--device", ONE, "--out", "first.json")
    assert found.status == NOT_MEASURED, found.err
    document = json.loads((machine.root / "first.json").read_text())
    folder = machine.root / "baselines" / "nvidia-fake"
    sessions = {f"2026-11-20-{one}": {**document["context"], "gpu_uuid": one} for one in GPUS}
    for family in ("host", "sync"):
        rows = [row for row in document["benchmarks"] if row["name"].startswith(family)]
        for row in rows:
            row["process_medians"] = dict.fromkeys(sessions, row["process_medians"])
        recorded = baseline(rows, sessions, "NVIDIA Fake")
        write(folder / f"{family}.json", recorded)
    machine.forget()


def document(machine: BenchProcess, name: str) -> dict[str, Any]:
    return dict(json.loads((machine.root / name).read_text()))


def rows(machine: BenchProcess, name: str) -> Mapping[str, Mapping[str, Any]]:
    return {row["name"]: row for row in document(machine, name)["benchmarks"]}


def processes(machine: BenchProcess, gpu: str) -> set[int]:
    """How many processes the rows of a GPU's run file have."""
    return {len(row["process_medians"]) for row in rows(machine, f"run-{gpu}.json").values()}


def wait_for_processes(machine: BenchProcess, gpu: str) -> None:
    """Until a few processes have measured there."""
    wait_until(lambda: machine.ran("sync", gpu) >= 4)


def test_each_gpu_has_a_run_file_that_is_named_after_it(machine: BenchProcess) -> None:
    with_baseline(machine)
    found = machine.run("--device=all", "--processes=3", "--out=run.json")
    assert found.status == OK, found.err
    for one in GPUS:
        name = f"run-{one}.json"
        assert document(machine, name)["context"]["gpu_uuid"] == one
        assert processes(machine, one) == {3}
        assert f"{one} NVIDIA Fake: nothing regressed, everything was measured; {name}" in found.out
        assert f"Report: run-{one}.html" in found.out
        assert one in (machine.root / f"run-{one}.html").read_text()
    assert not list(machine.root.glob("*.journal"))
    assert not (machine.root / "run.json").exists()


def test_the_exit_status_is_the_worst_and_a_regression_is_the_worst(machine: BenchProcess) -> None:
    with_baseline(machine)
    programs(machine, slower={TWO: 1.5})
    found = machine.run("--device=all", "--processes=3", "--out=run.json", "--no-confirm")
    assert found.status == REGRESSION, found.err
    assert f"{ONE} NVIDIA Fake: nothing regressed" in found.out
    assert f"{TWO} NVIDIA Fake: something regressed" in found.out


def test_a_gpu_on_which_everything_crashes_costs_the_other_nothing(machine: BenchProcess) -> None:
    with_baseline(machine)
    programs(machine, ill={ONE: "crash"})
    argv = ["--device=all", "--processes=3", "--out=run.json", "--filter=sync"]
    found = machine.run(*argv)
    assert found.status == NOT_MEASURED, found.err
    assert f"{TWO} NVIDIA Fake: nothing regressed, everything was measured" in found.out
    assert processes(machine, TWO) == {3}


def test_a_gpu_that_is_lost_is_no_other_gpu(machine: BenchProcess) -> None:
    """Its number would be the other's from then on; its UUID is not."""
    run = machine.start("--device=all", "--processes=20", "--out=run.json", "--filter=sync")
    wait_for_processes(machine, ONE)
    (machine.built / f"bench_sync.lost-{ONE}").touch()
    _, err = run.communicate()
    assert run.returncode == NOT_MEASURED, err
    lost = rows(machine, f"run-{ONE}.json")
    assert {row["error_message"].split(": ", 1)[1] for row in lost.values()} == {
        "bench_sync exited with status 3: no CUDA-capable device is detected"
    }
    assert processes(machine, TWO) == {20}


def test_each_gpu_is_recorded_as_a_session_of_its_own(machine: BenchProcess) -> None:
    found = machine.run("--device=all", "--record", "--processes=5")
    assert found.status == OK, found.err
    recorded = document(machine, "baselines/nvidia-fake/sync.json")
    assert {one["gpu_uuid"] for one in recorded["sessions"].values()} == set(GPUS)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_goes_on_gpu_by_gpu(
    machine: BenchProcess, number: signal.Signals
) -> None:
    with_baseline(machine)
    # Many processes, so that the run is not over when the signal arrives.
    argv = ["--device=all", "--processes=30", "--out=run.json", "--no-confirm"]
    run = machine.start(*argv, "--format=markdown=report.md")
    wait_for_processes(machine, TWO)
    run.send_signal(number)
    _, err = run.communicate()
    assert run.returncode == (-9 if number is signal.SIGKILL else 128 + number)
    journal = f"run-{TWO}.journal"
    if number is not signal.SIGKILL:
        assert f"`{environment.CLONE}/scripts/bench --resume {journal}`" in err
    before = [machine.ran("sync", one) for one in GPUS]
    found = machine.run("--resume", journal)
    assert found.status == OK, found.err
    for one in GPUS:
        assert rows(machine, f"run-{one}.json").keys() == {*TIMES, *HOST_TIMES}
        assert processes(machine, one) == {30}
        assert (machine.root / f"report-{one}.md").exists()
    assert machine.ran("sync", ONE) == before[0]  # it was done
    assert not list(machine.root.glob("*.journal"))


def test_a_gpu_by_its_uuid_is_measured_alone(machine: BenchProcess) -> None:
    found = machine.run("--processes=3", f"--device={TWO}", "--out=run.json")
    assert found.status == NOT_MEASURED, found.err
    assert document(machine, "run.json")["context"]["gpu_uuid"] == TWO
    gone = machine.run("--processes=3", f"--device={uuid(3)}")
    assert gone.status == NOT_MEASURED
    assert f"there is no {uuid(3)} here (no CUDA-capable device is detected)" in gone.err


def test_without_a_gpu_there_is_nothing_to_measure_on_all(machine: BenchProcess) -> None:
    programs(machine, no_gpu="the driver is too old")
    found = machine.run("--device=all", "--processes=3")
    assert found.status == NOT_MEASURED
    assert found.err.endswith("bench: the driver is too old")


def test_a_gpu_that_no_program_survives_is_told_and_not_measured(
    machine: BenchProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def probe(
        binaries: object, arguments: list[str], scratch: object, *, isolate: bool
    ) -> discovery.Probe:
        index = int(arguments[0].partition("=")[2])
        if index == 3:
            raise UserError("no device 3")
        crashed = discovery.Probe({}, faults=("bench_sync was killed by SIGSEGV",))
        return discovery.Probe({"gpu_uuid": uuid(index)}) if index != 1 else crashed

    monkeypatch.setattr(discovery, "probe", probe)
    found = Mock(
        found=lambda folder: [discovery.Binary(Path("bench_sync"), names=("sync/busy",))],
        options=Mock(filter=""),
    )
    gpus, faults = bench.asked_of(found, Mock())
    assert list(gpus) == [uuid(0), uuid(2)]
    assert faults == ["device 1 is not measured: bench_sync was killed by SIGSEGV"]


def test_the_log_of_all_has_what_found_the_gpus(machine: BenchProcess) -> None:
    programs(machine, ill={"sync/busy": "crash"})
    machine.run("--device=all", "--processes=3", "--out=run.json")
    log = (machine.root / "run.log").read_text()
    for index in range(len(GPUS)):
        assert f"bench_sync --device={index} '--benchmark_filter=^sync/idle$'  # probe" in log
