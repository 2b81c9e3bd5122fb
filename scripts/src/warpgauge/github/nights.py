# SPDX-License-Identifier: Apache-2.0
"""The nights: what `warpgauge ci history` keeps of them, and the newest results of each GPU.

A night is a run of nightly.yml. Its machines are not trusted: only run files are read. On the
branch history each run has its own file for each GPU model. Existing files are not read; only files
of an earlier attempt of the same run are replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from warpgauge.baselines import store
from warpgauge.github import artifact, gpus
from warpgauge.github.api import MOMENT, Repository, Unanswered, address, at, number, same, text
from warpgauge.github.artifact import (
    RUN_FILE,
    Artifact,
    MissingEntry,
    fault_of_pair,
    require_session,
)
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import recorded_run
from warpgauge.history import lines
from warpgauge.measure import confirm
from warpgauge.measure.ab_run import Looks
from warpgauge.records.benchmark_filter import cpu_limit
from warpgauge.records.load import load
from warpgauge.records.model import Record
from warpgauge.records.sessions import only_session
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import FULL_COMMIT, is_full, short
from warpgauge.system.text import cut, inert, plural
from warpgauge.verdict import paired_tests, pairing, policy
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge
from warpgauge.verdict.paired_tests import rounds_of

WORKFLOW, BRANCH = "nightly.yml", "history"
_EVENTS = ("schedule", "workflow_dispatch")
# What warpgauge bench leaves of pairs with the baseline's commit, base first: of all benchmarks on
# a GPU that the baseline has not seen, otherwise of those that it flags.
OF_ALL = "run-base.json", RUN_FILE
OF_FLAGGED = "run-confirm-base.json", "run-confirm.json"

_README = """\
# What each night measured

`<gpu>/<day>-<run>.jsonl`: one line of JSON a night and GPU model, added by the workflow `nightly`.
`benchmarks` holds `[seconds, standard deviation of the log between processes, processes]` by name,
`ratios` `[log ratio, standard deviation, pairs]` of lock-step pairs with the commit `base`.
`warpgauge history show` reads it, and so does whatever reads JSON lines:
`cat nvidia-h200/*.jsonl | jq -c '[.date, .commit, .benchmarks["gemm/cublas/f32/n:1024"][0]]'`.
"""


def add(repository: Repository, run_id: int, root: Path) -> str:
    """Add a run's files; return what was added, in words. Raise UserError if nothing was."""
    api, home = repository.github, repository.name
    run = recorded_run(api, home, run_id, WORKFLOW, root, *_EVENTS)
    day = run.started.partition("T")[0]
    models = {f"nightly-{gpu.slug}": gpu for gpu in gpus.read(gpus.file_of(root))}
    files = artifact.newest(api, home, run.id, models.__contains__)
    if not files:
        raise UserError(
            f"run {run.id} measured no GPU, and its log says why; the history is unchanged",
            ExitStatus.NOT_MEASURED,
        )
    texts, lost = {}, []
    with TemporaryDirectory(prefix="warpgauge-") as scratch:
        for name, left in files.items():
            gpu = models[name]
            record = left.run(RUN_FILE, Path(scratch))
            require_session(record, gpu, run.head, root)
            night = lines.of(record, run.started, run.head, run.id)
            try:
                pair = pair_of(left, Path(scratch), gpu, run.head)
                pairings = pairing.pair(*pair, pair[1].rows)[0]
                ratios = {one.candidate.name: paired_tests.log_ratios(one) for one in pairings}
                base = only_session(pair[0]).context["commit"]
                night = lines.with_ratios(night, base, ratios)
            except UserError as fault:
                lost.append(f"; {gpu.name} without ratios to its baseline's commit: {fault}")
            texts[f"{gpu.slug}/{day}-{run.id}.jsonl"] = lines.line(night)
    measured = ", ".join(models[name].name for name in files)
    parent = repository.head(BRANCH)
    readme = {} if parent else {"README.md": _README}
    message = f"{day}: {measured} at {short(run.head)}\n"
    made = repository.commit(parent, {**texts, **readme}, message)
    (repository.advance_branch if parent else repository.create_branch)(BRANCH, made)
    lacking = [gpu.name for name, gpu in models.items() if name not in files]
    missing = f"; not measured: {', '.join(lacking)}" if lacking else ""
    added = f"added to {BRANCH}: {plural(len(texts), 'night')} of {measured}{missing}"
    return added + "".join(lost)


def pair_of(left: Artifact, folder: Path, gpu: Gpu, commit: str) -> tuple[Record, Record]:
    """Return a night's run files of pairs with the baseline's commit, base first.

    They lie in `folder` then. Raise MissingEntry without pairs, and UserError for another night's.
    """
    try:
        pair = left.run(OF_ALL[0], folder), left.run(OF_ALL[1], folder)
    except MissingEntry:
        pair = left.run(OF_FLAGGED[0], folder), left.run(OF_FLAGGED[1], folder)
    base, candidate = (only_session(side).context for side in pair)
    commits, filter = (base.get("commit", ""), commit), candidate.get("filter", "")
    fault = fault_of_pair(pair, gpu, commits, filter, ours=True)
    if fault or not is_full(commits[0]):
        raise UserError(f"these are no pairs of this night: {fault or 'the base has no commit'}")
    return pair


# The number of newest runs that are searched; older results are not shown.
_NIGHTS = 14


@dataclass(frozen=True)
class Newest:
    """The newest result of the workflow on a GPU."""

    found: Comparison
    day: str
    commit: str
    url: str


def newest(
    repository: Repository, root: Path, models: Sequence[Gpu], refusals: list[str]
) -> dict[str, Newest]:
    """Return the newest result of each GPU by slug. Raise UserError if GitHub does not answer.

    `root` is a checkout of the default branch; only its runs count. `refusals` gets a sentence for
    each result that is not shown.
    """
    api, home = repository.github, repository.name
    branch = text(api.get(f"/repos/{home}"), "default_branch")
    asked = f"/repos/{home}/actions/workflows/{WORKFLOW}/runs?per_page={_NIGHTS}&status=completed"
    runs = at(api.get(asked), "workflow_runs")
    names = {f"nightly-{gpu.slug}": gpu for gpu in models}
    found: dict[str, Newest] = {}
    for run in runs if isinstance(runs, list) else ():
        is_ours = same(at(run, "head_repository", "full_name"), home)
        if not (is_ours and at(run, "head_branch") == branch and at(run, "event") in _EVENTS):
            continue
        number_of_run = number(run, "id")
        commit = text(run, "head_sha", pattern=FULL_COMMIT)
        day = text(run, "created_at", pattern=MOMENT).partition("T")[0]
        wanted = [name for name, gpu in names.items() if gpu.slug not in found]
        for name, left in artifact.newest(api, home, number_of_run, wanted.__contains__).items():
            gpu = names[name]
            try:
                with cpu_limit(artifact.CPU_LIMIT_S, "it takes too long to read and judge"):
                    judged = _judged(left, root, gpu, commit, date.fromisoformat(day))
            except MissingEntry:
                continue
            except Unanswered:
                raise
            except Exception as fault:  # a fault in one file must not hide the other GPUs
                what = f"{name} of run {number_of_run} is not shown"
                refusals.append(f"{what}: {cut(inert(str(fault)), 300)}")
                continue
            if judged is not None:
                found[gpu.slug] = Newest(judged, day, commit, address(run, "html_url"))
        if len(found) == len(models):
            break
    return found


def _judged(left: Artifact, root: Path, gpu: Gpu, commit: str, day: date) -> Comparison | None:
    """Return a night judged as warpgauge bench does, or None without a baseline."""
    pair = None
    with TemporaryDirectory(prefix="warpgauge-") as scratch:
        run = left.run(RUN_FILE, Path(scratch))
        require_session(run, gpu, commit, root)
        with suppress(MissingEntry):
            pair = pair_of(left, Path(scratch), gpu, commit)
    baselines = root / "baselines"
    path = store.find(baselines, gpu.name)
    if path is None:
        return None
    base = load(path)
    base = replace(base, path=path.relative_to(root))
    settings = ComparisonSettings(policy=policy.of(base, run, baselines, None), today=day)
    found = judge(base, replace(run, path=Path(RUN_FILE)), settings)
    if pair is None:
        return found
    in_pairs = judge(*pair, settings)
    both = Looks(in_pairs, rounds_of(in_pairs))
    seen = confirm.has_seen(base, only_session(run))
    return confirm.combined(found, both) if seen else confirm.unscreened(found, both)
