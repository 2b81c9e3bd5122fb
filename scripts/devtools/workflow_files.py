# SPDX-License-Identifier: Apache-2.0
"""Which files the workflows are made of, and which are shell scripts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

# What a script begins with that shellcheck can read.
_SHEBANG = re.compile(rb"#!\s*\S*/(?:env\s+(?:-S\s+)?)?(?:ba|da|k)?sh\b")

# Of others, or made by tools: nothing of ours is in it.
_FOREIGN = frozenset((".git", ".venv", "build", "__pycache__"))


def workflows(root: Path) -> list[Path]:
    return _yaml(root / ".github" / "workflows", "*")


def actions(root: Path) -> list[Path]:
    """The composite actions, wherever in .github they lie."""
    return _yaml(root / ".github", "**/action")


def shell_scripts(root: Path) -> list[Path]:
    """All in the tree, by their ending or by how they begin."""
    return sorted(path for path in _files(root) if path.suffix == ".sh" or _begins_as_shell(path))


def that_may_ignore(root: Path) -> list[Path]:
    """Where a finding of zizmor or shellcheck can be ignored."""
    settings = _yaml(root, "zizmor")
    return [*_yaml(root / ".github", "**/*"), *settings, *shell_scripts(root)]


def _yaml(folder: Path, name: str) -> list[Path]:
    return sorted(path for end in ("yml", "yaml") for path in folder.glob(f"{name}.{end}"))


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in _FOREIGN]
        yield from (path for name in names if (path := Path(folder, name)).is_file())


def _begins_as_shell(path: Path) -> bool:
    with path.open("rb") as file:
        return _SHEBANG.match(file.read(80)) is not None
