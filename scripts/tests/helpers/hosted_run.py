# SPDX-License-Identifier: Apache-2.0
"""A run of the GPU workflow for a pull request from a fork, as GitHub's API tells of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from fake_github import Answer, Asked, FakeGitHub, job
from gate_pair import BASE, H200, HEAD, OTHER, Json, Pair, archive_of, slower
from warpgauge.commands.ci.results import comment as comment_command
from warpgauge.github.gpus import file_of
from warpgauge.system.errors import ExitStatus

HOME, FORK, BRANCH = "warp/gauge", "Stranger/gauge", "faster-sums"
RUN, PULL, ARTIFACT, JOB = 4242, 17, 909, 5151
RUN_URL = f"https://github.com/{HOME}/actions/runs/{RUN}"
FAMILIES = ("gemm", "memcpy", "sync", "host")


class HostedRun:
    """What GitHub would answer. Each part may be changed before `comment` is called."""

    def __init__(self, folder: Path, api: FakeGitHub, storage: FakeGitHub) -> None:
        self.root, self.api, self.storage = folder, api, storage
        fork = {"id": 2, "full_name": FORK, "owner": {"login": "Stranger"}, "fork": True}
        home = {"id": 1, "full_name": HOME, "owner": {"login": "warp"}, "fork": False}
        self.run: Json = {
            "id": RUN, "name": "gpu", "path": ".github/workflows/gpu.yml", "event": "pull_request",
            "status": "completed", "conclusion": "failure", "run_attempt": 1, "run_number": 3,
            "head_sha": HEAD, "head_branch": BRANCH, "pull_requests": [], "html_url": RUN_URL,
            "created_at": "2026-11-20T09:00:00Z",
            "repository": home, "head_repository": fork,
        }  # fmt: skip
        self.event: Json = {"workflow_run": {"id": RUN}}
        self.pulls: list[Json] = [self.pull()]
        self.later: list[Json] = []  # other runs of the workflow at this head
        self.jobs: list[Json] = [self.job("gate (NVIDIA H200)")]
        self.artifacts: list[Json] = []
        self.comments: list[Json] = []
        self.files: dict[tuple[str, str], bytes] = {}  # by path and commit
        self.upload(archive_of(slower()))
        self.gpus(H200)
        run = f"/repos/{HOME}/actions/runs/{RUN}"
        api.on("GET", run, lambda asked: Answer(self.run))
        api.on("GET", f"{run}/jobs", lambda asked: Answer({"jobs": self.jobs}))
        api.get(f"{run}/artifacts", {"total_count": 1, "artifacts": self.artifacts})
        api.on("GET", f"/repos/{HOME}/actions/workflows/gpu.yml/runs", self._runs)
        api.on("GET", f"/repos/{HOME}/pulls", self._pulls)
        comments = f"/repos/{HOME}/issues/{PULL}/comments"
        api.get(comments, self.comments)
        self.merge_base = BASE
        api.on("GET", f"/repos/{HOME}/compare/main...{HEAD}", self._compared)
        api.on("GET", f"/repos/{HOME}/compare/main...{OTHER}", self._compared)
        api.on("GET", f"/repos/{HOME}/pulls/{PULL}", lambda asked: Answer(self.pulls[0]))
        self.changed: list[Json] = [{"filename": "kernels/gemm.cu"}]
        api.on("GET", f"/repos/{HOME}/pulls/{PULL}/files", lambda asked: Answer(self.changed))
        api.get(f"/repos/{HOME}/git/matching-refs/heads/history", [])
        api.on("POST", comments, self._write)
        for number in range(1, 10):
            for method in ("PATCH", "DELETE"):
                api.on(method, f"/repos/{HOME}/issues/comments/{number}", self._write)

    def answer_for(self, head: str, workflow: str) -> None:
        """Let another commit, and another workflow's runs, be asked for."""
        self.api.on("GET", f"/repos/{HOME}/compare/main...{head}", self._compared)
        self.api.on("GET", f"/repos/{HOME}/actions/workflows/{workflow}/runs", self._runs)

    def add_comments(self, number: int) -> None:
        """Let another pull request be commented."""
        comments = f"/repos/{HOME}/issues/{number}/comments"
        self.api.get(comments, [])
        self.api.get(f"/repos/{HOME}/pulls/{number}/files", [])
        self.api.on("POST", comments, self._write)

    def pull(self, number: int = PULL, **changes: object) -> Json:
        """An open pull request of the run's head."""
        repository = {"id": 2, "full_name": changes.get("repository", FORK)}
        head = {"label": f"Stranger:{BRANCH}", "ref": changes.get("branch", BRANCH),
                "sha": changes.get("head", HEAD), "repo": repository}  # fmt: skip
        base = {"ref": "main", "sha": OTHER, "repo": {"id": 1, "full_name": HOME}}
        state = changes.get("state", "open")
        return {"number": number, "state": state, "head": head, "base": base, "title": "@all"}

    def job(self, name: str, conclusion: str = "failure") -> Json:
        begin, end, url = "2026-11-20T10:00:00Z", "2026-11-20T12:00:00Z", f"{RUN_URL}/job/{JOB}"
        return {"id": JOB, "name": name, "status": "completed", "conclusion": conclusion,
                "labels": ["self-hosted", "GPU"], "runner_group_name": "Default",
                "started_at": begin, "completed_at": end, "html_url": url}  # fmt: skip

    def file(self, path: str, text: str, commit: str = HEAD) -> None:
        """Add a file to a commit."""
        self.files[path, commit] = text.encode()
        self.api.on("GET", f"/repos/{HOME}/contents/{path}", self._file)

    def upload(self, archive: bytes, number: int = ARTIFACT, slug: str = "nvidia-h200") -> Json:
        """Add an artifact, which lies on the storage host."""
        path = f"/repos/{HOME}/actions/artifacts/{number}/zip"
        blob = Answer(status=302, headers={"Location": f"{self.storage.url}/blob/{number}?sig=x"})
        self.api.on("GET", path, blob)
        self.storage.get(f"/blob/{number}", archive)
        made = {"id": number, "name": f"warpgauge-{slug}", "size_in_bytes": max(len(archive), 1),
                "expired": False, "created_at": "2026-11-20T10:20:00Z"}  # fmt: skip
        self.artifacts.append(made)
        return made

    def replace(self, left: Pair | tuple[bytes, bytes]) -> None:
        """Other run files in the only artifact."""
        self.artifacts.clear()
        self.upload(archive_of(left))

    def ended(self, conclusion: str) -> None:
        """Let the only job have ended so."""
        self.jobs[0]["conclusion"] = self.run["conclusion"] = conclusion

    def gpus(self, *models: Mapping[str, str]) -> None:
        told = [{**one, "runs_on": ["self-hosted", "gpu"], "minutes": 60} for one in models]
        path = file_of(self.root)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"gpus": told}))

    def said(self, body: str, number: int = 1, login: str = "github-actions[bot]") -> Json:
        """Add a comment to the pull request."""
        kind = "Bot" if login.endswith("[bot]") else "User"
        url = f"https://github.com/{HOME}/pull/{PULL}#issuecomment-{number}"
        user = {"login": login, "type": kind}
        issue = f"https://api.github.com/repos/{HOME}/issues/{PULL}"
        one = {"id": number, "body": body, "user": user, "html_url": url, "issue_url": issue}
        self.comments.append(one)
        return one

    def comment(self, *arguments: str, **settings: str) -> ExitStatus:
        """Call the command; the workflow sets WARPGAUGE_... to the `settings`."""
        return comment_command(arguments, self.root, self.environment(**settings))

    def environment(self, **settings: str) -> dict[str, str]:
        """Of the job that the run's end, or `event`, begins."""
        return job(self.event, self.root, self.api.url, HOME, RUN, **settings)

    @property
    def body(self) -> str:
        """The pull request's only comment."""
        (one,) = self.comments
        return str(one["body"])

    def _runs(self, asked: Asked) -> Answer:
        assert asked.query["event"] == "pull_request"
        found = [self.run, *self.later]
        of_head = [one for one in found if one["head_sha"] == asked.query["head_sha"]]
        return Answer({"total_count": len(of_head), "workflow_runs": of_head})

    def _pulls(self, asked: Asked) -> Answer:
        """GitHub's filter, which is by the owner's name and the branch's."""
        assert asked.query["state"] == "open"
        wanted = asked.query.get("head")

        def listed(pull: Json) -> bool:
            owner = pull["head"]["repo"]["full_name"].partition("/")[0]
            of_head = f"{owner}:{pull['head']['ref']}".lower()
            asked_for = wanted is None or of_head == wanted.lower()
            return asked_for and pull["state"] == "open"

        return Answer(list(filter(listed, self.pulls)))

    def _compared(self, asked: Asked) -> Answer:
        return Answer({"merge_base_commit": {"sha": self.merge_base}})

    def _file(self, asked: Asked) -> Answer:
        path = asked.path.partition("/contents/")[2]
        assert asked.headers["Accept"] == "application/vnd.github.raw+json"
        found = self.files.get((path, asked.query["ref"]))
        return Answer({"message": "Not Found"}, 404) if found is None else Answer(found)

    def _write(self, asked: Asked) -> Answer:
        """Add, change or delete a comment."""
        if asked.method == "POST":
            return Answer(self.said(asked.body["body"], len(self.comments) + 1), 201)
        (comment,) = (each for each in self.comments if asked.path.endswith(f"/{each['id']}"))
        if asked.method == "DELETE":
            self.comments.remove(comment)
            return Answer(b"", 204)
        comment["body"] = asked.body["body"]
        return Answer(comment)


def in_a_process(hosted: HostedRun, *more: str) -> subprocess.CompletedProcess[str]:
    """The command as a workflow starts it."""
    script = str(Path(__file__).parents[2] / "warpgauge")
    command = [sys.executable, script, "ci", "comment"]
    return subprocess.run(
        [*command, *more],
        env=hosted.environment(),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
