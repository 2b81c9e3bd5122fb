# SPDX-License-Identifier: Apache-2.0
"""GitHub's REST API over the standard library. The token is sent only to its own host.

Every fault is a UserError of one sentence. Each answer is limited in bytes, and its fields are
checked where they are read.
"""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from functools import cached_property
from http.client import HTTPMessage
from pathlib import Path
from typing import IO, NoReturn
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from warpgauge.reports.markdown_text import ADDRESS
from warpgauge.system.errors import UserError
from warpgauge.system.git import FULL_COMMIT
from warpgauge.system.text import cut, inert, quoted

Json = dict[str, object]

TOKEN, API_URL = "GH_TOKEN", "GITHUB_API_URL"
_PUBLIC_API = "https://api.github.com"
_JSON, _RAW = "application/vnd.github+json", "application/vnd.github.raw+json"
_HEADERS = {"X-GitHub-Api-Version": "2022-11-28", "User-Agent": "warpgauge"}

# A page of a hundred comments of 65,536 characters, each written as \uXXXX, is 40 MB.
_ANSWER_LIMIT_BYTES, _CHUNK_BYTES = 64 * 1024 * 1024, 64 * 1024
# GitHub's largest page, and more pages than any pull request or run has.
_PAGE, _MOST_PAGES = 100, 50
_TIMEOUT_S = 30.0  # the longest silence
# Pauses before a GET is repeated, and the faults of GitHub's servers after which it is.
_PAUSES_S, _STUMBLES = (2.0, 8.0), (500, 502, 503, 504)

_PRINTABLE = re.compile(r"[!-~]+")
# Of this API and of what it redirects to: https, or http on this machine, as in tests.
_SECURE = re.compile(r"https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[!-~]*)?")
_LOCAL = re.compile(r"http://127\.0\.0\.1:[0-9]{1,5}(/[!-~]*)?")
_REMEDIES = {
    401: f"give {TOKEN} a valid token",
    403: "give the job's token the permission for this",
    404: "check the name, and whether the token may see it",
    410: "it was deleted; run the job that made it again",
}


class Unanswered(UserError):
    """GitHub could not be asked, or refused."""


class NotFound(Unanswered):
    """GitHub has nothing of that name, or does not show it to this token."""


class GitHub:
    """One host's API, and its token. `path` begins with a slash, as in /repos/o/n/pulls."""

    def __init__(self, token: str, base_url: str = _PUBLIC_API) -> None:
        """Raise UserError for an invalid token or address."""
        # http.client would print a token that it cannot send.
        if not _PRINTABLE.fullmatch(token):
            how = f"the job's github.token, or by hand: export {TOKEN}=$(gh auth token)"
            raise UserError(f"{TOKEN} is empty or not a token; set it to {how}")
        local = _LOCAL.fullmatch(base_url) is not None
        if not (local or _SECURE.fullmatch(base_url)):
            raise UserError(f"{API_URL}: {quoted(base_url)} is not an https:// address; correct it")
        self._base, self._authorization = base_url.rstrip("/"), f"Bearer {token}"
        # Unencrypted traffic to this machine must not go through a proxy.
        proxy, allowed = ProxyHandler({} if local else None), _LOCAL if local else _SECURE
        self._answers = build_opener(proxy, _Redirects(None))
        self._downloads = build_opener(proxy, _Redirects(allowed))

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> GitHub:
        """Return the API for a workflow's job, from GH_TOKEN and GitHub's GITHUB_API_URL."""
        return cls(environment.get(TOKEN, ""), environment.get(API_URL) or _PUBLIC_API)

    def get(self, path: str) -> Json:
        return self._object("GET", path)

    def listed(self, path: str, key: str = "", **query: str) -> list[Json]:
        """Return all objects of a list on all its pages; `key` names the list inside an answer."""
        found: list[Json] = []
        for number in range(1, _MOST_PAGES + 1):
            page = {"per_page": _PAGE, **query, **({"page": number} if number > 1 else {})}
            what, body, headers = self._read("GET", f"{path}?{urlencode(page)}")
            items = _parsed(what, body)
            items = _checked_object(what, items).get(key) if key else items
            if not isinstance(items, list):
                raise UserError(f"{what}: the answer is not a list; check {API_URL}")
            found += [_checked_object(what, item) for item in items]
            if 'rel="next"' not in headers.get("Link", ""):
                return found
        raise UserError(f"{what} has more than {_MOST_PAGES * _PAGE} entries; inspect it by hand")

    def post(self, path: str, body: Mapping[str, object]) -> Json:
        """Create something; return the object that GitHub made."""
        return self._object("POST", path, body)

    def patch(self, path: str, body: Mapping[str, object]) -> Json:
        """Change something; return the changed object."""
        return self._object("PATCH", path, body)

    def delete(self, path: str) -> None:
        self._read("DELETE", path)

    def download(self, path: str, limit_bytes: int) -> bytes:
        """Return a file that GitHub may keep on another host, of at most `limit_bytes`."""
        return self._read("GET", path, limit=limit_bytes, opener=self._downloads)[1]

    def file(self, repository: str, path: str, commit: str, limit_bytes: int) -> bytes | None:
        """Return a file of a commit, also of a fork's with a pull request; None if absent."""
        where = f"/repos/{repository}/contents/{quote(path)}?ref={commit}"
        with suppress(NotFound):
            return self._read("GET", where, limit=limit_bytes, accept=_RAW)[1]
        return None

    def _object(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Json:
        what, answer, _ = self._read(method, path, body)
        return _checked_object(what, _parsed(what, answer))

    def _read(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        limit: int = _ANSWER_LIMIT_BYTES,
        accept: str = _JSON,
        opener: OpenerDirector | None = None,
    ) -> tuple[str, bytes, Message]:
        """Return the request in words, and the body and headers of the answer."""
        if not (path.startswith("/") and _PRINTABLE.fullmatch(path)):
            raise ValueError(f"not an API path: {path!r}")
        url = f"{self._base}{path}"
        what = f"{method} {cut(inert(url), 300)}"
        data = json.dumps(body).encode() if body is not None else None
        request = Request(url, data, {**_HEADERS, "Accept": accept}, method=method)
        if data:
            request.add_header("Content-Type", "application/json")
        # urllib does not hand such a header on to where it is redirected.
        request.add_unredirected_header("Authorization", self._authorization)
        for pause in (*(_PAUSES_S if method == "GET" else ()), None):
            try:
                with (opener or self._answers).open(request, timeout=_TIMEOUT_S) as answer:
                    return what, _limited(what, answer, limit), answer.headers
            except HTTPError as error:
                with error:
                    if pause is None or error.code not in _STUMBLES:
                        _refuse(what, error)
            except (OSError, ValueError, http.client.HTTPException) as fault:
                if pause is None:
                    why = inert(cut(str(getattr(fault, "reason", fault)) or "no answer", 200))
                    raise Unanswered(f"{what} failed ({why}); run this again") from None
            time.sleep(pause)
        raise AssertionError  # the last try returns or raises


class _Redirects(HTTPRedirectHandler):
    """Follows redirects to `allowed` addresses; None leaves each one an error.

    One that stays on the host, as in a renamed repository, keeps the token.
    """

    max_repeats = max_redirections = 3

    def __init__(self, allowed: re.Pattern[str] | None) -> None:
        self._allowed = allowed

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if self._allowed is None:
            return None
        if not self._allowed.fullmatch(newurl):
            raise UserError(f"GET {cut(inert(req.full_url), 300)} leads to no https:// address")
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        token = req.get_header("Authorization")
        if new and token and urlsplit(newurl)[:2] == urlsplit(req.full_url)[:2]:
            new.add_unredirected_header("Authorization", token)
        return new


def _limited(what: str, answer: http.client.HTTPResponse, limit: int) -> bytes:
    """Return the body. Raise UserError if it exceeds `limit` bytes, or is cut short."""
    body = answer.read(limit + 1)
    if len(body) > limit:
        raise UserError(f"{what} is larger than {limit} bytes; it is not read")
    if answer.length:
        raise Unanswered(f"{what} ended {answer.length} bytes too early; run this again")
    return body


def _refuse(what: str, error: HTTPError) -> NoReturn:
    """Raise Unanswered with GitHub's reason and a remedy."""
    message = str(error.reason)  # the default
    broken = (OSError, http.client.HTTPException, ValueError, RecursionError)
    with suppress(*broken, LookupError, TypeError):
        message = str(json.loads(error.read(_CHUNK_BYTES))["message"])
    why = f"{error.code} {inert(cut(message, 200))}"
    limited = error.headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in error.headers
    if error.code == 429 or (error.code == 403 and limited):
        raise Unanswered(f"{what}: the rate limit is reached ({why}); run this again in an hour")
    if 300 <= error.code < 400:
        raise Unanswered(f"{what} is redirected ({why}); check whether it was renamed")
    kind = NotFound if error.code == 404 else Unanswered
    raise kind(f"{what}: {why}; {_REMEDIES.get(error.code, 'run this again')}")


def _parsed(what: str, body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise UserError(f"{what}: the answer is not JSON; check {API_URL}") from None


def _checked_object(what: str, value: object) -> Json:
    if not isinstance(value, dict):
        raise UserError(f"{what}: the answer is not an object; check {API_URL}")
    return value


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


# A number of GitHub's, as text.
DIGITS = re.compile(r"[1-9][0-9]{0,17}")


@dataclass(frozen=True)
class Job:
    """The workflow's job that a command runs in, by the `variables` of its environment.

    Anybody may have written the texts of an event. Only numbers are read from it, which the API
    confirms, and the inputs of a dispatch, which only somebody who may push can give.
    """

    api: GitHub
    repository: str
    variables: Mapping[str, str]

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> Job:
        """Return the job. Raise UserError outside of one, or without the API's token."""
        name = variables.get("GITHUB_REPOSITORY", "")
        if not name:
            raise UserError("GITHUB_REPOSITORY is not set: run this command in a workflow's job")
        return cls(GitHub.of(variables), require_repository(name), variables)

    def setting(self, name: str) -> str:
        """Return ``WARPGAUGE_<name>``, which the workflow sets for us; empty by default."""
        return self.variables.get(f"WARPGAUGE_{name}", "")

    @property
    def run_id(self) -> int:
        """The number of this run. Raise UserError."""
        return int(text({**self.variables}, "GITHUB_RUN_ID", pattern=DIGITS))

    @cached_property
    def event(self) -> Json:
        """What began the run. Raise UserError."""
        try:
            event = json.loads(Path(self.variables.get("GITHUB_EVENT_PATH", "")).read_bytes())
        except (OSError, ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            raise UserError("GITHUB_EVENT_PATH names no event: run this in a workflow's job")
        return event


@dataclass(frozen=True)
class Repository:
    """A repository, whose branches are written to through the API: git needs no credential.

    https://docs.github.com/en/rest/git: a tree on top of the parent's, a commit, then the branch.
    """

    github: GitHub
    name: str  # OWNER/NAME

    def head(self, branch: str) -> str | None:
        """Return the commit of a branch, or None if there is no such branch."""
        ref = f"refs/heads/{branch}"
        # Matched by prefix, because a missing branch is then an empty list instead of an error.
        for found in self.github.listed(f"{self._git}/matching-{ref}"):
            if found.get("ref") == ref:
                return _sha(found, "object")
        return None

    def commit(self, parent: str | None, files: Mapping[str, str], message: str) -> str:
        """Create a commit that no branch has yet: `parent` with these files written.

        Without a parent it begins a history of its own.
        """
        kind = {"mode": "100644", "type": "blob"}  # a regular file
        blobs = [{"path": path, "content": text, **kind} for path, text in files.items()]
        tree: dict[str, object] = {"tree": blobs}
        if parent is not None:
            tree["base_tree"] = _sha(self.github.get(f"{self._git}/commits/{parent}"), "tree")
        made = _sha(self.github.post(f"{self._git}/trees", tree))
        about = {"message": message, "tree": made, "parents": [parent] if parent else []}
        return _sha(self.github.post(f"{self._git}/commits", about))

    def create_branch(self, branch: str, commit: str) -> None:
        self.github.post(f"{self._git}/refs", {"ref": f"refs/heads/{branch}", "sha": commit})

    def advance_branch(self, branch: str, commit: str) -> None:
        """Move a branch; GitHub refuses if it was moved meanwhile."""
        self.github.patch(f"{self._git}/refs/heads/{branch}", {"sha": commit, "force": False})

    @property
    def _git(self) -> str:
        return f"/repos/{self.name}/git"


def _sha(answer: Json, *keys: str) -> str:
    return text(answer, *keys, "sha", pattern=FULL_COMMIT)
