# SPDX-License-Identifier: Apache-2.0
"""Two builds in lock-step through the runner, with real processes that misbehave."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from test_runner import SIDES, Seen, errors, plan

import driver_of_tests
import fake_binary
import shell
from kills import left_running
from reports import written
from warpgauge.measure import drive_lines, runner
from warpgauge.measure.ab_run import Side
from warpgauge.measure.drive_lines import End, Fault, Ratio, Report
from warpgauge.measure.journal import Journal
from warpgauge.measure.plan import Plan, TurnResult
from warpgauge.system import process
from warpgauge.system.errors import UserError
from warpgauge.system.process import Ending

TIMES = {"gemm/a": 1e4, "gemm/b": 2e4, "gemm/c": 3e4, "gemm/d": 4e4}
ROUNDS = 3


@dataclass
class Run:
    """What came of a few rounds: rows of each side, and what was delivered."""

    plan: Plan
    outcomes: list[TurnResult]
    seen: Seen

    def rows(self, side: str) -> dict[str, Any]:
        own = [one for one in self.outcomes if one.side == side]
        (binaries,) = [lane.binaries for lane in self.plan.lanes if lane.side == side]
        return {str(row["name"]): row for row in written(binaries, own, looks=())}

    def ratios(self, name: str, side: str = "candidate") -> list[float | None]:
        logs = [pair["log_ratio"] for pair in self.rows(side)[name].get("pairs", [])]
        ratios = [None if log is None else math.exp(log) for log in logs]
        return ratios if any(ratios) else []

    @property
    def remarks(self) -> list[str]:
        return [remark for one in self.outcomes for remark in one.remarks]

    def require_right(self, names: set[str]) -> None:
        for side in SIDES:
            for name in names:
                assert self.rows(side)[name]["process_rounds"] == [1, 2, 3], (side, name)
        for name in names:
            assert self.ratios(name) == pytest.approx([1.1] * ROUNDS, rel=1e-3), name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock_of_hangs: None) -> Path:
    monkeypatch.setattr(process, "GRACE_S", 0.2)
    return tmp_path


def make(
    folder: Path,
    ill: Mapping[str, Mapping[str, str]] | None = None,
    sides: Mapping[str, float] | None = None,
    **more: object,
) -> None:
    """Each side by its name, with the factor that it is slower by."""
    for side, factor in (sides or {"base": 1.0, "candidate": 1.1}).items():
        times = {name: factor * time for name, time in TIMES.items()}
        own = (ill or {}).get(side)
        fake_binary.make(folder / side, "gemm", times, ill=own, **more)  # type: ignore[arg-type]


def measured(
    folder: Path, *, deadline_s: float = 20.0, journal: Path | None = None, loads: bool = False
) -> Run:
    once = replace(plan(folder, processes=ROUNDS, sides=SIDES), deadline_s=deadline_s)
    if loads:
        once = loading(once)
    if journal is not None:
        once = replace(once, journal=Journal(journal))
    seen = Seen()
    outcomes = list(runner.run(once, seen))
    assert left_running(str(folder)) == []
    return Run(once, outcomes, seen)


def test_each_round_gives_the_ratio_of_a_pair(folder: Path) -> None:
    make(folder)
    run = measured(folder)
    run.require_right(set(TIMES))
    assert all(errors(run.rows(side)) == {} for side in SIDES)
    assert run.ratios("gemm/a", "base") == []
    assert run.remarks == []
    assert [one.side for one in run.seen.outcomes] == [*SIDES, *SIDES[::-1], *SIDES]


SECOND = {"sync/e": 5e4, "sync/f": 6e4}


def make_second(folder: Path, ill: Mapping[str, str] | None = None) -> None:
    """Another program; `ill` is for the candidate's."""
    for side, factor in {"base": 1.0, "candidate": 1.1}.items():
        times = {name: factor * time for name, time in SECOND.items()}
        own = ill if side == "candidate" else None
        fake_binary.make(folder / side, "sync", times, ill=own)


def test_the_programs_of_a_round_share_a_driver(folder: Path) -> None:
    make(folder)
    make_second(folder)
    run = measured(folder)
    run.require_right(TIMES.keys() | SECOND.keys())
    assert run.remarks == []
    drivers = [*folder.glob("**/*.plan")]
    assert len(drivers) == ROUNDS  # none of a second run
    assert all(len(json.loads(one.read_text())["programs"]) == 2 for one in drivers)
    assert {one.binary.family for one in run.seen.outcomes} == {"gemm", "sync"}


def loading(once: Plan) -> Plan:
    """Return the plan with programs that load for seconds."""
    lanes = (
        replace(lane, binaries=tuple(replace(one, loads=True) for one in lane.binaries))
        for lane in once.lanes
    )
    return replace(once, lanes=tuple(lanes))


def test_the_seconds_of_the_programs_are_those_of_the_round(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(folder)
    make_second(folder, {"sync/e": "murder"})
    rounds, usual = list[float](), process.run

    def timed(*given: Any, **more: Any) -> Ending:  # noqa: ANN401
        ending = usual(*given, **more)
        rounds.append(ending.seconds)
        return ending

    once = plan(folder, processes=ROUNDS, sides=SIDES)
    monkeypatch.setattr(process, "run", timed)
    monkeypatch.delenv(driver_of_tests.HANGS)  # by the real clock
    outcomes = list(runner.run(once, Seen()))
    assert all(one.seconds > 0 for one in outcomes)
    assert sum(one.seconds for one in outcomes) == pytest.approx(sum(rounds))


@pytest.mark.parametrize("fault", ["crash", "hang", "murder", "no room beside another"])
def test_what_goes_wrong_in_one_program_costs_the_other_nothing(folder: Path, fault: str) -> None:
    make(folder)
    make_second(folder, {"sync/e": fault})
    run = measured(folder, deadline_s=0.8 if fault == "hang" else 20.0)
    run.require_right(TIMES.keys() | {"sync/f"})
    guilty = {"sync/e"} if fault in ("crash", "hang") else set()
    assert errors(run.rows("candidate")).keys() == guilty
    assert errors(run.rows("base")) == {}


@pytest.mark.parametrize("guilty", SIDES)
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("crash", "bench_gemm was killed by SIGSEGV: an illegal memory access"),
        ("crash in a slice", "bench_gemm was killed by SIGSEGV: an illegal memory access"),
        ("killed", "bench_gemm was killed by SIGKILL, e.g. because memory ran out"),
        ("early exit", "bench_gemm exited with status 1: an exception that nobody caught"),
        ("lost row", "bench_gemm left no readable report"),
        ("garbage", "bench_gemm left no readable report"),
        ("garbage in a slice", "out of turn and was killed"),
        ("two answers", "out of turn and was killed"),
        ("endless line", "bench_gemm sent a line of more than 4.0 MiB and was killed"),
    ],
)
def test_a_side_that_misbehaves_is_named_and_costs_its_own_row(
    folder: Path, fault: str, said: str, guilty: str
) -> None:
    make(folder, {guilty: {"gemm/b": fault}})
    run = measured(folder)
    (innocent,) = set(SIDES) - {guilty}
    [(name, error)] = errors(run.rows(guilty)).items()
    assert (name, error.startswith("in round 1: bench_gemm ")) == ("gemm/b", True)
    assert error.endswith(said)
    assert errors(run.rows(innocent)) == {}
    assert len(run.rows(innocent)["gemm/b"]["process_medians"]) == ROUNDS
    run.require_right(TIMES.keys() - {"gemm/b"})
    assert run.ratios("gemm/b", innocent) == []


def test_a_driver_that_finds_no_room_on_the_disk_is_no_fault_of_a_benchmark(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(folder)
    once = plan(folder, processes=ROUNDS, sides=SIDES)
    full = folder / "warpgauge_drive"
    full.write_text("#!/bin/sh\nexit 3\n")
    full.chmod(0o755)
    monkeypatch.setenv(drive_lines.VARIABLE, str(full))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(UserError, match="TMPDIR"):
        list(runner.run(once, Seen()))


@pytest.mark.parametrize(("sides", "whose"), [(("",), ""), (SIDES, "candidate: ")])
def test_an_end_between_two_benchmarks_costs_none_and_is_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch, sides: tuple[str, ...], whose: str
) -> None:
    last, both = len(sides) - 1, range(len(sides))
    for side in sides:
        fake_binary.make(folder / (side or "bin"), "gemm", {"gemm/a": 1.0, "gemm/b": 1.0})
    once, seen = plan(folder, processes=1, sides=sides), Seen()
    row = {"run_type": "iteration", "real_time": 1, "time_unit": "s"}
    lines: list[object] = []
    for name in ("gemm/a", "gemm/b"):
        text = json.dumps({"context": {}, "benchmarks": [{"name": name, **row}]})
        lines += [Report(0, name, side, text) for side in both]
        lines += [Ratio(0, name, 0.0, 3, (1.0, 1.0))] * last
        if name == "gemm/a":
            lines.append(Fault(0, [], last, "run", "ended", -11, "", "an illegal access\n"))
    lines.append(End(0, 1.0, left_behind=False, status=[0 for _ in both]))
    (folder / "lines").write_bytes(b"\n".join(map(msgspec.json.encode, lines)) + b"\n")
    driver = shell.script(folder / "warpgauge_drive", f"cat {folder}/lines")
    monkeypatch.setenv(drive_lines.VARIABLE, str(driver))
    *_, outcome = runner.run(once, seen)
    assert outcome.report.rows.keys() == {"gemm/a", "gemm/b"}
    assert outcome.faults == {}
    said = "bench_gemm was killed by SIGSEGV between two benchmarks: an illegal access"
    assert [*outcome.remarks] == [f"{whose}{said}; the rest ran in another process"]


@pytest.mark.parametrize("ceilings", [True, False])
def test_a_command_by_hand_has_all_options_of_the_driven_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, ceilings: bool
) -> None:
    make(folder)
    once = plan(folder, processes=2, sides=SIDES)
    once = replace(once, gpu_arguments=("--device=0",))
    if not ceilings:
        once = replace(once, rounds=range(2, 3))
    asked, usual = list[tuple[Any, Any]](), process.run

    def seen(command: Any, *given: Any, by_hand: Any, **more: Any) -> Ending:  # noqa: ANN401
        [program] = json.loads(Path(command[1]).read_text())["programs"]
        asked.append((program["sides"], by_hand))
        return usual(command, *given, by_hand=by_hand, **more)

    monkeypatch.setattr(process, "run", seen)
    next(runner.run(once, Seen()))
    [(driven, by_hand)] = asked
    assert driven == by_hand
    assert all(("--no-ceilings" in words) is not ceilings for words in driven)


@pytest.mark.parametrize("guilty", SIDES)
@pytest.mark.parametrize("fault", ["hang", "stopped"])
def test_a_side_that_does_not_answer_is_ended_once(folder: Path, fault: str, guilty: str) -> None:
    make(folder, {guilty: {"gemm/c": fault}})
    run = measured(folder, deadline_s=0.8)
    said = "in round 1: bench_gemm sent nothing for 0.8 s and was killed"
    assert errors(run.rows(guilty)) == {"gemm/c": said}
    run.require_right(TIMES.keys() - {"gemm/c"})


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("crash at exit", "was killed by SIGSEGV after its last benchmark: an illegal memory acc"),
        ("status 4", "exited with status 4 after its last benchmark"),
    ],
)
def test_a_side_that_ends_badly_fails_all_that_it_measured(
    folder: Path, fault: str, said: str
) -> None:
    make(folder)
    fake_binary.make(folder / "base", "gemm", TIMES, faults={"2": fault})
    run = measured(folder)
    found = errors(run.rows("base"))
    assert found.keys() == TIMES.keys()
    assert all(said[:40] in message for message in found.values())
    assert errors(run.rows("candidate")) == {}


def test_a_child_that_stays_is_ended_and_costs_nothing(folder: Path) -> None:
    make(folder, {"base": {"gemm/b": "child"}})
    make_second(folder)
    run = measured(folder)
    run.require_right(TIMES.keys() | SECOND.keys())
    assert run.remarks == ["bench_gemm left a process behind, which was killed"] * ROUNDS


def test_what_finds_no_room_beside_the_other_side_runs_alone_and_this_is_told_once(
    folder: Path,
) -> None:
    make(folder, {"candidate": {"gemm/b": "no room beside another"}})
    run = measured(folder)
    assert all(errors(run.rows(side)) == {} for side in SIDES)
    run.require_right(TIMES.keys() - {"gemm/b"})
    assert run.rows("candidate")["gemm/b"]["process_rounds"] == [1, 2, 3]
    assert run.ratios("gemm/b") == []
    [remark] = run.remarks
    assert remark == (
        "candidate: out of device memory: measured in alternating processes, not in "
        "lock-step: 'gemm/b'"
    )


def test_what_fails_alone_too_has_its_own_error_and_breaks_no_other(folder: Path) -> None:
    make(folder, {"candidate": {"gemm/b": "broken context", "gemm/c": "wrong"}})
    run = measured(folder)
    assert errors(run.rows("candidate")) == {
        "gemm/b": "in round 1: cudaErrorIllegalAddress",
        "gemm/c": "in round 1: wrong \x01 result",
    }
    assert errors(run.rows("base")) == {}
    run.require_right({"gemm/a", "gemm/d"})


def test_what_both_sides_skip_is_skipped(folder: Path) -> None:
    make(folder, {side: {"gemm/b": "skipped"} for side in SIDES})
    run = measured(folder)
    assert all(run.rows(side)["gemm/b"]["skipped"] for side in SIDES)
    run.require_right(TIMES.keys() - {"gemm/b"})
    assert run.remarks == []


@pytest.mark.parametrize("driven", [True, False])
def test_sides_that_cannot_be_alive_together_alternate(folder: Path, driven: bool) -> None:
    """As on a GPU in exclusive mode, or with a base that does not use warpgauge."""
    make(folder)
    for side in SIDES if driven else ["base"]:
        told = folder / side / "bench_gemm.told"
        fact = ("exclusive", folder / "user") if driven else ("plain", True)
        told.write_text("{}{}\t{}\n".format(told.read_text(), *fact))
    once = plan(folder, processes=ROUNDS, sides=SIDES)
    run = Run(once, list(runner.run(once, Seen())), Seen())
    for side in SIDES:
        assert [row["process_rounds"] for row in run.rows(side).values()] == [[1, 2, 3]] * 4
        assert not any(run.ratios(name, side) for name in TIMES)
    assert len(run.remarks) == driven
    assert all("4 benchmarks" in remark for remark in run.remarks)
    said = "candidate: bench_gemm exited with status 3: "
    assert not driven or run.remarks[0].startswith(said)


def test_a_benchmark_that_one_side_has_runs_alone(folder: Path) -> None:
    make(folder)
    more = {**TIMES, "gemm/new": 5e4}
    fake_binary.make(folder / "candidate", "gemm", more)
    run = measured(folder)
    assert run.rows("candidate")["gemm/new"]["process_rounds"] == [1, 2, 3]
    assert all(None not in run.ratios(name) for name in TIMES)
    assert run.ratios("gemm/a") != []
    assert run.remarks == []


@pytest.mark.parametrize(
    "ill",
    [{"base": {"gemm/b": "murder"}}, {"candidate": {"gemm/b": "late murder"}}],
    ids=["in a slice", "when the base has its row"],
)
def test_a_driver_that_is_killed_costs_no_row(
    folder: Path, ill: Mapping[str, Mapping[str, str]]
) -> None:
    make(folder, ill)
    run = measured(folder)
    assert all(errors(run.rows(side)) == {} for side in SIDES)
    run.require_right(TIMES.keys() - {"gemm/b"})
    [remark] = run.remarks
    assert remark.startswith("warpgauge_drive was killed by SIGKILL")
    for side in SIDES:
        assert run.rows(side)["gemm/b"]["process_rounds"] == [1, 2, 3]
        # In the first round by itself: the row that it had in lock-step does not count.
        first = next(one for one in run.outcomes if one.side == side and one.round == 1)
        assert first.report.rows["gemm/b"].counters["samples"] > 1  # number of the process


def test_all_sides_of_what_was_disturbed_are_run_again_together(folder: Path) -> None:
    make(folder, counters={"1": {"throttled": 1.0}})
    run = measured(folder)
    run.require_right(set(TIMES))
    assert [one.round for one in run.seen.repetitions] == [1, 1]
    assert all("throttled" not in row for side in SIDES for row in run.rows(side).values())


def test_a_round_that_is_left_out_takes_its_ratio_along(folder: Path) -> None:
    make(folder, counters={number: {"throttled": 1.0} for number in "12"})
    run = measured(folder)
    for side in SIDES:
        assert run.rows(side)["gemm/a"]["process_rounds"] == [2, 3]
    assert run.ratios("gemm/a") == pytest.approx([1.1] * 2, rel=1e-3)


def reports(journal: Path) -> Counter[tuple[str, str, int]]:
    """How often the driver has reported each benchmark of each side in each round."""
    found = Counter[tuple[str, str, int]]()
    for path in journal.glob("*.plan"):
        seed = json.loads(path.read_text())["seed"]
        for line in drive_lines.recorded(path.with_suffix(".lines")):
            if isinstance(line, Report):
                found[seed, line.benchmark, line.side] += 1
    return found


@pytest.mark.parametrize("loads", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_run_that_is_cut_off_anywhere_goes_on_there(
    folder: Path, seed: int, *, loads: bool
) -> None:
    """Also twice. What the driver has reported of a whole benchmark is not measured again."""
    make(folder, {"candidate": {"gemm/b": "no room beside another", "gemm/c": "crash"}})
    make_second(folder)
    journal, random_ = folder / "x.journal", random.Random(seed)
    whole = measured(folder, journal=journal, loads=loads)
    asked, reported = len([*journal.glob("*.plan")]), reports(journal)
    processes = (folder / "base" / "bench_gemm.count").stat().st_size
    again = measured(folder, journal=journal, loads=loads)
    assert (folder / "base" / "bench_gemm.count").stat().st_size == processes
    for last in sorted((random_.randint(1, asked) for _ in range(2)), reverse=True):
        for path in journal.glob("*.plan"):
            if int(path.stem) > last:
                path.unlink()
                path.with_suffix(".lines").unlink()
        lines = journal / f"{last}.lines"
        os.truncate(lines, random_.randint(0, lines.stat().st_size))
        again = measured(folder, journal=journal, loads=loads)
        assert reports(journal) == reported
    for side in SIDES:
        assert errors(again.rows(side)) == errors(whole.rows(side))
        for name, row in whole.rows(side).items():
            assert again.rows(side)[name].get("process_rounds") == row.get("process_rounds")
            ratios = whole.ratios(name, side)
            assert again.ratios(name, side) == pytest.approx(ratios, rel=1e-2)


def test_a_fault_that_may_be_the_interruption_is_measured_again(folder: Path) -> None:
    """Who kills everything may kill a program before its driver."""
    make(folder)
    journal = folder / "x.journal"
    measured(folder, journal=journal)
    [*_, last] = sorted(journal.glob("*.lines"))
    lines = last.read_bytes().splitlines(keepends=True)
    name = json.loads(lines[-2])["benchmark"]
    fault = msgspec.json.encode(Fault(0, [name], 1, "run", "ended", -9, "", "")) + b"\n"
    last.write_bytes(b"".join([*lines[:-4], fault, lines[-1]]))
    run = measured(folder, journal=journal)
    assert errors(run.rows("candidate")) == {}
    run.require_right(set(TIMES))


@pytest.mark.parametrize("ill", ["", "crash", "no room beside another"])
def test_what_only_one_side_is_to_measure_runs_alone(folder: Path, ill: str) -> None:
    asked = {"base": "abcd", "candidate": "bd"}
    make(
        folder,
        {"candidate": {"gemm/b": ill}} if ill else None,
        sides={"base": 1.0, "candidate": 1.02},
    )
    once = plan(folder, processes=2, sides=[*asked])
    lanes = [
        Side(lane.binaries, {}).only([f"gemm/{letter}" for letter in asked[side]]).lane(side)
        for lane in once.lanes
        if (side := lane.side)
    ]
    once = replace(once, lanes=tuple(lanes))
    run = Run(once, list(runner.run(once, Seen())), Seen())
    assert left_running(str(folder)) == []
    for side, letters in asked.items():
        assert run.rows(side).keys() == {f"gemm/{letter}" for letter in letters}
    for letter in "d" if ill else "bd":
        assert run.ratios(f"gemm/{letter}") == pytest.approx([1.02] * 2, rel=1e-3)
    assert all(row["process_rounds"] == [1, 2] for row in run.rows("base").values())
    guilty = {"gemm/b"} if ill == "crash" else set()
    assert errors(run.rows("candidate")).keys() == guilty
    assert errors(run.rows("base")) == {}
    # What the journal has is not measured again.
    before = (folder / "base" / "bench_gemm.count").stat().st_size
    resumed = replace(once, apart=set(), failed=set(), journal=Journal(once.journal.folder))
    again = Run(once, list(runner.run(resumed, Seen())), Seen())
    assert (folder / "base" / "bench_gemm.count").stat().st_size == before
    assert all(again.rows(side) == run.rows(side) for side in asked)


@pytest.mark.parametrize("seed", range(4))
def test_random_signals_cost_no_more_than_the_row_that_ran(folder: Path, seed: int) -> None:
    """Sides and drivers are killed, or sides stopped, at any moment: what is left is right."""
    make(folder)
    once = plan(folder, processes=ROUNDS, sides=SIDES)
    generator, ended, kills = random.Random(seed), threading.Event(), 0

    def kill() -> None:
        nonlocal kills
        while kills < 4 and not ended.wait(generator.uniform(0.0, 0.15)):
            if running := left_running(str(folder)):
                pid, stops = generator.choice(running), generator.random() < 0.3
                with suppress(OSError):
                    stops = stops and Path(f"/proc/{pid}/comm").read_text().startswith("bench_")
                    os.kill(pid, signal.SIGSTOP if stops else signal.SIGKILL)
                    kills += 1
                    if stops:  # so that the clock of hangs runs
                        with (folder / "stopped.hangs").open("a") as hangs:
                            print(pid, file=hangs)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        run = Run(once, list(runner.run(once, Seen())), Seen())
    finally:
        ended.set()
        killer.join()
    assert left_running(str(folder)) == []
    found = {(side, name) for side in SIDES for name in errors(run.rows(side))}
    said = [message for side in SIDES for message in errors(run.rows(side)).values()]
    assert len(found) <= kills * len(TIMES)
    assert all(" killed" in message for message in said), said
    for name in TIMES:
        ratios = [one for one in run.ratios(name) if one is not None]
        assert ratios == pytest.approx([1.1] * len(ratios), rel=1e-3)
        for side in SIDES:
            assert (side, name) in found or len(run.rows(side)[name]["process_rounds"]) == ROUNDS
