# SPDX-License-Identifier: Apache-2.0
"""The place of a value in a file, with which each fault of the file begins."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from warpgauge.system.errors import UserError
from warpgauge.system.text import inert, quoted

# The path that `-` means on a command line.
STANDARD_INPUT = Path("/dev/stdin")
MEASURE_AGAIN = "measure it again"


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
        return UserError(inert(f"{self.path}{self._where()}: {fault}; {remedy}"))

    def _where(self) -> str:
        """Return the part of the file in words; people count rows from 1."""
        if self.row is None:
            return f", {self.what}" if self.what else ""
        named = f" ({quoted(self.name)})" if isinstance(self.name, str) else ""
        return f", row {self.row + 1}{named}"
