# SPDX-License-Identifier: Apache-2.0
"""The shell in workflows and actions: every `run:`, with the lines of the file it stands on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import LiteralScalarString

# What GitHub takes where nothing is said, on a machine that has it.
_USUAL_SHELL = "bash"

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
    """In the order of the file. Raises ValueError for what is no YAML."""
    try:
        document = YAML(typ="rt").load(path.read_text(encoding="utf-8"))
    except YAMLError as fault:
        raise ValueError(f"{path}: {fault}") from None
    return sorted(_of_node(document, path, _USUAL_SHELL), key=lambda block: block.line)


def _of_node(node: object, path: Path, shell: str) -> Iterator[RunBlock]:
    """All at and below `node`, where `shell` is the usual one."""
    if isinstance(node, list):
        for one in node:
            yield from _of_node(one, path, shell)
    if not isinstance(node, CommentedMap):
        return
    script = node.get("run")
    if isinstance(script, str):
        literal = isinstance(script, LiteralScalarString)
        line = node.lc.value("run")[0] + (2 if literal else 1)
        inert = _EXPRESSION.sub(_placeholder, script)
        yield RunBlock(path, line, str(node.get("shell", shell)), inert, not literal)
        return
    # The defaults of the workflow and of a job; `defaults` itself has a `run`, which is no script.
    defaults = node.get("defaults")
    run = defaults.get("run") if isinstance(defaults, CommentedMap) else None
    shell = str(run.get("shell", shell)) if isinstance(run, CommentedMap) else shell
    for key, one in node.items():
        if key != "defaults":
            yield from _of_node(one, path, shell)


def _placeholder(found: re.Match[str]) -> str:
    """A word of the same length, and of as many lines."""
    return re.sub(r"[^\n]", "_", found.group())
