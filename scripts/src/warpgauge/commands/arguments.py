# SPDX-License-Identifier: Apache-2.0
"""What the command lines share: errors in one sentence, groups, and the options of several.

Modules of command lines import little, so that --help is fast and needs no package.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, NoReturn

from warpgauge.commands.argument_types import (
    duration,
    file,
    folder,
    index,
    one_device,
    positive,
    seconds,
)
from warpgauge.records.benchmark_filter import normal
from warpgauge.records.model import DEFAULT_SUITE, FULL_SUITE
from warpgauge.reports.format import FORMATS
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert
from warpgauge.verdict import override

# An option with the value "--", which argparse takes for the end of all options.
_EMPTY_END = re.compile(r"--?[a-z][a-z-]*=--")

# A benchmark takes about a second, but the first of a process up to a minute if the disk is slow.
DEADLINE_S = 120.0

# The names of `reports.exports`, which is slow to import.
EXPORTS = ("github-action-benchmark", "bencher", "openmetrics")

EXIT_STATUS = """\
exit status:
  0  nothing regressed, and every benchmark is bounded
  1  at least one benchmark regressed
  2  bad usage or unreadable input
  3  nothing regressed, but something is inconclusive, not measured or not comparable"""


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises UserError and does not accept abbreviated options.

    Descriptions and epilogs with line breaks keep them.
    """

    def __init__(self, **keywords: Any) -> None:  # noqa: ANN401 - argparse's own keywords
        if "\n" in f"{keywords.get('description')}{keywords.get('epilog')}":
            keywords["formatter_class"] = argparse.RawDescriptionHelpFormatter
        super().__init__(**{"allow_abbrev": False, **keywords})

    def parse_args(  # type: ignore[override] # without a namespace argument
        self, args: Iterable[str] | None = None, namespace: None = None
    ) -> argparse.Namespace:
        """Parse after rejecting words that would make argparse or file functions crash."""
        words = sys.argv[1:] if args is None else [*args]
        for word in words:
            if "\0" in word:
                self.error(f"{word!r} holds a NUL")
            if _EMPTY_END.fullmatch(word):
                self.error(f"argument {word[:-3]}: '--' is not a value")
        return super().parse_args(words, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise UserError, exit status 2."""
        raise UserError(inert(f"{message}; see --help"))

    def given(self, options: argparse.Namespace) -> list[str]:
        """Return the options that differ from their defaults, such as ``--filter``."""
        values = vars(options)
        return [
            action.option_strings[0]
            for action in self._actions
            if action.option_strings and values.get(action.dest, action.default) != action.default
        ]


def refuse_together(given: Collection[str], option: str, *others: str) -> None:
    """Raise UserError if `option` and one of the `others` are in `given`."""
    for other in others:
        if option in given and other in given:
            raise contradiction(option, other)


def contradiction(option: str, other: str) -> UserError:
    return UserError(f"{option} cannot be combined with {other}: omit one of them")


def group(parser: argparse.ArgumentParser, title: str, example: str) -> argparse._ArgumentGroup:
    """Add a group of options to --help, with a title and an example (%(prog)s)."""
    return parser.add_argument_group(title, f"example: {example}")


def _valued(
    metavar: str,
    type: Callable[[str], object],
    help: str = "",
    **more: Any,  # noqa: ANN401 - argparse's own keywords
) -> dict[str, Any]:
    return {"metavar": metavar, "type": type, "help": help, **more}


def _flag(help: str, dest: str | None = None) -> dict[str, Any]:
    """Return a switch; with `dest` it turns that off."""
    more = {"action": "store_true"} if dest is None else {"action": "store_false", "dest": dest}
    return {"help": help, **more}


def _repository(text: str) -> str:
    from warpgauge.github.api import require_repository

    return require_repository(text)


# The options of more than one command.
# fmt: off
_SHARED = {
    "--filter": _valued("REGEX", normal, "benchmarks in whose name Python's re finds it; "
        "--filter=-REGEX: others", default=""),
    "--programs": _valued("REGEX", normal, "start only programs in whose name Python's re finds "
        "it; --programs=-REGEX: others", default=""),
    "--suite": {"choices": (DEFAULT_SUITE, FULL_SUITE), "default": DEFAULT_SUITE,
        "help": "full: every benchmark; default: a selection that covers each cost once"},
    "--device": _valued("GPU", one_device, "GPU index or UUID; default 0"),
    "--build-dir": _valued("DIR", folder, "use another project's build folder, without building"),
    "--no-build": _flag("use build/release without building", "build"),
    "--processes": _valued("N", positive),
    "--budget": _valued("TIME", duration, dest="budget_s"),
    "--timeout": _valued("SECONDS", seconds, "kill a benchmark after this many seconds; default "
        f"{DEADLINE_S:g}", dest="timeout_s", default=DEADLINE_S),
    "--seed": _valued("N", index, "seed of the order; default: random, recorded"),
    "--no-wait": _flag("fail (exit 3) instead of waiting if another command is measuring here",
        "wait"),
    "--isolate": {"nargs": "?", "const": "always", "default": "", "choices": ("always", "auto"),
        "metavar": "auto", "help": "run the programs as another user, without network and with "
        "read-only files, and fail if this machine cannot; auto: then run them as they are, and "
        "say so"},
    "--against": _valued("REF", str),
    "--fail-on": {"choices": ("resources",), "action": "append", "default": [],
        "help": "also fail on changes of registers, spills, occupancy, kernels and memory"},
    "--policy": _valued("FILE", Path),
    "--list": _flag("list the benchmarks that would run, one per line, and exit"),
    "--out": _valued("FILE", file, "write the run file here; default build/runs/<time>.json"),
    "--why": _flag("investigate benchmarks that pairs found slower, for at most 3 minutes; adds "
        "the reason to the report, and traces and machine code next to the run file"),
    "--format": _valued("NAME[=FILE]", str, action="append", default=[]),
    "--export": _valued("NAME=FILE", str, "write the candidate's times for another tool: "
        f"{', '.join(EXPORTS)}; repeatable", action="append", default=[]),
    "--verbose": _flag("show build output and all commands"),
    "--repository": _valued("OWNER/NAME", _repository, required=True),
    "--run-id": _valued("N", positive),
}
# fmt: on


def add(where: argparse._ActionsContainer, *options: str, **changes: object) -> None:
    """Add shared options; `changes` replace keywords of argparse, such as their help."""
    for option in options:
        where.add_argument(option, **{**_SHARED[option], **changes})


def add_filter(where: argparse._ActionsContainer) -> None:
    add(where, "--filter")


def add_formats(where: argparse._ActionsContainer, what: str, names: Collection[str]) -> None:
    """Add --format for a result that is no comparison."""
    add(where, "--format", help=f"write the {what} as {', '.join(names)}, to standard output or "
        "FILE; repeatable")  # fmt: skip


def add_run(where: argparse._ActionsContainer, workflow: str, *, required: bool = True) -> None:
    """Add --repository and --run-id for a run of `workflow`."""
    add_repository(where, "the repository of the run")
    add(where, "--run-id", required=required, help=f"a run of {workflow}")


def add_repository(where: argparse._ActionsContainer, help: str) -> None:
    add(where, "--repository", help=help)


def add_comparison_options(
    where: argparse._ActionsContainer, usual_policy: str = "policy.toml beside the baseline"
) -> None:
    """Add --fail-on, --policy and --allow."""
    add(where, "--fail-on")
    add(where, "--policy", help=f"tolerances; default: {usual_policy}")
    override.add_argument(where)


def add_output(where: argparse._ActionsContainer, verbose: str = "") -> None:
    """Add --format, --export and --verbose; `verbose` says what else that shows."""
    add(where, "--format", help=f"write the comparison as {', '.join(FORMATS)}, to standard output "
        "or FILE (intervals to FILE.svg or FILE.png); repeatable")  # fmt: skip
    add(where, "--export")
    add(where, "--verbose", help=f"show {verbose}how each benchmark was measured, and the decision "
        "rule")  # fmt: skip
