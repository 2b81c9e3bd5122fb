# SPDX-License-Identifier: Apache-2.0
"""Commits files to a branch through GitHub's API, so that no git needs a credential.

https://docs.github.com/en/rest/git: a tree on top of the parent's, a commit, and then its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpgauge.github.api import GitHub, Json
from warpgauge.github.fields import text
from warpgauge.system.git import FULL_COMMIT


@dataclass(frozen=True)
class Repository:
    """One repository, written to with the rights that the token has."""

    github: GitHub
    name: str  # OWNER/NAME

    def head(self, branch: str) -> str | None:
        """The commit that a branch is at; None where there is no such branch."""
        ref = f"refs/heads/{branch}"
        # By its beginning: a branch that is not there is an empty list, and no error.
        for found in self.github.listed(f"{self._git}/matching-{ref}"):
            if found.get("ref") == ref:
                return _sha(found, "object")
        return None

    def commit(self, parent: str | None, files: Mapping[str, str], message: str) -> str:
        """A new commit, still without a branch: `parent` with these files written.

        Without a parent it is the first of a history of its own.
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
        """Refused by GitHub where somebody else advanced it meanwhile."""
        self.github.patch(f"{self._git}/refs/heads/{branch}", {"sha": commit, "force": False})

    @property
    def _git(self) -> str:
        return f"/repos/{self.name}/git"


def _sha(answer: Json, *keys: str) -> str:
    return text(answer, *keys, "sha", pattern=FULL_COMMIT)
