# SPDX-License-Identifier: Apache-2.0
"""Files in Python as programs; one of benchmarks as a build folder, as --build-dir takes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warpgauge.measure import manifest
from warpgauge.measure.manifest import Manifest, Program
from warpgauge.system import environment
from warpgauge.system.atomic import replace_all
from warpgauge.system.errors import UserError
from warpgauge.system.text import file_name

# The first python3 of PATH: that of the user's environment, which has the frameworks. The command
# itself may run in an environment of its own.
_PROGRAM = """#!/usr/bin/env python3
import os, sys
# Without its bytecode a framework takes seconds to import. One that is isolated cannot write.
if os.access({bytecode!r}, os.W_OK):
    sys.pycache_prefix, sys.dont_write_bytecode = {bytecode!r}, False
sys.path.append({package!r})
from warpgauge.callables import program, {module}
sys.exit(program.run([*{words!r}, *sys.argv[1:]], {module}.main))
"""


def write(program: Path, module: str, words: Sequence[str]) -> None:
    """Write a program that runs a module of warpgauge.callables with these words before its own."""
    package = Path(__file__).resolve().parents[2]
    bytecode = environment.ROOT / "build" / "python" / "bytecode"
    source = _PROGRAM.format(
        bytecode=str(bytecode), package=str(package), module=module, words=[*words]
    )
    for folder in (program.parent, bytecode):
        folder.mkdir(parents=True, exist_ok=True)
    replace_all({program: source.encode()})
    program.chmod(0o755)


def provide(path: Path) -> Path:
    """Return a folder with the program of this file, and its manifest. Raises UserError."""
    if not path.is_file():
        raise UserError(f"{path} is no file: name one with @warpgauge.benchmark functions")
    found = path.resolve()
    where = environment.ROOT / "build" / "python" / file_name(path.stem, str(found))
    program = where / path.stem
    write(program, "program", [str(found)])
    manifest.write(where, Manifest((Program(program, inputs=(found,), loads=True),), found.parent))
    return where
