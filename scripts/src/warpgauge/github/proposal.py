# SPDX-License-Identifier: Apache-2.0
"""What sessions from elsewhere make of a baseline: its new files, and the comparison with the old.

Made beside the checkout; nothing in it changes.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from warpgauge.baselines import store
from warpgauge.github import untrusted_run
from warpgauge.github.gpus import Gpu
from warpgauge.github.recorded_files import RUN_FILE
from warpgauge.records.load import load
from warpgauge.records.model import Record, Session
from warpgauge.records.sessions import only_session
from warpgauge.verdict import policy
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.comparison_settings import Terms
from warpgauge.verdict.judge import judge


@dataclass(frozen=True)
class Added:
    """One session, what `baseline.record` said of it, and the verdict; None without a baseline."""

    name: str
    session: Session
    lines: tuple[str, ...]
    comparison: Comparison | None


@dataclass(frozen=True)
class Proposal:
    """`texts` are the files of the new baseline by their paths in the repository."""

    added: tuple[Added, ...]
    texts: Mapping[str, str]


def made(
    files: Mapping[str, bytes], gpu: Gpu, commit: str, root: Path, scratch: Path, now: datetime
) -> Proposal:
    """Run files by their artifacts' names, added one after the other, all or none.

    `scratch` is an empty folder. Raises UserError for whatever must not become a baseline.
    """
    old = store.find(root / "baselines", gpu.name)
    baselines = scratch / "baselines"
    if old is not None:
        shutil.copytree(old, baselines / old.name)
    before = None if old is None else load(old)
    added, written = [], set[Path]()
    for name, content in files.items():
        path = scratch / f"{name}.json"
        path.write_bytes(content)
        run = untrusted_run.read(path, f"the artifact {name}", gpu, commit, root)
        recorded = store.record(path, baselines, now)
        written |= {one.relative_to(scratch) for one in recorded.files}
        told = tuple(line for line in recorded.lines() if not line.startswith("recorded: "))
        verdict = None if before is None else _judged(before, run, name, root, now)
        added.append(Added(name, only_session(run), told, verdict))
    texts = {path.as_posix(): (scratch / path).read_text("utf-8") for path in sorted(written)}
    return Proposal(tuple(added), texts)


def _judged(before: Record, run: Record, name: str, root: Path, now: datetime) -> Comparison:
    """As scripts/compare.py does it, with the names that both sides have for a reader."""
    terms = Terms(policy=policy.of(before, run, root / "baselines", None), today=now.date())
    shown = replace(before, path=before.path.relative_to(root))
    return judge(shown, replace(run, path=Path(name, RUN_FILE)), terms)
