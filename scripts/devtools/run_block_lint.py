# SPDX-License-Identifier: Apache-2.0
"""shellcheck on the shell in workflows and actions: python -m devtools.run_block_lint FILE..."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from devtools.run_blocks import RunBlock, of_file
from devtools.tools import SHELLCHECK

# How each is told from the script that it runs; GitHub ends both at the first failure.
_SHEBANGS = {"bash": "#!/bin/bash -e\n", "sh": "#!/bin/sh -e\n"}


def main(paths: Sequence[str]) -> int:
    """Print a line a finding; 1 where there is one."""
    try:
        found = findings([block for path in paths for block in of_file(Path(path))])
    except (OSError, ValueError) as fault:
        found = [str(fault)]
    print("\n".join(found))
    return 1 if found else 0


def findings(blocks: Sequence[RunBlock]) -> list[str]:
    """``FILE:LINE: SC2086 (info): …``, by the file's lines. Raises OSError, ValueError."""
    told: list[tuple[Path, int, str]] = []
    with tempfile.TemporaryDirectory(prefix="warpgauge-") as folder:
        scripts: dict[str, RunBlock] = {}
        for number, block in enumerate(blocks):
            name = block.shell.split(" ", 1)[0]
            if name not in _SHEBANGS:
                fault = f"nothing here checks a script of the shell {block.shell!r}; use bash"
                told.append((block.path, block.line, fault))
                continue
            file = Path(folder, f"{number}.sh")
            file.write_text(_SHEBANGS[name] + block.script, encoding="utf-8")
            scripts[str(file)] = block
        for one in _shellcheck(list(scripts)):
            block = scripts[one["file"]]
            fault = f"SC{one['code']} ({one['level']}): {one['message']}"
            told.append((block.path, block.line_of(one["line"] - 1), fault))
    return [f"{path}:{line}: {fault}" for path, line, fault in sorted(told)]


def _shellcheck(files: Sequence[str]) -> list[dict[str, Any]]:
    if not files:
        return []
    command = [SHELLCHECK, "--norc", "--format=json1", *files]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    comments: list[dict[str, Any]] = json.loads(done.stdout)["comments"]
    return comments


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
