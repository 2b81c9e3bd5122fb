# SPDX-License-Identifier: Apache-2.0
"""warpgauge fidelity, from the clone: benchmarks/fidelity, which needs the trace library there."""

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
    """Raises UserError for what the user can mend."""
    return int(_from_clone("command").main(argv, root))


def parse(argv: Sequence[str]) -> None:
    """Show --help. Raises UserError for bad usage."""
    _from_clone("options").parse(argv)


def command_line() -> argparse.ArgumentParser:
    """The options, for completion; none outside of a clone, where there is nothing to run."""
    if not _folder().is_dir():
        return argparse.ArgumentParser()
    parser: argparse.ArgumentParser = _from_clone("options").command_line()
    return parser


def _folder() -> Path:
    return environment.ROOT / "benchmarks" / "fidelity"


def _from_clone(module: str) -> ModuleType:
    if not _folder().is_dir():
        raise UserError("fidelity needs a clone of warpgauge: run scripts/warpgauge fidelity there")
    sys.path[:0] = [str(_folder().parent), str(environment.ROOT / "fixtures" / "trace")]
    return importlib.import_module(f"fidelity.{module}")
