# SPDX-License-Identifier: Apache-2.0
"""A repository as GitHub hosts it: a real bare one behind the parts of its API that are used."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from builders import Json
from fake_github import Answer, Asked, FakeGitHub

NAME = "somebody/project"
_WHO = {
    f"GIT_{who}_{key}": value
    for who in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "Somebody"), ("EMAIL", "somebody@example.com"))
}


def git(folder: Path, *arguments: str, text: str | None = None, **variables: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **_WHO, "GIT_CONFIG_NOSYSTEM": "1", **variables},
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

    @property
    def environment(self) -> dict[str, str]:
        return {"GH_TOKEN": "token", "GITHUB_API_URL": self.url, "GITHUB_SERVER_URL": "https://gh"}

    def branches(self) -> dict[str, str]:
        lines = git(self.git, "for-each-ref", "--format=%(refname:short) %(objectname)").split("\n")
        return dict(line.split() for line in lines if line)

    def changed(self, one: str, other: str) -> list[str]:
        return git(self.git, "diff", "--name-only", one, other).split("\n")

    def writes(self) -> list[str]:
        return [one for one in self.asked if not one.startswith("GET ")]

    def answer(self, method: str, path: str, body: Json) -> tuple[int, object]:
        """The status and what is sent; bytes as they are, all else as JSON."""
        asked = f"{method} {path}"
        self.asked.append(asked)
        self.before(asked)
        for begin, (status, message) in self.refused.items():
            if asked.startswith(begin):
                return status, {"message": message}
        rest = path.removeprefix(f"/repos/{NAME}")
        parts = rest.strip("/").split("/")
        match (method, *parts):
            case ("GET", "actions", "runs", number) if int(number) in self.runs:
                return 200, self.runs[int(number)]
            case ("GET", "actions", "runs", _, "artifacts"):
                listed = [
                    {"id": index + 1, "name": name, "size_in_bytes": len(data), "expired": False}
                    for index, (name, data) in enumerate(self.artifacts)
                ]
                return 200, {"total_count": len(listed), "artifacts": listed}
            case ("GET", "actions", "artifacts", number, "zip"):
                return 200, self.artifacts[int(number) - 1][1]
            case ("POST", "pulls"):
                self.pulls.append(body)
                opened = len(self.pulls)
                return 201, {"number": opened, "html_url": f"https://gh/{NAME}/pull/{opened}"}
            case ("POST", "issues", number, "comments"):
                self.comments.append((int(number), str(body["body"])))
                return 201, {"id": len(self.comments)}
            case (_, "git", *_):
                return self._git_answer(method, parts[1:], body)
        return 404, {"message": "Not Found"}

    def _git_answer(self, method: str, parts: list[str], body: Json) -> tuple[int, object]:
        match (method, *parts):
            case ("GET", "matching-refs", "heads", *branch):
                begin = "/".join(branch)
                return 200, [
                    {"ref": f"refs/heads/{name}", "object": {"sha": sha}}
                    for name, sha in self.branches().items()
                    if name.startswith(begin)
                ]
            case ("GET", "commits", sha):
                tree = git(self.git, "rev-parse", f"{sha}^{{tree}}")
                return 200, {"sha": sha, "tree": {"sha": tree}}
            case ("POST", "trees"):
                return 201, {"sha": self._tree(body)}
            case ("POST", "commits"):
                parents = [word for one in _list(body["parents"]) for word in ("-p", str(one))]
                tree, message = str(body["tree"]), str(body["message"])
                return 201, {"sha": git(self.git, "commit-tree", tree, *parents, text=message)}
            case ("POST", "refs"):
                ref, sha = str(body["ref"]), str(body["sha"])
                if ref.removeprefix("refs/heads/") in self.branches():
                    return 422, {"message": "Reference already exists"}
                git(self.git, "update-ref", ref, sha)
                return 201, {"ref": ref}
            case ("PATCH", "refs", "heads", *branch):
                ref, sha = f"refs/heads/{'/'.join(branch)}", str(body["sha"])
                merged = git(self.git, "merge-base", "--all", ref, sha)
                if not body["force"] and merged != git(self.git, "rev-parse", ref):
                    return 422, {"message": "Update is not a fast forward"}
                git(self.git, "update-ref", ref, sha)
                return 200, {"ref": ref}
        return 404, {"message": "Not Found"}

    def _tree(self, body: Json) -> str:
        index = {"GIT_INDEX_FILE": str(self.git / "api-index")}
        (self.git / "api-index").unlink(missing_ok=True)
        if "base_tree" in body:
            git(self.git, "read-tree", str(body["base_tree"]), **index)
        for one in _list(body["tree"]):
            assert isinstance(one, dict)
            blob = git(self.git, "hash-object", "-w", "--stdin", text=one["content"])
            told = f"{one['mode']},{blob},{one['path']}"
            git(self.git, "update-index", "--add", "--cacheinfo", told, **index)
        return git(self.git, "write-tree", **index)


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


@contextmanager
def served(hosted: Hosted) -> Iterator[Hosted]:
    """Behind a port of this machine, until the end."""

    class Server(FakeGitHub):
        def answer(self, asked: Asked) -> Answer:
            body = asked.body if isinstance(asked.body, dict) else {}
            status, answer = hosted.answer(asked.method, asked.path, body)
            return Answer(answer, status)

    with Server() as server:
        hosted.url = server.url
        yield hosted
