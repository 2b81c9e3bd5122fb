# SPDX-License-Identifier: Apache-2.0
"""A command line's fault is one sentence, without a page of usage before it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warpgauge.commands import ab_options, arguments, bench_options
from warpgauge.commands.arguments import Parser
from warpgauge.reports.exports import EXPORTS
from warpgauge.reports.formats import FORMATS
from warpgauge.system.errors import ExitStatus, UserError


def test_a_fault_is_a_sentence_and_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match="unrecognized arguments: stray; --help tells") as caught:
        Parser(prog="x").parse_args(["stray"])
    assert caught.value.status is ExitStatus.BAD_USAGE
    assert capsys.readouterr() == ("", "")


def test_a_fault_of_a_command_within_is_told_alike() -> None:
    parser = Parser(prog="x")
    parser.add_subparsers().add_parser("inner").add_argument("--count", type=int)
    with pytest.raises(UserError, match="argument --count: invalid int value"):
        parser.parse_args(["inner", "--count=many"])


def test_an_option_is_not_guessed_from_its_beginning() -> None:
    parser = Parser(prog="x")
    parser.add_argument("--filter")
    with pytest.raises(UserError, match="unrecognized"):
        parser.parse_args(["--filt=x"])


def test_what_the_user_typed_comes_out_inert() -> None:
    with pytest.raises(UserError) as caught:
        Parser(prog="x").parse_args(["\x1b[31m\nred"])
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("word", ["--out=--", "-x=--"])
def test_two_dashes_are_no_value(word: str) -> None:
    parser = Parser(prog="x")
    parser.add_argument("--out", "-x")
    with pytest.raises(UserError, match=f"argument {word[:-3]}: '--' is not a value"):
        parser.parse_args([word])


def test_an_argument_with_a_nul_is_refused() -> None:
    parser = Parser(prog="x")
    parser.add_argument("path", type=Path)
    with pytest.raises(UserError, match=r"'a\\x00b' holds a NUL") as caught:
        parser.parse_args(["a\0b"])
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["", "/", "."])
@pytest.mark.parametrize(
    "parse",
    [
        lambda out: bench_options.parse([f"--out={out}"]),
        lambda out: ab_options.parse([f"--out={out}", "a", "b"]),
        lambda out: bench_options.parse([f"--format=json={out}"]),
        lambda out: bench_options.parse([f"--export=bencher={out}"]),
    ],
)
def test_a_file_to_be_written_has_a_name(parse: Callable[[str], object], name: str) -> None:
    with pytest.raises(UserError, match=r"names no file|is not NAME"):
        parse(name)


def test_help_names_every_format_and_export() -> None:
    assert (tuple(FORMATS), tuple(EXPORTS)) == (arguments.FORMATS, arguments.EXPORTS)
