# SPDX-License-Identifier: Apache-2.0
"""The command `warpgauge`: its subcommands, and what each needs before it is imported.

Standard library only, and valid in Python 3.8: every command begins here, and an old Python gets an
error message. A command's own modules are imported once the environment has their packages; --help
installs nothing.
"""

from __future__ import annotations

import importlib
import sys
from argparse import ArgumentParser
from contextlib import suppress
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Tuple  # noqa: UP035 - for Python 3.8

from warpgauge import __version__
from warpgauge.system import entry_point, environment, streams
from warpgauge.system.errors import UserError

STATISTICS = ("numpy", "scipy", "rich", "msgspec", environment.TOML)


class Command(NamedTuple):
    """A subcommand; `interrupted` is the default text for an interrupt."""

    summary: str
    packages: Tuple[str, ...] = ()  # noqa: UP006 - for Python 3.8
    interrupted: str = ""


COMMANDS = {
    "bench": Command(
        "measure this GPU, and compare with its baseline or with another commit",
        (*STATISTICS, "pynvml"),
        "before a run file was written",
    ),
    # It prepares the environment itself, after checking its command line.
    "compare": Command("compare two benchmark results"),
    "ab": Command(
        "compare two builds of Google Benchmark programs, in pairs",
        (*STATISTICS, "pynvml"),
        "before the run files were written",
    ),
    "evaluate": Command(
        "check whether a kernel is correct, within memory, and faster than another",
        (*STATISTICS, "pynvml"),
        "before the run files were written",
    ),
    "baseline": Command(
        "record, show, prune and check baselines",
        (*STATISTICS, "pynvml"),
        "before any baseline was changed",
    ),
    "sweep": Command(
        "measure benchmarks over an axis, and plot their variants side by side",
        (*STATISTICS, "pynvml"),
        "before a run file was written",
    ),
    "report": Command("write a comparison and its history as one HTML page", STATISTICS),
    "profile": Command(
        "run one benchmark under a profiler: its calls, kernels, counters and machine code",
        (*STATISTICS, "pynvml"),
        "before profiling was finished",
    ),
    "history": Command("show nightly times, and when they changed", STATISTICS),
    "fleet": Command("find the slow GPU or node of a fleet", STATISTICS),
    "bisect": Command(
        "find the commit that made a benchmark slower",
        (*STATISTICS, "pynvml"),
        "before a commit was found",
    ),
    "why": Command(
        "find the reason why a benchmark is slower than in another build",
        (*STATISTICS, "pynvml"),
        "before a reason was found",
    ),
    "fidelity": Command("compare device times with CUPTI's", STATISTICS, "before all was measured"),
}
_OWN_OPTIONS = ("compare", "fidelity")
_SHOWING = ("baseline", "report", "history", "fleet")  # share one module of options

# Commands of the workflows, such as `warpgauge ci gate`.
CI = {
    "gate": Command("measure a pull request, and write a folder to upload"),
    "comment": Command(
        "post the results of a GPU workflow run on its pull request",
        STATISTICS,
        "before anything was posted",
    ),
    "propose": Command(
        "open a pull request with newly recorded baselines",
        STATISTICS,
        "before a pull request was opened",
    ),
    "history": Command(
        "add the nightly times to the history",
        STATISTICS,
        "before anything was added",
    ),
    "pages": Command(
        "make a site from the nightly results",
        STATISTICS,
        "before the site was complete",
    ),
    "on-demand": Command("start the measurement that a comment asks for"),
    "gpus": Command("print the GPU models that pull requests are measured on"),
    "check-setup": Command("check the repository settings that the gate depends on"),
    # Packages are installed in a separate step, which has no token.
    "prepare": Command(
        "install the Python packages that the other commands need, and exit", STATISTICS
    ),
}


def main(argv: Optional[Sequence[str]] = None) -> int:  # noqa: UP045 - for Python 3.8
    """Run the command that `argv` names, and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    ci = words[:1] == ["ci"]
    commands, prog = (CI, "warpgauge ci") if ci else (COMMANDS, "warpgauge")
    name, *rest = (words[1:] if ci else words) or [""]
    if name in commands:
        command, module = commands[name], f"ci.{name}" if ci else name
        return entry_point.run(name, lambda: _run(command, module, rest), command.interrupted)
    if name == "--print-completion" and not ci:
        return entry_point.run(prog, lambda: _print_completion(" ".join(rest)))
    return entry_point.run(prog, lambda: _without_a_command(prog, name, commands))


def command_line(module: str) -> ArgumentParser:
    """Return the parser of ``bench`` or ``ci.gate`` without importing the command's modules."""
    where, _, name = module.rpartition(".")
    if where or name in _SHOWING:
        lines = _imported("ci.command_lines" if where else "command_lines")
        parser: ArgumentParser = getattr(lines, name.replace("-", "_"))()
    else:
        parser = _imported(name if name in _OWN_OPTIONS else f"{name}_options").command_line()
    return parser


def _run(command: Command, module: str, argv: Sequence[str]) -> int:
    environment.ensure(())  # only checks the version of Python
    packages_alone = command is CI["prepare"]
    if _asks_for_help(argv) or packages_alone:
        command_line(module).parse_args(argv)  # exits, unless --help is an option's value
    environment.ensure(command.packages)
    return 0 if packages_alone else int(_imported(module).main(argv, environment.ROOT))


def _imported(module: str) -> Any:  # noqa: ANN401 - a module
    return importlib.import_module(f"warpgauge.commands.{module.replace('-', '_')}")


def _asks_for_help(argv: Sequence[str]) -> bool:
    own = argv[: argv.index("--")] if "--" in argv else argv
    return "-h" in own or "--help" in own


def _without_a_command(prog: str, word: str, commands: Mapping[str, Command]) -> int:
    if word in ("-h", "--help", "--version"):
        print(f"warpgauge {__version__}" if word == "--version" else _usage(prog, commands))
        return 0
    known = ", ".join([*commands, *(["ci"] if commands is COMMANDS else [])])
    what = f"{word!r} is not a command" if word else "a command is missing"
    raise UserError(f"{what}: choose one of {known}; see --help")


def _usage(prog: str, commands: Mapping[str, Command]) -> str:
    lines = [f"usage: {prog} COMMAND ...", "", "commands:"]
    shown = {name: command.summary for name, command in commands.items()}
    if commands is COMMANDS:
        shown["ci"] = "commands for workflows: " + ", ".join(CI)
    lines += [f"  {name:<13}{summary}" for name, summary in shown.items()]
    lines += ["", f"`{prog} COMMAND --help` shows the options of a command."]
    if commands is COMMANDS:
        lines += [
            "`warpgauge --version` prints the version, `warpgauge --print-completion bash` (or"
        ]
        lines += ["zsh) a shell's completions."]
    return "\n".join(lines)


def _print_completion(shell: str) -> int:
    """Print the completion script for `shell`. Raises UserError if shtab is missing."""
    environment.ensure(())
    if shell not in ("bash", "zsh"):
        raise UserError(f"--print-completion takes bash or zsh, not {shell!r}")
    try:
        import shtab
    except ImportError:
        raise UserError("--print-completion needs shtab: pip install shtab") from None
    streams.write(f"{shtab.complete(whole_command_line(), shell)}\n")
    return 0


def whole_command_line() -> ArgumentParser:
    parser = ArgumentParser(prog="warpgauge")
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers()
    ci = commands.add_parser("ci", help="commands for workflows").add_subparsers()
    for group, known, where in ((commands, COMMANDS, ""), (ci, CI, "ci.")):
        for name, command in known.items():
            with suppress(UserError):  # a command that is not available here
                parents = [command_line(f"{where}{name}")]
                group.add_parser(name, help=command.summary, parents=parents, add_help=False)
    return parser
