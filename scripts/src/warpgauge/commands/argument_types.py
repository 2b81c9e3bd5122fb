# SPDX-License-Identifier: Apache-2.0
"""The types of options: each parses one word, or raises ArgumentTypeError with a sentence."""

from __future__ import annotations

import contextlib
import math
import re
from argparse import ArgumentTypeError
from dataclasses import dataclass
from pathlib import Path

from warpgauge.records.names import number
from warpgauge.system import git
from warpgauge.system.location import STANDARD_INPUT
from warpgauge.system.text import inert, typed

EVERY_GPU = "all"
MANIFEST = ".toml"  # suffix of a manifest of kernels

# Limits of the factor of --inject, which may also be 1.
SMALLEST_FACTOR, LARGEST_FACTOR = 1.001, 100.0

_UUID = re.compile(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}
_BYTES |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kKMG]i?B|B|)", re.ASCII)
_BINARY = {"": 1, **{unit: 1 << 10 * n for n, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi"), 1)}}
_VALUE = re.compile(r"([0-9]{1,18})(|[KMGTP]i)")
_MOST_VALUES = 1000
_LARGEST = 2**63 - 1  # fits signed and unsigned 64-bit integers
_WORD = r"(?:\d{1,18}|\d*[A-Za-z_.+-][\w.+-]*)"  # an integer, or what has more than digits
_AXIS = re.compile(rf"([A-Za-z_]\w*)=({_WORD}(?:,{_WORD})*)", re.ASCII)


def positive(text: str) -> int:
    """Parse an integer of at least 1."""
    if (value := index(text)) == 0:
        raise ArgumentTypeError("must be at least 1")
    return value


def index(text: str) -> int:
    """Parse an integer of at least 0."""
    if not (text.isascii() and text.isdigit()):
        raise ArgumentTypeError(f"{text!r} is not a non-negative integer")
    return int(text)


def between(text: str, low: float, high: float, wanted: str) -> float:
    """Parse a number between `low` and `high`; `wanted` describes it in the error."""
    with contextlib.suppress(ValueError):
        if low < (value := float(text)) < high:
            return value
    raise ArgumentTypeError(f"{text!r} is not {wanted}")


def days(text: str) -> float:
    return between(text, 0.0, math.inf, "a positive number of days")


def seconds(text: str) -> float:
    return between(text, 0.0, math.inf, "a positive number of seconds")


def duration(text: str) -> float:
    """Parse ``90``, ``90s``, ``1.5m`` or ``1h`` as seconds."""
    value, unit = (text[:-1], text[-1]) if text[-1:] in _SECONDS else (text, "s")
    with contextlib.suppress(ValueError):
        if 1.0 <= (found := float(value) * _SECONDS[unit]) < math.inf:
            return found
    raise ArgumentTypeError(f"{text!r} is not a time of at least 1 s, e.g. 90s, 5m or 1h")


def size(text: str) -> int:
    """Parse ``512MiB`` or ``2GB`` as bytes."""
    with contextlib.suppress(KeyError, OverflowError):
        if (found := _SIZE.fullmatch(text)) and (value := int(float(found[1]) * _BYTES[found[2]])):
            return value
    raise ArgumentTypeError(f"{text!r} is not a memory size, e.g. 512MiB or 2GB")


def one_device(text: str) -> int | str:
    if _UUID.fullmatch(text):
        return text
    if text.isascii() and text.isdigit():
        return int(text)
    raise ArgumentTypeError(
        f"{text!r} is neither a GPU index nor a UUID as `nvidia-smi -L` prints it"
    )


def devices(text: str) -> int | str:
    """Parse one device, or several to be measured together, which stay a list such as 0,1."""
    named = [one_device(device) for device in text.split(",")]
    if len({*named}) < len(named):
        raise ArgumentTypeError(f"{text!r} names a GPU twice")
    return ",".join(map(str, named)) if len(named) > 1 else named[0]


def devices_or_all(text: str) -> int | str:
    if text == EVERY_GPU:
        return text
    try:
        return devices(text)
    except ArgumentTypeError as fault:
        raise ArgumentTypeError(f"{fault}, nor {EVERY_GPU}") from None


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


def input_file(text: str) -> Path:
    """Parse the name of a file to read; ``-`` is standard input."""
    return STANDARD_INPUT if text == "-" else Path(text)


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


@dataclass(frozen=True)
class Kernel:
    """What the user named: `name` is a variant, or a kernel of `manifest`."""

    typed: str
    name: str
    manifest: Path | None = None


def kernel(text: str) -> Kernel:
    manifest, colon, name = text.rpartition(":")
    if colon and manifest.endswith(MANIFEST) and name:
        return Kernel(text, name, Path(manifest))
    if colon or text.endswith(MANIFEST) or not all(text.split("/")) or not text.isprintable():
        raise ArgumentTypeError(
            f"{inert(repr(text))} is neither a variant of a family, e.g. gemm/tiled/f32 (without "
            "axis values, which go to --axis), nor a kernel of a manifest, e.g. kernels.toml:scale"
        )
    return Kernel(text, text)


def axis_with_values(text: str) -> tuple[str, tuple[str, ...]]:
    """Parse ``n=1024,2048``."""
    if found := _AXIS.fullmatch(text):
        values = (str(int(word)) if word.isdecimal() else word for word in found[2].split(","))
        return found[1], tuple(dict.fromkeys(values))
    raise ArgumentTypeError(f"{text!r} is not NAME=VALUE,..., e.g. n=1024,2048")


def axis(text: str) -> str:
    if not text or not text.isprintable() or set(text) & set(":/=,"):
        raise ArgumentTypeError(f"{typed(text)} is not the name of an axis, e.g. n")
    return text


def family(text: str) -> str:
    """Parse a prefix of benchmark names, or the path of a manifest."""
    if text.endswith(MANIFEST):
        return text
    if not text.strip("/") or not text.isprintable() or text.startswith("/"):
        raise ArgumentTypeError(f"{typed(text)} cannot be the first part of a benchmark name")
    return text


def values(text: str) -> tuple[float, ...]:
    """Parse ``4096,1Mi``, ``0.5,1``, and ``4Ki..64Mi``, which doubles; the order is kept."""
    found: list[float] = []
    for part in text.split(","):
        first, dots, last = part.partition("..")
        value = _value(first)
        end = _value(last) if dots else value
        if dots and not 0 < value <= end:
            raise ArgumentTypeError(f"{typed(part)} does not increase from a value above 0")
        found.append(value)
        while dots and (value := value * 2) <= end:
            found.append(value)
    if len(found) > _MOST_VALUES:
        raise ArgumentTypeError(f"{typed(text)} has more than {_MOST_VALUES} values")
    if len(set(found)) < len(found):
        raise ArgumentTypeError(f"{typed(text)} has a value twice")
    return tuple(found)


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
