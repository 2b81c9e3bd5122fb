# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci history add: commit a night's run files to the history's branch.

Each run has its own file for each GPU model. Existing files are not read; only files of an earlier
attempt of the same run are replaced.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from warpgauge.github import gpus, recorded_files
from warpgauge.github.branch import Repository
from warpgauge.history import lines
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.text import plural

WORKFLOW, BRANCH = "nightly.yml", "history"

_README = """\
# What each night measured

`<gpu>/<day>-<run>.jsonl`: one line of JSON a night and GPU model, added by the workflow `nightly`.
`benchmarks` holds `[seconds, standard deviation of the log between processes, processes]` by name.
`scripts/warpgauge history show` reads it, and so does whatever reads JSON lines:
`cat nvidia-h200/*.jsonl | jq -c '[.date, .commit, .benchmarks["gemm/cublas/f32/n:1024"][0]]'`.
"""


def add(repository: Repository, run_id: int, root: Path) -> str:
    """Add a run's files; return what was added, in words. Raise UserError if nothing was."""
    events = ("schedule", "workflow_dispatch")
    run = recorded_files.workflow_run(repository, run_id, WORKFLOW, root, *events)
    models = {f"nightly-{gpu.slug}": gpu for gpu in gpus.read(gpus.file_of(root))}
    wanted = re.compile("|".join(map(re.escape, models)))
    files = recorded_files.fetch(repository, run.id, wanted)
    if not files:
        raise UserError(
            f"run {run.id} measured no GPU, and its log says why; the history is unchanged",
            ExitStatus.NOT_MEASURED,
        )
    texts = {}
    with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch:
        for name, content in files.items():
            path, gpu = Path(scratch, f"{name}.json"), models[name]
            record = recorded_files.checked_record(path, content, gpu, run.commit, root)
            night = lines.line(lines.of(record, run.started, run.commit, run.id))
            texts[f"{gpu.slug}/{run.day}-{run.id}.jsonl"] = night
    measured = ", ".join(models[name].name for name in files)
    parent = repository.head(BRANCH)
    readme = {} if parent else {"README.md": _README}
    message = f"{run.day}: {measured} at {short(run.commit)}\n"
    made = repository.commit(parent, {**texts, **readme}, message)
    (repository.advance_branch if parent else repository.create_branch)(BRANCH, made)
    lacking = [gpu.name for name, gpu in models.items() if name not in files]
    missing = f"; not measured: {', '.join(lacking)}" if lacking else ""
    return f"added to {BRANCH}: {plural(len(texts), 'night')} of {measured}{missing}"
