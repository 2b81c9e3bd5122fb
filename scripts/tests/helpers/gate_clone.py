# SPDX-License-Identifier: Apache-2.0
"""A clone whose scripts/bench is the real one over fake programs, as the gate starts it."""

from __future__ import annotations

from pathlib import Path

from clone import GitRepository
from warpgauge.commands.format_options import Formats
from warpgauge.system.errors import UserError

_PROGRAM = """
import sys
from pathlib import Path
root = Path(__file__).parents[1]
sys.path[:0] = {path!r}
from clone import GitRepository
from warpgauge.system import locks as alone
from warpgauge.execution import build
from warpgauge.system import entry_point as command
from warpgauge.system import environment
from warpgauge.measurement import measuring
from warpgauge.system import packages as system_packages
from warpgauge.commands.bench import main
build.build = GitRepository(root, None).build
system_packages.provide = lambda *_: None
alone._GPUS, measuring._COOLING_S = root / "build" / "gpus", 0.0
environment.ROOT = root
argv = ["--seed=1", *sys.argv[1:]]
if not {draws!r}:
    argv = [one for one in argv if not one.startswith("--format=intervals=")]
sys.exit(command.run("bench", lambda: main(argv, root), "before a run file was written"))
"""


def draws() -> bool:
    """Whether this tree can write the picture of the intervals."""
    try:
        Formats.parse(["intervals=a.svg"])
    except UserError:
        return False
    return True


def with_commands(clone: GitRepository) -> GitRepository:
    """`clone` with a scripts/bench that git does not see."""
    helpers = Path(__file__).parent
    program = clone.root / "scripts" / "bench"
    program.parent.mkdir()
    program.write_text(
        _PROGRAM.format(path=[str(helpers.parents[1] / "src"), str(helpers)], draws=draws())
    )
    (clone.root / ".git" / "info" / "exclude").write_text("/scripts/\n")
    return clone
