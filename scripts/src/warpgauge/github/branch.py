# SPDX-License-Identifier: Apache-2.0
"""Commit files to a branch through GitHub's API, so that git needs no credential.

https://docs.github.com/en/rest/git: a tree on top of the parent's, a commit, then the branch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpgauge.github.api import GitHub, Json
from warpgauge.github.fields import text
from warpgauge.system.git import FULL_COMMIT


@dataclass(frozen=True)
class Repository:
    """A repository, written to with the token's rights."""

    github: GitHub
    name: str  # OWNER/NAME

    def head(self, branch: str) -> str | None:
        """Return the commit of a branch, or None if there is no such branch."""
        ref = f"refs/heads/{branch}"
        # Matched by prefix, because a missing branch is then an empty list instead of an error.
        for found in self.github.listed(f"{self._git}/matching-{ref}"):
            if found.get("ref") == ref:
                return _sha(found, "object")
        return None

    def commit(self, parent: str | None, files: Mapping[str, str], message: str) -> str:
        """Create a commit that no branch has yet: `parent` with these files written.

        Without a parent it begins a history of its own.
        """
        kind = {"mode": "100644", "type": "blob"}  # a regular file
        blobs = [{"path": path, "content": text, **kind} for path, text in files.items()]
        tree: dict[str, object] = {"tree": blobs}
        if parent is not None:
            tree["base_tree"] = _sha(self.github.get(f"{self._git}/commits/{parent}"), "tree")
        made = _sha(self.github.post(f"{self._git}/trees", tree))
        about = {"message": message, "tree": made, "parents": [parent] if parent else []}
        return _sha(self.github.post(f"{self._git}/commits", about))

    def create_branch(self, branch: str, commit: str) -> None:
        self.github.post(f"{self._git}/refs", {"ref": f"refs/heads/{branch}", "sha": commit})

    def advance_branch(self, branch: str, commit: str) -> None:
        """Move a branch; GitHub refuses if it was moved meanwhile."""
        self.github.patch(f"{self._git}/refs/heads/{branch}", {"sha": commit, "force": False})

    @property
    def _git(self) -> str:
        return f"/repos/{self.name}/git"


def _sha(answer: Json, *keys: str) -> str:
    return text(answer, *keys, "sha", pattern=FULL_COMMIT)
