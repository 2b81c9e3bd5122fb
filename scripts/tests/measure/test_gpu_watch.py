# SPDX-License-Identifier: Apache-2.0
"""Nothing runs beside what a killed process left on the GPU, or it is told whose that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from test_runner import Seen, lane, plan

import fake_binary
from clone import HOST_TIMES, TIMES, Repository
from warpgauge.measure import gpu_watch, runner
from warpgauge.measure.gpu_watch import GpuWatch, User
from warpgauge.measure.journal import Journal
from warpgauge.measure.plan import Plan
from warpgauge.system.process import Ending

KILLED = Ending(("/bin/bench_gemm",), -9, "", "", 1.0, "sent nothing for 120 s")
HOW = "bench_gemm sent nothing for 120 s and was killed"


class Driver:
    """Tells these users one after the other, and then the last ones for ever."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *looks: Sequence[int]) -> None:
        self.looks = [[User(pid, f"p{pid}") for pid in pids] for pids in looks]
        self.asked = 0
        monkeypatch.setattr(gpu_watch, "users_now", self.now)
        monkeypatch.setattr(gpu_watch, "_POLL_S", 0.0)
        monkeypatch.setattr(gpu_watch, "_PATIENCE_S", 0.05)

    def now(self, uuid: str) -> list[User]:
        assert uuid == "GPU-1"
        self.asked += 1
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]


@pytest.mark.parametrize(
    ("looks", "waits_before", "said", "asked"),
    [
        ([[]], True, [], 2),
        ([[7], [7], [7], []], False,
         [f"Waiting for the GPU, which p7 (pid 7) uses since {HOW} ..."], 4),
        ([[7, 8]], False,
         [f"Waiting for the GPU, which p7 (pid 7) and p8 (pid 8) use since {HOW} ...",
          f"The GPU is not free since {HOW}: after 0.05 s p7 (pid 7) and p8 (pid 8) use it. "
          "Benchmarks measured at the same time are INVALID."], None),
        # A neighbour who was there before is not waited for again.
        ([[5]], True, ["Waiting for the GPU, which p5 (pid 5) uses ..."], None),
    ],
    ids=["free", "leaves", "stays", "neighbour"],
)  # fmt: skip
def test_a_killed_process_is_waited_for_until_it_is_gone_or_patience_ends(
    monkeypatch: pytest.MonkeyPatch,
    looks: list[list[int]],
    waits_before: bool,
    said: list[str],
    asked: int | None,
) -> None:
    lines: list[str] = []
    driver = Driver(monkeypatch, *looks)
    watch = GpuWatch("GPU-1", lines.append)
    if waits_before:
        watch.wait()
    watch.freed(KILLED)
    assert lines == said
    assert asked in (None, driver.asked)


@pytest.mark.parametrize(
    ("fault", "asks"), [("hang", 1), ("crash", 1), ("killed", 1), ("child", 2), ("wrong", 0)]
)
@pytest.mark.parametrize("sides", [("",), ("base", "candidate")], ids=["alone", "in pairs"])
def test_it_is_asked_before_the_next_program_begins(
    tmp_path: Path, clock_of_hangs: None, fault: str, asks: int, sides: Sequence[str]
) -> None:
    times, began, asked = {"gemm/a": 1.0, "gemm/b": 2.0}, list[str](), list[int]()
    for side in sides:
        ill = {"gemm/a": fault} if side != "base" else None
        fake_binary.make(tmp_path / (side or "bin"), "gemm", times, ill=ill)
        fake_binary.make(tmp_path / (side or "bin"), "sync")

    class Begun(Seen):
        def runs(self, benchmark: str) -> None:
            began.append(benchmark)

    once = Plan(
        tuple(lane(tmp_path, side) for side in sides), range(1, 3), 1, Journal(tmp_path),
        deadline_s=0.5, freed=lambda ending: asked.append(len(began)),
    )  # fmt: skip
    list(runner.run(once, Begun()))
    assert len(asked) == asks
    # A process that was left behind is no fault: the driver goes on.
    assert fault == "child" or all(began[count - 1].startswith("gemm/") for count in asked)


def test_a_hang_of_the_host_family_asks_nobody(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "bin", "host", HOST_TIMES, ill={"host/copy": "crash"})
    once = plan(tmp_path, processes=1)
    list(runner.run(replace(once, freed=lambda _: pytest.fail("asked")), Seen()))


def test_a_bench_tells_who_still_holds_its_gpu(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, clock_of_hangs: None
) -> None:
    looks: Iterator[list[User]] = iter([[]])
    monkeypatch.setattr(gpu_watch, "users_now", lambda uuid: next(looks, [User(7, "bench_sync")]))
    monkeypatch.setattr(gpu_watch, "_PATIENCE_S", 0.01)
    repository.binary("sync", TIMES, ill={"sync/busy": "hang"})
    repository.bench("--processes=3", "--timeout=0.5")
    said = "after 0.01 s bench_sync (pid 7) uses it."
    assert said in repository.output()[1]
