# SPDX-License-Identifier: Apache-2.0
"""A repository as GitHub hosts it: a real bare one behind the parts of its API that are used."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from builders import Json
from fake_github import Answer, Asked

NAME = "somebody/project"
_WHO = {f"GIT_{who}_{key}": "a@b" for who in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
_WHO |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def git(folder: Path, *arguments: str, text: str | None = None, **variables: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **_WHO, **variables},
    )
    return done.stdout.strip()


@dataclass
class Hosted:
    """`git` is the bare repository; what else GitHub keeps is in the lists."""

    git: Path
    url: str = ""
    runs: dict[int, Json] = field(default_factory=dict)
    artifacts: list[tuple[str, bytes]] = field(default_factory=list)
    pulls: list[Json] = field(default_factory=list)
    comments: list[tuple[int, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # "POST /repos/…", in order
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)  # by how a request begins
    before: Callable[[str], None] = lambda _: None  # called with each request

    def branches(self) -> dict[str, str]:
        lines = git(self.git, "for-each-ref", "--format=%(refname:short) %(objectname)").split("\n")
        return dict(line.split() for line in lines if line)

    def changed(self, one: str, other: str) -> list[str]:
        return git(self.git, "diff", "--name-only", one, other).split("\n")

    def writes(self) -> list[str]:
        return [one for one in self.asked if not one.startswith("GET ")]

    def answer(self, request: Asked) -> Answer:
        asked = f"{request.method} {request.path}"
        self.asked.append(asked)
        self.before(asked)
        for begin, (status, message) in self.refused.items():
            if asked.startswith(begin):
                return Answer({"message": message}, status)
        parts = request.path.removeprefix(f"/repos/{NAME}").strip("/").split("/")
        body = request.body
        match (request.method, *parts):
            case ("GET", "actions", "runs", number) if int(number) in self.runs:
                return Answer(self.runs[int(number)])
            case ("GET", "actions", "runs", _, "artifacts"):
                known = {"expired": False, "created_at": "2026-11-20T10:00:00Z"}
                listed = [
                    {"id": index, "name": name, "size_in_bytes": len(data), **known}
                    for index, (name, data) in enumerate(self.artifacts, 1)
                ]
                return Answer({"total_count": len(listed), "artifacts": listed})
            case ("GET", "actions", "artifacts", number, "zip"):
                return Answer(self.artifacts[int(number) - 1][1])
            case ("POST", "pulls"):
                self.pulls.append(body)
                opened = len(self.pulls)
                url = f"https://gh/{NAME}/pull/{opened}"
                return Answer({"number": opened, "html_url": url}, 201)
            case ("POST", "issues", number, "comments"):
                self.comments.append((int(number), body["body"]))
                return Answer({"id": len(self.comments)}, 201)
            case (_, "git", *_):
                return self._git_answer(request.method, parts[1:], body)
        return Answer({"message": "Not Found"}, 404)

    def _git_answer(self, method: str, parts: list[str], body: Any) -> Answer:  # noqa: ANN401
        match (method, *parts):
            case ("GET", "matching-refs", "heads", *branch):
                begin = "/".join(branch)
                return Answer(
                    [
                        {"ref": f"refs/heads/{name}", "object": {"sha": sha}}
                        for name, sha in self.branches().items()
                        if name.startswith(begin)
                    ]
                )
            case ("GET", "commits", sha):
                tree = git(self.git, "rev-parse", f"{sha}^{{tree}}")
                return Answer({"sha": sha, "tree": {"sha": tree}})
            case ("POST", "trees"):
                return Answer({"sha": self._tree(body)}, 201)
            case ("POST", "commits"):
                parents = [word for parent in body["parents"] for word in ("-p", parent)]
                sha = git(self.git, "commit-tree", body["tree"], *parents, text=body["message"])
                return Answer({"sha": sha}, 201)
            case ("POST", "refs"):
                if body["ref"].removeprefix("refs/heads/") in self.branches():
                    return Answer({"message": "Reference already exists"}, 422)
                git(self.git, "update-ref", body["ref"], body["sha"])
                return Answer({"ref": body["ref"]}, 201)
            case ("PATCH", "refs", "heads", *branch):
                ref = f"refs/heads/{'/'.join(branch)}"
                merged = git(self.git, "merge-base", "--all", ref, body["sha"])
                if not body["force"] and merged != git(self.git, "rev-parse", ref):
                    return Answer({"message": "Update is not a fast forward"}, 422)
                git(self.git, "update-ref", ref, body["sha"])
                return Answer({"ref": ref})
        return Answer({"message": "Not Found"}, 404)

    def _tree(self, body: Any) -> str:  # noqa: ANN401
        index = {"GIT_INDEX_FILE": str(self.git / "api-index")}
        (self.git / "api-index").unlink(missing_ok=True)
        if "base_tree" in body:
            git(self.git, "read-tree", body["base_tree"], **index)
        for file in body["tree"]:
            blob = git(self.git, "hash-object", "-w", "--stdin", text=file["content"])
            entry = f"{file['mode']},{blob},{file['path']}"
            git(self.git, "update-index", "--add", "--cacheinfo", entry, **index)
        return git(self.git, "write-tree", **index)
