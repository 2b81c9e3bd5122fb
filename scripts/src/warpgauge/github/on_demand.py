# SPDX-License-Identifier: Apache-2.0
"""``/warpgauge run FILTER on GPU``: a measurement that a comment on a pull request asks for.

Standard library only: nothing is installed before it is said that the measurement has begun.

The comment that says so is ours, and is later changed to the result. Its first line holds what was
asked for. Anybody's job that may comment can write such a line, so that it counts only with what
GitHub tells of the run: dispatched by a job, at the default branch, and the one named there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from urllib.parse import quote, unquote

from warpgauge.github.api import GitHub, Json, NotFound
from warpgauge.github.fields import address, at, number, same, text
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import WORKFLOW
from warpgauge.records.benchmark_filter import require_portable
from warpgauge.reports.markdown.text import code, prose
from warpgauge.system.errors import UserError
from warpgauge.system.git import FULL_COMMIT, short
from warpgauge.system.text import typed

# Whom a job's own token comments and dispatches as.
_BOT = "github-actions[bot]"
_MAY_ASK = ("admin", "maintain", "write")
_LENGTH_LIMIT = 65_536  # GitHub's, of a comment
# Longer than a filter that somebody typed; it stands in the comment's first line.
_LONGEST_FILTER = 100

_COMMAND = re.compile(r"/warpgauge run +(?P<filter>[^ ]+)(?: +on +(?P<gpu>[^ ].*?))? *")
_USAGE = "write it as /warpgauge run FILTER, or /warpgauge run FILTER on GPU, on the first line"
_LOGIN = re.compile(r"[A-Za-z0-9_-]{1,100}")
_TITLE = re.compile(r"gpu (?P<head>[0-9a-f]{40}|[0-9a-f]{64}) request (?P<comment>[0-9]{1,20})")
# No value has a blank or an angle bracket in it, which would end the line or the HTML comment.
_MARK = re.compile(
    r"<!-- warpgauge request run=(?P<run>[0-9]{1,20}) head=(?P<head>[0-9a-f]+)"
    r" base=(?P<base>[0-9a-f]{40,64}) gpu=(?P<gpu>[a-z0-9-]*) filter=(?P<filter>[^ <>]+) -->"
)


@dataclass(frozen=True)
class Request:
    """What was asked for: `gpu` is a slug of .github/gpus.json, or empty for all of them."""

    repository: str
    pull: int
    head: str  # the commit that is measured
    base: str  # the commit that it is measured from
    gpu: str
    filter: str
    comment: int = 0  # ours
    run: int = 0

    @property
    def mark(self) -> str:
        return (
            f"<!-- warpgauge request run={self.run} head={self.head} base={self.base}"
            f" gpu={self.gpu} filter={quote(self.filter, safe='')} -->"
        )


def author_of(api: GitHub, repository: str, comment: Json) -> str:
    """Who wrote a comment, if a person who may push to the repository; else ""."""
    login = str(at(comment, "user", "login"))
    if at(comment, "user", "type") != "User" or not _LOGIN.fullmatch(login):
        return ""
    try:
        answer = api.get(f"/repos/{repository}/collaborators/{login}/permission")
    except NotFound:
        return ""
    # Not as the event tells it: that knows nothing of teams and private members.
    return login if at(answer, "permission") in _MAY_ASK else ""


def pull_of(comment: Json) -> int:
    """The number of the issue or pull request that a comment is on. Raises UserError."""
    found = text(comment, "issue_url", pattern=re.compile(r"https?://.*/issues/[0-9]{1,10}"))
    return int(found.rpartition("/")[2])


def parsed(body: str, models: Sequence[Gpu]) -> tuple[str, Gpu | None]:
    """The filter, and the GPU if one is named. Raises UserError for what is no such command."""
    found = _COMMAND.fullmatch(re.split(r"\r|\n", body, maxsplit=1)[0])
    if found is None:
        raise UserError(_USAGE)
    filter, name = found["filter"], found["gpu"]
    if not (filter.isascii() and filter.isprintable() and len(filter) <= _LONGEST_FILTER):
        raise UserError(
            f"the filter {typed(filter)} is not of at most {_LONGEST_FILTER} printable ASCII "
            "characters; shorten it, or write . for the others"
        )
    require_portable("the filter", filter.removeprefix("-"))
    named = [gpu for gpu in models if name and name.lower() in (gpu.slug, gpu.name.lower())]
    if name and not named:
        known = ", ".join(gpu.slug for gpu in models)
        raise UserError(f".github/gpus.json has no such GPU: it has {known}")
    return filter, named[0] if named else None


def begin(api: GitHub, repository: str, comment: Json, author: str, models: Sequence[Gpu]) -> int:
    """Say on the pull request that the measurement begins, and begin it; the id of its run.

    Raises UserError for a mistake in the command, or a fault, which is said there too.
    """
    pull = pull_of(comment)
    comments = f"/repos/{repository}/issues/{pull}/comments"
    try:
        filter, gpu = parsed(str(at(comment, "body")), models)
        answer = api.get(f"/repos/{repository}/pulls/{pull}")
        if at(answer, "state") != "open":
            raise UserError("the pull request is not open; reopen it to have it measured")
        head = text(answer, "head", "sha", pattern=FULL_COMMIT)
        between = f"{quote(text(answer, 'base', 'ref'), safe='')}...{head}"
        compared = api.get(f"/repos/{repository}/compare/{between}?per_page=1")
        base = text(compared, "merge_base_commit", "sha", pattern=FULL_COMMIT)
        default_branch = text(answer, "base", "repo", "default_branch")
    except UserError as fault:
        api.post(comments, {"body": f"**Nothing is measured**: {prose(str(fault))}."})
        raise
    asked = Request(repository, pull, head, base, gpu.slug if gpu else "", filter)
    where = prose(gpu.name if gpu else ", ".join(one.name for one in models))
    what = f"{code(filter)} on {where} at commit {code(short(head))}, as {code(author)} asked"
    said = api.post(comments, {"body": f"{asked.mark}\n**Measuring** {what}."})
    asked = replace(asked, comment=number(said, "id"))
    outside = not same(at(answer, "head", "repo", "full_name"), repository)
    inputs = {"head": head, "base": base, "gpu": asked.gpu, "filter": filter}
    inputs |= {"request": str(asked.comment), "outside": str(outside).lower()}
    body = f"**Not measured**: GitHub did not say that a run has begun for {what}."
    try:
        started = api.post(
            f"/repos/{repository}/actions/workflows/{PurePosixPath(WORKFLOW).name}/dispatches",
            {"ref": f"refs/heads/{default_branch}", "inputs": inputs, "return_run_details": True},
        )
        asked = replace(asked, run=number(started, "workflow_run_id"))
        run = f"[run]({address(started, 'html_url')})"
        waits = " A maintainer has to approve the run first: it is a fork's." if outside else ""
        body = f"**Measuring** {what} ({run}). The result will stand here.{waits}"
    finally:
        _change(api, asked, body)
    return asked.run


def request_of(api: GitHub, repository: str, run: Json) -> Request | None:
    """What a run of WORKFLOW measures for a comment; None where no comment of ours waits for it.

    So it is where a person dispatched it, another workflow did, or the comment is gone.
    """
    title = _TITLE.fullmatch(str(at(run, "display_title")))
    home = api.get(f"/repos/{repository}")
    if (
        title is None
        or at(run, "event") != "workflow_dispatch"
        # Whoever runs it again changes neither its code nor its inputs.
        or at(run, "actor", "login") != _BOT
        or at(run, "head_branch") != text(home, "default_branch")
        or not same(at(run, "head_repository", "full_name"), repository)
    ):
        return None
    try:
        comment = api.get(f"/repos/{repository}/issues/comments/{int(title['comment'])}")
    except NotFound:
        return None
    mark = _MARK.fullmatch(str(at(comment, "body")).split("\n", 1)[0].rstrip("\r"))
    ours = at(comment, "user", "login") == _BOT and at(comment, "user", "type") == "Bot"
    if mark is None or not ours or mark["head"] != title["head"]:
        return None
    # Who can dispatch with a job's token can name any comment, but not choose the run's number.
    if int(mark["run"]) != number(run, "id"):
        return None
    base, gpu, filter = mark["base"], mark["gpu"], unquote(mark["filter"])
    ids = number(comment, "id"), number(run, "id")
    return Request(repository, pull_of(comment), mark["head"], base, gpu, filter, *ids)


def answer(api: GitHub, request: Request, run: Json, body: str) -> str:
    """Make our comment say what came of it; its address. `body` is Markdown of ours."""
    pull = api.get(f"/repos/{request.repository}/pulls/{request.pull}")
    moved = at(pull, "head", "sha") != request.head
    late = ", which is no longer the head" if moved else ""
    attempt = number(run, "run_attempt")
    again = f", attempt {attempt}" if attempt > 1 else ""
    about = f"{code(request.filter)} at commit {code(short(request.head))}{late}"
    return _change(api, request, f"{about} ([run]({address(run, 'html_url')}){again})\n\n{body}")


def _change(api: GitHub, request: Request, body: str) -> str:
    path = f"/repos/{request.repository}/issues/comments/{request.comment}"
    whole = f"{request.mark}\n{body}"[:_LENGTH_LIMIT]
    return address(api.patch(path, {"body": whole}), "html_url")
