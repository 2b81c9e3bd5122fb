# SPDX-License-Identifier: Apache-2.0
"""What the command lines share: errors in one sentence, groups of options, and types.

Modules of options import little, so that --help is fast. Modules that do the work are imported when
they are needed.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import re
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NoReturn

from warpgauge.system import git
from warpgauge.system.errors import UserError
from warpgauge.system.location import STANDARD_INPUT
from warpgauge.system.text import inert
from warpgauge.verdict import override

# An option with the value "--", which argparse takes for the end of all options.
_EMPTY_END = re.compile(r"--?[a-z][a-z-]*=--")

_UUID = re.compile(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

# A benchmark takes about a second, but the first of a process up to a minute if the disk is slow.
DEADLINE_S = 120.0

# The names of `reports.formats` and `reports.exports`, which are slow to import.
FORMATS = ("terminal", "markdown", "json", "junit", "github", "svg", "html")
EXPORTS = ("github-action-benchmark", "bencher", "openmetrics")

EXIT_STATUS = """\
exit status:
  0  nothing regressed, and every benchmark is bounded
  1  at least one benchmark regressed
  2  bad usage or unreadable input
  3  nothing regressed, but something is inconclusive, not measured or not comparable"""

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


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
            one.option_strings[0]
            for one in self._actions
            if one.option_strings and values.get(one.dest, one.default) != one.default
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


def add_filter(parser: argparse._ActionsContainer, option: str = "--filter") -> None:
    what = {"--filter": "benchmarks", "--programs": "start only programs"}[option]
    parser.add_argument(option, metavar="REGEX", type=_filter, default="",
        help=f"{what} in whose name Python's re finds it; {option}=-REGEX: others")  # fmt: skip


def _filter(text: str) -> str:
    from warpgauge.records.benchmark_filter import normal

    return normal(text)


def add_run(parser: argparse._ActionsContainer, workflow: str, *, required: bool = True) -> None:
    """Add --repository and --run-id for a run of `workflow`."""
    add_repository(parser, "the repository of the run")
    add = parser.add_argument
    add("--run-id", metavar="N", type=positive, required=required, help=f"a run of {workflow}")


def add_repository(parser: argparse._ActionsContainer, help: str) -> None:
    add = parser.add_argument
    add("--repository", metavar="OWNER/NAME", type=_repository, required=True, help=help)


def _repository(text: str) -> str:
    from warpgauge.github.api import require_repository

    return require_repository(text)


def add_programs(parser: argparse._ActionsContainer) -> None:
    """Add --device for one GPU, --build-dir and --no-build."""
    add = parser.add_argument
    add("--device", metavar="GPU", type=one_device, help="GPU index or UUID; default 0")
    add("--build-dir", metavar="DIR", type=folder, help="use another project's build folder, "
        "without building")  # fmt: skip
    add("--no-build", dest="build", action="store_false", help="use build/release without building")


def add_verbose(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--verbose", action="store_true", help="show build output and all commands")


def add_preview(parser: argparse._ActionsContainer) -> None:
    add = parser.add_argument
    add("--list", action="store_true", help="list the benchmarks that would run, one per line")
    add("--dry-run", action="store_true", help="print what would be done, without doing it")


def add_timeout(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--timeout", dest="timeout_s", metavar="SECONDS", type=seconds,
        default=DEADLINE_S, help="kill a benchmark after this many seconds; default "
        f"{DEADLINE_S:g}")  # fmt: skip


def add_measuring(parser: argparse._ActionsContainer) -> None:
    """Add --timeout, --seed and --no-wait."""
    add_timeout(parser)
    add = parser.add_argument
    add("--seed", metavar="N", type=index, help="seed of the order; default: random, recorded")
    add("--no-wait", dest="wait", action="store_false", help="fail (exit 3) instead of waiting if "
        "another command is measuring here")  # fmt: skip


def add_pairs(parser: argparse._ActionsContainer, of_each: str, pairs: int, otherwise: str) -> None:
    """Add --processes and --budget for pairs, and the options of `add_measuring`.

    `of_each` is what --processes counts for; `otherwise` describes the default budget.
    """
    add = parser.add_argument
    add("--processes", metavar="N", type=positive, help=f"processes per {of_each} before the first "
        f"look, rounded up to an even number; default {pairs}")  # fmt: skip
    add("--budget", dest="budget_s", metavar="TIME", type=duration, help="limit of measuring time, "
        f"e.g. 60s or 5m: measures {pairs} pairs of everything, then more of what is still open; "
        f"default: {otherwise}")  # fmt: skip
    add_measuring(parser)


def add_pair_files(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--out", metavar="FILE", type=file, help="write the candidate's run file "
        "here; the base's goes beside it as FILE with -base before the suffix; default "
        "build/runs/<time>.json")  # fmt: skip


def add_comparison_options(
    parser: argparse._ActionsContainer, usual_policy: str = "policy.toml beside the baseline"
) -> None:
    """Add --fail-on, --policy and --allow."""
    add = parser.add_argument
    add("--fail-on", choices=("resources",), action="append", default=[], help="also fail on "
        "changes of registers, spills, occupancy, kernels and memory")  # fmt: skip
    add("--policy", type=Path, metavar="FILE", help=f"tolerances; default: {usual_policy}")
    override.add_argument(parser)


def add_why(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--why", action="store_true", help="investigate benchmarks that pairs "
        "found slower, for at most 3 minutes; adds the reason to the report, and traces and "
        "machine code next to the run file")  # fmt: skip


def add_output(parser: argparse._ActionsContainer, verbose: str = "") -> None:
    """Add --format, --export and --verbose; `verbose` says what else that shows."""
    add = parser.add_argument
    # fmt: off
    add("--format", metavar="NAME[=FILE]", action="append", default=[],
        help=f"write the comparison as {', '.join(FORMATS)}, to standard output or FILE; intervals "
        "to FILE.svg or FILE.png; repeatable")
    add("--export", metavar="NAME=FILE", action="append", default=[],
        help=f"write the candidate's times for another tool: {', '.join(EXPORTS)}; repeatable")
    add("--verbose", action="store_true",
        help=f"show {verbose}how each benchmark was measured, and the decision rule")
    # fmt: on


def positive(text: str) -> int:
    """Parse an integer of at least 1."""
    if (number := index(text)) == 0:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def index(text: str) -> int:
    """Parse an integer of at least 0."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a non-negative integer")
    return int(text)


def one_device(text: str) -> int | str:
    if _UUID.fullmatch(text):
        return text
    if text.isascii() and text.isdigit():
        return int(text)
    raise argparse.ArgumentTypeError(
        f"{text!r} is neither a GPU index nor a UUID as `nvidia-smi -L` prints it"
    )


def devices(text: str) -> int | str:
    """Parse one device, or several to be measured together, which stay a list such as 0,1."""
    named = [one_device(one) for one in text.split(",")]
    if len({*named}) < len(named):
        raise argparse.ArgumentTypeError(f"{text!r} names a GPU twice")
    return ",".join(map(str, named)) if len(named) > 1 else named[0]


def revision(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text!r} does not name a commit")
    return text


def commit(text: str) -> str:
    if not git.is_full(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a full commit hash")
    return text


def seconds(text: str) -> float:
    return between(text, 0.0, math.inf, "a positive number of seconds")


def duration(text: str) -> float:
    """Parse ``90``, ``90s``, ``1.5m`` or ``1h`` as seconds."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    with contextlib.suppress(ValueError):
        if 1.0 <= (value := float(number) * _UNITS[unit]) < math.inf:
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is not a time of at least 1 s, e.g. 90s, 5m or 1h")


def file(text: str) -> Path:
    """Parse the name of a file to write."""
    if not Path(text).name:
        raise argparse.ArgumentTypeError(f"{text!r} does not name a file")
    return Path(text)


def input_file(text: str) -> Path:
    """Parse the name of a file to read; ``-`` is standard input."""
    return STANDARD_INPUT if text == "-" else Path(text)


def folder(text: str) -> Path:
    """Parse the path of an existing folder."""
    if not text or not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not a folder")
    return Path(text)


def days(text: str) -> float:
    return between(text, 0.0, math.inf, "a positive number of days")


def between(text: str, low: float, high: float, wanted: str) -> float:
    """Parse a number between `low` and `high`; `wanted` describes it in the error."""
    with contextlib.suppress(ValueError):
        if low < (number := float(text)) < high:
            return number
    raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
