# SPDX-License-Identifier: Apache-2.0
"""The run files that a workflow run's GPU jobs left as artifacts, and what each must be.

They are from machines that nobody need trust. That one is a run file at all, and of a kind that may
be recorded, `load` and `recordable` tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from warpgauge.files import zip_file
from warpgauge.github.api import Json
from warpgauge.github.branch import Repository
from warpgauge.github.fields import at, number, run_of_workflow, text
from warpgauge.github.gpus import Gpu
from warpgauge.records.load import load
from warpgauge.records.model import Record, Source
from warpgauge.records.sessions import only_session
from warpgauge.system import git
from warpgauge.system.errors import UserError
from warpgauge.system.git import FULL_COMMIT, short
from warpgauge.system.text import inert, quoted

RUN_FILE = "run.json"

# A run of the full suite takes 0.5 MiB, one of 10,000 benchmarks 8 MiB.
LIMIT_BYTES = 8 * 1024 * 1024
# The log of the commands lies beside the run file.
_ARCHIVE_LIMIT_BYTES = 2 * LIMIT_BYTES
# A run of these workflows has one a GPU job.
MOST_ARTIFACTS = 20

_MOMENT = re.compile(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9:]{8}Z")
_LOGIN = re.compile(r"[A-Za-z0-9_-]{1,100}(\[bot\])?")


@dataclass(frozen=True)
class WorkflowRun:
    """What GitHub says of a run of one of our workflows."""

    id: int
    attempt: int
    commit: str
    branch: str
    event: str
    actor: str
    started: str  # 2026-11-20T02:17:09Z

    @property
    def day(self) -> str:
        return self.started.partition("T")[0]


def workflow_run(repository: Repository, run_id: int, workflow: str) -> WorkflowRun:
    """The run; raises UserError unless it is one of ``.github/workflows/<workflow>``."""
    path = f".github/workflows/{workflow}"
    answer = run_of_workflow(repository.github, repository.name, run_id, path)
    who = "triggering_actor" if at(answer, "triggering_actor") else "actor"
    return WorkflowRun(
        run_id,
        number(answer, "run_attempt"),
        _matching(FULL_COMMIT, answer, "head_sha"),
        text(answer, "head_branch"),
        text(answer, "event"),
        _matching(_LOGIN, answer, who, "login"),
        _matching(_MOMENT, answer, "created_at"),
    )


def require_checkout(root: Path, run: WorkflowRun, *events: str) -> None:
    """Raise UserError unless one of `events` started the run, and `root` is at its commit."""
    if run.event not in events:
        names = " or ".join(events)
        raise UserError(f"run {run.id} was started by {quoted(run.event)}, not by {names}")
    here = git.require(root, "rev-parse", "--verify", "HEAD")
    if here != run.commit:
        raise UserError(
            f"run {run.id} measured commit {short(run.commit)}, and {root} is at {short(here)}; "
            "check that commit out"
        )


def fetch(repository: Repository, run_id: int, wanted: re.Pattern[str]) -> Mapping[str, bytes]:
    """The run file of each artifact whose whole name is `wanted`, by that name, in their order.

    Of several of one name, which several attempts leave, the newest counts.
    """
    base = f"/repos/{repository.name}/actions"
    newest: dict[str, int] = {}
    for artifact in repository.github.listed(f"{base}/runs/{run_id}/artifacts", key="artifacts"):
        name, size = text(artifact, "name"), at(artifact, "size_in_bytes")
        if wanted.fullmatch(name) and not at(artifact, "expired"):
            if not isinstance(size, int) or size > _ARCHIVE_LIMIT_BYTES:
                most = f"{_ARCHIVE_LIMIT_BYTES // 2**20} MiB"
                raise UserError(f"the artifact {name} is larger than {most}; none is read")
            newest[name] = max(newest.get(name, 0), number(artifact, "id"))
    if len(newest) > MOST_ARTIFACTS:
        raise UserError(f"run {run_id} has more than {MOST_ARTIFACTS} run files; none is read")
    files = {}
    for name in sorted(newest):
        path = f"{base}/artifacts/{newest[name]}/zip"
        archive = repository.github.download(path, _ARCHIVE_LIMIT_BYTES)
        files[name] = zip_file.entry(archive, RUN_FILE, LIMIT_BYTES, f"the artifact {name}")
    return files


def _matching(pattern: re.Pattern[str], answer: Json, *keys: str) -> str:
    value = text(answer, *keys)
    if not pattern.fullmatch(value):
        raise UserError(f"GitHub's answer has {quoted(value)} as {'.'.join(keys)}; run this again")
    return value


# A baseline repeats its context, of 2,000 characters, in every file; the full suite has 400 rows.
_CONTEXT_LIMIT, _MOST_ROWS = 32 * 1024, 10_000
_SUFFIXES = (".cu", ".cpp")


def checked_record(path: Path, what: str, gpu: Gpu, commit: str, root: Path) -> Record:
    """The record in `path`, which people know as `what`. Raises UserError of one sentence.

    It must be measured on the model `gpu`, at `commit`, and hold families of `root`/benchmarks
    only.
    """
    record = load(path)
    if why := _objection(record, gpu, commit, root):
        raise UserError(inert(f"{what} is refused: {why}; nothing was written"))
    return record


def _objection(record: Record, gpu: Gpu, commit: str, root: Path) -> str:
    """Why the record must not be taken; empty where it may."""
    if record.source is not Source.RUN:
        return f"it is a {record.source.value}, and no run file"
    session = only_session(record)
    name, measured = session.gpu_name or "", session.context.get("commit", "")
    if name != gpu.name:
        return f"it was measured on {quoted(name)}, and {gpu.name} was asked for"
    if measured != commit:
        return f"it measured commit {quoted(short(measured))}, and {short(commit)} was asked for"
    if sum(len(key) + len(value) for key, value in session.context.items()) > _CONTEXT_LIMIT:
        return f"its context is longer than {_CONTEXT_LIMIT} characters"
    if not record.rows:
        return "it holds no benchmark"
    if len(record.rows) > _MOST_ROWS:
        return f"it holds more than {_MOST_ROWS} benchmarks"
    known = {entry.stem for entry in (root / "benchmarks").iterdir() if entry.suffix in _SUFFIXES}
    foreign = next((row for row in record.rows.values() if row.family not in known), None)
    return f"benchmarks/ has no family of {quoted(foreign.name)}" if foreign else ""
