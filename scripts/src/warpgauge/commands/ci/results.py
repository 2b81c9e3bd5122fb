# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci comment, propose, history and pages: what becomes of the results of GPU jobs."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

from warpgauge.baselines import show, store
from warpgauge.commands import command_lines
from warpgauge.commands.output_file import require_empty, write
from warpgauge.github import artifact, gpus, nights, on_demand, proposal, pull_request
from warpgauge.github import comment as comments
from warpgauge.github.api import DIGITS, GitHub, Job, Repository, address, number, text
from warpgauge.github.gpus import Gpu
from warpgauge.github.nights import Newest
from warpgauge.github.on_demand import Request
from warpgauge.github.pull_request import WORKFLOW, Base, Pull, Run, recorded_run
from warpgauge.github.result import OTHER_BASE, POLICY, UNTOUCHED, Result
from warpgauge.history.lines import History, Night
from warpgauge.history.show import courses
from warpgauge.measure import self_check
from warpgauge.records.benchmark_filter import normal
from warpgauge.reports import pages as site
from warpgauge.reports.drawing import course
from warpgauge.reports.format import FORMATS
from warpgauge.reports.formats.github import command
from warpgauge.reports.formats.markdown import MARK
from warpgauge.reports.view import check_word
from warpgauge.system import git
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.text import inert, plural
from warpgauge.verdict import staleness
from warpgauge.verdict.comparison import Comparison, exit_status

BASELINE_WORKFLOW = "baseline.yml"
# Families that get a page, unless their file name is already taken by the site.
_FAMILY = re.compile(r"[a-z0-9][a-z0-9_]{0,63}")


def comment(
    argv: Sequence[str], root: Path, environment: Mapping[str, str] = os.environ
) -> ExitStatus:
    """Post results. Raises UserError, and posts nothing, for results of another pull request."""
    reports: Path | None = command_lines.ci_comment().parse_args(argv).reports
    job, only = Job.of(environment), None
    api, home = job.api, job.repository
    ours, workflow = not job.setting("WORKFLOW"), job.setting("WORKFLOW") or WORKFLOW
    # Another project's workflow checks its default branch out beside us.
    where, path = (root, POLICY) if ours else (Path("project"), job.setting("POLICY"))

    def result(run: Run, pull: Pull, base: Base, filter: str) -> Result:
        judged_by = base, where, ours, path, normal(filter)
        return Result(api, run, pull, *judged_by, job.setting("REPORT"), job.setting("PAGES"))

    if request := job.setting("REQUEST"):
        asked = Request.read(request)
        run = replace(on_demand.run_of(api, home, job.run_id), head=asked.head)
        base = Base(asked.branch, asked.base)
        answer = result(run, Pull(asked.pull, asked.branch), base, asked.filter)
        return _answered(asked, answer) if reports is None else _kept(answer, reports)
    if "pull_request" in job.event:  # whose base has changed
        only = number(job.event, "pull_request", "number")
        newest = pull_request.newest_run(api, home, only, workflow)
        if newest is None:
            print(f"no run of {workflow} belongs to #{only}: nothing to do")
            return ExitStatus.OK
        run = newest
    else:
        run = pull_request.run_of(api, home, number(job.event, "workflow_run", "id"), workflow)
    faults: list[UserError] = []
    status = ExitStatus.OK
    for pull in _pulls(api, run, only):
        try:
            if not run.complete:
                if reports is None:
                    _outdated(api, run, pull, comments.to_be_measured(run))
                continue
            base = pull_request.base_of(api, run, pull, job.setting("BASE"))
            found = result(run, pull, base, job.setting("FILTER"))
            status = max(status, _posted(found) if reports is None else _kept(found, reports))
        except UserError as fault:  # continue with the next pull request
            faults.append(fault)
            if fault.status is not ExitStatus.OK and reports is None:
                with suppress(UserError):
                    comments.say(api, run, pull.number, comments.not_readable(run))
    if faults:
        raise max(faults, key=lambda fault: fault.status)
    return status


def _pulls(api: GitHub, run: Run, only: int | None) -> list[Pull]:
    """Return the pull requests for which this run is current. Raises UserError."""
    found = pull_request.pulls_of(api, run)
    if len(found) == 1:  # several pull requests each have a run and a base of their own
        pull_request.require_newest(api, run)
    return [pull for pull in found if only in (None, pull.number)]


def _kept(result: Result, folder: Path) -> ExitStatus:
    """Write a page per GPU with a valid result; the comment says which results are not."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in result.parts(gpus.read(gpus.file_of(result.root))):
        if isinstance(part.found, Comparison):
            path = folder / f"checked-report-{part.gpu.slug}.html"
            write(path, FORMATS["html"].render(part.found))
            print(f"written: {path}")
    return ExitStatus.OK


def _posted(result: Result) -> ExitStatus:
    """Read all results, then post the comment. Raises UserError."""
    api, run, pull = result.api, result.run, result.pull
    parts = result.parts(gpus.read(gpus.file_of(result.root)))
    about = result.base, parts, result.judging, result.what_changed
    # Somebody may have pushed while the results were read.
    pulls = _pulls(api, run, None)
    if pull not in pulls:
        raise pull_request.nothing_to_do(run, f"the base of #{pull.number} has changed")
    if not parts or all(part.found == UNTOUCHED for part in parts):
        _outdated(api, run, pull, comments.not_measured(run, UNTOUCHED if parts else ""))
        return ExitStatus.OK
    if len(pulls) > 1 and all(part.found == OTHER_BASE for part in parts):
        print(f"run {run.id} belongs to another pull request than #{pull.number}")
        return ExitStatus.OK
    print(f"posted: {comments.put(api, run, pull.number, comments.body(run, *about))}")
    return _status(result)


def _answered(asked: Request, result: Result) -> ExitStatus:
    """Replace the comment that announced the measurement by its result."""
    run = result.run
    body = comments.not_readable(run)
    try:
        parts = result.parts(asked.models(gpus.read(gpus.file_of(result.root))))
        body = (
            comments.body(run, result.base, parts, result.judging).removeprefix(MARK)
            if parts
            else comments.not_measured(run, "the run had no job for any GPU")
        )
    finally:
        print(f"posted: {on_demand.answer(result.api, run.repository, asked, body)}")
    return _status(result)


def _status(result: Result) -> ExitStatus:
    for refusal in result.refusals:
        print(f"warpgauge ci comment: {refusal}", file=sys.stderr)
    return ExitStatus.BAD_USAGE if result.refusals else ExitStatus.OK


def _outdated(api: GitHub, run: Run, pull: Pull, why: str) -> None:
    marked = comments.mark_outdated(api, run.repository, pull.number, why)
    print(f"marked as outdated: {marked}" if marked else "no comment to mark as outdated yet")


def propose(
    argv: Sequence[str],
    root: Path,
    environment: Mapping[str, str] = os.environ,
    now: datetime | None = None,
) -> ExitStatus:
    """Open the pull request. Raises UserError, and posts nothing, for anything invalid."""
    job, now = Job.of(environment), now or datetime.now(timezone.utc)
    api, repository = job.api, Repository(job.api, job.repository)
    # Who may push gave these to the dispatch.
    gpu = gpus.chosen(gpus.file_of(root), text(job.event, "inputs", "gpu"))
    sessions = int(text(job.event, "inputs", "sessions", pattern=DIGITS))
    asked = repository.name, job.run_id, BASELINE_WORKFLOW, root
    run = recorded_run(api, *asked, "workflow_dispatch")
    if git.require(root, "status", "--porcelain", "--", "baselines"):
        raise UserError(f"{root / 'baselines'} has uncommitted changes; commit or restore it")
    wanted = re.compile(rf"session-{re.escape(gpu.slug)}-[1-9][0-9]?")
    files = artifact.newest(api, repository.name, run.id, wanted.fullmatch)
    if not files:
        raise UserError(
            f"run {run.id} recorded no session of {gpu.name}, and its log says why; no pull "
            "request was opened",
            ExitStatus.NOT_MEASURED,
        )
    with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch:
        proposed = proposal.made(files, gpu, run.head, root, Path(scratch), now)
    title = proposal.title(proposed, gpu)
    body = proposal.body(proposed, gpu, run, sessions)
    branch = f"baseline/{gpu.slug}-{run.id}-{run.attempt}"
    message = f"{title}\n\nMeasured at {run.head}; {run.url}\n"
    repository.create_branch(branch, repository.commit(run.head, proposed.texts, message))
    about = {"title": title, "head": branch, "base": run.branch, "body": body}
    print(f"opened: {_opened(repository, about, proposal.comments(proposed))}")
    return ExitStatus.OK


def _opened(repository: Repository, about: Mapping[str, str], texts: Sequence[str]) -> str:
    """Open a pull request, comment on further sessions, and return its address."""
    base = f"/repos/{repository.name}"
    try:
        pull = repository.github.post(f"{base}/pulls", about)
        for comment in texts:
            issue = number(pull, "number")
            repository.github.post(f"{base}/issues/{issue}/comments", {"body": comment})
    except UserError as fault:
        raise UserError(
            f"{fault}; the new baseline is on the branch {about['head']}: open or complete the "
            "pull request by hand"
        ) from None
    return address(pull, "html_url")


def add(argv: Sequence[str], root: Path, environment: Mapping[str, str] = os.environ) -> ExitStatus:
    job = Job.of(environment)
    print(inert(nights.add(Repository(job.api, job.repository), job.run_id, root)))
    return ExitStatus.OK


def pages(
    argv: Sequence[str], root: Path, environment: Mapping[str, str] = os.environ
) -> ExitStatus:
    """Make the site. Raises UserError if the folder is not empty or a request to GitHub fails."""
    given = command_lines.ci_pages().parse_args(argv)
    require_empty(given.out_dir)
    models = gpus.read(gpus.file_of(root))
    job, refusals = Job.of(environment), list[str]()
    repository = Repository(job.api, job.repository)
    newest = nights.newest(repository, root, models, refusals)
    for refusal in refusals:
        print(command("warning", {"title": "Not shown"}, refusal), file=sys.stderr)
    history = History.at(given.history, "HEAD")
    rows = [
        _write_gpu(given.out_dir, history.nights(gpu.slug), gpu, newest.get(gpu.slug))
        for gpu in models
    ]
    for fault in history.faults:
        print(command("error", {"title": "Left out of the history"}, fault), file=sys.stderr)
    _write_reference(given.out_dir / "reference", root / "baselines")
    index = site.of_site("Nightly results by GPU", gpus=rows)
    write(given.out_dir / site.INDEX, index)  # written last: then the site is complete
    made = f"{given.out_dir}, of {plural(len(models), 'GPU')}, {len(newest)} with a report"
    lines = plural(len(history.faults), "line")
    print(f"made: {made}{f'; {lines} of the history left out' if history.faults else ''}")
    return ExitStatus.NOT_MEASURED if history.faults else ExitStatus.OK


def _write_gpu(
    out: Path, measured: Sequence[Night], gpu: Gpu, newest: Newest | None
) -> Mapping[str, object]:
    """Write a GPU's folder, and return its row in the index."""
    families, folder = _families(courses(measured)), out / gpu.slug
    row = {"slug": gpu.slug, "name": gpu.name, "nights": len(measured), "newest": newest}
    if newest is not None:
        row |= {"check": check_word(exit_status(newest.found)), "commit": short(newest.commit)}
        write(folder / site.REPORT, FORMATS["html"].render(newest.found))
    for family, those in families.items():
        page = site.of_site(f"{gpu.name}: {family}", gpu=row, pictures=map(course.drawn, those))
        write(folder / f"{family}.html", page)
    write(folder / site.INDEX, site.of_site(gpu.name, gpu=row, families=families))
    return row


def _write_reference(out: Path, baselines: Path) -> None:
    """Write what the baselines hold: a page for each GPU model, and one of all side by side."""
    page = partial(site.render, "reference.html", mark=site.MARK)
    heads, checks = self_check.table(baselines)
    about = {"show": show, "staleness": staleness, "now": datetime.now(timezone.utc)}
    every = []
    for path in store.folders(baselines):
        folder, name = store.open_folder(path), f"{path.name}.html"
        gpu, links = ", ".join(folder.gpu_names) or path.name, show.by_link(folder.whole)
        columns = [{"model": gpu, "page": name, "link": link, "record": its} for link, its in links]
        write(out / name, page(gpu, {**about, "is_of_model": True, "columns": columns}))
        every += columns
    own = {"is_of_model": False, "columns": every, "heads": heads, "checks": checks}
    write(out / site.INDEX, page("What each GPU does", {**about, **own}))


def _families(every: Mapping[str, course.Course]) -> dict[str, list[course.Course]]:
    """Return the courses by family, for families that can get a page."""
    found: dict[str, list[course.Course]] = {}
    for name, one in every.items():
        family = name.partition("/")[0]
        if _FAMILY.fullmatch(family) and f"{family}.html" not in (site.INDEX, site.REPORT):
            found.setdefault(family, []).append(one)
    return found
