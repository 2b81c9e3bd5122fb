# SPDX-License-Identifier: Apache-2.0
"""--device 0,1 and --device all: programs that need several GPUs get them, with all their locks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fake_binary
from bench_process import BenchProcess, uuid
from clone import HOST_TIMES, TIMES
from warpgauge.measure import discovery, machine_context
from warpgauge.measure.discovery import Probe
from warpgauge.system import locks
from warpgauge.system.errors import ExitStatus, UserError

GPUS = [uuid(1), uuid(2)]
BOTH = ",".join(GPUS)
RINGS = {"ring/small": 1e6, "ring/large": 2e6}


@pytest.fixture
def machine(tmp_path: Path) -> BenchProcess:
    """With two GPUs; the programs ring and trio need two and three."""
    found = BenchProcess(tmp_path)
    counters = {"all": {"kernels": 1.0}}
    fake_binary.make(found.built, "host", HOST_TIMES, counters={"all": {"host_clock": 1.0}})
    fake_binary.make(found.built, "sync", TIMES, gpus=GPUS, counters=counters)
    fake_binary.make(found.built, "ring", RINGS, gpus=GPUS, needs=2, counters=counters)
    fake_binary.make(found.built, "trio", {"trio/x": 1e6}, gpus=GPUS, needs=3)
    return found


def document(machine: BenchProcess, name: str = "run.json") -> dict[str, Any]:
    return dict(json.loads((machine.root / name).read_text()))


def rows(machine: BenchProcess, name: str = "run.json") -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in document(machine, name)["benchmarks"]}


def seen(machine: BenchProcess, family: str) -> set[str]:
    """What the processes of a program were told of GPUs."""
    path = machine.built / f"bench_{family}.visible"
    return set(path.read_text().split()) if path.exists() else set()


def test_on_one_gpu_what_needs_more_is_skipped_and_not_started(machine: BenchProcess) -> None:
    shown = machine.run("--processes=3", "--out=run.json").out
    assert "ERROR" not in shown
    assert shown.count("needs 2 GPUs") == shown.count("needs 3 GPUs") == 1
    found = rows(machine)
    assert found.keys() == {*HOST_TIMES, *TIMES, *RINGS, "trio/x"}
    for name in RINGS:
        assert found[name]["skipped"]
        assert found[name]["error_message"] == "needs 2 GPUs: --device 0,1"
    assert not any(machine.ran("ring", one) for one in GPUS)
    assert all(machine.ran("sync", GPUS[0]) for name in TIMES)


@pytest.mark.parametrize("device", ["0,1", "1,0", BOTH, f"{GPUS[1]},0"])
def test_several_gpus_are_for_the_programs_that_need_them(
    machine: BenchProcess, device: str
) -> None:
    found = machine.run("--processes=3", "--out=run.json", f"--device={device}")
    assert found.status == ExitStatus.NOT_MEASURED, found.err  # there is no baseline
    measured = rows(machine)
    assert measured.keys() == {*HOST_TIMES, *RINGS, "trio/x"}
    assert len(measured["ring/small"]["process_medians"]) == 3
    assert measured["trio/x"]["error_message"] == "needs 3 GPUs: --device 0,1,2"
    assert BOTH in seen(machine, "ring")
    context = document(machine)["context"]
    assert (context["gpu_name"], context["gpu_uuid"]) == ("NVIDIA Fake x2", BOTH)


def test_several_gpus_have_a_baseline_of_their_own(machine: BenchProcess) -> None:
    (machine.built / "bench_trio").unlink()
    kept = document(machine, "build/release/warpgauge_benchmarks.json")["programs"]
    fake_binary.write_manifest(machine.built, [one for one in kept if one["name"] != "bench_trio"])
    recorded = machine.run("--record", "--processes=5", "--device=0,1")
    assert recorded.status == ExitStatus.OK, recorded.err
    folder = machine.root / "baselines" / "nvidia-fake-x2"
    assert {path.name for path in folder.glob("*.json")} == {"host.json", "ring.json"}
    machine.forget()
    again = machine.run("--processes=3", "--device=1,0", "--no-confirm")
    assert again.status == ExitStatus.OK, again.out + again.err


def test_all_gpus_are_measured_each_alone_and_then_together(machine: BenchProcess) -> None:
    found = machine.run("--device=all", "--processes=3", "--out=run.json")
    for one in GPUS:
        assert rows(machine, f"run-{one}.json")["ring/small"]["skipped"]
        assert not rows(machine, f"run-{one}.json")["sync/idle"].get("error_message")
    together = document(machine, "run-all.json")["context"]
    assert together["gpu_uuid"] == BOTH
    assert rows(machine, "run-all.json").keys() == {*HOST_TIMES, *RINGS, "trio/x"}
    assert "all NVIDIA Fake x2: " in found.out
    # Both have ended before what needs both begins.
    first, *_ = (machine.built / f"bench_ring.ran-{GPUS[0]}").read_text().splitlines()
    assert {*first.split()} == {f"run-{one}.json" for one in GPUS}
    assert not list(machine.root.glob("*.journal"))


def test_all_gpus_are_only_together_where_nothing_is_for_one(machine: BenchProcess) -> None:
    machine.run("--device=all", "--processes=3", "--out=run.json", "--filter=^ring/")
    assert [path.name for path in machine.root.glob("run-*.json")] == ["run-all.json"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--filter=^sync/", "--device=0,1"], "selected needs only one GPU: name one of them"),
        (["--filter=^ring/"], "selected needs 2 GPUs: --device 0,1"),
        (["--device=0,2"], "there is no device 2"),
        ([f"--device=0,{uuid(3)}"], f"there is no {uuid(3)} here"),
        (
            [f"--device=0,{GPUS[0]}"],
            "cannot be measured together: one is named twice",
        ),
    ],
)
def test_gpus_that_leave_nothing_to_measure_are_refused(
    machine: BenchProcess, words: list[str], why: str
) -> None:
    found = machine.run("--processes=3", *words)
    assert found.status in (ExitStatus.NOT_MEASURED, ExitStatus.BAD_USAGE)
    assert why in found.err


def test_each_of_several_gpus_is_waited_for(machine: BenchProcess, nobody_waits: None) -> None:
    with locks.alone(machine.root / "gpus" / f"warpgauge-{GPUS[1]}"):
        found = machine.run("--processes=3", "--device=0,1")
        machine.run("--processes=3", "--device=0", "--out=alone.json")
    assert found.status == ExitStatus.NOT_MEASURED
    assert "another command that measures on this GPU" in found.err
    assert document(machine, "alone.json")["context"]["gpu_uuid"] == GPUS[0]


def test_gpus_of_different_models_are_not_measured_together() -> None:
    probes = [Probe({"gpu_uuid": uuid(n), "gpu_name": name}) for n, name in enumerate("AB")]
    with pytest.raises(UserError, match="cannot be measured together: they are A and B"):
        discovery.together(probes)


def test_the_settings_of_several_are_the_first_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        machine_context,
        "nvidia_smi",
        lambda *words: "570.1, 700.00, 3201, Enabled\n" if words[-1] == GPUS[0] else "",
    )
    assert machine_context.gpu(BOTH)["driver_version"] == "570.1"
