# SPDX-License-Identifier: Apache-2.0
"""The run files in the artifacts of a workflow run's GPU jobs, and the checks on them.

Their machines are not trusted. `load` and `recordable` check that a file is a run file of a kind
that may be recorded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from warpgauge.github import artifact
from warpgauge.github.artifact import Archive
from warpgauge.github.branch import Repository
from warpgauge.github.fields import MOMENT, at, number, run_of_workflow, text
from warpgauge.github.gpus import Gpu
from warpgauge.records.load import load
from warpgauge.records.model import Record, Source
from warpgauge.records.sessions import only_session
from warpgauge.system import git
from warpgauge.system.errors import UserError
from warpgauge.system.git import FULL_COMMIT, short
from warpgauge.system.text import inert, quoted

RUN_FILE = "run.json"
# A run of the full suite is 0.5 MiB, one of 10,000 benchmarks 8 MiB; the archive also has its log.
LIMIT_BYTES = 8 * 1024 * 1024
_ARCHIVE_LIMIT_BYTES = 2 * LIMIT_BYTES
MOST_ARTIFACTS = 20  # one for each GPU job

_LOGIN = re.compile(r"[A-Za-z0-9_-]{1,100}(\[bot\])?")


@dataclass(frozen=True)
class WorkflowRun:
    """GitHub's data on a run of one of our workflows."""

    id: int
    attempt: int
    commit: str
    branch: str
    actor: str
    started: str  # 2026-11-20T02:17:09Z

    @property
    def day(self) -> str:
        return self.started.partition("T")[0]


def workflow_run(
    repository: Repository, run_id: int, workflow: str, root: Path, *events: str
) -> WorkflowRun:
    """Return the run of ``.github/workflows/<workflow>``.

    Raise UserError unless one of `events` started it and `root` is at its commit.
    """
    path = f".github/workflows/{workflow}"
    answer = run_of_workflow(repository.github, repository.name, run_id, path)
    who = "triggering_actor" if at(answer, "triggering_actor") else "actor"
    run = WorkflowRun(
        run_id,
        number(answer, "run_attempt"),
        text(answer, "head_sha", pattern=FULL_COMMIT),
        text(answer, "head_branch"),
        text(answer, who, "login", pattern=_LOGIN),
        text(answer, "created_at", pattern=MOMENT),
    )
    if (event := text(answer, "event")) not in events:
        raise UserError(
            f"run {run_id} was started by {quoted(event)}, not by {' or '.join(events)}"
        )
    here = git.require(root, "rev-parse", "--verify", "HEAD")
    if here != run.commit:
        raise UserError(
            f"run {run_id} measured commit {short(run.commit)}, but {root} is at {short(here)}; "
            "check out that commit"
        )
    return run


def fetch(repository: Repository, run_id: int, wanted: re.Pattern[str]) -> Mapping[str, Archive]:
    """Return the artifacts by name, sorted; `wanted` must match the whole name."""
    api, home = repository.github, repository.name
    newest = artifact.newest(api, home, run_id, wanted.fullmatch)
    left = [newest[name] for name in sorted(newest) if not newest[name].expired]
    if len(left) > MOST_ARTIFACTS:
        raise UserError(f"run {run_id} has more than {MOST_ARTIFACTS} run files; none was read")
    limits = (_ARCHIVE_LIMIT_BYTES, LIMIT_BYTES)
    return {found.name: found.archive(api, home, limits) for found in left}


# A baseline repeats its context, of 2,000 characters, in every file; the full suite has 400 rows.
_CONTEXT_LIMIT, _MOST_ROWS = 32 * 1024, 10_000
_SUFFIXES = (".cu", ".cpp")


def checked_record(path: Path, content: bytes, gpu: Gpu, commit: str, root: Path) -> Record:
    """Return the record in `content`, written to `path`, the artifact's name. Raise UserError.

    It must be measured on the model `gpu` at `commit`, with families of `root`/benchmarks only.
    """
    path.write_bytes(content)
    record = load(path)
    if why := _objection(record, gpu, commit, root):
        raise UserError(inert(f"the artifact {path.stem} is refused: {why}; nothing was written"))
    return record


def _objection(record: Record, gpu: Gpu, commit: str, root: Path) -> str:
    """Return why the record must be refused, or "" if it may be used."""
    if record.source is not Source.RUN:
        return f"it is a {record.source.value}, not a run file"
    session = only_session(record)
    name, measured = session.gpu_name or "", session.context.get("commit", "")
    if name != gpu.name:
        return f"it was measured on {quoted(name)}, but {gpu.name} was requested"
    if measured != commit:
        return f"it measured commit {quoted(short(measured))}, but {short(commit)} was requested"
    if sum(len(key) + len(value) for key, value in session.context.items()) > _CONTEXT_LIMIT:
        return f"its context is longer than {_CONTEXT_LIMIT} characters"
    if not record.rows:
        return "it holds no benchmark"
    if len(record.rows) > _MOST_ROWS:
        return f"it holds more than {_MOST_ROWS} benchmarks"
    known = {entry.stem for entry in (root / "benchmarks").iterdir() if entry.suffix in _SUFFIXES}
    foreign = next((row for row in record.rows.values() if row.family not in known), None)
    return f"benchmarks/ does not have the family of {quoted(foreign.name)}" if foreign else ""
