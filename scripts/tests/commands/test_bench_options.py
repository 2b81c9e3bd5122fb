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
        ["--confirm-beside", " "],
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


def test_all_is_no_filter() -> None:
    options = parse(["--record", "--filter", "all"])
    assert options.filter == ""


def test_a_quick_run_takes_one_look() -> None:
    assert parse([]).second_look
    assert not parse(["--quick"]).second_look


# Options, each with those that it contradicts.
CONTRADICTIONS = {
    "--budget=60s": ["--quick", "--processes=5", "--record", "--self-check"],
    "--list": ["--dry-run", "--self-check"],
    "--dry-run": ["--self-check"],
    "--quiet": ["--verbose"],
    "--record": [
        *("--filter=gemm", "--inject=gemm=1.05", "--baseline=x", "--processes=4", "--quick"),
        *("--no-build", "--against=main", "--confirm-beside=main"),
    ],
    "--self-check": [
        *("--record", "--against=HEAD", "--inject=a=1.05", "--out=x.json", "--format=json"),
        *("--export=bencher=x", "--confirm-beside=main"),
    ],
    "--self-check=earlier": ["--quick", "--processes=5"],
    "--against=main": ["--baseline=x", "--no-confirm"],
    "--confirm-beside=main": ["--against=x", "--no-confirm"],
    "--device=all": ["--self-check", "--format=json"],
    "--parallel": ["--device=0", "--record"],
    "--resume": ["--dry-run", "--filter=x", "--no-build"],
}


@pytest.mark.parametrize(
    ("option", "other"),
    [(one, other) for one, others in CONTRADICTIONS.items() for other in others],
)
def test_what_contradicts_itself_is_refused(option: str, other: str) -> None:
    all_of_them = ["--device=all"] if (option, other) == ("--parallel", "--record") else []
    with pytest.raises(UserError, match=" does not go with ") as caught:
        parse([option, other, *all_of_them])
    assert option.partition("=")[0] in str(caught.value)
    assert caught.value.status is ExitStatus.BAD_USAGE


@pytest.mark.parametrize("free", [["--no-wait"], ["--quiet"], ["--verbose"]])
def test_a_run_that_goes_on_may_be_shown_otherwise(free: list[str]) -> None:
    assert parse(["--resume", *free]).resume == Path()
