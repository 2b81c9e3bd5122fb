# SPDX-License-Identifier: Apache-2.0
"""warpgauge demo: a recorded comparison, marked as such, for who has no GPU yet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warpgauge.commands import command_lines
from warpgauge.commands.output import Formats
from warpgauge.reports import recorded
from warpgauge.reports.formats import terminal
from warpgauge.system.errors import ExitStatus
from warpgauge.system.layout import Output, print_text


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    """Show the comparison; its verdict is not the status. Raises UserError."""
    options = command_lines.demo().parse_args(argv)
    formats = Formats.parse(options.format)
    formats.check(root / "baselines", [])
    found = recorded.marked()
    console = Output(stderr=not formats.is_for_people, highlight=False)
    mark = f"{found.notes[0]} Nothing was measured."
    print_text(console, f"{mark}\n", style="bold yellow")
    status = formats.deliver(found, ExitStatus.OK, lambda: terminal.render(found, console))
    print_text(console, f"\n{mark}", style="bold yellow")
    print_text(console, "To look into a regression of your own: scripts/warpgauge explain")
    print_text(console, "To measure your own GPU: scripts/bench")
    return status
