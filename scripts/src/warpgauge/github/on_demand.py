# SPDX-License-Identifier: Apache-2.0
"""``/warpgauge run FILTER on GPU``: a measurement requested by a comment on a pull request.

Standard library only: nothing is installed before the comment says that the measurement begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from warpgauge.github import pull_request
from warpgauge.github.api import GitHub, Json, NotFound, address, at, is_ours, number, same, text
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import Pull, Run
from warpgauge.records.benchmark_filter import matches
from warpgauge.reports.markdown_text import code, prose
from warpgauge.system.errors import UserError
from warpgauge.system.git import FULL_COMMIT, short
from warpgauge.system.text import quoted

_WORKFLOW = ".github/workflows/on-demand.yml"
_MAY_ASK = ("admin", "maintain", "write")

_COMMAND = re.compile(r"/warpgauge run +(?P<filter>[!-~]{1,100})(?: +on +(?P<gpu>[^ ].*?))? *")
_USAGE = (
    "write /warpgauge run FILTER, or /warpgauge run FILTER on GPU, on the first line; FILTER has "
    "no spaces and at most 100 printable ASCII characters"
)
_LOGIN, _ISSUE = re.compile(r"[A-Za-z0-9_-]{1,100}"), re.compile(r"https?://.*/issues/[0-9]{1,10}")


@dataclass(frozen=True)
class Request:
    """The measurement; the job that begins it passes it to the job that answers, as JSON."""

    pull: int
    comment: int  # our comment, which gets the result
    head: str  # the commit
    base: str  # the commit at which the head left `branch`
    branch: str  # the pull request's base branch
    gpu: str  # a slug of .github/gpus.json, or "" for all
    filter: str
    outside: bool  # whether the head is in a fork

    @classmethod
    def read(cls, line: str) -> Request:
        """Return the request that an earlier job of this run printed. Raise UserError."""
        try:
            return cls(**json.loads(line))
        except (ValueError, TypeError):
            what = f"WARPGAUGE_REQUEST {quoted(line)} is not the output of warpgauge ci on-demand"
            raise UserError(f"{what}; run the whole workflow again") from None

    def models(self, known: Sequence[Gpu]) -> list[Gpu]:
        """Return the models to measure on."""
        return [gpu for gpu in known if self.gpu in ("", gpu.slug)]


def run_of(api: GitHub, repository: str, run_id: int) -> Run:
    """Return the run that a comment began. Raise UserError for any other."""
    run = pull_request.run_of(api, repository, run_id, _WORKFLOW, "issue_comment")
    home = text(api.get(f"/repos/{repository}"), "default_branch")
    if run.branch != home or not same(run.head_repository, repository):
        raise UserError(f"run {run_id} of {repository} is not on the branch {quoted(home)}")
    return run


def author_of(api: GitHub, repository: str, comment: Json) -> str:
    """Return the author of a comment, if a person who may push to the repository, else ""."""
    login = str(at(comment, "user", "login"))
    if at(comment, "user", "type") != "User" or not _LOGIN.fullmatch(login):
        return ""
    try:
        answer = api.get(f"/repos/{repository}/collaborators/{login}/permission")
    except NotFound:
        return ""
    # The event's own data do not include teams and private members.
    return login if at(answer, "permission") in _MAY_ASK else ""


def begin(api: GitHub, run: Run, comment: Json, author: str, known: Sequence[Gpu]) -> Request:
    """Announce the measurement on the pull request. A UserError is announced too, and raised."""
    pull = int(text(comment, "issue_url", pattern=_ISSUE).rpartition("/")[2])
    comments = f"/repos/{run.repository}/issues/{pull}/comments"
    try:
        filter, gpu = _parsed(str(at(comment, "body")), known)
        answer = api.get(f"/repos/{run.repository}/pulls/{pull}")
        if at(answer, "state") != "open":
            raise UserError("the pull request is not open; reopen it to measure it")
        head = text(answer, "head", "sha", pattern=FULL_COMMIT)
        of_head, into = replace(run, head=head), Pull(pull, text(answer, "base", "ref"))
        base = pull_request.base_of(api, of_head, into)
    except UserError as fault:
        api.post(comments, {"body": f"**Nothing is measured**: {prose(str(fault))}."})
        raise
    outside = not same(at(answer, "head", "repo", "full_name"), run.repository)
    asked = Request(pull, 0, head, base.commit, base.branch, gpu, filter, outside)
    where = prose(", ".join(one.name for one in asked.models(known)))
    what = f"{code(filter)} on {where} at commit {code(short(head))}, as {code(author)} asked"
    waits = " A maintainer has to approve this run of a fork first." if outside else ""
    body = f"**Measuring** {what} ([run]({run.url})). The result will replace this text.{waits}"
    return replace(asked, comment=number(api.post(comments, {"body": body}), "id"))


def answer(api: GitHub, repository: str, request: Request, body: str) -> str:
    """Write the result into our comment; return its address. `body` is our own Markdown."""
    path = f"/repos/{repository}/issues/comments/{request.comment}"
    comment, pull = api.get(path), api.get(f"/repos/{repository}/pulls/{request.pull}")
    if not (is_ours(comment) and str(at(comment, "issue_url")).endswith(f"/issues/{request.pull}")):
        raise UserError(
            f"comment {request.comment} is not ours on #{request.pull}; it is left unchanged"
        )
    late = "" if at(pull, "head", "sha") == request.head else ", which is no longer the head"
    about = f"Requested: {code(request.filter)} at commit {code(short(request.head))}{late}."
    # `comment.body` leaves room for a note.
    return address(api.patch(path, {"body": f"{body.rstrip()}\n\n{about}"}), "html_url")


def _parsed(body: str, known: Sequence[Gpu]) -> tuple[str, str]:
    """Return the filter, and the slug of a named GPU or "". Raise UserError without a command."""
    found = _COMMAND.fullmatch(re.split(r"\r|\n", body, maxsplit=1)[0])
    if found is None:
        raise UserError(_USAGE)
    filter, name = found["filter"], (found["gpu"] or "").lower()
    matches(filter, "")
    slugs = {one: gpu.slug for gpu in known for one in (gpu.slug, gpu.name.lower())}
    if name and name not in slugs:
        has = ", ".join(gpu.slug for gpu in known)
        raise UserError(f".github/gpus.json does not list this GPU; it lists {has}")
    return filter, slugs.get(name, "")
