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
from warpgauge.github.api import GitHub, Json
from warpgauge.github.branch import Repository
from warpgauge.github.fields import at, number, text
from warpgauge.github.gpus import Gpu
from warpgauge.records.load import load
from warpgauge.records.model import Record, Source
from warpgauge.records.sessions import only_session
from warpgauge.system.errors import UserError
from warpgauge.system.git import short
from warpgauge.system.text import inert, plural, quoted

RUN_FILE = "run.json"

# A run of the full suite takes 0.5 MiB, one of 10,000 benchmarks 8 MiB.
LIMIT_BYTES = 8 * 1024 * 1024
# The log of the commands lies beside the run file.
_ARCHIVE_LIMIT_BYTES = 2 * LIMIT_BYTES
# A run of these workflows has one a GPU job.
MOST_ARTIFACTS = 20

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
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
    told = repository.github.get(f"/repos/{repository.name}/actions/runs/{run_id}")
    wanted = f".github/workflows/{workflow}"
    # GitHub may append the branch: .github/workflows/nightly.yml@main.
    path = text(told, "path").partition("@")[0]
    if path != wanted:
        raise UserError(f"run {run_id} is of {quoted(path)}, and not of {wanted}; name another")
    who = "triggering_actor" if at(told, "triggering_actor") else "actor"
    return WorkflowRun(
        run_id,
        number(told, "run_attempt"),
        _matching(_COMMIT, told, "head_sha"),
        text(told, "head_branch"),
        text(told, "event"),
        _matching(_LOGIN, told, who, "login"),
        _matching(_MOMENT, told, "created_at"),
    )


def fetch(repository: Repository, run_id: int, wanted: re.Pattern[str]) -> Mapping[str, bytes]:
    """The run file of each artifact whose whole name is `wanted`, by that name, in their order.

    Of several of one name, which several attempts leave, the newest counts.
    """
    base = f"/repos/{repository.name}/actions"
    newest: dict[str, int] = {}
    for one in repository.github.listed(f"{base}/runs/{run_id}/artifacts", key="artifacts"):
        name = text(one, "name")
        if wanted.fullmatch(name) and not at(one, "expired"):
            _require_size(name, at(one, "size_in_bytes"))
            newest[name] = max(newest.get(name, 0), number(one, "id"))
    if len(newest) > MOST_ARTIFACTS:
        raise UserError(f"run {run_id} has more than {MOST_ARTIFACTS} run files; none is read")
    return {name: _run_file(repository.github, base, name, newest[name]) for name in sorted(newest)}


def _run_file(github: GitHub, base: str, name: str, artifact: int) -> bytes:
    archive = github.download(f"{base}/artifacts/{artifact}/zip", _ARCHIVE_LIMIT_BYTES)
    return zip_file.entry(archive, RUN_FILE, LIMIT_BYTES, f"the artifact {name}")


def _require_size(name: str, size: object) -> None:
    if not isinstance(size, int) or size > _ARCHIVE_LIMIT_BYTES:
        raise UserError(
            f"the artifact {name} is larger than {_ARCHIVE_LIMIT_BYTES // 2**20} MiB; none is read"
        )


def _matching(pattern: re.Pattern[str], answer: Json, *keys: str) -> str:
    value = text(answer, *keys)
    if not pattern.fullmatch(value):
        raise UserError(f"GitHub's answer has {quoted(value)} as {'.'.join(keys)}; run this again")
    return value


# A baseline repeats its context in every file: our own take 2,000 characters.
_CONTEXT_LIMIT = 32 * 1024
# What a person may be expected to look through in a pull request; the full suite has 400.
_MOST_ROWS = 10_000

_SUFFIXES = (".cu", ".cpp")


def checked_record(path: Path, what: str, gpu: Gpu, commit: str, root: Path) -> Record:
    """The record in `path`, which people know as `what`. Raises UserError of one sentence.

    It must be measured on the model `gpu`, at `commit`, and hold families of `root`/benchmarks
    only.
    """
    record = load(path)
    if record.source is not Source.RUN:
        raise _refused(what, f"it is a {record.source.value}, and no run file")
    session = only_session(record)
    name = session.gpu_name or ""
    if name != gpu.name:
        raise _refused(what, f"it was measured on {quoted(name)}, and {gpu.name} was asked for")
    told = session.context.get("commit", "")
    if told != commit:
        raise _refused(
            what, f"it measured commit {quoted(short(told))}, and {short(commit)} was asked for"
        )
    size = sum(len(key) + len(value) for key, value in session.context.items())
    if size > _CONTEXT_LIMIT:
        raise _refused(what, f"its context is longer than {_CONTEXT_LIMIT} characters")
    if not record.rows:
        raise _refused(what, "it holds no benchmark")
    if len(record.rows) > _MOST_ROWS:
        raise _refused(what, f"it holds more than {plural(_MOST_ROWS, 'benchmark')}")
    known = {entry.stem for entry in (root / "benchmarks").iterdir() if entry.suffix in _SUFFIXES}
    for row in record.rows.values():
        if row.family not in known:
            raise _refused(what, f"benchmarks/ has no family of {quoted(row.name)}")
    return record


def _refused(what: str, why: str) -> UserError:
    return UserError(inert(f"{what} is refused: {why}; nothing was written"))
