# SPDX-License-Identifier: Apache-2.0
"""The one comment on a pull request: found again, changed in place, marked when it is outdated."""

from __future__ import annotations

from warpgauge.github.api import GitHub, Json
from warpgauge.github.fields import address, at, number
from warpgauge.reports.markdown.report import MARK

# Whom a job's own token comments as. Nobody can register a name with brackets in it.
AUTHOR = "github-actions[bot]"

_OUTDATED = "> **Outdated.**"

# What GitHub takes.
LENGTH_LIMIT = 65_536


def put(api: GitHub, repository: str, pull: int, body: str) -> str:
    """Make `body` the pull request's one comment; its address.

    The oldest comment of ours is changed, so that it stays where readers know it. Others, left by
    two jobs that met, go: each of them would look like a result.
    """
    ours = _ours(api, repository, pull)
    if not ours:
        path = f"/repos/{repository}/issues/{pull}/comments"
        return address(api.post(path, {"body": body}), "html_url")
    changed = _change(api, repository, ours[0], body)
    for extra in ours[1:]:
        api.delete(_path(repository, extra))
    return changed


def mark_outdated(api: GitHub, repository: str, pull: int, why: str) -> str:
    """Say on top of the comment that it tells of another commit; its address, "" without one."""
    ours = _ours(api, repository, pull)
    if not ours:
        return ""
    return _change(api, repository, ours[0], outdated(str(at(ours[0], "body")), why))


def outdated(body: str, why: str) -> str:
    """A comment with its note on top, which replaces an earlier one."""
    told = body.replace("\r\n", "\n").removeprefix(MARK)
    if told.startswith(_OUTDATED):
        told = told.partition("\n\n")[2]
    return f"{MARK}{_OUTDATED} {why}\n\n{told}"[:LENGTH_LIMIT]


def _ours(api: GitHub, repository: str, pull: int) -> list[Json]:
    """The comments that begin with the mark and are the token's own, the oldest first."""
    path = f"/repos/{repository}/issues/{pull}/comments"
    return sorted(
        (
            one
            for one in api.listed(path)
            if str(at(one, "body")).startswith(MARK.strip())
            and at(one, "user", "login") == AUTHOR
            and at(one, "user", "type") == "Bot"
        ),
        key=lambda one: number(one, "id"),
    )


def _change(api: GitHub, repository: str, comment: Json, body: str) -> str:
    changed = api.patch(_path(repository, comment), {"body": body})
    return address(changed, "html_url")


def _path(repository: str, comment: Json) -> str:
    return f"/repos/{repository}/issues/comments/{number(comment, 'id')}"
