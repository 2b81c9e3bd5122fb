# SPDX-License-Identifier: Apache-2.0
"""GitHub's REST API over the standard library. The token is sent only to its own host.

Every fault is a UserError of one sentence. Each answer is limited in bytes and in time, and its
fields are checked where they are read.
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
from typing import IO, NoReturn
from urllib.error import HTTPError
from urllib.parse import SplitResult, quote, urlencode, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from warpgauge.reports.markdown_text import ADDRESS
from warpgauge.system.errors import UserError
from warpgauge.system.git import FULL_COMMIT
from warpgauge.system.text import cut, inert, quoted

Json = dict[str, object]

TOKEN, API_URL = "GH_TOKEN", "GITHUB_API_URL"
_PUBLIC_API = "https://api.github.com"
_JSON, _RAW = "application/vnd.github+json", "application/vnd.github.raw+json"
_HEADERS = {
    "X-GitHub-Api-Version": "2022-11-28",
    "User-Agent": "warpgauge",
}

# A page of a hundred comments of 65,536 characters, each written as \uXXXX, is 40 MB.
_ANSWER_LIMIT_BYTES, _CHUNK_BYTES = 64 * 1024 * 1024, 64 * 1024
# GitHub's largest page, and more pages than any pull request or run has.
_PAGE, _MOST_PAGES = 100, 50
# The longest silence, and the longest time of one answer.
_TIMEOUT_S, _ANSWER_LIMIT_S = 30.0, 300.0
# Pauses before a GET is repeated, and the faults of GitHub's servers after which it is.
_PAUSES_S, _STUMBLES = (2.0, 8.0), (500, 502, 503, 504)
# A download of an artifact redirects to a storage host, with one more step in a renamed repository.
_MOST_REDIRECTS, _REDIRECTS = 3, (301, 302, 303, 307, 308)

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_PRINTABLE = re.compile(r"[!-~]+")
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
            raise UserError(f"{TOKEN} is empty or not a token; set it to the job's github.token")
        self._base = base_url.rstrip("/")
        self._origin = _origin(_checked(self._base, loopback=True))
        self._authorization = f"Bearer {token}"
        local = self._origin[0] == "http"
        # Unencrypted traffic to this machine must not go through a proxy.
        self._opener = build_opener(_Unredirected, ProxyHandler({} if local else None))

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> GitHub:
        """Return the API for a workflow's job, from GH_TOKEN and GitHub's GITHUB_API_URL."""
        return cls(environment.get(TOKEN, ""), environment.get(API_URL) or _PUBLIC_API)

    def get(self, path: str) -> Json:
        return self._object("GET", path)

    def listed(self, path: str, key: str = "", **query: str) -> list[Json]:
        """Return all objects of a list on all its pages; `key` names the list inside an answer."""
        url = f"{self._url(path)}?{urlencode({'per_page': _PAGE, **query})}"
        found: list[Json] = []
        for _ in range(_MOST_PAGES):
            what, body, headers = self._read("GET", url)
            page = _parsed(what, body)
            items = _checked_object(what, page).get(key) if key else page
            if not isinstance(items, list):
                raise UserError(f"{what}: the answer is not a list; check {API_URL}")
            found += [_checked_object(what, item) for item in items]
            # Link: <https://…>; rel="next", …
            following = re.search(r'<([^<>]*)>\s*;\s*rel="next"', headers.get("Link", ""))
            if following is None:
                return found
            url = self._leads_to(what, url, following.group(1))
            if _origin(urlsplit(url)) != self._origin:
                raise UserError(f"{what}: the next page is on another host; check {API_URL}")
        raise UserError(f"{what} has more than {_MOST_PAGES * _PAGE} entries; inspect it by hand")

    def post(self, path: str, body: Mapping[str, object]) -> Json:
        """Create something; return the object that GitHub made."""
        return self._object("POST", path, body)

    def patch(self, path: str, body: Mapping[str, object]) -> Json:
        """Change something; return the changed object."""
        return self._object("PATCH", path, body)

    def delete(self, path: str) -> None:
        self._read("DELETE", self._url(path))

    def download(self, path: str, limit_bytes: int) -> bytes:
        """Return a file that GitHub may keep on another host, of at most `limit_bytes`."""
        return self._read("GET", self._url(path), limit=limit_bytes, redirects=_MOST_REDIRECTS)[1]

    def file(self, repository: str, path: str, commit: str, limit_bytes: int) -> bytes | None:
        """Return a file of a commit, also of a fork's with a pull request; None if absent."""
        url = self._url(f"/repos/{repository}/contents/{quote(path)}?ref={commit}")
        with suppress(NotFound):
            return self._read("GET", url, limit=limit_bytes, accept=_RAW)[1]
        return None

    def _object(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Json:
        what, answer, _ = self._read(method, self._url(path), body)
        return _checked_object(what, _parsed(what, answer))

    def _url(self, path: str) -> str:
        if not (path.startswith("/") and _PRINTABLE.fullmatch(path)):
            raise ValueError(f"not an API path: {path!r}")
        return f"{self._base}{path}"

    def _read(
        self,
        method: str,
        url: str,
        body: Mapping[str, object] | None = None,
        limit: int = _ANSWER_LIMIT_BYTES,
        redirects: int = 0,
        accept: str = _JSON,
    ) -> tuple[str, bytes, Message]:
        """Return the request in words, and the body and headers of the answer."""
        what = f"{method} {cut(inert(url), 300)}"
        data = json.dumps(body).encode() if body is not None else None
        pauses = iter(_PAUSES_S if method == "GET" else ())
        while True:
            headers = {
                **_HEADERS,
                "Accept": accept,
                **({"Content-Type": "application/json"} if data else {}),
            }
            if _origin(urlsplit(url)) == self._origin:
                headers["Authorization"] = self._authorization
            request = Request(url, data, headers, method=method)
            try:
                with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                    return what, _limited(what, answer, limit), answer.headers
            except HTTPError as error:
                with error:
                    if error.code in _REDIRECTS and redirects:
                        redirects -= 1
                        url = self._leads_to(what, url, error.headers.get("Location", ""))
                        continue
                    pause = next(pauses, None) if error.code in _STUMBLES else None
                    if pause is None:
                        _refuse(what, error)
            except (OSError, http.client.HTTPException) as fault:
                pause = next(pauses, None)
                if pause is None:
                    why = inert(cut(str(getattr(fault, "reason", fault)) or "no answer", 200))
                    raise Unanswered(f"{what} failed ({why}); run this again") from None
            time.sleep(pause)

    def _leads_to(self, what: str, url: str, location: str) -> str:
        """Return a redirect's address: encrypted, unless this machine talks to itself."""
        target = ""
        with suppress(ValueError):
            target = urljoin(url, location)
        if not location or not _PRINTABLE.fullmatch(target):
            raise UserError(f"{what} does not redirect to an address; run this again")
        _checked(target, loopback=self._origin[0] == "http", what=what)
        return target


class _Unredirected(HTTPRedirectHandler):
    """Does not follow redirects: urllib's handler would send the token to the other host."""

    def http_error_302(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Message
    ) -> None:
        """Return None, so that the redirect stays an error."""

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _checked(url: str, loopback: bool, what: str = API_URL) -> SplitResult:
    """Return the parts of an https address, or with `loopback` of http to this machine."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port  # raises ValueError for an invalid port
        host.encode("idna")  # as the socket will; its failure is not an OSError
        local = loopback and parts.scheme == "http" and host in _LOOPBACK
        if host and "@" not in parts.netloc and (local or parts.scheme == "https"):
            return parts
    except ValueError:
        pass
    raise UserError(f"{what}: {inert(cut(url, 100))!r} is not an address; give one of https://")


def _origin(parts: SplitResult) -> tuple[str, str, int]:
    """Return what all addresses of one server have in common."""
    usual = 443 if parts.scheme == "https" else 80
    return parts.scheme, parts.hostname or "", parts.port or usual


def _limited(what: str, answer: http.client.HTTPResponse, limit: int) -> bytes:
    """Return the body. Raise UserError if it exceeds `limit` bytes or the time limit."""
    end, body = time.monotonic() + _ANSWER_LIMIT_S, bytearray()
    length = answer.headers.get("Content-Length", "")
    while chunk := answer.read1(min(_CHUNK_BYTES, limit + 1 - len(body))):
        body += chunk
        if len(body) > limit:
            raise UserError(f"{what} is larger than {limit} bytes; it is not read")
        if time.monotonic() > end:
            raise Unanswered(f"{what} takes longer than {_ANSWER_LIMIT_S:g} s; run this again")
    if length.isdigit() and len(body) != int(length):
        raise Unanswered(f"{what} ended after {len(body)} of {length} bytes; run this again")
    return bytes(body)


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
    if error.code in _REDIRECTS:
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
