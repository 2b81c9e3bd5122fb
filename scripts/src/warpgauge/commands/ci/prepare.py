# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci prepare: a step of its own installs packages, so that none has a token meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warpgauge.commands.arguments import Parser
from warpgauge.system.errors import ExitStatus


def parse(argv: Sequence[str]) -> None:
    """Raises UserError for bad usage."""
    command_line().parse_args(argv)


def command_line() -> Parser:
    """The options, of which there are none."""
    return Parser(
        prog="warpgauge ci prepare",
        description="Makes the Python environment that the other commands need, where this Python "
        "does not have their packages, and does nothing else.",
    )


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    """The environment of this tree is there by now. Raises UserError for bad usage."""
    parse(argv)
    return ExitStatus.OK
