# SPDX-License-Identifier: Apache-2.0
"""warpgauge fidelity from end to end, over fake binaries that leave made-up traces."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import fake_binary
from clone import Repository
from fidelity import command
from fidelity.finding import Finding
from manifests import write_manifest
from traces import KERNEL, Part, tape, text
from warpgauge.commands.main import main
from warpgauge.measure import build, python_file
from warpgauge.measure.discovery import Binary
from warpgauge.system import environment
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.why import cupti

# The fake's processes are counted, and each takes a nanosecond longer: the first looks for a GPU,
# the median of the three after it is the third, and the fifth is traced.
MEDIAN_PROCESS = 3


def make(
    repository: Repository,
    replay_ns: float = 1050.0,
    parts: Sequence[Part] = (KERNEL,),
    *,
    counters: dict[str, float] | None = None,
    trace: str | None = "",
    faults: dict[str, str] | None = None,
) -> None:
    """bench_fidelity with one benchmark whose operations take `parts` by CUPTI."""
    kernels = sum(kind == "kernel" for kind, _ in parts)
    fake_binary.make(
        repository.built / "benchmarks",
        "fidelity",
        {"fidelity/square": replay_ns - MEDIAN_PROCESS},
        counters={"all": counters or {"operations": 64 * 7, "samples": 7, "kernels": kernels}},
        trace=text(tape(64, 7, parts).activities) if trace == "" else trace,
        faults=faults,
    )
    (repository.built / "benchmarks" / cupti.LIBRARY).touch()


def run(repository: Repository, *argv: str) -> ExitStatus:
    repository.rewind()
    return command.main(argv, repository.root)


def test_times_that_agree_are_a_pass(repository: Repository) -> None:
    make(repository, 1059.0)
    assert run(repository) is ExitStatus.OK
    out, err = repository.output()
    assert "1 of 1 benchmark within 2 % or 60 ns a kernel of CUPTI's busy time." in out
    assert "Farthest, for what it may: fidelity/square (+59.00 ns, +5.9 %)." in out
    assert "fidelity/square 1 1.059 µs 1.061 µs 1.000 µs +59.00 ns +5.9 % 60.00 ns within" in out
    assert "fidelity/square ..." in err


SEVERAL: tuple[Part, ...] = (KERNEL, ("memset", 100), ("kernel", 200))


@pytest.mark.parametrize(
    ("replay_ns", "parts", "within"),
    [
        (1061.0, [KERNEL], False),
        (937.0, [KERNEL], False),
        (1419.0, SEVERAL, True),  # 60 ns for each of its kernels
        (1421.0, SEVERAL, False),
        (10_199.0, [("kernel", 10_000)], True),  # 2 %
        (10_201.0, [("kernel", 10_000)], False),
        (1059.0, [("memcpy", 1000)], True),  # a copy alone counts as one
    ],
)
def test_a_time_that_is_longer_or_shorter_than_it_may_is_outside(
    repository: Repository, replay_ns: float, parts: Sequence[Part], within: bool
) -> None:
    make(repository, replay_ns, parts)
    assert run(repository) is (ExitStatus.OK if within else ExitStatus.OUTSIDE)
    out = repository.output()[0]
    assert f"{int(within)} of 1 benchmark within" in out
    assert ("1 outside" in out, " ns OUTSIDE" in out) == (not within, not within)


def test_the_findings_are_written_and_replace_their_own_kind(repository: Repository) -> None:
    make(repository)
    out = repository.root / "findings.json"
    assert run(repository, f"--format=json={out}") is ExitStatus.OK
    document = json.loads(out.read_text())
    context = [document["context"][key] for key in ("warpgauge_format", "gpu_name", "commit")]
    assert context == ["fidelity/1", "NVIDIA Fake", "0123456789" * 4]
    assert document["benchmarks"] == [
        {
            "name": "fidelity/square",
            "kernels": 1,
            "replay_ns": 1050.0,
            "process_medians_ns": [1049.0, 1050.0, 1051.0],
            "traced_ns": 1052.0,
            "busy_ns": 1000.0,
            "regions": 7,
            "difference_ns": 50.0,
            "allowed_ns": 60.0,
            "verdict": "within",
        }
    ]
    assert run(repository, f"--format=json={out}") is ExitStatus.OK
    out.write_text("mine")
    with pytest.raises(UserError, match=r"findings.json: the file exists and is no file of"):
        run(repository, f"--format=json={out}")
    assert out.read_text() == "mine"
    (repository.root / "baselines").mkdir()
    with pytest.raises(UserError, match="holds baselines, which only --record writes"):
        run(repository, f"--format=json={repository.root}/baselines/new.json")


TIMED = {"operations": 64.0 * 7, "samples": 7.0}
NOT_MEASURED: Mapping[str, Mapping[str, Any]] = {
    "64 records a region, 64 of them kernels, are not a multiple of its 63": {
        "counters": {"operations": 63 * 7, "samples": 7, "kernels": 1}
    },
    "CUPTI dropped 3 records": {"trace": text(tape(64, 7).activities, dropped=3)},
    "it is timed by the host's clock": {"counters": {**TIMED, "host_clock": 1.0}},
    "does not say how many operations": {"counters": {"kernels": 1.0}},
    "with CUPTI: in round 1: wrong result": {"faults": {"5": "errored row"}},
    "in round 1: wrong result": {"faults": {"2": "errored row"}},
    "was killed by SIGSEGV: an illegal memory access": {"faults": {"2": "crash"}},
    "bench_fidelity was killed by SIGSEGV": {"faults": {"3": "crash"}},
}


@pytest.mark.parametrize("said", NOT_MEASURED)
def test_what_cannot_be_held_against_cupti_is_an_error_and_no_pass(
    repository: Repository, said: str
) -> None:
    make(repository, **NOT_MEASURED[said])
    out = repository.root / "findings.json"
    assert run(repository, f"--format=json={out}") is ExitStatus.NOT_MEASURED
    shown = repository.output()[0]
    assert "0 of 1 benchmark within" in shown
    assert "1 not measured" in shown
    assert said in shown
    assert json.loads(out.read_text())["benchmarks"][0]["error_occurred"] is True


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (text([], faults=["CUPTI cannot trace kernels: CUPTI_ERROR_UNKNOWN"]), "cannot trace kern"),
        (None, "CUPTI left no trace"),
    ],
)
def test_without_a_working_cupti_nothing_is_measured(
    repository: Repository, trace: str | None, said: str
) -> None:
    make(repository, trace=trace)
    with pytest.raises(UserError, match=said) as caught:
        run(repository)
    assert caught.value.status is ExitStatus.NOT_MEASURED


def test_kernels_from_elsewhere_are_held_against_cupti_too(repository: Repository) -> None:
    manifest = write_manifest(repository.root / "mine")
    folder = repository.built / "benchmarks"
    trace = text(tape(64, 7, [KERNEL]).activities)
    timed = {**TIMED, "kernels": 1.0}
    fake_binary.make(folder, "external", {}, plans=True, counters={"all": timed}, trace=trace)
    (folder / cupti.LIBRARY).touch()
    out = repository.root / "findings.json"
    assert run(repository, str(manifest), f"--format=json={out}") is not ExitStatus.NOT_MEASURED
    found = json.loads(out.read_text())["benchmarks"]
    assert [one["name"] for one in found] == [
        "external/scale/f32/n:256",
        "external/scale/f32/n:4096",
    ]
    assert all(len(one["process_medians_ns"]) == 3 for one in found)


def test_a_build_without_cupti_or_nvcc_is_told_apart(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(repository)
    (repository.built / "benchmarks" / cupti.LIBRARY).unlink()
    with pytest.raises(UserError, match="there is no libwarpgauge_trace") as caught:
        run(repository)
    assert caught.value.status is ExitStatus.NOT_MEASURED
    (repository.built / "benchmarks" / "bench_fidelity").unlink()
    for compiler, status in ((None, ExitStatus.NOT_MEASURED), ("nvcc", ExitStatus.BAD_USAGE)):
        monkeypatch.setattr(build, "cuda_compiler", lambda found=compiler: found)
        with pytest.raises(UserError, match="the build made no bench_fidelity") as caught:
            run(repository)
        assert caught.value.status is status


def test_a_family_without_a_source_is_refused_before_the_build(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(repository)
    folder = repository.root / "benchmarks"
    for source in ("gemm.cu", "host.cpp", "README.md", "fidelity/fidelity.cu"):
        (folder / source).parent.mkdir(parents=True, exist_ok=True)
        (folder / source).touch()
    assert run(repository) is ExitStatus.OK
    monkeypatch.delattr(build, "build")  # nothing may be built
    for name, said in (
        ("nope", "there is no family 'nope'"),
        ("bench_gemn", "there is no family 'gemn': did you mean 'gemm'?"),
    ):
        with pytest.raises(UserError, match=f"^{re.escape(said)}$") as caught:
            run(repository, name)
        assert caught.value.status is ExitStatus.BAD_USAGE


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--filter=nothing_of_this", "no benchmark matches --filter"),
        ("--filter=(", "not a valid regular expression"),
        ("../gemm", "is not a family"),
        ("", "is not a family"),
        ("--format=json=/no/such/folder", "No such file or directory"),
        ("--format=markdown", "NAME is one of json"),
        ("--unknown", "see --help"),
    ],
)
def test_wrong_usage_is_told(repository: Repository, word: str, said: str) -> None:
    make(repository)
    with pytest.raises(UserError, match=said) as caught:
        run(repository, word)
    assert caught.value.status is ExitStatus.BAD_USAGE


@pytest.mark.parametrize("argv", [["fidelity"], ["fidelity", "--help"]])
def test_outside_of_a_clone_a_sentence_says_so(
    argv: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    assert main(argv) == ExitStatus.BAD_USAGE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "fidelity needs a clone of warpgauge" in err


def test_an_interrupted_run_shows_what_it_has(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(repository)
    traced = command.Fidelity._traced

    def interrupted(self: command.Fidelity, binary: Binary, *others: Path) -> Finding:
        if binary.names == ("fidelity/square",):
            raise KeyboardInterrupt
        return traced(self, binary, *others)

    fake_binary.make(
        repository.built / "benchmarks",
        "fidelity",
        {"fidelity/first": 1000.0, "fidelity/square": 1000.0},
        counters={"all": {"operations": 64 * 7, "samples": 7, "kernels": 1}},
        trace=text(tape(64, 7, (KERNEL,)).activities),
    )
    monkeypatch.setattr(command.Fidelity, "_traced", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(repository)
    out = repository.output()[0]
    assert "fidelity/first" in out
    assert "fidelity/square" not in out


def test_the_benchmarks_of_a_python_file_are_held_against_cupti(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(repository)  # beside which the trace library lies
    program = tmp_path / "made"
    made = {"torch/square": 1050.0 - MEDIAN_PROCESS}
    traced = text(tape(64, 7, (KERNEL,)).activities)
    counters = {"all": {"operations": 64 * 7.0, "samples": 7.0, "kernels": 1.0}}
    fake_binary.make(program, "callables", made, counters=counters, trace=traced)
    monkeypatch.setattr(python_file, "provide", lambda path: program)
    assert run(repository, "bench_callables.py") is ExitStatus.OK
    assert "torch/square" in repository.output()[0]
