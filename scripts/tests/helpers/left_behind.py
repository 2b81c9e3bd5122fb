# SPDX-License-Identifier: Apache-2.0
"""What tests leave in the tree: files that git neither tracks nor ignores."""

from __future__ import annotations

from pathlib import Path

from warpgauge.system import git
from warpgauge.system.errors import UserError


def untracked(root: Path) -> frozenset[str]:
    """None where there is no git, or no repository that it trusts."""
    try:
        done = git.run(root, "ls-files", "-z", "--others", "--exclude-standard")
    except UserError:
        return frozenset()
    return frozenset(filter(None, done.stdout.split("\0")))
