# SPDX-License-Identifier: Apache-2.0
"""warpgauge fidelity naive from end to end, over fake binaries and made-up traces."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

import fake_binary
from clone import Repository
from fidelity import command
from traces import tape, text
from warpgauge.measure import build
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.why import cupti

# By timer; the fake's three processes add 2, 3 and 4 ns, the first having listed nothing.
NAIVE = {
    "host_unsynchronised": 2998.0,
    "host_synchronised": 7998.0,
    "event_pair": 4998.0,
    "do_bench": 4198.0,
    "do_bench_cudagraph": 498.0,
}
SIZES = ("n:4096", "n:2097152")


def make(
    repository: Repository,
    replay_ns: float = 1010.0,
    *,
    faults: Mapping[str, str] | None = None,
    ill: Mapping[str, str] | None = None,
    listing_fault: str = "",
) -> None:
    """Both programs: by CUPTI, the kernel takes 1000 ns at all sizes."""
    folder = repository.built / "benchmarks"
    fake_binary.make(
        folder,
        "fidelity",
        {
            "fidelity/spin": 5000.0,
            **{f"fidelity/square/f32/{size}": replay_ns - 3 for size in SIZES},
        },
        counters={"all": {"operations": 64 * 7, "samples": 7, "kernels": 1}},
        trace=text(tape(64, 7).activities),
        faults=faults,
    )
    fake_binary.make(
        folder,
        "naive",
        {f"naive/{timer}/f32/{size}": time for timer, time in NAIVE.items() for size in SIZES},
        ill=ill,
        listing_fault=listing_fault,
    )
    (folder / cupti.LIBRARY).touch()


def run(repository: Repository, *argv: str) -> ExitStatus:
    repository.rewind()
    return command.main(["naive", *argv], repository.root)


def test_every_timer_stands_beside_cupti_with_its_worst_error(repository: Repository) -> None:
    make(repository)
    assert run(repository, "--filter", "n:4096$|spin") is ExitStatus.OK
    out = repository.output()[0]
    assert "4 Ki 3.000 µs 8.000 µs 5.000 µs 4.200 µs 500.0 ns 1.010 µs 1.000 µs" in out
    assert "worst error +200 % +700 % +400 % +320 % −50.0 % +1.0 % –" in out
    assert "2 Mi" not in out
    assert "cudagraph as do_bench_cudagraph: nothing stands between the launches" in out


def test_a_replay_that_is_wrong_fails(repository: Repository) -> None:
    make(repository, replay_ns=1100.0)
    assert run(repository) is ExitStatus.OUTSIDE


@pytest.mark.parametrize("fault", ["wrong", "crash"])
def test_a_timer_that_fails_leaves_a_gap_and_is_no_pass(repository: Repository, fault: str) -> None:
    make(repository, ill={"naive/event_pair/f32/n:4096": fault})
    assert run(repository) is ExitStatus.NOT_MEASURED
    out = repository.output()[0]
    assert re.search("4 Ki [0-9.]+ µs [0-9.]+ µs – [0-9.]+ µs", out)
    assert "naive/event_pair/f32/n:4096: in round 1:" in out


def test_a_kernel_that_fails_is_no_pass(repository: Repository) -> None:
    make(repository, faults={"2": "errored row"})
    assert run(repository) is ExitStatus.NOT_MEASURED
    assert "fidelity/square/f32/n:4096: in round 1: wrong result" in repository.output()[0]


def refuse_to_measure(*_: object) -> None:
    pytest.fail("something was measured")


def test_missing_programs_and_cupti_are_told_before_anything_runs(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(repository)
    monkeypatch.setattr(build, "cuda_compiler", lambda: "nvcc")
    monkeypatch.setattr("warpgauge.measure.runner.run", refuse_to_measure)
    for name, said in (
        ("bench_naive", "bench_naive"),
        (cupti.LIBRARY, "there is no libwarpgauge_trace"),
        ("bench_fidelity", "bench_fidelity"),
    ):
        (repository.built / "benchmarks" / name).unlink()
        with pytest.raises(UserError, match=said) as caught:
            run(repository)
        assert caught.value.status is ExitStatus.NOT_MEASURED


def test_a_program_that_cannot_list_is_told(repository: Repository) -> None:
    make(repository, listing_fault="a library is missing")
    with pytest.raises(UserError, match="bench_naive cannot list its benchmarks") as caught:
        run(repository)
    assert caught.value.status is ExitStatus.NOT_MEASURED


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["naive", "gemm"], "unrecognized arguments: gemm"),
        (["naive", "--format=json"], "omit --format"),
        (["naive", "--filter=spin"], "--filter leaves nothing of it"),
    ],
)
def test_what_contradicts_itself_is_refused(
    repository: Repository, argv: list[str], said: str
) -> None:
    make(repository)
    with pytest.raises(UserError, match=said) as caught:
        command.main(argv, repository.root)
    assert caught.value.status is ExitStatus.BAD_USAGE
