# SPDX-License-Identifier: Apache-2.0
"""Typed fields of answers of GitHub's API."""

from __future__ import annotations

import re

from warpgauge.github.api import GitHub, Json
from warpgauge.reports.markdown.text import ADDRESS
from warpgauge.system.errors import UserError
from warpgauge.system.text import quoted

_REPOSITORY = re.compile(r"(?!\.{1,2}/)[A-Za-z0-9._-]{1,100}/(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,100}")
_NOT_EMPTY = re.compile(r".+", re.DOTALL)
# GitHub's times, which sort as text: 2026-11-20T02:17:09Z.
MOMENT = re.compile(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9:]{8}Z")

# The author of comments made with a job's token. Names with brackets cannot be registered.
_AUTHOR = "github-actions[bot]"


def is_ours(comment: Json) -> bool:
    """Return whether a comment was made by a job of this repository."""
    user = at(comment, "user")
    return at(user, "login") == _AUTHOR and at(user, "type") == "Bot"


def at(value: object, *keys: str) -> object:
    """Return the value at a path of keys, or None."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text(answer: Json, *keys: str, pattern: re.Pattern[str] = _NOT_EMPTY) -> str:
    """Return a text that matches `pattern`. Raise UserError."""
    value = at(answer, *keys)
    if isinstance(value, str) and pattern.fullmatch(value):
        return value
    shown = f"{quoted(value)} as" if isinstance(value, str) and value else "no text called"
    raise _unexpected(shown, keys)


def number(answer: Json, *keys: str, least: int = 1) -> int:
    """Return an integer of at least `least`. Raise UserError."""
    value = at(answer, *keys)
    if type(value) is int and value >= least:
        return value
    raise _unexpected("no number called", keys)


def address(answer: Json, *keys: str) -> str:
    """Return a link that Markdown accepts literally. Raise UserError."""
    return text(answer, *keys, pattern=ADDRESS)


def run_of_workflow(api: GitHub, repository: str, run_id: int, workflow: str) -> Json:
    """Return GitHub's answer on a run. Raise UserError if it belongs to another workflow."""
    answer = api.get(f"/repos/{repository}/actions/runs/{run_id}")
    # GitHub may append the branch: .github/workflows/nightly.yml@main.
    path = text(answer, "path").partition("@")[0]
    if path != workflow:
        raise UserError(
            f"run {run_id} of {repository} is a run of {quoted(path)}, not of {workflow}"
        )
    return answer


def require_repository(name: str) -> str:
    """Return `name` if it is ``OWNER/NAME`` and safe in a path. Raise UserError."""
    if not _REPOSITORY.fullmatch(name):
        raise UserError(f"{quoted(name)} is not a repository; name it as OWNER/NAME")
    return name


def same(answered: object, name: str) -> bool:
    """Return whether GitHub names this repository; it ignores case."""
    return str(answered).lower() == name.lower()


def _unexpected(what: str, keys: tuple[str, ...]) -> UserError:
    return UserError(f"GitHub's answer has {what} {'.'.join(keys)}; run this again")
