# SPDX-License-Identifier: Apache-2.0
"""warpgauge evaluate: a kernel is right, within memory and faster, or which of these it is not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from test_streams import ended

import fake_binary
from clone import runs_of
from driver_runs import DriverRuns
from warpgauge.commands import evaluate
from warpgauge.measure import build, gpu_watch
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.reports import evaluation as evaluation_document
from warpgauge.system import contract, environment
from warpgauge.system.errors import ExitStatus, UserError

SCHEMA = contract.schema(evaluation_document.Evaluation)
POINTS = {"n:8": 1000.0, "n:64": 4000.0}
COUNTERS = {"max_error": 1.5e-6, "peak_device_bytes": 3e6, "limit_fraction": 0.5}


@dataclass
class Kernels:
    """A tree of two families, `old` and `new`, whose kernels are fakes."""

    root: Path
    capsys: pytest.CaptureFixture[str]

    def make(
        self,
        family: str,
        times: Mapping[str, float],
        counters: Mapping[str, float] | None = None,
        folder: Path | None = None,
        **more: Any,  # noqa: ANN401 - fake_binary's own
    ) -> None:
        """`times` are by what follows the family's name."""
        named = {f"{family}/{name}": time for name, time in times.items()}
        by_process = {
            "all": {"sm_clock_hz": 1.98e9, **(COUNTERS if counters is None else counters)}
        }
        fake_binary.make(
            folder or self.root / "build" / "release", family, named, counters=by_process, **more
        )

    def run(self, *argv: str) -> ExitStatus:
        return evaluate.main(argv, self.root)

    def told(self, *argv: str) -> tuple[ExitStatus, dict[str, Any]]:
        """The exit status, and the document, which the schema allows."""
        self.capsys.readouterr()
        status = self.run(*argv, "--format=json")
        told = json.loads(self.capsys.readouterr().out)
        Draft202012Validator(SCHEMA).validate(told)
        assert told["exit_status"] == status
        return status, told

    def pair(self) -> tuple[Path, Path]:
        """The run files of the newest evaluation, base first."""
        candidate = runs_of(self.root / "build")[-1]
        candidate = candidate.with_stem(candidate.stem.removesuffix("-base"))
        return candidate.with_stem(f"{candidate.stem}-base"), candidate

    def output(self) -> str:
        return " ".join(self.capsys.readouterr().out.split())


@pytest.fixture
def kernels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Kernels:
    """On a machine with a GPU, whose build takes no time."""
    monkeypatch.setenv("WARPGAUGE_COMMIT", "0123456789" * 4)
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setattr(environment, "provide", lambda needs, say: None)
    monkeypatch.setattr(build, "build", lambda *arguments: None)
    gpu = {fake_binary.GPU["gpu_uuid"]: fake_binary.GPU["gpu_name"]}
    monkeypatch.setattr(gpu_watch, "all_gpus", lambda: gpu)
    monkeypatch.chdir(tmp_path)
    made = Kernels(tmp_path, capsys)
    made.make("old", {f"f32/{point}": time for point, time in POINTS.items()})
    return made


def faster(factor: float, points: Mapping[str, float] = POINTS) -> dict[str, float]:
    return {f"f32/{point}": time / factor for point, time in points.items()}


def test_a_faster_kernel_is_told_with_its_speed_up_at_each_point(kernels: Kernels) -> None:
    kernels.make("new", faster(2.0), {**COUNTERS, "peak_device_bytes": 1e6})
    status, told = kernels.told("old/f32", "new/f32")
    assert status is ExitStatus.OK
    assert [one["axes"] for one in told["points"]] == [{"n": "8"}, {"n": "64"}]
    for one in told["points"]:
        assert one["verdict"]["outcome"] == "IMPROVED"
        assert one["speed_up"]["low"] <= one["speed_up"]["ratio"] <= one["speed_up"]["high"]
        assert one["speed_up"]["ratio"] == pytest.approx(2.0, rel=0.01)
        assert one["verdict"]["baseline_counters"]["peak_device_bytes"] == 3e6
        assert one["verdict"]["counters"]["max_error"] == 1.5e-6
        base, candidate = one["verdict"]["baseline_seconds"], one["verdict"]["candidate_seconds"]
        assert base == pytest.approx(2 * candidate, rel=0.01)
        assert one["verdict"]["counters"]["limit_fraction"] == 0.5
    ratios = [one["speed_up"]["ratio"] for one in told["points"]]
    mean = told["geometric_mean"]
    assert mean["ratio"] == pytest.approx((ratios[0] * ratios[1]) ** 0.5)
    assert mean["low"] <= mean["ratio"] <= mean["high"]
    assert "FASTER at 2 of 2 points" in told["headline"]


def test_the_terminal_shows_a_row_a_point_and_the_mean(kernels: Kernels) -> None:
    kernels.make("new", faster(2.0))
    assert kernels.run("old/f32", "new/f32") is ExitStatus.OK
    out = kernels.output()
    assert out.startswith("FASTER at 2 of 2 points, slower at none.")
    assert "n:8 yes, 1.5e-06 3.000 MB 3.000 MB 1.00" in out
    assert out.count(" faster") == 2
    assert "Geometric mean of the speed-ups: 1.99" in out
    for _ in "12":  # a report may replace one of its kind
        kernels.run("old/f32", "new/f32", "--format=terminal=told.txt")
    lines = Path("told.txt").read_text().splitlines()
    assert len([line for line in lines if line.startswith("n:")]) == 2


def test_both_may_be_variants_of_one_family(kernels: Kernels) -> None:
    kernels.make("old", {"f32/n:8": 1000.0, "f32/fast/n:8": 500.0, "f32x/n:8": 1.0})
    status, told = kernels.told("old/f32", "old/f32/fast")
    assert status is ExitStatus.OK
    assert [one["axes"] for one in told["points"]] == [{"n": "8"}]
    assert kernels.run("old/f32/fast", "old/f32") is ExitStatus.REGRESSION
    assert kernels.run("old/f32", "old/f32") is ExitStatus.OK


def test_an_equal_kernel_passes_and_a_slower_one_fails_at_its_points(kernels: Kernels) -> None:
    kernels.make("new", faster(1.0))
    status, told = kernels.told("old/f32", "new/f32")
    assert status is ExitStatus.OK
    assert told["headline"].startswith("EQUAL at 2 points.")
    kernels.make("new", {"f32/n:8": 500.0, "f32/n:64": 4100.0})
    status, told = kernels.told("old/f32", "new/f32")
    assert status is ExitStatus.REGRESSION
    assert {one["verdict"]["outcome"] for one in told["points"]} == {"IMPROVED", "REGRESSION"}
    assert told["geometric_mean"]["low"] > 1.0  # and it is slower for all that
    assert told["headline"].startswith("SLOWER at 1 of 2 points, faster at 1.")


@pytest.mark.parametrize("side", ["old", "new"])
def test_a_wrong_result_of_either_side_is_no_pass_however_fast(kernels: Kernels, side: str) -> None:
    other = "new" if side == "old" else "old"
    kernels.make(other, faster(2.0))
    kernels.make(side, faster(2.0), ill={f"{side}/f32/n:8": "wrong"})
    status, told = kernels.told("old/f32", "new/f32")
    assert status is ExitStatus.NOT_MEASURED
    point = {one["axes"]["n"]: one for one in told["points"]}["8"]
    wrong, right = ("base_error", "candidate_error")[:: 1 if side == "old" else -1]
    assert (point["verdict"]["outcome"], point["speed_up"]) == ("ERROR", None)
    assert "result" in point["verdict"]["reason"]
    assert "result" in point[wrong]
    assert point[right] is None
    assert told["headline"].startswith("FAILED at 1 of 2 points")
    assert told["geometric_mean"] is not None
    kernels.run("old/f32", "new/f32")
    assert "n:8: " in (shown := kernels.output())
    assert "Geometric mean of the speed-ups of 1 point:" in shown


@pytest.mark.parametrize("fault", ["wrong", "crash"])
def test_a_wrong_result_or_a_crash_outranks_a_slower_point(kernels: Kernels, fault: str) -> None:
    kernels.make("new", faster(0.5), ill={"new/f32/n:64": fault})
    status, told = kernels.told("old/f32", "new/f32")
    assert status is ExitStatus.NOT_MEASURED
    assert [one["verdict"]["outcome"] for one in told["points"]] == ["REGRESSION", "ERROR"]


def test_a_kernel_that_never_starts_is_told_with_its_reason(kernels: Kernels) -> None:
    kernels.make("new", faster(2.0), faults={"always": "no start"})
    assert kernels.run("old/f32", "new/f32") is ExitStatus.NOT_MEASURED
    shown = kernels.output()
    assert shown.startswith("FAILED at 2 of 2 points")
    assert "n:8, n:64: in round 1: bench_new was killed by SIGSEGV." in shown


def test_the_memory_limit_is_the_candidates(kernels: Kernels) -> None:
    kernels.make("new", faster(2.0), {"peak_device_bytes": float(2**20)})
    assert kernels.run("old/f32", "new/f32", "--memory-limit=1MiB") is ExitStatus.OK
    status, told = kernels.told("old/f32", "new/f32", "--memory-limit=1MB")
    assert status is ExitStatus.NOT_MEASURED
    assert told["memory_limit_bytes"] == 10**6
    assert [one["within_memory_limit"] for one in told["points"]] == [False, False]
    assert told["headline"].startswith("OVER THE MEMORY LIMIT at 2 of 2 points")


def test_memory_that_is_not_known_is_not_within_a_limit(kernels: Kernels) -> None:
    kernels.make("new", faster(2.0), {})
    assert kernels.run("old/f32", "new/f32") is ExitStatus.OK
    assert kernels.run("old/f32", "new/f32", "--memory-limit=1GiB") is ExitStatus.NOT_MEASURED
    assert "its peak device memory is unknown" in kernels.output()


def test_a_point_that_one_side_alone_has_is_told_and_not_measured(kernels: Kernels) -> None:
    kernels.make("new", {"f32/n:8": 500.0, "f32/n:128": 1.0})
    status, told = kernels.told("old/f32", "new/f32")
    assert status is ExitStatus.OK
    assert (told["base_alone"], told["candidate_alone"]) == (["n:64"], ["n:128"])
    kernels.run("old/f32", "new/f32")
    assert "Only the base has n:64: not measured." in kernels.output()


def test_the_values_of_an_axis_can_be_chosen(kernels: Kernels) -> None:
    kernels.make("new", faster(2.0))
    _, told = kernels.told("old/f32", "new/f32", "--axis=n=64,1000")
    assert [one["axes"] for one in told["points"]] == [{"n": "64"}, {"n": "1000"}]
    assert told["base_alone"] == []


def test_points_are_matched_by_text_and_floating_point_too(kernels: Kernels) -> None:
    for family, time in (("old", 1000.0), ("new", 500.0)):
        points = ("order:row/alpha:0.5", "order:column/alpha:1e-9")
        kernels.make(family, {f"f32/{point}": time for point in points})
    status, told = kernels.told("old/f32", "new/f32")
    assert status is ExitStatus.OK
    assert [one["axes"] for one in told["points"]] == [
        {"order": "row", "alpha": "0.5"},
        {"order": "column", "alpha": "1e-9"},
    ]
    _, told = kernels.told("old/f32", "new/f32", "--axis=order=row,d_1.x+y")
    assert [one["axes"]["order"] for one in told["points"]] == ["row", "d_1.x+y"] * 2
    _, told = kernels.told("old/f32", "new/f32", "--axis=alpha=-2.5")
    assert {one["axes"]["alpha"] for one in told["points"]} == {"-2.5"}


def test_points_of_the_full_suite_are_measured_too(kernels: Kernels) -> None:
    kernels.make("old", faster(1.0), full_suite=["old/f32/n:64"])
    kernels.make("new", faster(2.0))
    _, told = kernels.told("old/f32", "new/f32")
    assert len(told["points"]) == 2


def test_the_times_that_a_disturbed_gpu_gave_are_no_result(kernels: Kernels) -> None:
    kernels.make("new", faster(2.0), {**COUNTERS, "throttled": 1.0})
    status, told = kernels.told("old/f32", "new/f32")
    assert status is ExitStatus.NOT_MEASURED
    assert {one["verdict"]["outcome"] for one in told["points"]} == {"INVALID"}
    assert told["geometric_mean"] is None


KERNEL = """
[kernels.{name}]
source = "{name}.cu"
symbol = "{name}"
type = "f32"
axes = {{ n = [64, 80] }}
arguments = [{{ output = "y", type = "f32", count = "n" }}]
grid = ["n"]
block = [1]
"""


@pytest.fixture
def manifests(kernels: Kernels) -> None:
    """The kernels `slow` and `quick`, which take 20 n and 10 n nanoseconds, in two manifests."""
    times = {}
    for name, factor, manifest in (("slow", 20, "a.toml"), ("quick", 10, "b.toml")):
        verified = KERNEL.format(name=name) + 'verify.y = { reference = "truth" }\n'
        truth = KERNEL.format(name="truth") + "reference_only = true\n"
        Path(manifest).write_text(f"version = 1\n{verified}{truth}")
        Path("truth.cu").write_text("// a kernel")
        Path(f"{name}.cu").write_text("// a kernel")
        times.update({f"{name}/f32/n:{n}": float(factor * n) for n in (64, 80, 100)})
    folder = kernels.root / "build" / "release" / "benchmarks"
    kernels.make("external", times, folder=folder, plans=True)


@pytest.mark.usefixtures("manifests")
def test_two_kernels_of_manifests_are_evaluated(kernels: Kernels) -> None:
    status, told = kernels.told("a.toml:slow", "b.toml:quick")
    assert status is ExitStatus.OK
    assert (told["base"], told["candidate"]) == ("a.toml:slow", "b.toml:quick")
    assert [one["axes"] for one in told["points"]] == [{"n": "64"}, {"n": "80"}]
    assert kernels.run("b.toml:quick", "a.toml:slow", "--axis=n=100") is ExitStatus.REGRESSION
    assert kernels.output().count("n:100 yes") == 1


@pytest.mark.usefixtures("manifests")
def test_a_variant_may_be_held_against_a_manifests_kernel(kernels: Kernels) -> None:
    status, told = kernels.told("old/f32", "b.toml:quick")
    assert status is ExitStatus.OK
    assert [one["axes"] for one in told["points"]] == [{"n": "64"}]
    assert told["points"][0]["speed_up"]["ratio"] == pytest.approx(4000 / 640, rel=0.01)
    assert (told["base_alone"], told["candidate_alone"]) == (["n:8"], ["n:80"])


@pytest.mark.usefixtures("manifests")
def test_a_manifest_is_refused_before_anything_is_built(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(build, "build")
    with pytest.raises(UserError, match="quack"):
        kernels.run("old/f32", "a.toml:quack")
    for value in ("0.5", "row"):
        with pytest.raises(UserError, match="the axis 'n' of a manifest takes non-negative int"):
            kernels.run("old/f32", "a.toml:slow", f"--axis=n={value}")


@pytest.mark.usefixtures("manifests")
def test_a_kernel_that_is_replaced_meanwhile_is_not_evaluated(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    DriverRuns(monkeypatch, lambda plan: Path("quick.cu").write_text("// another kernel"))
    with pytest.raises(UserError, match=r"quick\.cu was replaced while it was measured"):
        kernels.run("a.toml:slow", "b.toml:quick")


def test_the_run_files_hold_both_kernels_under_common_names(kernels: Kernels) -> None:
    kernels.make("new", faster(2.0))
    kernels.run("old/f32", "new/f32")
    base, candidate = (json.loads(path.read_text()) for path in kernels.pair())
    assert (base["context"]["kernel"], candidate["context"]["kernel"]) == ("old/f32", "new/f32")
    for side in (base, candidate):
        assert [one["name"] for one in side["benchmarks"]] == ["evaluate/n:8", "evaluate/n:64"]
    assert base["context"]["pair_id"] == candidate["context"]["pair_id"]
    for row in candidate["benchmarks"]:  # decided by the first look
        assert [pair["look"] for pair in row["pairs"]] == [1] * FEWEST_OF_A_CHANGE
    log = kernels.pair()[1].with_suffix(".log").read_text()
    assert f": {environment.started('evaluate')} " in log.splitlines()[0]


def test_of_several_gpus_the_first_or_the_chosen_one_is_used(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus = [fake_binary.GPU["gpu_uuid"][:-1] + digit for digit in "12"]
    monkeypatch.setattr(gpu_watch, "all_gpus", lambda: dict.fromkeys(gpus, "NVIDIA Fake"))
    kernels.make("old", faster(1.0), gpus=gpus)
    kernels.make("new", faster(2.0), gpus=gpus)
    for argv, uuid in (([], gpus[0]), (["--device=1"], gpus[1])):
        kernels.run("old/f32", "new/f32", *argv)
        assert json.loads(kernels.pair()[1].read_text())["context"]["gpu_uuid"] == uuid
    with pytest.raises(UserError, match="there is no GPU 2 here: choose one of 0: "):
        kernels.run("old/f32", "new/f32", "--device=2")


def test_kernels_get_as_many_gpus_as_they_need_or_are_refused(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus = [fake_binary.GPU["gpu_uuid"][:-1] + digit for digit in "12"]
    monkeypatch.setattr(gpu_watch, "all_gpus", lambda: dict.fromkeys(gpus, "NVIDIA Fake"))
    for family in ("old", "new", "ring", "faster_ring"):
        needs = 2 if family.endswith("ring") else 1
        times = {f"f32/{point}": time / needs for point, time in POINTS.items()}
        kernels.make(family, times, gpus=gpus, needs=needs)
    status = kernels.run("ring/f32", "faster_ring/f32", "--device=1,0")
    assert status is ExitStatus.OK
    context = json.loads(kernels.pair()[1].read_text())["context"]
    assert (context["gpu_uuid"], context["gpu_name"]) == (",".join(gpus), "NVIDIA Fake x2")
    refused = {
        ("ring/f32", "faster_ring/f32"): "needs 2 GPUs: --device 0,1",
        ("old/f32", "ring/f32"): "needs 2 GPUs: --device 0,1",
        ("old/f32", "new/f32", "--device=0,1"): "needs only one GPU: name one of them",
    }
    for argv, why in refused.items():
        with pytest.raises(UserError, match=why):
            kernels.run(*argv)


def test_without_a_gpu_nothing_is_measured(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels.make("new", faster(2.0))
    monkeypatch.setattr(gpu_watch, "all_gpus", dict)
    with pytest.raises(UserError, match="there is no GPU 0 here") as fault:
        kernels.run("old/f32", "new/f32")
    assert fault.value.status is ExitStatus.NOT_MEASURED


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["old/f32"], "required: CANDIDATE"),
        (["old/f32/n:8", "new/f32"], "'old/f32/n:8' is neither a variant of a family"),
        (["old/f32", "new//f32"], "'new//f32' is neither a variant of a family"),
        (["old/f32", "kernels.toml"], "'kernels.toml' is neither a variant of a family"),
        (["odl/f32", "new/f32"], "odl/f32: unknown family: did you mean 'old'"),
        (["old/f3", "new/f32"], "old/f3: bench_old has no such variant: did you mean 'old/f32'"),
        (["old/f32", "new/f32", "--axis=n"], "'n' is not NAME=VALUE,..."),
        (["old/f32", "new/f32", f"--axis=n={10**18}"], "0' is not NAME=VALUE,..."),
        (["old/f32", "new/f32", "--axis=n=a/b"], "'n=a/b' is not NAME=VALUE,..."),
        (["old/f32", "new/f32", "--axis=n=1,"], "'n=1,' is not NAME=VALUE,..."),
        (["old/f32", "new/f32", "--axis=m=8"], "--axis m: old/f32 has no such axis, only n"),
        (["old/f32", "new/f32", "--axis=n=8", "--axis=n=64"], "--axis n is given twice"),
        (["old/f32", "new/f64"], "have no point of their axes in common"),
        (["old/f32", "new/f32", "--memory-limit=big"], "--memory-limit: 'big'"),
        (["old/f32", "new/f32", "--format=junit"], "one of terminal, json"),
    ],
)
def test_bad_input_is_one_sentence(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch, argv: list[str], said: str
) -> None:
    kernels.make("new", {**faster(2.0), "f64/n:1": 1.0})
    monkeypatch.setattr(environment, "ROOT", kernels.root)
    assert ended("warpgauge", monkeypatch, "evaluate", *argv) == ExitStatus.BAD_USAGE
    out, err = kernels.capsys.readouterr()
    assert out == ""
    last = err.splitlines()[-2] if err.splitlines()[-1].startswith("commands: ") else ""
    assert said in last + err.splitlines()[-1]
