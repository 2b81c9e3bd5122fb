# SPDX-License-Identifier: Apache-2.0
"""Standard output and error that show what they can, whatever the terminal's encoding.

Standard library only, and readable by Python 3.8 (every command begins with it).
"""

from __future__ import annotations

import io
import os
import sys


def forgive() -> None:
    """From now on a character that the encoding lacks is printed as '?', and is no error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # None where the terminal is gone
            stream.reconfigure(errors="replace")


def write(text: str) -> None:
    """Print to standard output, also where its reader has gone away, or there is none."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        abandon()


def abandon() -> None:
    """What is left of standard output goes nowhere.

    Python flushes once more on its way out, and must find somebody there.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def finish() -> None:
    """Nothing is left to be printed by Python's own end, whose status for a full disk is 120."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:  # whoever printed has told
        abandon()
