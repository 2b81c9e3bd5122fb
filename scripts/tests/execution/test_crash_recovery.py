# SPDX-License-Identifier: Apache-2.0
"""What follows from how a process ended: who is at fault, what still counts, what goes on."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpgauge.execution.crash_recovery import Names, Part, after, deliver
from warpgauge.system.process import Ending

ABC = ("a", "b", "c")


def row(name: str, error: str = "", **counters: float) -> dict[str, Any]:
    failed = {"error_occurred": True, "error_message": error, **counters}
    return {"name": name, **(failed if error else {})}


def lost(name: str, culprit: str) -> dict[str, Any]:
    return row(name, f"not measured: {culprit} broke the CUDA context", not_tried=1.0)


def part(
    asked: Names,
    rows: list[dict[str, Any]] | None,
    status: int = 0,
    *,
    complete: bool = True,
    ended_for: str = "",
    words: str = "",
    left_behind: bool = False,
) -> Part:
    """A process that reported `rows`; None: it left no report."""
    ending = Ending(("bench_x",), status, "", words, 1.0, ended_for, left_behind)
    report = {} if rows is None else {"context": {"gpu_name": "G"}, "benchmarks": rows}
    return Part(asked, report, complete and rows is not None, ending)


WHOLE = [row(name) for name in ABC]
BROKEN = [row("a", "an illegal address"), lost("b", "a"), lost("c", "a")]
UNREAD = "bench_x left no readable report"
KILLED = "bench_x was killed by SIGSEGV"
Follows = tuple[Part, dict[str, str], list[Names]]

CASES: dict[str, Follows] = {
    "a good process": (part(ABC, WHOLE), {}, []),
    "a row that measured was tried, whatever its author calls a counter":
        (part(ABC, [{**WHOLE[0], "not_tried": 1.0}, *WHOLE[1:]]), {}, []),
    "errored rows explain status 1": (part(ABC, [*WHOLE[:2], row("c", "wrong")], 1), {}, []),
    "the first runs as soon as there is a context":
        (part(ABC[:2], [], -11, complete=False), {"a": KILLED}, [("b",)]),
    "the last leaves nothing":
        (part(ABC, WHOLE[:2], -11, complete=False), {"c": KILLED}, []),
    "without a report nobody knows who ran": (part(ABC, None), {}, [("a",), ("b",), ("c",)]),
    "but of one": (part(("a",), None), {"a": UNREAD}, []),
    **{
        f"nothing counts of who ends so after a whole report: {how}":
            (part(ABC, WHOLE, status, ended_for=ended_for, words="oh"),
             dict.fromkeys(ABC, f"bench_x {how} after its last benchmark: oh"), [])
        for status, ended_for, how in [
            (1, "", "exited with status 1"),
            (-11, "", "was killed by SIGSEGV"),
            (-15, "is slow", "is slow and was killed"),
        ]
    },
    **{
        f"who ran is at fault and the rest goes on: {said}":
            (part(ABC, WHOLE[:1], status, complete=complete), {"b": f"bench_x {said}"}, [("c",)])
        for status, complete, said in [
            (-11, False, "was killed by SIGSEGV"),
            (1, False, "exited with status 1"),
            (0, False, "exited with status 0, but its report is truncated"),
            (0, True, "did not report it"),
        ]
    },
    **{
        f"what a broken context kept from running goes on: {status}, {complete}":
            (part(ABC, BROKEN, status, complete=complete), {}, [("b", "c")])
        for status, complete in [(1, True), (-6, True), (-6, False)]
    },
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_follows_from_how_a_process_ended(case: str) -> None:
    process, faults, left = CASES[case]
    step = after(process)
    assert (step.faults, list(step.left)) == (faults, left)
    one_by_one = f"{UNREAD}; running 3 benchmarks one by one instead"
    assert step.remark == (one_by_one if len(left) == 3 else "")


@pytest.mark.parametrize(("status", "ended_for"), [(2, ""), (3, ""), (127, ""), (-15, "hung")])
def test_a_program_that_cannot_begin_is_not_begun_again(status: int, ended_for: str) -> None:
    step = after(part(ABC, None, status, ended_for=ended_for))
    assert (set(step.faults), step.left) == (set(ABC), ())


def test_the_preamble_is_not_what_a_program_said_last() -> None:
    preamble = (
        "2026-11-20T12:00:00+00:00\nRunning ./bench_x\nRun on (16 X 2600 MHz CPU s)\n"
        "CPU Caches:\n  L1 Data 32 KiB (x16)\nLoad Average: 1.00, 2.00, 3.00\ngpu_name: G\n"
        "***WARNING*** CPU scaling is enabled, times may be noisy\n"
    )
    said = {
        "": "bench_x was killed by SIGABRT",
        "one\n\n": "bench_x was killed by SIGABRT: one",
        "1\n2\n3\n4\n": "bench_x was killed by SIGABRT: 2 / 3 / 4",
        "bench_x: no\n": "bench_x was killed by SIGABRT: no",
        "x" * 300: f"bench_x was killed by SIGABRT: {'x' * 200}…",
        "\x00\x1b[2J": "bench_x was killed by SIGABRT: \\x00\\x1b[2J",
    }
    for words, told in said.items():
        bad = part(ABC, [row("a")], -6, complete=False, words=preamble + words)
        assert after(bad).faults == {"b": told}


def test_the_table_of_times_is_not_what_a_program_said_last() -> None:
    table = f"{'-' * 50}\nBenchmark    Time    CPU Iterations\n{'-' * 50}\na 0.5 ns 0.5 ns 10\n"
    ending = Ending(("bench_x",), -6, f"{table}an assertion failed\n", "", 1.0)
    bad = Part(ABC, {"context": {}, "benchmarks": [row("a")]}, False, ending)
    assert after(bad).faults == {"b": "bench_x was killed by SIGABRT: an assertion failed"}


def test_a_row_nobody_listed_is_kept_and_one_of_another_process_does_not_count_twice() -> None:
    parts = iter([part(ABC, [row("a")], -6, complete=False), part(("c",), [row("a"), row("c")])])
    found = deliver(ABC, lambda asked: next(parts))
    assert [one["name"] for one in found.report["benchmarks"]] == ["a", "c"]
    assert list(found.faults) == ["b"]
    found = deliver(("a",), lambda asked: part(asked, [row("a"), row("new")], left_behind=True))
    assert [one["name"] for one in found.report["benchmarks"]] == ["a", "new"]
    assert found.remarks == ["bench_x left a process behind, which was killed"]
    assert not found.faults


NAMES = tuple("abcdefgh")
KINDS = ("good", "crash", "lost", "wrong", "breaks", "garbage", "early", "foreign")


@given(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(KINDS)), st.randoms())
def test_whatever_happens_it_ends_with_a_row_or_a_fault_for_each(
    ill: dict[str, str], chance: Random
) -> None:
    """And who is well has a row, unless processes are bad at random."""
    started: list[Names] = []
    random = chance.random() < 0.5

    def start(asked: Names) -> Part:
        started.append(asked)
        assert len(started) <= 3 * len(NAMES)
        if random and chance.random() < 0.2:
            return part(asked, None, chance.choice([0, -9, 3]))
        rows: list[dict[str, Any]] = []
        broken = ""
        for name in asked:
            kind = ill.get(name, "good")
            if broken:
                rows.append(lost(name, broken))
            elif kind == "good":
                rows.append(row(name))
            elif kind in ("wrong", "breaks"):
                rows.append(row(name, "it is wrong"))
                broken = name if kind == "breaks" else ""
            elif kind == "crash":
                return part(asked, rows, -11, complete=False)
            elif kind == "early":
                return part(asked, rows, 0, complete=False)
            elif kind == "garbage":
                return part(asked, None)
            elif kind == "foreign":
                rows.append(row("h"))
        errored = any("error_message" in one for one in rows)
        return part(asked, rows, 1 if errored else 0)

    found = deliver(NAMES, start)
    rowed = [one["name"] for one in found.report.get("benchmarks", [])]
    assert set(rowed) | set(found.faults) == set(NAMES)
    if not random:
        well = {name for name in NAMES if ill.get(name, "good") == "good"}
        assert well <= set(rowed)
        assert not well.intersection(found.faults)
