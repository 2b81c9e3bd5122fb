# SPDX-License-Identifier: Apache-2.0
"""The command `warpgauge`: its subcommands, and what each needs before it is imported.

Standard library only, and valid in Python 3.8: every command begins here, and an old Python gets an
error message. A command's own modules are imported once the environment has their packages; --help
installs nothing.
"""

from __future__ import annotations

import importlib
import os
import sys
from argparse import ArgumentParser
from contextlib import suppress
from difflib import get_close_matches
from typing import (  # noqa: UP035 - for Python 3.8
    Any,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from warpgauge.system import entry_point, environment, streams
from warpgauge.system.errors import UserError

# Of Jinja, which only pages need, what it needs itself: that is imported faster.
STATISTICS = ("numpy", "scipy", "rich", "msgspec", "markupsafe", environment.TOML)


class Command(NamedTuple):
    """A subcommand: `run` is its function, and `lines` the module with the function of its options.

    Both are imported only when they are needed. A command without `lines` has no options.
    """

    summary: str
    run: str
    packages: Tuple[str, ...] = ()  # noqa: UP006 - for Python 3.8
    lines: str = "command_lines"


_MEASURING = (*STATISTICS, "pynvml"), "measuring_lines"

# fmt: off
COMMANDS = {
    "bench": Command("measure this GPU, and compare with its baseline or another commit",
        "bench.main", *_MEASURING),
    "compare": Command("compare two benchmark results", "compare.main", STATISTICS),
    "ab": Command("compare two builds, environments or commands, in pairs", "ab.main", *_MEASURING),
    "evaluate": Command("check whether a kernel is correct, within memory, and faster than another",
        "evaluate.main", *_MEASURING),
    "baseline": Command("show, prune and check baselines", "baseline.main", STATISTICS),
    "sweep": Command("measure benchmarks over an axis, and plot their variants side by side",
        "sweep.main", *_MEASURING),
    "explain": Command("show what a benchmark launches, and why it is slower than in another build",
        "explain.main", *_MEASURING),
    "changed": Command("list the benchmarks that a change cannot have touched, without a GPU",
        "changed.main", STATISTICS),
    "history": Command("show nightly times, and when they changed", "history.main", STATISTICS),
    "fleet": Command("find the slow GPU or node of a fleet", "fleet.main", STATISTICS),
    "bisect": Command("find the commit that made a benchmark slower", "bisect.main", *_MEASURING),
    "demo": Command("show a recorded comparison: what a run on a GPU looks like", "compare.demo",
        STATISTICS),
    "fidelity": Command("compare device times with CUPTI's",
        "command_lines.run_fidelity", STATISTICS),
}

# Other words for a command.
_SYNONYMS = {"profile": "explain", "why": "explain"}

_APART = ("demo", "fidelity")  # which few users need

# Commands of the workflows, such as `warpgauge ci gate`.
CI = {
    "gate": Command("measure a pull request, and write a folder to upload", "ci.gate.main"),
    "comment": Command("post the results of a GPU workflow run on its pull request",
        "ci.results.comment", STATISTICS),
    "propose": Command("open a pull request with the sessions that baseline.yml recorded",
        "ci.results.propose", STATISTICS, ""),
    "history": Command("add what this run of nightly.yml measured to the branch history",
        "ci.results.add", STATISTICS, ""),
    "pages": Command("make a site from the nightly results", "ci.results.pages", STATISTICS),
    "on-demand": Command("start what a comment asks for, and print it for $GITHUB_OUTPUT",
        "ci.hosted.on_demand", lines=""),
    "gpus": Command("print the GPU models that pull requests are measured on", "ci.hosted.gpus"),
    "check-setup": Command("check the repository settings of the gate", "ci.hosted.check_setup"),
    # Packages are installed in a separate step, which has no token.
    "prepare": Command("install the Python packages that the other commands need, and exit",
        "", STATISTICS, ""),
}
# fmt: on


def main(argv: Optional[Sequence[str]] = None) -> int:  # noqa: UP045 - for Python 3.8
    """Run the command that `argv` names, and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if "_ARGCOMPLETE" in os.environ:
        return _complete(words)
    words, shown = _shown(words)
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    ci = words[:1] == ["ci"]
    commands, prog = (CI, "warpgauge ci") if ci else (COMMANDS, "warpgauge")
    name, *rest = (words[1:] if ci else words) or [""]
    if name in commands:
        whole = f"ci.{name}" if ci else name
        return entry_point.run(name, lambda: _run(whole, commands[name], rest, shown))
    return entry_point.run(prog, lambda: _without_a_command(prog, name, commands))


def _shown(words: Sequence[str]) -> Tuple[List[str], Mapping[str, str]]:  # noqa: UP006
    """Return words without --quiet and --color, which all commands have, and what these ask for.

    `--no-color` is how users of Google Benchmark know it.
    """
    end = words.index("--") if "--" in words else len(words)
    others, asked, left = [], {}, iter(words[:end])
    for word in left:
        option, equals, value = word.partition("=")
        if word == "--quiet":
            asked[streams.QUIET] = "1"
        elif word == "--no-color":
            asked[streams.COLOR] = "never"
        elif option == "--color":
            asked[streams.COLOR] = value if equals else next(left, "")
        else:
            others.append(word)
    return [*others, *words[end:]], asked


def command_line(name: str) -> ArgumentParser:
    """Return the parser of ``bench`` or ``ci.gate`` without importing the command's modules."""
    where, _, own = name.rpartition(".")
    command = (CI if where else COMMANDS)[own]
    function = name.replace("-", "_").replace(".", "_")
    parser: ArgumentParser
    if command.lines:
        parser = _imported(f"{command.lines}.{function}")()
    else:
        what = f"{command.summary[0].upper()}{command.summary[1:]}."
        parser = _imported("arguments.Parser")(prog=f"warpgauge ci {own}", description=what)
    return parser


def _complete(words: Sequence[str]) -> int:
    """Tell the shell how a command line may go on, in a process of its own; argcomplete ends it.

    `words` is the command whose options are completed, if that is known.
    """
    typed = os.environ.get("COMP_LINE", "").split()

    def add_commands(parser: ArgumentParser, commands: Mapping[str, Command], prefix: str) -> None:
        inner = parser.add_subparsers()
        for name in commands:
            own = [command_line(f"{prefix}{name}")] if name in typed else []
            inner.add_parser(name, parents=own, add_help=False)
        if commands is COMMANDS:
            add_commands(inner.add_parser("ci", add_help=False), CI, "ci.")

    with suppress(ImportError, UserError):
        environment.ensure(("argcomplete",), make=False)
        parser = command_line(words[0]) if words else ArgumentParser()
        if not words:
            add_commands(parser, COMMANDS, "")
        importlib.import_module("argcomplete").autocomplete(parser)
    return 1


def _run(name: str, command: Command, argv: Sequence[str], shown: Mapping[str, str]) -> int:
    environment.ensure(())  # only checks the version of Python
    if (color := shown.get(streams.COLOR, "auto")) not in streams.COLORS:
        raise UserError(f"--color is one of {', '.join(streams.COLORS)}, not {color!r}")
    os.environ.update(shown)
    own = argv[: argv.index("--")] if "--" in argv else argv
    if {"-h", "--help", "--help-all"}.intersection(own) or not command.lines:
        command_line(name).parse_args(argv)  # exits, unless --help is an option's value
    environment.ensure(command.packages)
    return int(_imported(command.run)(argv, environment.ROOT)) if command.run else 0


def _imported(path: str) -> Any:  # noqa: ANN401 - a function
    module, _, function = path.rpartition(".")
    return getattr(importlib.import_module(f"warpgauge.commands.{module}"), function)


def _without_a_command(prog: str, word: str, commands: Mapping[str, Command]) -> int:
    is_help = word in ("-h", "--help", "--help-all")
    about, cmake_dir = environment.about, environment.cmake_dir
    answers = {"-V": about, "--version": about, "--cmake-dir": cmake_dir}
    if is_help or word in answers:
        print(usage(prog, commands) if is_help else answers[word]())
        return 0
    known = [*commands, *(["ci"] if commands is COMMANDS else [])]
    others = ["--quiet", "--color", "--help", *answers] if word.startswith("-") else known
    if near := get_close_matches(_SYNONYMS.get(word, word), others, n=1):
        raise UserError(f"{word!r} is not a command: did you mean '{near[0]}'? See --help")
    what = f"{word!r} is not a command" if word else "a command is missing"
    raise UserError(f"{what}: choose one of {', '.join(known)}; see --help")


def usage(prog: str = "warpgauge", commands: Mapping[str, Command] = COMMANDS) -> str:
    """Return what --help shows of all commands."""
    lines = {name: f"  {name:<13}{command.summary}" for name, command in commands.items()}
    others: list[str] = []
    if commands is COMMANDS:
        others = ["", "also:", *map(lines.pop, _APART)]
        others.append(f"  {'ci':<13}commands for workflows: {', '.join(CI)}")
    return "\n".join(
        [
            *(f"usage: {prog} COMMAND ...", "", "commands:"),
            *(*lines.values(), *others),
            *("", "every command:", "  --quiet      no progress or remarks on standard error"),
            "  --color WHEN always, never, or auto: on a terminal, unless NO_COLOR is set",
            *("", f"`{prog} COMMAND --help` shows the options of a command, `warpgauge bench"),
            "--help-all` also rare ones, `warpgauge --version` the version, `warpgauge",
            "--cmake-dir` the folder for cmake -Dwarpgauge_DIR=...",
        ]
    )
