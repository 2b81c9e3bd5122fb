# SPDX-License-Identifier: Apache-2.0
"""Standard output and error that do not fail on a closed pipe, a full disk or an encoding.

Standard library only, and readable by Python 3.8 (every command begins with it).
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
from pathlib import Path
from typing import TextIO

# The error handler of encodings that lack a character: the sign of a number is not lost with it.
PLAIN = "warpgauge-plain"
_IN_ASCII = {pair[0]: pair[1:] for pair in "−- –- …... →-> ≤<= ≥>= ×x µu ·-".split()}


def _plain(fault: UnicodeError) -> tuple[str, int]:
    if not isinstance(fault, UnicodeEncodeError):
        raise fault
    lost = fault.object[fault.start : fault.end]
    return "".join(_IN_ASCII.get(char, "?") for char in lost), fault.end


codecs.register_error(PLAIN, _plain)


class _Remarks(io.TextIOWrapper):
    """A standard error whose disk may be full: what is lost there costs no result its status."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def forgive() -> None:
    """From now on printing is no fault where nobody listens, or an encoding lacks a character."""
    sys.stdout, sys.stderr = _usable(sys.stdout), _usable(sys.stderr)
    if type(sys.stderr) is io.TextIOWrapper:  # and not a test's, or one of these already
        encoding = sys.stderr.encoding
        sys.stderr = _Remarks(sys.stderr.detach(), encoding, PLAIN, None, True, True)
    for name in ("COLUMNS", "LINES"):  # a terminal of none is one of unknown width
        if not os.environ.get(name, "").strip("0"):
            os.environ.pop(name, None)


def _usable(stream: TextIO | None) -> TextIO:
    """A stream that never fails; `stream` is None where it was closed."""
    if stream is None:
        stream = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for good
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=PLAIN)
    return stream


def write(text: str) -> None:
    """Print to standard output at once, also where its reader has gone away. Raises OSError."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        abandon()


def abandon() -> None:
    """What is left of standard output goes nowhere: Python flushes once more on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def finish() -> None:
    """Nothing is left to be printed by Python's own end, whose status for a full disk is 120."""
    try:
        sys.stdout.flush()
    except OSError:  # whoever printed has told
        abandon()
