# SPDX-License-Identifier: Apache-2.0
"""The command line of bench refuses what it cannot mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpgauge.commands.bench_options import parse
from warpgauge.system.errors import ExitStatus, UserError


def test_the_defaults_are_seven_processes_in_an_order_of_their_own() -> None:
    options = parse([])
    assert (options.processes, options.filter, options.build) == (7, "", True)
    assert options.seed != parse([]).seed


def test_quick_is_three_processes_unless_told_otherwise() -> None:
    assert parse(["--quick"]).processes == 3
    assert parse(["--quick", "--processes", "5"]).processes == 5


def test_the_injected_regex_ends_at_the_last_equals_sign() -> None:
    assert parse(["--inject", "n=4=1.05"]).injected_regex == "n=4"


@pytest.mark.parametrize(
    "argv",
    [
        ["--processes", "0"],
        ["--processes", "many"],
        ["--device", "-1"],
        ["--timeout", "nan"],
        ["--timeout", "0"],
        ["--inject", "gemm"],
        ["--inject", "=1.05"],
        ["--inject", "gemm=half"],
        ["--inject", "gemm=0.5"],
        ["--inject", "gemm=1.0001"],
        ["--inject", "gemm=101"],
        ["--inject", "gemm=inf"],
        ["--against", ""],
        ["--against", "a\nb"],
        ["--filt", "x"],
        ["stray"],
    ],
)
def test_bad_usage_is_one_sentence_and_status_2(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError, match="--help tells what there is") as caught:
        parse(argv)
    assert caught.value.status is ExitStatus.BAD_USAGE
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "spoiled",
    [
        ["--filter", "gemm"],
        ["--inject", "gemm=1.05"],
        ["--baseline", str(Path("x"))],
        ["--processes", "4"],
        ["--quick"],
        ["--no-build"],
        ["--against", "main"],
    ],
)
def test_only_a_whole_untouched_run_is_recorded(spoiled: list[str]) -> None:
    with pytest.raises(UserError, match="--record does not go with"):
        parse(["--record", *spoiled])


def test_quiet_is_not_verbose() -> None:
    with pytest.raises(UserError, match="--quiet does not go with --verbose"):
        parse(["--quiet", "--verbose"])


def test_all_is_no_filter() -> None:
    options = parse(["--record", "--filter", "all"])
    assert options.filter == ""


@pytest.mark.parametrize("other", [["--baseline", "x"], ["--no-confirm"]])
def test_a_base_commit_leaves_a_baseline_no_part(other: list[str]) -> None:
    with pytest.raises(UserError, match="--against does not go with"):
        parse(["--against", "main", *other])


def test_a_quick_run_takes_one_look() -> None:
    assert parse([]).second_look
    assert not parse(["--quick"]).second_look
