# SPDX-License-Identifier: Apache-2.0
"""Standard output and error that show what they can, whatever the terminal's encoding.

Standard library only, and readable by Python 3.8 (every command begins with it).
"""

from __future__ import annotations

import io
import sys


def forgive() -> None:
    """From now on a character that the encoding lacks is printed as '?', and is no error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # None where the terminal is gone
            stream.reconfigure(errors="replace")
