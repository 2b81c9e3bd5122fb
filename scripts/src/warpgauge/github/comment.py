# SPDX-License-Identifier: Apache-2.0
"""The one comment on a pull request: the verdict of each GPU on top, then what each has to say.

It is found again, changed in place, and marked when it is outdated.

All of it is made here, from data: no Markdown that a run has left is ever posted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from warpgauge.github.api import GitHub, Json
from warpgauge.github.fields import address, at, number
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import Base, Run
from warpgauge.reports.markdown import report
from warpgauge.reports.markdown.report import MARK
from warpgauge.reports.markdown.text import code, prose
from warpgauge.system.git import short
from warpgauge.verdict.comparison import Comparison

LENGTH_LIMIT = 65_536  # GitHub's
# With room for the note that the comment is outdated; and for the lines on top, and the headings.
_LIMIT, _TOP = LENGTH_LIMIT - 536, 4000


@dataclass(frozen=True)
class Part:
    """One GPU: what was found on it, or why there is nothing; where more is, if anywhere."""

    gpu: Gpu
    found: Comparison | str
    job_url: str = ""
    artifact_url: str = ""
    history_url: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.artifact_url or self.job_url


def body(run: Run, base: Base | None, parts: Sequence[Part], previous_url: str = "") -> str:
    """The whole comment, within what GitHub takes: what does not fit is named and linked."""
    several = len(parts) > 1
    share = (_LIMIT - _TOP) // max(1, sum(isinstance(part.found, Comparison) for part in parts))
    shown = [_shown(part, several, min(share, report.LIMIT)) for part in parts]
    verdicts = [f"- {verdict}" if several else verdict for verdict, _ in shown]
    top = "\n".join([f"{MARK}{_origin(run, parts)}\n", *verdicts, ""])
    # What is said in place of a section is not longer than its link.
    room = _LIMIT - len(top) - sum(len(_elsewhere(part)) for part in parts)
    sections: list[str] = []
    for part, (_, rest) in zip(parts, shown, strict=True):
        section = f"\n### {prose(part.gpu.name)}\n\n{rest}" if several and rest else f"\n{rest}"
        if len(section) > room:
            section = _elsewhere(part)
        room -= len(section)
        sections.append(section)
    return f"{top}{''.join(sections)}".rstrip() + "\n"


def to_be_measured(run: Run) -> str:
    """What the note on an outdated comment says."""
    return f"Commit {code(short(run.head))} is yet to be measured ([run]({run.url}))."


def not_measured(run: Run, why: str) -> str:
    """Likewise of a run without a result; `why` is ours, or empty for how the run ended."""
    ended = why or f"its run ended without a job for any GPU ({code(run.conclusion or 'unknown')})"
    return f"Commit {code(short(run.head))} was not measured: {ended} ([run]({run.url}))."


def not_readable(run: Run) -> str:
    """Likewise where GitHub, or this repository's own files, did not let us read it."""
    return (
        f"What was measured of commit {code(short(run.head))} could not be read ([run]({run.url}))."
    )


def _shown(part: Part, named: bool, limit: int) -> tuple[str, str]:
    """The verdict in a line, with its GPU if `named` or if nothing else names it; and the rest."""
    if isinstance(part.found, str):
        see = f" ([job]({part.url}))" if part.url else ""
        return f"{_name(part)}: **not measured**, {prose(part.found)}{see}.", ""
    verdict, rest = report.parts(part.found, limit)
    return f"{_name(part)}: {verdict}" if named else verdict, rest


def _origin(run: Run, parts: Sequence[Part]) -> str:
    """Of which commit this is, and where all of it lies."""
    attempt = f", attempt {run.attempt}" if run.attempt > 1 else ""
    compared = [part for part in parts if part.url and isinstance(part.found, Comparison)]
    made = [f"[{part.gpu.slug}]({part.url})" for part in compared]
    everything = [f"everything measured: {', '.join(made)}"] if made else []
    commit = f"warpgauge on {code(short(run.head))}"
    return " · ".join([commit, f"[run]({run.url}){attempt}", *everything])


def _elsewhere(part: Part) -> str:
    return f"\nThe tables of {_name(part)} do not fit here; [they are in the run]({part.url}).\n"


def _name(part: Part) -> str:
    return f"**{prose(part.gpu.name)}**"


# Whom a job's own token comments as. Nobody can register a name with brackets in it.
AUTHOR = "github-actions[bot]"

_OUTDATED = "> **Outdated.**"
# In our own comment.
_RUN_LINK = re.compile(r"\[run\]\((https://[A-Za-z0-9./:_-]+/actions/runs/[0-9]+)\)")


def put(api: GitHub, run: Run, pull: int, base: Base, parts: Sequence[Part]) -> str:
    """Make this the pull request's one comment; its address.

    The oldest comment of ours is changed, so that it stays where readers know it. Others, left by
    two jobs that met, go: each of them would look like a result.
    """
    repository = run.repository
    ours = _ours(api, repository, pull)
    before = _RUN_LINK.search(str(at(ours[0], "body"))) if ours else None
    previous = before[1] if before and before[1] != run.url else ""
    text = body(run, base, parts, previous)
    if not ours:
        path = f"/repos/{repository}/issues/{pull}/comments"
        return address(api.post(path, {"body": text}), "html_url")
    changed = _change(api, repository, ours[0], text)
    for extra in ours[1:]:
        api.delete(_path(repository, extra))
    return changed


def mark_outdated(api: GitHub, repository: str, pull: int, why: str) -> str:
    """Say on top of the comment that it tells of another commit; its address, "" without one."""
    for oldest in _ours(api, repository, pull)[:1]:
        return _change(api, repository, oldest, outdated(str(at(oldest, "body")), why))
    return ""


def outdated(body: str, why: str) -> str:
    """A comment with its note on top, which replaces an earlier one."""
    rest = body.replace("\r\n", "\n").removeprefix(MARK)
    if rest.startswith(_OUTDATED):
        rest = rest.partition("\n\n")[2]
    return f"{MARK}{_OUTDATED} {why}\n\n{rest}"[:LENGTH_LIMIT]


def _ours(api: GitHub, repository: str, pull: int) -> list[Json]:
    """The comments that begin with the mark and are the token's own, the oldest first."""
    ours = [
        comment
        for comment in api.listed(f"/repos/{repository}/issues/{pull}/comments")
        if str(at(comment, "body")).startswith(MARK.strip())
        and at(comment, "user", "login") == AUTHOR
        and at(comment, "user", "type") == "Bot"
    ]
    return sorted(ours, key=lambda comment: number(comment, "id"))


def _change(api: GitHub, repository: str, comment: Json, body: str) -> str:
    return address(api.patch(_path(repository, comment), {"body": body}), "html_url")


def _path(repository: str, comment: Json) -> str:
    return f"/repos/{repository}/issues/comments/{number(comment, 'id')}"
