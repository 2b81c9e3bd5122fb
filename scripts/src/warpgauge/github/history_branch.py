# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci history add: commit a night's run files to the history's branch.

Each run has its own file for each GPU model. Existing files are not read; only files of an earlier
attempt of the same run are replaced.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from warpgauge.github import gpus, recorded_files
from warpgauge.github.artifact import Archive
from warpgauge.github.branch import Repository
from warpgauge.github.gpus import Gpu
from warpgauge.history import lines
from warpgauge.records.load import load
from warpgauge.records.model import Source
from warpgauge.records.sessions import are_paired, only_session
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import is_full, short
from warpgauge.system.text import plural
from warpgauge.system.zip_file import MissingEntry
from warpgauge.verdict import paired_tests, pairing

WORKFLOW, BRANCH = "nightly.yml", "history"
# What scripts/bench leaves of pairs with the baseline's commit, base first: of all benchmarks on a
# GPU that the baseline has not seen, otherwise of those that it flags.
OF_ALL = "run-base.json", recorded_files.RUN_FILE
OF_FLAGGED = "run-confirm-base.json", "run-confirm.json"

_README = """\
# What each night measured

`<gpu>/<day>-<run>.jsonl`: one line of JSON a night and GPU model, added by the workflow `nightly`.
`benchmarks` holds `[seconds, standard deviation of the log between processes, processes]` by name,
`ratios` `[log ratio, standard deviation, pairs]` of lock-step pairs with the commit `base`.
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
    texts, lost = {}, []
    with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch:
        for name, archive in files.items():
            path, gpu = Path(scratch, f"{name}.json"), models[name]
            content = archive.file(recorded_files.RUN_FILE)
            record = recorded_files.checked_record(path, content, gpu, run.commit, root)
            night = lines.of(record, run.started, run.commit, run.id)
            try:
                night = lines.with_ratios(night, *_pairs(Path(scratch), archive, gpu, run.commit))
            except UserError as fault:
                lost.append(f"; {gpu.name} without ratios to its baseline's commit: {fault}")
            texts[f"{gpu.slug}/{run.day}-{run.id}.jsonl"] = lines.line(night)
    measured = ", ".join(models[name].name for name in files)
    parent = repository.head(BRANCH)
    readme = {} if parent else {"README.md": _README}
    message = f"{run.day}: {measured} at {short(run.commit)}\n"
    made = repository.commit(parent, {**texts, **readme}, message)
    (repository.advance_branch if parent else repository.create_branch)(BRANCH, made)
    lacking = [gpu.name for name, gpu in models.items() if name not in files]
    missing = f"; not measured: {', '.join(lacking)}" if lacking else ""
    added = f"added to {BRANCH}: {plural(len(texts), 'night')} of {measured}{missing}"
    return added + "".join(lost)


def _pairs(
    folder: Path, archive: Archive, gpu: Gpu, commit: str
) -> tuple[str, dict[str, Sequence[float]]]:
    """The base of what was measured in pairs, and their log ratios by benchmark.

    The files lie in `folder` then. Raises UserError where they are missing, or not of this night.
    """
    try:
        contents = {name: archive.file(name) for name in OF_ALL}
    except MissingEntry:
        contents = {name: archive.file(name) for name in OF_FLAGGED}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    base, candidate = (load(folder / name) for name in contents)
    told = [
        (side.source, only_session(side).gpu_name, only_session(side).context.get("commit", ""))
        for side in (base, candidate)
    ]
    ours = (Source.RUN, gpu.name)
    known = told == [(*ours, told[0][-1]), (*ours, commit)] and is_full(told[0][-1])
    if not known or not are_paired(base, candidate):
        raise UserError(f"{' and '.join(contents)} are no pairs of this night")
    names = [name for name in candidate.rows if name in base.rows]
    pairings = pairing.pair(base, candidate, names)[0]
    return told[0][-1], {one.candidate.name: paired_tests.log_ratios(one) for one in pairings}
