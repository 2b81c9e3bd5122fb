# SPDX-License-Identifier: Apache-2.0
"""--print-completion SHELL: what a shell needs to complete commands and options, through shtab."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from warpgauge.commands import main
from warpgauge.commands.main import CI, COMMANDS, Command
from warpgauge.system import streams
from warpgauge.system.errors import UserError

SHELLS = ("bash", "zsh")


def show(shell: str) -> int:
    """Print the script for `shell`. Raises UserError where shtab is missing."""
    if shell not in SHELLS:
        raise UserError(f"--print-completion takes {' or '.join(SHELLS)}, not {shell!r}")
    try:
        import shtab
    except ImportError:
        raise UserError(
            "--print-completion needs shtab: install it with pip install shtab"
        ) from None
    streams.write(f"{shtab.complete(command_line(), shell)}\n")
    return 0


def command_line() -> argparse.ArgumentParser:
    """One parser with every command in it."""
    parser = argparse.ArgumentParser(prog="warpgauge")
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers()
    _add(commands, COMMANDS)
    _add(commands.add_parser("ci", help="what the workflows run").add_subparsers(), CI, "ci.")
    return parser


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    known: Mapping[str, Command],
    where: str = "",
) -> None:
    for name, command in known.items():
        try:
            options = main.command_line(f"{where}{name}")
        except UserError:  # a command that cannot run from here
            continue
        commands.add_parser(name, help=command.summary, parents=[options], add_help=False)
