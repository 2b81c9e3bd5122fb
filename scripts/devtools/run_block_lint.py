# SPDX-License-Identifier: Apache-2.0
"""shellcheck on the shell in workflows and actions: python -m devtools.run_block_lint FILE..."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import LiteralScalarString

from devtools.tools import SHELLCHECK

# The first line of a script that stands for each shell; GitHub ends both at the first failure.
_SHEBANGS = {"bash": "#!/bin/bash -e\n", "sh": "#!/bin/sh -e\n"}

# GitHub puts a text in its place before a shell sees the line.
_EXPRESSION = re.compile(r"\$\{\{.*?\}\}", re.DOTALL)


@dataclass(frozen=True)
class RunBlock:
    """One script. Its lines are the file's from `line` on, unless it is `folded` to one."""

    path: Path
    line: int
    shell: str
    script: str
    folded: bool

    def line_of(self, number: int) -> int:
        """The file's line of the script's line `number`, from 1 on."""
        return self.line if self.folded else self.line + number - 1


def of_file(path: Path) -> list[RunBlock]:
    """In the order of the file; GitHub's usual shell is bash. Raises ValueError for no YAML."""
    try:
        document = YAML(typ="rt").load(path.read_text(encoding="utf-8"))
    except YAMLError as fault:
        raise ValueError(f"{path}: {fault}") from None
    return sorted(_of_node(document, path, "bash"), key=lambda block: block.line)


def _of_node(node: object, path: Path, shell: str) -> Iterator[RunBlock]:
    """All at and below `node`, where `shell` is the usual one."""
    if isinstance(node, list):
        for item in node:
            yield from _of_node(item, path, shell)
    if not isinstance(node, CommentedMap):
        return
    script = node.get("run")
    if isinstance(script, str):
        literal = isinstance(script, LiteralScalarString)
        line = node.lc.value("run")[0] + (2 if literal else 1)
        # A word of the same length, and of as many lines.
        inert = _EXPRESSION.sub(lambda found: re.sub(r"[^\n]", "_", found.group()), script)
        yield RunBlock(path, line, str(node.get("shell", shell)), inert, not literal)
        return
    # The defaults of the workflow and of a job; `defaults` itself has a `run`, which is no script.
    defaults = node.get("defaults")
    run = defaults.get("run") if isinstance(defaults, dict) else None
    shell = str(run.get("shell", shell)) if isinstance(run, dict) else shell
    for key, item in node.items():
        if key != "defaults":
            yield from _of_node(item, path, shell)


def main(paths: Sequence[str]) -> int:
    """Print a line a finding; 1 where there is one."""
    try:
        found = findings([block for path in paths for block in of_file(Path(path))])
    except (OSError, ValueError) as fault:
        found = [str(fault)]
    print("\n".join(found))
    return bool(found)


def findings(blocks: Sequence[RunBlock]) -> list[str]:
    """``FILE:LINE: SC2086 (info): …``, by the file's lines. Raises OSError, ValueError."""
    faults: list[tuple[Path, int, str]] = []
    with tempfile.TemporaryDirectory(prefix="warpgauge-") as folder:
        scripts: dict[str, RunBlock] = {}
        for number, block in enumerate(blocks):
            name = block.shell.split(" ", 1)[0]
            if name not in _SHEBANGS:
                fault = f"nothing here checks a script of the shell {block.shell!r}; use bash"
                faults.append((block.path, block.line, fault))
                continue
            file = Path(folder, f"{number}.sh")
            file.write_text(_SHEBANGS[name] + block.script, encoding="utf-8")
            scripts[str(file)] = block
        for comment in _shellcheck(list(scripts)):
            block = scripts[comment["file"]]
            fault = f"SC{comment['code']} ({comment['level']}): {comment['message']}"
            faults.append((block.path, block.line_of(comment["line"] - 1), fault))
    return [f"{path}:{line}: {fault}" for path, line, fault in sorted(faults)]


def _shellcheck(files: Sequence[str]) -> Any:  # noqa: ANN401
    if not files:
        return []
    command = [SHELLCHECK, "--norc", "--format=json1", *files]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout)["comments"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
