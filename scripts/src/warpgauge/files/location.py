# SPDX-License-Identifier: Apache-2.0
"""Where in a file a value stands: every fault of a file is one sentence that begins with it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from warpgauge.system.errors import UserError
from warpgauge.system.text import inert, quoted

# What `-` stands for on a command line.
STANDARD_INPUT = Path("/dev/stdin")
MEASURE_AGAIN = "measure it again"


class Place(NamedTuple):
    """A file; a part of it, in words; or its `row` (from 0), with its `name` if it has one.

    There is one a row, and hardly any is ever told: the words are made when they are needed.
    """

    path: Path
    what: str = ""
    row: int | None = None
    name: object = None

    def error(self, fault: str, remedy: str = MEASURE_AGAIN) -> UserError:
        """One sentence: where, what is wrong, what to do."""
        return UserError(inert(f"{self.path}{self._where()}: {fault}; {remedy}"))

    def _where(self) -> str:
        """People count rows from 1."""
        if self.row is None:
            return f", {self.what}" if self.what else ""
        named = f" ({quoted(self.name)})" if isinstance(self.name, str) else ""
        return f", row {self.row + 1}{named}"
