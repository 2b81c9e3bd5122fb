# SPDX-License-Identifier: Apache-2.0
"""GitHub's API on this machine: answers that a test has laid out, and a list of what was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from warpgauge.github.api import GitHub

TOKEN = "ghs_secret"


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Answer:
    """`body` is sent as JSON unless it is bytes; or `never` anything, while anybody waits."""

    body: object = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    never: bool = False


Answering = Callable[[Asked], Answer]


def job(
    event: object, folder: Path, url: str, repository: str, run: int, **settings: str
) -> dict[str, str]:
    """Return the environment of a workflow's job that `event` began, which lies in `folder` then.

    The workflow sets WARPGAUGE_... to the `settings`.
    """
    path = folder / "event.json"
    path.write_text(json.dumps(event))
    return {
        "GH_TOKEN": TOKEN, "GITHUB_API_URL": url, "GITHUB_REPOSITORY": repository,
        "GITHUB_RUN_ID": str(run), "GITHUB_EVENT_PATH": str(path),
        **{f"WARPGAUGE_{name}": value for name, value in settings.items()},
    }  # fmt: skip


class FakeGitHub:
    """A server while its context lasts. What no answer is laid out for is answered `otherwise`."""

    def __init__(
        self, otherwise: Answering = lambda _: Answer({"message": "Not Found"}, 404)
    ) -> None:
        self.asked: list[Asked] = []
        self._answers: dict[tuple[str, str], Answering] = {}
        self._otherwise = otherwise
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> FakeGitHub:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def api(self) -> GitHub:
        return GitHub(TOKEN, self.url)

    @property
    def writes(self) -> list[Asked]:
        """What would have changed something."""
        return [one for one in self.asked if one.method != "GET"]

    def on(self, method: str, path: str, answer: Answer | Answering) -> None:
        """Lay out what a path is answered with from now on."""
        self._answers[method, path] = answer if callable(answer) else lambda asked: answer

    def get(self, path: str, body: object) -> None:
        """Lay out a plain answer to GET."""
        self.on("GET", path, Answer(body))

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        return self._answers.get((asked.method, asked.path), self._otherwise)(asked)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except ConnectionError:  # whoever asked has had enough
                    self.close_connection = True

            def _any(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(length)) if length else None
                parts = urlsplit(self.path)
                query = dict(parse_qsl(parts.query))
                asked = Asked(self.command, parts.path, query, dict(self.headers), body)
                answer = fake.answer(asked)
                if answer.never:
                    self.rfile.read()
                    return
                raw = answer.body
                data = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
                self.send_response(answer.status)
                for name, value in {"Content-Length": str(len(data)), **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _any

            def log_message(self, format: str, *arguments: object) -> None:
                """Nothing: the tests read what was asked from `asked`."""

        return Handler
