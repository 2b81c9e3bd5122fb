# SPDX-License-Identifier: Apache-2.0
"""Standard output and error that survive a closed pipe, a full disk or a limited encoding.

Standard library only, and valid in Python 3.8, because every command begins with it.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import TextIO

# Variables that --quiet and --color set for this process and those that it starts.
QUIET, COLOR = "WARPGAUGE_QUIET", "WARPGAUGE_COLOR"
COLORS = ("auto", "always", "never")

_ESCAPED = "backslashreplace"  # for encodings that lack a character


class _Results(io.TextIOWrapper):
    """A standard output whose reader may leave early, as ``| head`` does; the rest is discarded."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except BrokenPipeError:
            abandon()
        return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError:
            abandon()


class _Remarks(io.TextIOWrapper):
    """A standard error that ignores a full disk: lost messages must not change the exit status."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def forgive() -> None:
    """Make printing ignore closed streams, and characters that the encoding lacks."""
    sys.stdout, sys.stderr = _usable(sys.stdout), _usable(sys.stderr)
    # Not replaced by a test or an earlier call.
    if type(sys.stdout) is io.TextIOWrapper:
        out, encoding = sys.stdout, sys.stdout.encoding
        flushed = out.line_buffering, out.write_through
        sys.stdout = _Results(out.detach(), encoding, _ESCAPED, None, *flushed)
    if type(sys.stderr) is io.TextIOWrapper:
        encoding = sys.stderr.encoding
        sys.stderr = _Remarks(sys.stderr.detach(), encoding, _ESCAPED, None, True, True)
    for name in ("COLUMNS", "LINES"):  # 0 means that the size is unknown
        if not os.environ.get(name, "").strip("0"):
            os.environ.pop(name, None)


def _usable(stream: TextIO | None) -> TextIO:
    """Return a stream that accepts all characters; `stream` is None if it was closed."""
    if stream is None:
        stream = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - never closed
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=_ESCAPED)
    return stream


def write(text: str) -> None:
    """Print to standard output and flush; a closed pipe is ignored. Raises OSError."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        abandon()


def abandon() -> None:
    """Discard further standard output, because Python flushes once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def finish() -> None:
    """Flush standard output, as Python's own flush at exit would return 120 for a full disk."""
    try:
        sys.stdout.flush()
    except OSError:  # already reported by whoever printed
        abandon()
