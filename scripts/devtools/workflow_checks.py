# SPDX-License-Identifier: Apache-2.0
"""The checks by scripts/lint of workflows, images and shell scripts, without a network."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from devtools.check_runner import Check, Command
from devtools.tools import CHECK_JSONSCHEMA, HADOLINT, SHELLCHECK, ZIZMOR

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
    folder = root / ".github"

    def schemas() -> Sequence[Command]:
        given = [
            ("--builtin-schema", "vendor.github-workflows", workflows(root)),
            ("--builtin-schema", "vendor.github-actions", actions(root)),
            ("--builtin-schema", "vendor.dependabot", _named(folder, "dependabot.yml")),
            ("--builtin-schema", "vendor.github-issue-forms", _forms(root)),
            (
                "--builtin-schema",
                "vendor.github-issue-config",
                _named(folder / "ISSUE_TEMPLATE", "config.yml"),
            ),
            ("--builtin-schema", "vendor.citation-file-format", _named(root, "CITATION.cff")),
        ]
        if (schema := folder / "gpus.schema.json").exists():
            given.append(("--schemafile", str(schema), _named(root, "gpus.json")))
        return [[CHECK_JSONSCHEMA, *by, *map(str, files)] for *by, files in given if files]

    def images() -> Sequence[Command]:
        return [[HADOLINT, "--no-color", *map(str, _named(root, "Dockerfile"))]]

    def shell() -> Sequence[Command]:
        blocks = [*workflows(root), *actions(root)]
        commands = [_module("run_block_lint", blocks)] if blocks else []
        # No settings of a folder's own: an ignore stands where it is needed, with its reason.
        if scripts := shell_scripts(root):
            commands.append([SHELLCHECK, "--norc", *map(str, scripts)])
        return commands

    return [
        Check("zizmor", lambda: [[*_ZIZMOR, f"--persona={one}", str(root)] for one in _PERSONAS],
              root, ZIZMOR),
        Check("schemas", schemas, root, CHECK_JSONSCHEMA),
        Check("hadolint", images, root, HADOLINT),
        Check("shellcheck", shell, _OURS, SHELLCHECK),
        Check("reasons", lambda: [_module("ignore_reasons", that_may_ignore(root))], _OURS,
              sys.executable),
    ]  # fmt: skip


def _module(name: str, files: Sequence[Path]) -> Command:
    return [sys.executable, "-m", f"devtools.{name}", *map(str, files)]


def _forms(root: Path) -> list[Path]:
    found = [path for path in _all_yaml(root) if path.parent.name == "ISSUE_TEMPLATE"]
    return [path for path in found if path.stem != "config"]


def workflows(root: Path) -> list[Path]:
    """Those of examples, too."""
    return [path for path in _all_yaml(root) if path.parent.name == "workflows"]


def actions(root: Path) -> list[Path]:
    """The composite actions, wherever they lie."""
    return [path for path in _all_yaml(root) if path.stem == "action"]


def shell_scripts(root: Path) -> list[Path]:
    """All in the tree, by their ending or by how they begin."""
    return sorted(path for path in _files(root) if path.suffix == ".sh" or _begins_as_shell(path))


def that_may_ignore(root: Path) -> list[Path]:
    """Where a finding of zizmor or shellcheck can be ignored."""
    settings = [path for path in _all_yaml(root) if path.stem in ("dependabot", "zizmor")]
    return sorted({*workflows(root), *actions(root), *settings, *shell_scripts(root)})


def _named(folder: Path, name: str) -> list[Path]:
    return sorted(path for path in _files(folder) if path.name == name)


def _all_yaml(root: Path) -> list[Path]:
    return sorted(path for path in _files(root) if path.suffix in (".yml", ".yaml"))


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in _FOREIGN]
        yield from (path for name in names if (path := Path(folder, name)).is_file())


def _begins_as_shell(path: Path) -> bool:
    with path.open("rb") as file:
        return _SHEBANG.match(file.read(80)) is not None
