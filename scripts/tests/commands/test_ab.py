# SPDX-License-Identifier: Apache-2.0
"""warpgauge ab from end to end: nothing that one of two folders lacks, or breaks, is a pass."""

from __future__ import annotations

import pytest

from two_folders import TIMES, TwoFolders
from warpgauge.system.errors import ExitStatus, UserError

SLOW = {**TIMES, "BM_copy/64": 6000.0}


def test_a_slower_program_is_a_regression_confirmed_in_turns(folders: TwoFolders) -> None:
    folders.make("base", "copy bench")
    folders.make("candidate", "copy bench", SLOW)
    assert folders.beside() is ExitStatus.REGRESSION
    out, err = folders.output()
    assert "1 regression, 0 improvements; 1 of 2 unchanged. Worst: BM_copy/64 (+20.0 %)" in out
    assert "Confirmed in alternating processes of both builds on one machine." in out
    assert "Measured in turns, the programs in base and those in candidate: 3 rounds." in out
    assert "programs base → candidate" in out
    assert out.endswith(
        "See it again with scripts/warpgauge ab base candidate --filter '^BM_copy/64$'"
    )
    assert "Measuring 2 benchmarks in turns" in err
    one, other = folders.documents()
    assert one["context"]["pair_id"] == other["context"]["pair_id"] != ""
    assert [row["process_rounds"] for row in other["benchmarks"]] == [[1, 2, 3]] * 2
    assert (one["context"]["programs"], other["context"]["programs"]) == ("base", "candidate")


def test_times_that_nobody_says_the_device_took_count_from_2_and_a_half_percent_on(
    folders: TwoFolders,
) -> None:
    folders.make("base", "a")
    folders.make("candidate", "a", {**TIMES, "BM_copy/64": 5090.0})
    assert folders.beside("--verbose") is ExitStatus.OK
    assert "from 2.5 % of host time on" in folders.output()[0]


def test_a_program_that_tells_the_sm_clock_timed_the_device(folders: TwoFolders) -> None:
    for side, times in (("base", TIMES), ("candidate", {**TIMES, "BM_copy/64": 5090.0})):
        folders.make(side, "a", times, counters={"sm_clock_hz": 1.98e9})
    assert folders.beside() is ExitStatus.REGRESSION
    shown = folders.output()[0]
    assert "--verbose shows the rule that was in force." in shown
    assert "of device time on" not in shown
    folders.beside("--verbose")
    assert "from 0.5 % of device time on" in folders.output()[0]


def test_what_only_one_folder_has_is_missing_or_new(folders: TwoFolders) -> None:
    folders.both("both")
    folders.make("base", "before", {"BM_before": 1000.0})
    folders.make("candidate", "after", {"BM_after": 1000.0})
    status, outcomes = folders.outcomes()
    assert status is ExitStatus.NOT_MEASURED
    assert (outcomes["BM_before"], outcomes["BM_after"]) == ("MISSING", "NEW")


def test_a_benchmark_that_moved_to_another_program_keeps_its_name(folders: TwoFolders) -> None:
    folders.both("both")
    folders.make("base", "old", {"BM_moved": 1000.0})
    folders.make("candidate", "new", {"BM_moved": 1500.0})
    status, outcomes = folders.outcomes()
    assert (status, outcomes["BM_moved"]) == (ExitStatus.REGRESSION, "REGRESSION")


def test_a_name_of_two_programs_is_told_apart_by_theirs_on_both_sides(folders: TwoFolders) -> None:
    folders.both("a")
    folders.make("candidate", "b", {"BM_copy/8": 9000.0, "BM_b": 1000.0})
    folders.make("base", "b", {"BM_b": 1000.0})
    assert folders.outcomes() == (
        ExitStatus.OK,
        {"a/BM_copy/8": "PASS", "a/BM_copy/64": "PASS", "b/BM_copy/8": "NEW", "b/BM_b": "PASS"},
    )


def test_a_benchmark_of_a_shared_name_can_be_asked_for_and_looked_at_again(
    folders: TwoFolders,
) -> None:
    for program in "ab":
        folders.make("base", program, {"BM_x": 1.0, "BM_y": 1.0})
        # Undecided after the first look: from 5 to 2 % less, for each process adds a nanosecond.
        folders.make("candidate", program, {"BM_x": 0.9, "BM_y": 0.9})
    folders.beside("--filter=^a/")
    out, err = folders.output()
    assert "of 2 " in out
    assert "Second look, at 2 undecided benchmarks" in err
    rows = folders.documents()[1]["benchmarks"]
    assert [row["name"] for row in rows] == ["a/BM_x", "a/BM_y"]
    assert all(len(row["process_rounds"]) > 3 for row in rows)


@pytest.mark.parametrize(
    ("side", "fault"),
    [
        ("base", "crash"),
        ("candidate", "crash"),
        ("candidate", "status 4"),
        ("base", "garbage"),
        ("candidate", "no start"),
        ("base", "early exit"),
    ],
)
def test_a_program_that_ends_badly_is_an_error_beside_the_others(
    folders: TwoFolders, side: str, fault: str
) -> None:
    folders.both("well", {"BM_well": 1000.0})
    folders.both("ill", {"BM_ill": 1000.0})
    folders.make(side, "ill", {"BM_ill": 1000.0}, faults={"2": fault})
    status, outcomes = folders.outcomes()
    assert status is ExitStatus.NOT_MEASURED
    assert outcomes == {"BM_ill": "ERROR", "BM_well": "PASS"}


def test_a_program_that_hangs_is_ended(folders: TwoFolders) -> None:
    folders.make("base", "a")
    folders.make("candidate", "a", ill={"BM_copy/64": "hang"})
    status, outcomes = folders.outcomes("--timeout=1")
    assert status is ExitStatus.NOT_MEASURED
    assert outcomes == {"BM_copy/8": "PASS", "BM_copy/64": "ERROR"}
    assert "showed no new row for 1 s and was ended" in folders.output()[0]


@pytest.mark.parametrize(
    ("side", "argv"),
    [("candidate", []), ("base", ["--filter=copy"]), ("candidate", ["--filter=c"])],
)
def test_what_lists_nothing_is_an_error_whatever_is_asked_for(
    folders: TwoFolders, side: str, argv: list[str]
) -> None:
    folders.both("a")
    folders.script(side, "helper", "")
    folders.make("candidate" if side == "base" else "base", "helper", {"BM_copy/1": 1.0})
    status, outcomes = folders.outcomes(*argv)
    assert status is ExitStatus.NOT_MEASURED
    assert outcomes["helper"] == "ERROR"
    assert "lists no benchmark, as if it were no Google Benchmark program" in folders.output()[0]


def test_a_filter_that_only_one_folder_has_an_answer_to_compares_nothing(
    folders: TwoFolders,
) -> None:
    folders.both("a")
    folders.make("candidate", "b", {"BM_b": 1.0})
    with pytest.raises(UserError, match="base: has nothing that matches --filter 'BM_b'") as fault:
        folders.beside("--filter=BM_b")
    assert fault.value.status is ExitStatus.NOT_MEASURED


def test_a_filter_that_nothing_matches_is_a_slip(folders: TwoFolders) -> None:
    folders.both("a")
    with pytest.raises(
        UserError, match="matches --filter 'BM_cpy': did you mean 'BM_copy'"
    ) as slip:
        folders.beside("--filter=BM_cpy")
    assert slip.value.status is ExitStatus.BAD_USAGE


def test_a_side_that_is_no_release_build_by_its_own_word_is_not_comparable(
    folders: TwoFolders,
) -> None:
    folders.make("base", "a", context={"build_type": "Release"})
    folders.make("candidate", "a", context={"build_type": "Release"})
    folders.make("candidate", "b", {"BM_b": 1.0}, context={"build_type": "Debug"})
    status, outcomes = folders.outcomes()
    assert status is ExitStatus.NOT_MEASURED
    assert set(outcomes.values()) == {"INVALID"}
    assert "a build of type 'Debug and Release'" in folders.output()[0]
    assert folders.beside("--allow=build-type") is ExitStatus.OK


def test_a_benchmark_called_host_is_judged_as_any_other(folders: TwoFolders) -> None:
    folders.make("base", "host", {"host/copy": 1000.0})
    folders.make("candidate", "host", {"host/copy": 1500.0})
    assert folders.beside() is ExitStatus.REGRESSION
