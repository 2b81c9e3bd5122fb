# SPDX-License-Identifier: Apache-2.0
"""The command `warpgauge`: each command is there, shows --help at once, fails in a sentence."""

from __future__ import annotations

import argparse
import ast
import errno
import importlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence

import pytest

import warpgauge
from warpgauge.commands.main import CI, COMMANDS, command_line, main
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import UserError
from warpgauge.system.layout import Output

SCRIPTS = ROOT / "scripts"
# Of ours. Reading one takes a few milliseconds, and --help is to be there at once.
MOST_MODULES_OF_HELP = 28
NAMES_OF_FORMATS = ("reports", "reports.format", "reports.formats")
ALL = [*((name,) for name in COMMANDS), *(("ci", name) for name in CI)]


def run(
    *argv: str, launcher: str = "warpgauge", python: Sequence[str] = ("-S", "-E"), **environ: str
) -> subprocess.CompletedProcess[str]:
    """By a Python that has no package but its own library, unless `python` says otherwise."""
    command = [sys.executable, *python, str(SCRIPTS / launcher), *argv]
    env = {key: value for key, value in os.environ.items() if key != "GH_TOKEN"} | environ
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


@pytest.mark.parametrize("argv", [(), ("ci",), *ALL], ids=" ".join)
def test_help_imports_no_package_of_others_and_little_of_ours(argv: tuple[str, ...]) -> None:
    done = run(*argv, "--help", python=("-S", "-E", "-X", "importtime"))
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: {' '.join(('warpgauge', *argv))} ")
    *_, names = zip(*(line.split("|") for line in done.stderr.splitlines()), strict=True)
    ours = {name.strip() for name in names if name.strip().startswith("warpgauge.")}
    work = {"baselines", "github", "history", "reports", "statistics"}
    working = {name for name in ours if name.split(".")[1] in work}
    assert working <= {f"warpgauge.{name}" for name in NAMES_OF_FORMATS}
    assert len(ours) <= MOST_MODULES_OF_HELP


@pytest.mark.parametrize("starter", ["test", "lint"])
def test_help_for_developers_installs_nothing(starter: str) -> None:
    done = run("--help", launcher=starter, python=("-S", "-E", "-X", "importtime"))
    assert done.stdout.startswith(f"usage: {starter} ")
    # In an environment with the packages, another interpreter would have parsed the options.
    assert "devtools.checks" in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("argv", [("--help",), ("--version",), ("bench", "--help")], ids=" ".join)
def test_a_reader_of_help_may_leave_at_once(argv: tuple[str, ...], unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, str(SCRIPTS / "warpgauge"), *argv]
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with os.fdopen(writer, "w") as gone:
        done = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, env=env, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


PARSERS = [*COMMANDS, *(f"ci.{name}" for name in CI)]


def parsers(name: str) -> list[argparse.ArgumentParser]:
    """Of a command, or of its own sub-commands."""
    parser = command_line(name)
    within = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return [inner for action in within for inner in action.choices.values()] or [parser]


@pytest.mark.parametrize("name", PARSERS)
def test_each_option_is_in_a_group_whose_example_is_good(name: str) -> None:
    for parser in parsers(name):
        _, options, *groups = parser._action_groups
        assert {action.dest for action in options._group_actions} <= {"help", "help_all"}
        assert groups or len(parser._actions) == len(options._group_actions)
        for group in groups:
            start, _, argv = str(group.description).partition("%(prog)s")
            assert start == "example: "
            parser.parse_args(shlex.split(argv))


MOST_OPTIONS = 15  # that --help shows


@pytest.mark.parametrize("name", PARSERS)
def test_help_shows_few_options_and_help_all_the_others(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for parser in parsers(name):
        usual = re.findall(r"^  (--[\w-]+)", parser.format_help(), re.MULTILINE)
        assert len({*usual} - {"--help-all"}) <= MOST_OPTIONS
        if "--help-all" in usual:
            with pytest.raises(SystemExit) as ended:
                parser.parse_args(["--help-all"])
            assert ended.value.code == 0
        whole = capsys.readouterr().out or parser.format_help()
        assert all(
            option in whole
            for action in parser._actions
            for option in action.option_strings
            if action.help != argparse.SUPPRESS
        )


def test_a_misspelt_option_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(UserError, match="'--filter'"):
        command_line("bench").parse_args(["--fliter", "x"])


# What a command takes of an option: how many words, of what kind, and what stands for them.
Taken = tuple[object, object, object]
# An axis that may come without values, a branch or a folder where a workflow gives a folder, and
# two folders of programs where others select programs by name.
OTHERWISE = {
    ("warpgauge compare", "--processes"),
    ("warpgauge sweep", "--axis"),
    ("warpgauge compare", "--history"),
    ("warpgauge ci gate", "--programs"),
}


def test_an_option_takes_the_same_in_every_command() -> None:
    taken: dict[str, dict[Taken, str]] = {}
    for name in PARSERS:
        for parser in parsers(name):
            for action in parser._actions:
                for option in action.option_strings:
                    if (parser.prog, option) not in OTHERWISE:
                        what = (action.metavar, action.nargs, action.choices)
                        taken.setdefault(option, {})[what] = parser.prog
    assert {option: found for option, found in taken.items() if len(found) > 1} == {}


def test_the_starters_say_what_their_command_says() -> None:
    assert run("--help", launcher="bench").stdout == run("bench", "--help").stdout
    assert run("--help", launcher="compare.py").stdout == run("compare", "--help").stdout


def test_the_gate_and_the_gpus_need_no_package() -> None:
    done = run("ci", "gate", "--base", "main", "--out-dir", "/dev/null/no")
    assert done.returncode in (2, 3)  # no folder can be there; without a GPU that is said first
    assert "making .venv" not in done.stderr
    assert "a bug in warpgauge" not in done.stderr
    assert run("ci", "gpus").stdout.startswith("matrix=")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "warpgauge: a command is missing: choose one of bench, compare, ab, evaluate,"),
        (["gate"], "warpgauge: 'gate' is not a command: choose one of bench, "),
        (["help", "bnech"], "warpgauge: 'bnech' is not a command"),
        (["bnech"], "warpgauge: 'bnech' is not a command: did you mean 'bench'?"),
        (["why"], "warpgauge: 'why' is not a command: did you mean 'explain'?"),
        (["ci"], "warpgauge ci: a command is missing: choose one of gate, comment, propose,"),
        (["ci", "bench"], "warpgauge ci: 'bench' is not a command: choose one of gate, "),
    ],
)
def test_what_is_no_command_gets_a_sentence(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(said)


def test_the_version_names_the_commit_and_the_engine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    about = rf"warpgauge {re.escape(warpgauge.__version__)} \(commit \S+, engine .+\)\n"
    assert re.fullmatch(about, capsys.readouterr().out)


@pytest.mark.parametrize("path", ["warpgauge", "bench", "src/warpgauge/commands/main.py"])
def test_too_old_a_python_can_read_what_every_command_begins_with(path: str) -> None:
    ast.parse((SCRIPTS / path).read_text(), feature_version=(3, 8))


@pytest.mark.parametrize("command", ["propose", "history"])
def test_a_repository_a_token_and_an_address_are_asked_for_in_a_sentence(command: str) -> None:
    def said(**environ: str) -> str:
        done = run("ci", command, python=(), **environ)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        return done.stderr

    job, token = {"GITHUB_REPOSITORY": "somebody/project"}, {"GH_TOKEN": "ghs_secret"}
    assert said(GITHUB_REPOSITORY="").startswith(f"{command}: GITHUB_REPOSITORY is not set")
    assert said(**job).startswith(f"{command}: GH_TOKEN is empty")
    wrong = said(**job, **token, GITHUB_API_URL="ftp://127.0.0.1")
    assert "GITHUB_API_URL" in wrong
    assert "ghs_secret" not in wrong


@pytest.mark.parametrize("name", PARSERS)
def test_help_names_no_option_that_it_does_not_explain(name: str) -> None:
    for parser in parsers(name):
        shown = parser.format_help()
        explained = {*re.findall(r"^  (?:-\w, )?(--[\w-]+)", shown, re.MULTILINE), "--help-all"}
        examples = re.findall(r"example: .*", shown)
        named = {option for line in examples for option in re.findall(r"--[\w-]+", line)}
        assert named <= explained


@pytest.mark.parametrize(
    ("words", "color", "is_quiet"),
    [
        (["demo"], None, False),
        (["--quiet", "demo"], None, True),
        (["demo", "--color", "always"], "standard", False),
        (["--color=never", "demo", "--quiet"], None, True),
        (["compare", "--no-color"], None, False),
    ],
)
def test_quiet_and_color_are_options_of_every_command_in_any_place(
    monkeypatch: pytest.MonkeyPatch, words: list[str], color: str | None, is_quiet: bool
) -> None:
    seen: list[tuple[object, ...]] = []

    def shown(argv: list[str], _: object) -> int:
        results, notes = Output(), Output(stderr=True)
        seen.append((argv, results.color_system, results.quiet, notes.quiet))
        return 0

    for name in ("demo", "main"):
        monkeypatch.setattr(importlib.import_module("warpgauge.commands.compare"), name, shown)
    assert main(words) == 0
    assert seen == [([], color, False, is_quiet)]


def test_words_for_programs_are_not_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--color", "blue"]) == 2
    assert "--color is one of auto, always, never" in capsys.readouterr().err
    assert main(["demo", "--", "--color"]) == 2
    assert "--color is one of" not in capsys.readouterr().err


class Full(io.StringIO):
    """A file on a full disk."""

    def write(self, _: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("argv", [("bench", "--help"), ("bench", "--help-all"), ("--help",)])
def test_help_that_cannot_be_written_is_an_error(
    argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", Full())
    assert main(argv) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
