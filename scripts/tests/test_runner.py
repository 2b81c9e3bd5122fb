# SPDX-License-Identifier: Apache-2.0
"""One bad process costs its own rows of its own round, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import fake_binary
from warpgauge import discovery, merge, process, runner
from warpgauge.discovery import Binary
from warpgauge.runner import Lane, Outcome, Plan, Turn


class Silent:
    """An observer that only counts."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, str]] = []

    def begins(self, turn: Turn) -> None:
        self.begun.append((turn.round, turn.binary.family))

    def ended(self, outcome: Outcome) -> None:
        assert outcome.seconds >= 0


def plan(folder: Path, *, processes: int = 2, seed: int = 1, deadline_s: float = 20.0) -> Plan:
    binaries = tuple(discovery.find(folder / "bin", folder))
    rounds = range(1, processes + 1)
    return Plan((Lane(binaries),), rounds, seed, folder / "runs", deadline_s=deadline_s)


def merged(folder: Path, **options: float) -> dict[str, merge.JsonRow]:
    the_plan = plan(folder, deadline_s=options.get("deadline_s", 20.0))
    outcomes = runner.run(the_plan, Silent())
    return {row["name"]: row for row in merge.rows(the_plan.lanes[0].binaries, outcomes)}


def errors(rows: dict[str, merge.JsonRow]) -> dict[str, str]:
    return {name: row["error_message"] for name, row in rows.items() if "error_message" in row}


def families(rounds: Sequence[Sequence[Turn]]) -> list[list[str]]:
    return [[turn.binary.family for turn in turns] for turns in rounds]


def test_the_seed_alone_decides_the_order(tmp_path: Path) -> None:
    for family in "abcdef":
        fake_binary.make(tmp_path / "bin", family)
    first, again, other = (plan(tmp_path, processes=5, seed=seed) for seed in (3, 3, 4))
    assert families(runner.order(first)) == families(runner.order(again))
    assert families(runner.order(first)) != families(runner.order(other))
    assert all(sorted(names) == list("abcdef") for names in families(runner.order(first)))
    assert len({tuple(names) for names in families(runner.order(first))}) > 1


def test_every_binary_runs_once_a_round_and_leaves_its_json(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "bin", "sync")
    fake_binary.make(tmp_path / "bin", "host")
    observer = Silent()
    outcomes = runner.run(plan(tmp_path, processes=3), observer)
    assert sorted(observer.begun) == [(n, f) for n in (1, 2, 3) for f in ("host", "sync")]
    assert len(outcomes) == 6
    assert len(list((tmp_path / "runs").glob("round*/*/out.json"))) == 6


def test_gpu_arguments_reach_only_gpu_binaries(tmp_path: Path) -> None:
    sync, host = Binary(Path("bench_sync"), ("a",)), Binary(Path("bench_host"), ("b",))
    lane = Lane((sync, host), ("--inject=a=2",))
    both = Plan((lane,), range(1, 2), 1, tmp_path, ("--device=1",))
    assert runner.command(both, lane, sync) == ["bench_sync", "--inject=a=2", "--device=1"]
    assert runner.command(both, lane, host) == ["bench_host", "--inject=a=2"]


def test_a_crash_spares_the_rows_before_it_and_the_other_binaries(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "bin", "gemm", faults={"2": "crash"})
    fake_binary.make(tmp_path / "bin", "sync")
    rows = merged(tmp_path)
    said = "bench_gemm was killed by SIGSEGV: an illegal memory access"
    assert errors(rows) == {"gemm/two": f"in 1 of 2 processes: {said}"}
    assert rows["gemm/one"]["process_medians"] == [1001.0, 1002.0]
    assert rows["sync/two"]["process_medians"] == [2001.0, 2002.0]


def test_half_a_row_is_not_a_row(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "bin", "gemm", faults={"1": "half a row"})
    rows = merged(tmp_path)
    assert errors(rows) == {"gemm/two": "in 1 of 2 processes: bench_gemm was killed by SIGABRT"}


def test_a_crash_at_the_first_row_loses_the_whole_process(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "bin", "gemm", {"gemm/only": 1.0}, faults={"always": "crash"})
    (message,) = errors(merged(tmp_path)).values()
    assert message.startswith("in 2 of 2 processes: bench_gemm was killed by SIGSEGV")


def test_a_hang_is_ended_at_its_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.2)
    fake_binary.make(tmp_path / "bin", "gemm", faults={"1": "hang"})
    rows = merged(tmp_path, deadline_s=1.0)
    assert list(errors(rows)) == ["gemm/two"]
    assert "did not finish within 1 s and was ended" in errors(rows)["gemm/two"]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("garbage", "bench_gemm left no valid JSON"),
        ("crash at exit", "bench_gemm was killed by SIGSEGV"),
        ("status 4", "bench_gemm exited with status 4"),
    ],
)
def test_a_report_that_cannot_be_trusted_fails_all_its_rows(
    tmp_path: Path, fault: str, said: str
) -> None:
    fake_binary.make(tmp_path / "bin", "gemm", faults={"2": fault})
    rows = merged(tmp_path)
    assert errors(rows) == dict.fromkeys(rows, f"in 1 of 2 processes: {said}")


def test_an_errored_row_keeps_its_own_message(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "bin", "gemm", faults={"2": "errored row"})
    rows = merged(tmp_path)
    assert errors(rows) == {"gemm/one": "in 1 of 2 processes: wrong result"}
    assert rows["gemm/two"]["process_medians"] == [2001.0, 2002.0]


def test_a_row_that_is_silently_lost_is_an_error(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "bin", "gemm", faults={"1": "lost row"})
    said = "in 1 of 2 processes: bench_gemm did not report it"
    assert errors(merged(tmp_path)) == {"gemm/two": said}


def test_a_binary_that_cannot_list_is_an_errored_row_of_its_family(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "bin", "gemm", listing_fault="no libcublas")
    fake_binary.make(tmp_path / "bin", "sync")
    rows = merged(tmp_path)
    assert list(rows) == ["gemm", "sync/one", "sync/two"]
    assert errors(rows)["gemm"].endswith("status 127: no libcublas")
