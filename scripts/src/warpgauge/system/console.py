# SPDX-License-Identifier: Apache-2.0
"""A console whose reader may go away, as `| head` does, without a word on what was measured."""

from __future__ import annotations

import os

from rich.console import Console


class Output(Console):
    """rich's own would end the program with status 1, which means a regression here."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        # Python flushes once more on its way out, and must find somebody there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())
