# SPDX-License-Identifier: Apache-2.0
"""Read an untrusted file as text or JSON; each fault is one sentence that begins with its place.

Standard library only, because github/gpus.py imports it.
"""

from __future__ import annotations

import codecs
import contextlib
import gc
import json
import os
import stat
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from warpgauge.system.errors import UserError
from warpgauge.system.text import inert, quoted

# The path that `-` means on a command line.
STANDARD_INPUT = Path("/dev/stdin")
# For 10,000 benchmarks x 7, a run file is 8 MiB with 340,000 values and Google Benchmark's own file
# 33 MiB with a million. Larger files are refused before they exhaust the machine's memory or take
# too long. Commas and opening brackets count the values, which determine the parser's time.
SIZE_LIMIT_BYTES = 64 * 1024 * 1024
VALUES_LIMIT = 1_250_000

MEASURE_AGAIN = "measure it again"
RESULT_FILE = "give a run file, a baseline or another tool's result"
_SMALLER = "give a result file, or a folder of smaller ones"

# How the CSV of tools begins, whose JSON is read.
_CSV = (
    ("name,iterations,real_time,", "Google Benchmark",
     "run the program with --benchmark_out_format=json"),
    ("Benchmark,Device,", "nvbench", "run the program with --json FILE"),
    (("name,min,", "name,param:"), "pytest-benchmark", "run pytest with --benchmark-json=FILE"),
    ("command,mean,stddev,", "hyperfine", "run hyperfine with --export-json FILE"),
)  # fmt: skip

Object = dict[str, object]


class Place(NamedTuple):
    """A file; a part of it, in words; or its `row` (from 0), with its `name` if it has one.

    There is one per row, but few appear in messages, so the words are made only on demand.
    """

    path: Path
    what: str = ""
    row: int | None = None
    name: object = None

    def error(self, fault: str, remedy: str = MEASURE_AGAIN) -> UserError:
        """Return an error of one sentence: where, what is wrong, what to do."""
        part = f", {self.what}" if self.what else ""
        if self.row is not None:  # people count rows from 1
            named = f" ({quoted(self.name)})" if isinstance(self.name, str) else ""
            part = f", row {self.row + 1}{named}"
        return UserError(inert(f"{self.path}{part}: {fault}; {remedy}"))


def bytes_of(place: Place, limit: int, too_large: UserError, remedy: str) -> bytes:
    """Return the content of a regular file of at most `limit` bytes. Raise UserError.

    Standard input is accepted whatever it leads to. `remedy` is for what is not a file.
    """
    try:
        if place.path == STANDARD_INPUT:
            raw = sys.stdin.buffer.read(limit + 1)
        else:
            if not stat.S_ISREG(place.path.stat().st_mode):  # reading a pipe could block
                raise place.error("is not a regular file", remedy)
            with place.path.open("rb") as stream:
                raw = stream.read(limit + 1)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise place.error(f"cannot be read ({reason})", "check the path") from None
    except (ValueError, AttributeError):  # a NUL in the path, or a closed standard input
        raise place.error("is no path, or is closed", "check the path") from None
    if len(raw) > limit:
        raise too_large
    return raw


def content_of(place: Place) -> bytes:
    """Return the bytes of a file that may hold JSON, without the byte order mark.

    Raise UserError if it is no regular file, or too large.
    """
    too_large = place.error(f"is larger than {SIZE_LIMIT_BYTES // 2**20} MiB", _SMALLER)
    content = bytes_of(place, SIZE_LIMIT_BYTES, too_large, RESULT_FILE)
    if content.startswith(b"\x7fELF"):
        remedy = "compare benchmarks A B runs two of them, warpgauge ab those of two folders"
        raise place.error("is a program, not a result", remedy)
    if b"\x00" in content:
        why = "holds zero bytes, so it is UTF-16 or a binary file, or was cut off by a crash"
        raise place.error(why, RESULT_FILE)
    content = content.removeprefix(codecs.BOM_UTF8)
    if not content or content.isspace():
        raise place.error("is empty")
    if sum(map(content.count, (b",", b"{", b"["))) > VALUES_LIMIT:
        raise place.error(f"holds more than {VALUES_LIMIT:,} values", _SMALLER)
    return content


def decoded(place: Place, content: bytes) -> str:
    """Return UTF-8 text. Raise UserError for anything else."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        fault = f"is not UTF-8 text (byte {error.start + 1})"
        raise place.error(fault, "save it as UTF-8") from None


def text_of(place: Place) -> str:
    """Return the text of a regular file. Raise UserError."""
    return decoded(place, content_of(place))


def parsed(place: Place, text: str, remedy: str = RESULT_FILE) -> object:
    """Return the value of JSON in `text`. Raise UserError, also for a repeated key."""
    try:
        # Not strict: before 1.5.1 Google Benchmark wrote raw line breaks in messages.
        with uncollected():
            value: object = json.loads(
                text, object_pairs_hook=partial(_unique, place), strict=False
            )
    except json.JSONDecodeError as error:
        raise _syntax_error(place, text, error, remedy) from None
    except (RecursionError, MemoryError):
        raise place.error("is nested too deeply, or too large for the memory", remedy) from None
    except ValueError:  # an integer with more digits than Python converts
        raise place.error("holds a number that is too long") from None
    return value


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Disable the garbage collector, which takes half of the time for many small objects."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _unique(place: Place, pairs: list[tuple[str, object]]) -> Object:
    members = dict(pairs)
    if len(members) != len(pairs):
        # Google Benchmark writes such a row for a counter with the name of one of its own keys.
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        name = members.get("name")
        there = place._replace(what=quoted(name) if isinstance(name, str) else "", name=name)
        fault = f"holds the key {quoted(key)} twice in one object"
        raise there.error(fault, "keep one of them, or rename one if both are intended")
    return members


def has_conflict(text: str) -> bool:
    """Return whether git left the marks of a merge in a file."""
    return "\n<<<<<<< " in f"\n{text}"


def _syntax_error(place: Place, text: str, error: json.JSONDecodeError, remedy: str) -> UserError:
    if has_conflict(text):
        return place.error("holds an unresolved merge conflict", "resolve it")
    start, end = text.lstrip(), text.rstrip()
    if start.startswith("<"):
        return place.error("is an HTML or XML page, not JSON", "fetch the file itself")
    for head, tool, instead in _CSV:
        if start.startswith(head):
            return place.error(f"is {tool}'s CSV", instead)
    unclosed = start.startswith("{") and not end.endswith("}") and error.msg != "Extra data"
    if unclosed or error.pos >= len(end):
        return place.error("ends in the middle, as after a crash or on a full disk")
    where = f"line {error.lineno}, column {error.colno}"
    return place.error(f"is not JSON ({where}: {error.msg})", remedy)
