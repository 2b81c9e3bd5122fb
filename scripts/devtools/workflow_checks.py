# SPDX-License-Identifier: Apache-2.0
"""What scripts/lint checks of the workflows and of the shell in the tree; nothing is looked up."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from devtools import workflow_files
from devtools.check_runner import Check, Command
from devtools.tools import CHECK_JSONSCHEMA, SHELLCHECK, ZIZMOR

_ZIZMOR = (ZIZMOR, "--offline", "--persona=pedantic", "--no-progress")
_OURS = Path(__file__).resolve().parents[1]


def checks(root: Path) -> list[Check]:
    """Of the tree at `root`."""
    folder = root / ".github"

    def zizmor() -> Sequence[Command]:
        return [[*_ZIZMOR, str(folder)]]

    def schemas() -> Sequence[Command]:
        given = [
            ("--builtin-schema", "vendor.github-workflows", workflow_files.workflows(root)),
            ("--builtin-schema", "vendor.github-actions", workflow_files.actions(root)),
        ]
        if (schema := folder / "gpus.schema.json").exists():
            given.append(("--schemafile", str(schema), [folder / "gpus.json"]))
        return [[CHECK_JSONSCHEMA, *by, *map(str, files)] for *by, files in given if files]

    def shell() -> Sequence[Command]:
        blocks = [*workflow_files.workflows(root), *workflow_files.actions(root)]
        found = [_module("run_block_lint", blocks)] if blocks else []
        scripts = [str(path) for path in workflow_files.shell_scripts(root)]
        # No settings of a folder's own: an ignore stands where it is needed, with its reason.
        return [*found, *([[SHELLCHECK, "--norc", *scripts]] if scripts else [])]

    def reasons() -> Sequence[Command]:
        return [_module("ignore_reasons", workflow_files.that_may_ignore(root))]

    return [
        Check("zizmor", zizmor, root, ZIZMOR),
        Check("schemas", schemas, root, CHECK_JSONSCHEMA),
        Check("shellcheck", shell, _OURS, SHELLCHECK),
        Check("reasons", reasons, _OURS, sys.executable),
    ]


def _module(name: str, files: Sequence[Path]) -> Command:
    return [sys.executable, "-m", f"devtools.{name}", *map(str, files)]
