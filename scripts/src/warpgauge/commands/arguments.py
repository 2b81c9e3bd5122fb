# SPDX-License-Identifier: Apache-2.0
"""What all command lines share: the parser, the types of values, and the options of several.

Modules of command lines import little, so that --help is fast and needs no package.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import re
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from warpgauge.records.benchmark_filter import normal
from warpgauge.records.names import DEFAULT_SUITE, FULL_SUITE, number
from warpgauge.system import git, streams
from warpgauge.system.environment import is_variable
from warpgauge.system.errors import UserError
from warpgauge.system.location import STANDARD_INPUT
from warpgauge.system.text import inert, suggestion, typed
from warpgauge.verdict import incompatibility

_OF_ALL = "Every command also has --quiet and --color: see warpgauge --help."

# An option with the value "--", which argparse takes for the end of all options.
_EMPTY_END = re.compile(r"--?[a-z][a-z-]*=--")

# A benchmark takes about a second, but the first of a process up to a minute if the disk is slow.
DEADLINE_S = 120.0

EXIT_STATUS = """\
exit status:
  0  nothing regressed, and every benchmark is bounded
  1  at least one benchmark regressed
  2  bad usage or unreadable input
  3  nothing regressed, but something is undecided, not measured or not comparable"""

EVERY_GPU = "all"
# Suffixes of a manifest of kernels, a file of benchmarks, and a run file.
MANIFEST, PYTHON, RUN = ".toml", ".py", ".json"
FILE = f"FILE{PYTHON}"
SOURCE = "FILE"  # one of benchmarks in Python, or a manifest

SMALLEST_FACTOR, LARGEST_FACTOR = 1.001, 100.0  # of --inject, which may also be 1

_DEVICE = re.compile(r"[0-9]+|GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MOST_DEVICES = 64
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}
_BYTES |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kKMG]i?B|B|)", re.ASCII)
_BINARY = {"": 1, **{unit: 1 << 10 * n for n, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi"), 1)}}
_VALUE = re.compile(r"([0-9]{1,18})(|[KMGTP]i)")
_LARGEST = 2**63 - 1  # fits signed and unsigned 64-bit integers
_WORD = r"(?:\d{1,18}|\d*[A-Za-z_.+-][\w.+-]*)"  # an integer, or what has more than digits
_SHAPE = r"[1-9]\d{0,17}(?:x[1-9]\d{0,17})*(?::(?:f64|f32|f16|bf16))?"
_SHAPES = re.compile(rf"{_SHAPE}(?:,{_SHAPE})*", re.ASCII)
_PACKAGE = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)  # or nvcc
_AXIS = re.compile(rf"([A-Za-z_]\w*)=({_WORD}(?:,{_WORD})*)", re.ASCII)


class _HelpAll(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        assert isinstance(parser, Parser)
        streams.write(parser.full_help())
        parser.exit()


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises UserError and does not accept abbreviated options.

    Descriptions and epilogs with line breaks keep them.
    """

    def __init__(self, **keywords: Any) -> None:  # noqa: ANN401
        self._rare: dict[argparse.Action, str | None] = {}
        if "\n" in f"{keywords.get('description')}{keywords.get('epilog')}":
            keywords["formatter_class"] = argparse.RawDescriptionHelpFormatter
        super().__init__(**{"allow_abbrev": False, **keywords})

    def hide(self, *options: str) -> None:
        """Leave these rare options out of --help; --help-all shows them."""
        self._rare = {self._option_string_actions[one]: None for one in options}
        for action in self._rare:
            self._rare[action], action.help = action.help, argparse.SUPPRESS
        self.add_argument("--help-all", action=_HelpAll, nargs=0, default=argparse.SUPPRESS,
            help="also show the options that --help leaves out")  # fmt: skip

    def format_help(self) -> str:
        return f"{super().format_help()}\n{_OF_ALL}\n"

    def print_help(self, file: object = None) -> None:
        """Print the help. Raises OSError, which argparse would ignore."""
        streams.write(self.format_help())

    def full_help(self) -> str:
        """Return the help on all options."""
        for action, text in self._rare.items():
            action.help = text
        return self.format_help()

    def parse_args(  # type: ignore[override] # without a namespace argument
        self, args: Iterable[str] | None = None, namespace: None = None
    ) -> argparse.Namespace:
        """Parse after rejecting words that would make argparse crash."""
        words = sys.argv[1:] if args is None else [*args]
        for word in words:
            if _EMPTY_END.fullmatch(word):
                self.error(f"argument {word[:-3]}: '--' is not a value")
        if self._subparsers is not None:
            return super().parse_args(words, namespace)
        known = [name for action in self._actions for name in action.option_strings]
        for word in words[: words.index("--")] if "--" in words else words:
            option = word.partition("=")[0]
            if option.startswith("--") and option not in known:
                near = suggestion(option, [*known, "--quiet", "--color"])
                self.error(f"there is no option {option}: {near}")
        return super().parse_intermixed_args(words, namespace)  # positionals beside any option

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            what = "/".join(action.option_strings) or "command"
            near = suggestion(str(value), action.choices)
            self.error(f"there is no {what} {typed(str(value))}: {near}")

    def error(self, message: str) -> NoReturn:
        """Raise UserError, exit status 2."""
        end = " See --help" if message.endswith("?") else "; see --help"
        raise UserError(inert(f"{message}{end}"))

    def given(self, options: argparse.Namespace) -> list[str]:
        """Return the options that differ from their defaults, such as ``--filter``."""
        values = vars(options)
        return [
            action.option_strings[0]
            for action in self._actions
            if action.option_strings and values.get(action.dest, action.default) != action.default
        ]


def contradiction(option: str, other: str) -> UserError:
    return UserError(f"{option} cannot be combined with {other}: omit one of them")


def group(parser: argparse.ArgumentParser, title: str, example: str) -> argparse._ArgumentGroup:
    """Add a group of options to --help, with a title and an example (%(prog)s)."""
    return parser.add_argument_group(title, f"example: {example}")


def source(text: str) -> Path:
    """Parse the name of a file of benchmarks in Python, or of a manifest of kernels."""
    if Path(text).suffix not in (PYTHON, MANIFEST):  # .py itself has none
        raise ArgumentTypeError(
            f"{typed(text)} is neither a file of benchmarks in Python (*{PYTHON}) nor a manifest "
            f"of kernels (*{MANIFEST})"
        )
    return Path(text)


def files_among(words: Sequence[str], names: int) -> tuple[Path | None, Path | None, list[str]]:
    """Return the run file and the file of benchmarks that are among words, and the others.

    The others are at most so many `names` of benchmarks. Raises UserError.
    """
    runs = [word for word in words if word.endswith(RUN)]
    files = [word for word in words if word.endswith(PYTHON)]
    others = [word for word in words if not word.endswith((RUN, PYTHON))]
    if surplus := [*runs[1:], *files[1:], *others[names:]]:
        raise UserError(f"{typed(surplus[0])} is one too many: name one file and one benchmark")
    if files and any(f"{MANIFEST}:" in f"{word}:" for word in others):
        raise contradiction(FILE, f"a manifest (*{MANIFEST})")
    return (Path(runs[0]) if runs else None), (Path(files[0]) if files else None), others


def positive(text: str) -> int:
    if text.isascii() and text.isdigit() and (value := int(text)):
        return value
    raise ArgumentTypeError(f"{text!r} is not a positive integer")


def duration(text: str) -> float:
    """Parse ``90``, ``90s``, ``1.5m`` or ``1h`` as seconds."""
    value, unit = (text[:-1], text[-1]) if text[-1:] in _SECONDS else (text, "s")
    with contextlib.suppress(ValueError):
        if 0.0 < (found := float(value) * _SECONDS[unit]) < math.inf:
            return found
    raise ArgumentTypeError(f"{text!r} is not a positive time, e.g. 90s, 5m or 1h")


def size(text: str) -> int:
    """Parse ``512MiB`` or ``2GB`` as bytes."""
    with contextlib.suppress(KeyError, OverflowError):
        if (found := _SIZE.fullmatch(text)) and (value := int(float(found[1]) * _BYTES[found[2]])):
            return value
    raise ArgumentTypeError(f"{text!r} is not a memory size, e.g. 512MiB or 2GB")


def one_device(text: str, most: int = 1) -> int | str:
    """Parse a device, or up to `most` to be measured together, which stay a list such as 0,1."""
    named = text.split(",")
    if all(map(_DEVICE.fullmatch, named)) and len({*named}) == len(named) <= most:
        return int(text) if text.isdigit() else text
    several = ", or several, e.g. 0,1" if most > 1 else ""
    raise ArgumentTypeError(
        f"{text!r} is neither a GPU index nor a UUID as `nvidia-smi -L` prints it{several}"
    )


devices = partial(one_device, most=_MOST_DEVICES)


def devices_or_all(text: str) -> int | str:
    return text if text == EVERY_GPU else devices(text)


def revision(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ArgumentTypeError(f"{text!r} does not name a commit")
    return text


def commit(text: str) -> str:
    if not git.is_full(text):
        raise ArgumentTypeError(f"{text!r} is not a full commit hash")
    return text


def file(text: str) -> Path:
    """Parse the name of a file to write."""
    if not Path(text).name:
        raise ArgumentTypeError(f"{text!r} does not name a file")
    return Path(text)


def path(text: str) -> Path:
    """Parse the name of a file or folder to read; "" is not the current folder."""
    if not text:
        raise ArgumentTypeError("'' does not name a file or folder")
    return Path(text)


def input_file(text: str) -> Path:
    """Parse the name of a file or folder to read; ``-`` is standard input."""
    return STANDARD_INPUT if text == "-" else path(text)


def percentage(text: str) -> float:
    """Parse a percentage as a fraction."""
    with contextlib.suppress(ValueError):
        if 0.0 < (value := float(text)) < 100.0:
            return value / 100.0
    raise ArgumentTypeError(f"{text!r} is not a percentage between 0 and 100")


def folder(text: str) -> Path:
    """Parse the path of an existing folder."""
    if not text or not Path(text).is_dir():
        raise ArgumentTypeError(f"{text!r} is not a folder")
    return Path(text)


def injection(text: str) -> str:
    regex, _, factor = text.rpartition("=")
    with contextlib.suppress(ValueError):
        value = float(factor)
        if regex and (value == 1 or SMALLEST_FACTOR <= value <= LARGEST_FACTOR):
            return text
    raise ArgumentTypeError(
        f"{text!r} is not REGEX=FACTOR with a factor from {SMALLEST_FACTOR:g} to "
        f"{LARGEST_FACTOR:g}, e.g. gemm=1.05"
    )


def versions(text: str, most: int | None = None) -> tuple[str, tuple[str, ...]]:
    """Parse ``nvcc=12.8,13.0``, two different versions or more, up to `most`.

    Those of a variable, whose name is in capitals, are values, which may be empty.
    """
    name, _, values = text.partition("=")
    named = tuple(values.split(","))
    if (
        _PACKAGE.fullmatch(name)
        and text.isprintable()
        and ("" not in named or is_variable(name))
        and 1 < len({*named}) == len(named) <= (most or len(named))
    ):
        return name, named
    count = "two different versions" + ("" if most else " or more")
    raise ArgumentTypeError(f"{typed(text)} is not NAME=VERSION,VERSION with {count}")


def metric(text: str) -> str:
    """Parse a pattern with a group for a number, and perhaps one before it for a name."""
    with contextlib.suppress(re.error):
        if re.compile(text).groups in (1, 2):
            return text
    raise ArgumentTypeError(
        f"{typed(text)} is no regular expression with one group for the number, or two for name "
        "and number"
    )


@dataclass(frozen=True)
class Kernel:
    """What the user named: a variant, or a kernel of `manifest`, or a function of `file`."""

    typed: str
    name: str
    manifest: Path | None = None
    file: Path | None = None


def kernel(text: str) -> Kernel:
    manifest, colon, name = text.rpartition(":")
    if colon and manifest.endswith(MANIFEST) and name:
        return Kernel(text, name, Path(manifest))
    file, function = (manifest, name) if colon else (text, "kernel")
    if file.endswith(PYTHON):
        if not function.isidentifier():
            raise ArgumentTypeError(f"{typed(text)} is not FILE.py:FUNCTION, e.g. mine.py:softmax")
        return Kernel(text, function, file=_file_in_python(file))
    if colon or text.endswith(MANIFEST) or not all(text.split("/")) or not text.isprintable():
        raise ArgumentTypeError(
            f"{inert(repr(text))} is neither a variant of a family, e.g. gemm/tiled/f32 (without "
            "axis values, which go to --axis), nor a kernel of a manifest, e.g. "
            "kernels.toml:scale, nor a function of a file, e.g. mine.py:softmax"
        )
    return Kernel(text, text)


def inputs(text: str) -> Path | str:
    """Parse a file in Python, or shapes as a value of an axis: ``4096x1024_bf16+1024``."""
    if text.endswith(PYTHON):
        return _file_in_python(text)
    if not _SHAPES.fullmatch(text):
        raise ArgumentTypeError(
            f"{typed(text)} is neither a file, e.g. inputs.py, nor shapes with types f64, f32, f16 "
            "or bf16, e.g. 4096x1024:bf16,1024"
        )
    return text.replace(":", "_").replace(",", "+")


def _file_in_python(text: str) -> Path:
    if not Path(text).is_file():
        raise ArgumentTypeError(f"{typed(text)} is no file")
    return Path(text)


def axis_with_values(text: str) -> tuple[str, tuple[str, ...]]:
    """Parse ``n=1024,2048``."""
    if found := _AXIS.fullmatch(text):
        values = (str(int(word)) if word.isdecimal() else word for word in found[2].split(","))
        return found[1], tuple(dict.fromkeys(values))
    raise ArgumentTypeError(f"{text!r} is not NAME=VALUE,..., e.g. n=1024,2048")


def axis(text: str) -> tuple[str, tuple[float, ...]]:
    """Parse ``n``, or an axis with its values: ``n=4096,1Mi`` or ``n=4Ki..64Mi``, which doubles."""
    name, equals, given = text.partition("=")
    found: dict[float, None] = {}  # in this order
    for part in given.split(",") if equals else ():
        first, dots, last = part.partition("..")
        value = _value(first)
        end = _value(last) if dots else value
        if dots and not 0 < value <= end:
            raise ArgumentTypeError(f"{typed(part)} does not increase from a value above 0")
        found[value] = None
        while dots and (value := value * 2) <= end:
            found[value] = None
    return name, tuple(found)


def _value(text: str) -> float:
    parts = _VALUE.fullmatch(text)
    value = number(text) if parts is None else int(parts[1]) * _BINARY[parts[2]]
    if value is None:
        raise ArgumentTypeError(f"{typed(text)} is not a value, e.g. 4096, 4Ki or 0.5")
    if isinstance(value, float):
        # Any axis takes 4096, but an axis of integers does not take 4096.0.
        return int(value) if value.is_integer() and abs(value) <= _LARGEST else value
    if value > _LARGEST:
        raise ArgumentTypeError(f"{typed(text)} is larger than 2^63 - 1")
    return value


def _valued(
    metavar: str,
    type: Callable[[str], object],
    help: str = "",
    **more: Any,  # noqa: ANN401 - argparse's own keywords
) -> dict[str, Any]:
    return {"metavar": metavar, "type": type, "help": help, **more}


# The options of more than one command.
# fmt: off
_SHARED = {
    "--filter": _valued("REGEX", normal, "only benchmarks whose name matches this Python "
        "regular expression; --filter=-REGEX: all others", default=""),
    "--suite": {"choices": (DEFAULT_SUITE, FULL_SUITE), "default": DEFAULT_SUITE,
        "help": "full: every benchmark; default: a selection that covers each cost once"},
    "--device": _valued("GPU", one_device, "GPU index or UUID; default 0"),
    "--build-dir": _valued("DIR", folder, "use another project's build folder, without building"),
    "--no-build": {"action": "store_false", "dest": "build",
        "help": "use build/release without building"},
    "--processes": _valued("N", positive),
    "--budget": _valued("TIME", duration, dest="budget_s"),
    "--timeout": _valued("TIME", duration, "kill a benchmark after this time; default "
        f"{DEADLINE_S:g}s", dest="timeout_s", default=DEADLINE_S),
    "--isolate": {"default": "", "choices": ("always", "auto"),
        "help": "run the programs without network, with read-only files and without the secrets in "
        "the environment (fixtures/process/isolation.hpp says what stays open); on a machine that "
        "cannot: fail (always), or run them as they are and say so (auto)"},
    "--against": _valued("REF", str),
    "--policy": _valued("FILE", Path),
    "--out": _valued("FILE", file, "write the run file here; default build/runs/<time>.json"),
    "--format": _valued("NAME[=FILE]", str, action="append", default=[]),
}


def add(where: argparse._ActionsContainer, *options: str, **changes: object) -> None:
    """Add shared options; `changes` replace keywords of argparse, such as their help."""
    for option in options:
        where.add_argument(option, **{**_SHARED[option], **changes})


def add_formats(where: argparse._ActionsContainer, what: str, names: Collection[str]) -> None:
    """Add --format for `what`, such as a comparison."""
    add(where, "--format", help=f"write the {what} as {', '.join(names)}, to standard output or "
        "FILE; repeatable")


def add_comparison_options(
    where: argparse._ActionsContainer, usual_policy: str = "policy.toml beside the baseline"
) -> None:
    """Add --policy and --allow."""
    add(where, "--policy", help=f"tolerances, and what fails; default: {usual_policy}")
    incompatibility.add_argument(where)
# fmt: on
