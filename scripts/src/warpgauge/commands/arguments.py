# SPDX-License-Identifier: Apache-2.0
"""Command lines whose faults are told like all others: in one sentence, with no page of usage.

And what numbers an argument may be, for argparse's `type`.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from warpgauge.files.location import STANDARD_INPUT
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert
from warpgauge.verdict import override

# An option whose value argparse takes for the end of all options.
_EMPTY_END = re.compile(r"--?[a-z][a-z-]*=--")

_UUID = re.compile(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class Parser(argparse.ArgumentParser):
    """argparse's, whose complaint is a UserError; options are not guessed from their beginnings."""

    def __init__(self, **keywords: Any) -> None:  # noqa: ANN401 - argparse's own, handed on
        super().__init__(**{"allow_abbrev": False, **keywords})

    def parse_args(  # type: ignore[override] # for we use no namespace of our own
        self, args: Iterable[str] | None = None, namespace: None = None
    ) -> argparse.Namespace:
        """Without what argparse makes a traceback of, and no file can be called."""
        words = sys.argv[1:] if args is None else [*args]
        for word in words:
            if "\0" in word:
                self.error(f"{word!r} holds a NUL")
            if _EMPTY_END.fullmatch(word):
                self.error(f"argument {word[:-3]}: '--' is not a value")
        return super().parse_args(words, namespace)

    def error(self, message: str) -> NoReturn:
        """Raises UserError, exit status 2."""
        raise UserError(inert(f"{message}; --help tells what there is"))


def group(parser: argparse.ArgumentParser, title: str, example: str) -> argparse._ArgumentGroup:
    """A group of options in --help, below a title and an example, which may name %(prog)s."""
    return parser.add_argument_group(title, f"example: {example}")


def add_filter(parser: argparse._ActionsContainer) -> None:
    """Add --filter, which is one thing in every command."""
    parser.add_argument("--filter", metavar="REGEX", default="",
        help="only benchmarks whose name matches; --filter=-REGEX: only the others")  # fmt: skip


def add_run(parser: argparse._ActionsContainer, workflow: str) -> None:
    """Add --repository and --run-id, of a run of `workflow`."""
    add = parser.add_argument
    add("--repository", metavar="OWNER/NAME", required=True, help="where it ran")
    add("--run-id", metavar="N", type=positive, required=True, help=f"a run of {workflow}")


def add_preview(parser: argparse._ActionsContainer) -> None:
    """Add --list and --dry-run."""
    add = parser.add_argument
    add("--list", action="store_true", help="print the names of what would be measured, one a line")
    add("--dry-run", action="store_true", help="say what would be done, and do nothing")


def positive(text: str) -> int:
    """A whole number from 1 on."""
    if (number := index(text)) == 0:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def index(text: str) -> int:
    """A whole number from 0 on."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    return int(text)


def one_device(text: str) -> int | str:
    """Index or UUID of a GPU."""
    if _UUID.fullmatch(text):
        return text
    try:
        return index(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither an index from 0 on nor a UUID, as `nvidia-smi -L` prints it"
        ) from None


def revision(text: str) -> str:
    """What git can be asked for."""
    if not text.strip() or not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text!r} names no commit")
    return text


def seconds(text: str) -> float:
    """A time that passes and ends."""
    return between(text, 0.0, math.inf, "a positive number of seconds")


def duration(text: str) -> float:
    """Seconds of ``90``, ``90s``, ``1.5m`` or ``1h``."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    wanted = "a time from 1 s on, as in 90s, 5m or 1h"
    try:
        value = float(number) * _UNITS[unit]
    except ValueError:
        value = math.nan
    if not 1.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
    return value


def file(text: str) -> Path:
    """One to be written, which has a name."""
    if not Path(text).name:
        raise argparse.ArgumentTypeError(f"{text!r} names no file")
    return Path(text)


def input_file(text: str) -> Path:
    """One to be read; ``-`` is standard input."""
    return STANDARD_INPUT if text == "-" else Path(text)


def folder(text: str) -> Path:
    """A folder that is there."""
    if not text or not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no folder")
    return Path(text)


def days(text: str) -> float:
    """An age."""
    return between(text, 0.0, math.inf, "a positive number of days")


def between(text: str, low: float, high: float, wanted: str) -> float:
    """A number that lies between the two; `wanted` is what it should have been, in words."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not low < number < high:
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
    return number


def add_comparison_options(
    parser: argparse._ActionsContainer, usual_policy: str = "policy.toml beside the baseline"
) -> None:
    """Add --fail-on, --policy and --allow."""
    add = parser.add_argument
    add("--fail-on", choices=("resources",), action="append", default=[], help="also fail on "
        "registers, spills, occupancy, kernels and memory")  # fmt: skip
    add("--policy", type=Path, metavar="FILE", help=f"tolerances; default: {usual_policy}")
    override.add_argument(parser)
