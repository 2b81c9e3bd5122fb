# SPDX-License-Identifier: Apache-2.0
"""warpgauge fidelity: runs benchmarks/fidelity of a clone, which needs the trace library."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from warpgauge.system import environment
from warpgauge.system.errors import UserError


def main(argv: Sequence[str], root: Path) -> int:
    return int(_from_clone("command").main(argv, root))


def command_line() -> argparse.ArgumentParser:
    """Return the parser, also for --help. Raises UserError outside of a clone."""
    parser: argparse.ArgumentParser = _from_clone("options").command_line()
    return parser


def _from_clone(module: str) -> ModuleType:
    benchmarks = environment.ROOT / "benchmarks"
    if not (benchmarks / "fidelity").is_dir():
        raise UserError("fidelity needs a clone of warpgauge: run scripts/warpgauge fidelity there")
    sys.path[:0] = [str(benchmarks), str(environment.ROOT / "fixtures" / "trace")]
    return importlib.import_module(f"fidelity.{module}")
