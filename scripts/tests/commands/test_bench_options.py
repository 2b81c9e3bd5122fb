# SPDX-License-Identifier: Apache-2.0
"""Command lines: a fault is one sentence, and what cannot be meant is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warpgauge.commands import ab, bench
from warpgauge.commands.arguments import Parser
from warpgauge.commands.bench import parse
from warpgauge.commands.one_gpu import SELF_CHECK_SECONDS
from warpgauge.measure.options import FIRST_LOOK, LAST_LOOK, new_seed
from warpgauge.system.errors import ExitStatus, UserError


@pytest.mark.parametrize(
    ("argv", "with_pairs", "alone", "first", "last"),
    [
        ("", 3, 7, FIRST_LOOK, LAST_LOOK),
        ("--budget=60s", 3, 3, FIRST_LOOK, LAST_LOOK),
        ("--processes=9", 9, 9, 10, LAST_LOOK),
        ("--processes=15", 15, 15, 16, LAST_LOOK),
    ],
)
def test_how_many_processes_a_run_is_of_and_when_pairs_are_looked_at(
    argv: str, with_pairs: int, alone: int, first: int, last: int
) -> None:
    options = parse(argv.split())
    assert options.screening(confirms=True) == with_pairs
    assert options.screening(confirms=False) == alone
    assert (options.schedule[0], options.schedule[-1]) == (first, last)


def test_each_run_has_an_order_of_its_own() -> None:
    assert new_seed() != new_seed()


def test_the_injected_regex_ends_at_the_last_equals_sign_and_all_is_no_filter() -> None:
    assert parse(["--inject", "n=4=1.05"]).injected_regex == "n=4"
    assert parse(["--record", "--filter", "all"]).filter == ""


BAD = {
    "--processes": ("0", "many"),
    "--device": ("-1", "GPU-1", "0,", "0,0", "0,all"),
    "--timeout": ("nan", "0"),
    "--inject": ("gemm", "=1.05", *(f"gemm={x}" for x in ("half", "0.5", "1.0001", "101", "inf"))),
    "--against": ("", "a\nb"),
    "--filt": ("x",),
}
WORDS = [f"{option}={value}" for option, values in BAD.items() for value in values]


@pytest.mark.parametrize("word", ["stray", "", ".py", ".toml", *WORDS])
def test_bad_usage_is_one_sentence_and_status_2(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError, match=r"[Ss]ee --help") as caught:
        parse([word])
    assert caught.value.status is ExitStatus.BAD_USAGE
    assert capsys.readouterr() == ("", "")


# Options, each with those that it contradicts.
CONTRADICTIONS = {
    "--budget=60s": ["--processes=5", "--record", "--no-confirm"],
    "--list": ["--self-check"],
    "--energy": ["--record", "--against=HEAD", "--self-check"],
    "--record": [
        *("--filter=gemm", "--inject=gemm=1.05", "--processes=4"),
        *("--no-build", "--against=main"),
    ],
    "--self-check": [
        *("--record", "--against=HEAD", "--inject=a=1.05", "--out=x.json", "--format=json"),
    ],
    "--against=main": ["--no-confirm", "x.toml"],
    "--changed=x.json": ["--inject=a=1.05"],
    "x.toml": ["--build-dir=.", "--suite=full", "--isolate=auto"],
    "bench_x.py": ["--build-dir=.", "--no-build"],
    "--resume": ["--list", "--filter=x", "--no-build"],
}
SAID = {"x.toml": "a manifest", "bench_x.py": "FILE.py"}


@pytest.mark.parametrize(
    ("option", "other"),
    [(one, other) for one, others in CONTRADICTIONS.items() for other in others],
)
def test_what_contradicts_itself_is_refused(option: str, other: str) -> None:
    said = SAID.get(option, option.partition("=")[0])
    with pytest.raises(UserError, match=said) as caught:
        parse([option, other])
    assert caught.value.status is ExitStatus.BAD_USAGE


@pytest.mark.parametrize(
    ("more", "budget_s"),
    [([], SELF_CHECK_SECONDS), (["--budget=60s"], 60.0)],
)
def test_a_self_check_ends_within_a_budget(more: list[str], budget_s: float | None) -> None:
    assert parse(["--self-check", *more]).budget_s == budget_s


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["x", "stray"], "unrecognized arguments: stray; see --help"),
        (["x", "--filt=x"], "no option --filt"),  # not guessed
        (["\x1b[31m\nred", "\x1b[31m\nred"], "unrecognized arguments"),
        (["x", "--out=--"], "argument --out: '--' is not a value"),
        (["x", "-x=--"], "argument -x: '--' is not a value"),
    ],
)
def test_a_fault_is_a_sentence_and_nothing_is_printed(
    capsys: pytest.CaptureFixture[str], argv: list[str], said: str
) -> None:
    parser = Parser(prog="x")
    parser.add_argument("path", type=Path)
    parser.add_argument("--out", "-x")
    parser.add_argument("--filter")
    with pytest.raises(UserError, match=said) as caught:
        parser.parse_args(argv)
    assert str(caught.value).isprintable()
    assert caught.value.status is ExitStatus.BAD_USAGE
    assert capsys.readouterr() == ("", "")


def test_a_fault_of_a_command_within_is_told_alike() -> None:
    parser = Parser(prog="x")
    parser.add_subparsers().add_parser("inner").add_argument("--count", type=int)
    with pytest.raises(UserError, match="argument --count: invalid int value"):
        parser.parse_args(["inner", "--count=many"])


@pytest.mark.parametrize("name", ["", "/", "."])
@pytest.mark.parametrize(
    "parse",
    [
        lambda out: bench.parse([f"--out={out}"]),
        lambda out: ab.parse([f"--out={out}", "a", "b"]),
        lambda out: bench.parse([f"--format=json={out}"]),
    ],
)
def test_a_file_to_be_written_has_a_name(parse: Callable[[str], object], name: str) -> None:
    with pytest.raises(UserError, match=r"--out|--format"):
        parse(name)
