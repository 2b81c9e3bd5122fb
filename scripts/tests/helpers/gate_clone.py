# SPDX-License-Identifier: Apache-2.0
"""A clone whose scripts/bench is the real one over fake programs, as the gate starts it."""

from __future__ import annotations

from pathlib import Path

from clone import GitRepository

_PROGRAM = """
import sys
from pathlib import Path
root = Path(__file__).parents[1]
sys.path[:0] = {path!r}
from clone import GitRepository
from warpgauge.commands.bench import main
from warpgauge.execution import build
from warpgauge.measurement import measuring
from warpgauge.system import entry_point, environment, locks, packages
build.build = GitRepository(root, None).build
packages.provide = lambda *_: None
locks._GPUS, measuring._COOLING_S = root / "build" / "gpus", 0.0
environment.ROOT = root
argv = ["--seed=1", *sys.argv[1:]]
sys.exit(entry_point.run("bench", lambda: main(argv, root), "before a run file was written"))
"""


def with_commands(clone: GitRepository) -> GitRepository:
    """`clone` with a scripts/bench that git does not see."""
    helpers = Path(__file__).parent
    program = clone.root / "scripts" / "bench"
    program.parent.mkdir()
    program.write_text(_PROGRAM.format(path=[str(helpers.parents[1] / "src"), str(helpers)]))
    (clone.root / ".git" / "info" / "exclude").write_text("/scripts/\n")
    return clone
