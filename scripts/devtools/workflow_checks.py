# SPDX-License-Identifier: Apache-2.0
"""The checks by scripts/lint of workflows and of shell scripts, without a network."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from devtools.check_runner import Check, Command
from devtools.tools import CHECK_JSONSCHEMA, SHELLCHECK, ZIZMOR

_ZIZMOR = (ZIZMOR, "--offline", "--no-progress")
# Neither finds everything that the other does.
_PERSONAS = ("pedantic", "auditor")
_OURS = Path(__file__).resolve().parents[1]

# What a script begins with that shellcheck can read.
_SHEBANG = re.compile(rb"#!\s*\S*/(?:env\s+(?:-S\s+)?)?(?:ba|da|k)?sh\b")

# Of others, or made by tools.
_FOREIGN = frozenset((".git", ".venv", "build", "__pycache__"))


def checks(root: Path) -> list[Check]:
    """Of the tree at `root`."""
    folder, folders = root / ".github", _folders(root)

    def schemas() -> Sequence[Command]:
        given = [
            ("--builtin-schema", "vendor.github-workflows", workflows(root)),
            ("--builtin-schema", "vendor.github-actions", actions(root)),
            ("--builtin-schema", "vendor.dependabot", _yaml(folder, "dependabot")),
            ("--builtin-schema", "vendor.github-issue-forms", _forms(folder)),
            (
                "--builtin-schema",
                "vendor.github-issue-config",
                _yaml(folder / "ISSUE_TEMPLATE", "config"),
            ),
            ("--builtin-schema", "vendor.citation-file-format", sorted(root.glob("CITATION.cff"))),
        ]
        if (schema := folder / "gpus.schema.json").exists():
            listed = sorted(path for one in folders for path in one.glob("**/gpus.json"))
            given.append(("--schemafile", str(schema), listed))
        return [[CHECK_JSONSCHEMA, *by, *map(str, files)] for *by, files in given if files]

    def shell() -> Sequence[Command]:
        blocks = [*workflows(root), *actions(root)]
        commands = [_module("run_block_lint", blocks)] if blocks else []
        # No settings of a folder's own: an ignore stands where it is needed, with its reason.
        if scripts := shell_scripts(root):
            commands.append([SHELLCHECK, "--norc", *map(str, scripts)])
        return commands

    return [
        Check("zizmor", lambda: [[*_ZIZMOR, f"--persona={one}", *map(str, folders)]
                                 for one in _PERSONAS], root, ZIZMOR),
        Check("schemas", schemas, root, CHECK_JSONSCHEMA),
        Check("shellcheck", shell, _OURS, SHELLCHECK),
        Check("reasons", lambda: [_module("ignore_reasons", that_may_ignore(root))], _OURS,
              sys.executable),
    ]  # fmt: skip


def _module(name: str, files: Sequence[Path]) -> Command:
    return [sys.executable, "-m", f"devtools.{name}", *map(str, files)]


def _folders(root: Path) -> list[Path]:
    """Where workflows and actions lie: those of the tree, and those that others copy."""
    return [folder for name in (".github", "examples") if (folder := root / name).is_dir()]


def _forms(folder: Path) -> list[Path]:
    return [path for path in _yaml(folder / "ISSUE_TEMPLATE", "*") if path.stem != "config"]


def workflows(root: Path) -> list[Path]:
    """Those of examples, too."""
    return [path for folder in _folders(root) for path in _yaml(folder, "**/workflows/*")]


def actions(root: Path) -> list[Path]:
    """The composite actions, wherever in .github they lie."""
    return _yaml(root / ".github", "**/action")


def shell_scripts(root: Path) -> list[Path]:
    """All in the tree, by their ending or by how they begin."""
    return sorted(path for path in _files(root) if path.suffix == ".sh" or _begins_as_shell(path))


def that_may_ignore(root: Path) -> list[Path]:
    """Where a finding of zizmor or shellcheck can be ignored."""
    settings = _yaml(root, "zizmor")
    everywhere = [path for folder in _folders(root) for path in _yaml(folder, "**/*")]
    return [*everywhere, *settings, *shell_scripts(root)]


def _yaml(folder: Path, name: str) -> list[Path]:
    return sorted(path for end in ("yml", "yaml") for path in folder.glob(f"{name}.{end}"))


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in _FOREIGN]
        yield from (path for name in names if (path := Path(folder, name)).is_file())


def _begins_as_shell(path: Path) -> bool:
    with path.open("rb") as file:
        return _SHEBANG.match(file.read(80)) is not None
