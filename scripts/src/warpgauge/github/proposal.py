# SPDX-License-Identifier: Apache-2.0
"""A baseline with new sessions from workflow jobs, and the pull request that proposes it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from warpgauge.baselines import store
from warpgauge.github.artifact import RUN_FILE, Artifact, require_session
from warpgauge.github.comment import LENGTH_LIMIT
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import Run
from warpgauge.records.load import load
from warpgauge.records.model import Session
from warpgauge.records.sessions import only_session
from warpgauge.reports.formats import markdown as report
from warpgauge.reports.markdown_text import code, prose, table_head, table_row
from warpgauge.system.git import short
from warpgauge.system.text import cut, inert, plural
from warpgauge.verdict import policy
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge


@dataclass(frozen=True)
class Added:
    """A session, its changes of the baseline, and its comparison (None without a baseline)."""

    session: Session
    lines: tuple[str, ...]
    comparison: Comparison | None


@dataclass(frozen=True)
class Proposal:
    """`texts` are the files of the new baseline by their paths in the repository."""

    added: tuple[Added, ...]
    texts: Mapping[str, str]


def made(
    files: Mapping[str, Artifact], gpu: Gpu, commit: str, root: Path, scratch: Path, now: datetime
) -> Proposal:
    """Add the run files of artifacts, by their names, to the baseline one by one: all or none.

    Each session is compared with the baseline as it was before any of them was added, as
    warpgauge compare does. `scratch` is an empty folder. Raise UserError for anything that must
    not become a baseline.
    """
    old = store.find(root / "baselines", gpu.name)
    baselines = scratch / "baselines"
    if old is not None:
        shutil.copytree(old, baselines / old.name)
    before = None if old is None else load(old)
    added, written = [], set[Path]()
    for name, left in files.items():
        run = left.run(RUN_FILE, scratch)
        require_session(run, gpu, commit, root)
        recorded = store.record(run.path, baselines, now)
        written |= {one.relative_to(scratch) for one in recorded.files}
        compared = None
        if before is not None:
            accepted = policy.of(before, run, root / "baselines", None)
            settings = ComparisonSettings(policy=accepted, today=now.date())
            shown = replace(before, path=before.path.relative_to(root))
            compared = judge(shown, replace(run, path=Path(name, RUN_FILE)), settings)
        added.append(Added(only_session(run), recorded.changes, compared))
    texts = {path.as_posix(): (scratch / path).read_text("utf-8") for path in sorted(written)}
    return Proposal(tuple(added), texts)


# The facts on each session that a reviewer needs; the others are in the files.
_FACTS = {"GPU": "gpu_uuid", "driver": "driver_version", "CUDA runtime": "runtime_version",
          "boot": "boot_id", "measured": "date"}  # fmt: skip
_MOST_LINES = 20
# With longer texts, twenty sessions would leave no room for the report.
_LONGEST_FACT, _LONGEST_LINE = 80, 300
_BETWEEN = "\n\n"
# https://docs.github.com/actions/concepts/security/github_token: its events start no workflow.
_NO_WORKFLOWS = (
    "GitHub starts no workflow for a pull request that a workflow opened. To run them, close it "
    "and open it again."
)


def title(proposal: Proposal, gpu: Gpu) -> str:
    count = len(proposal.added)
    return f"Baseline: {'a session' if count == 1 else plural(count, 'session')} of {gpu.name}"


def body(proposal: Proposal, gpu: Gpu, run: Run, asked: int) -> str:
    """Return the provenance, what happened to older sessions, and the first comparison."""
    count = len(proposal.added)
    parts = [
        f"{plural(count, 'session')} of {prose(gpu.name)} at commit {code(short(run.head))}, "
        f"recorded by [run {run.id}]({run.url}), which {code(run.actor)} started."
    ]
    if count < asked:
        parts.append(f"**{asked} were requested**: the run's log says what happened to the others.")
    rows = []
    for session in (one.session for one in proposal.added):
        facts = [session.key, *(session.context.get(key, "") for key in _FACTS.values())]
        rows.append(table_row(code(cut(inert(fact), _LONGEST_FACT)) for fact in facts))
    parts.append(table_head(("session", *_FACTS)) + "\n".join(rows))
    lines = [cut(inert(line), _LONGEST_LINE) for one in proposal.added for line in one.lines]
    items = [f"- {prose(line)}" for line in lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        items.append(f"- and {len(lines) - _MOST_LINES} more")
    parts += [*(["\n".join(items)] if items else []), _NO_WORKFLOWS]
    room = LENGTH_LIMIT - sum(len(part) + len(_BETWEEN) for part in parts)
    return _BETWEEN.join([*parts, _compared(proposal.added[0], room)])


def comments(proposal: Proposal) -> list[str]:
    """Return the comparisons of further sessions; one body with all would exceed GitHub's limit."""
    return [_compared(one, LENGTH_LIMIT) for one in proposal.added[1:]]


def _compared(one: Added, room: int) -> str:
    """Return a session's comparison in at most `room` characters."""
    session = f"### Session {code(cut(inert(one.session.key), _LONGEST_FACT))}"
    if one.comparison is None:
        return f"{session}\n\nThere was no baseline of this GPU model to compare with."
    head = f"{session} compared with the baseline before it\n\n"
    limit = min(room - len(head), report.LIMIT)
    # Without the mark, so that no program takes this for the gate's comment and replaces it.
    return head + report.unmarked(one.comparison, limit)
