# SPDX-License-Identifier: Apache-2.0
"""GitHub's API: what is asked, who gets the token, and one sentence for whatever goes wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fake_github import TOKEN, Answer, Asked, FakeGitHub
from warpgauge.github import api as github_api
from warpgauge.github.api import GitHub
from warpgauge.system.errors import ExitStatus, UserError


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    monkeypatch.setattr(github_api, "_PAUSES_S", (0.0, 0.0))
    with FakeGitHub() as server:
        yield server


@pytest.fixture
def storage() -> Iterator[FakeGitHub]:
    with FakeGitHub() as server:
        yield server


def refusal(api: GitHub) -> str:
    with pytest.raises(UserError) as raised:
        api.get("/x")
    assert raised.value.status is ExitStatus.BAD_USAGE
    sentence = str(raised.value)
    assert TOKEN not in sentence
    assert sentence.isprintable()
    assert len(sentence) < 700
    return sentence


def test_an_object_is_asked_for_with_the_token_and_the_version(fake: FakeGitHub) -> None:
    fake.get("/repos/o/n", {"id": 7})
    fake.get("/repos/o/n/pulls", [])
    assert fake.api.get("/repos/o/n") == {"id": 7}
    assert fake.api.listed("/repos/o/n/pulls", head="o:a&b#c") == []
    asked, pulls = fake.asked
    assert pulls.query == {"per_page": "100", "head": "o:a&b#c"}
    assert asked.headers["Authorization"] == f"Bearer {TOKEN}"
    assert asked.headers["X-Github-Api-Version"] == "2022-11-28"


def test_what_is_written_goes_as_json_once(fake: FakeGitHub) -> None:
    fake.on("POST", "/c", Answer({"id": 1}, 201))
    fake.on("PATCH", "/c/1", Answer({"id": 1}))
    fake.on("DELETE", "/c/1", Answer(b"", 204))
    assert fake.api.post("/c", {"body": "é"}) == {"id": 1}
    fake.api.patch("/c/1", {"body": "f"})
    fake.api.delete("/c/1")
    assert [(one.method, one.body) for one in fake.writes] == [
        ("POST", {"body": "é"}),
        ("PATCH", {"body": "f"}),
        ("DELETE", None),
    ]


def test_a_list_is_read_to_its_last_page(fake: FakeGitHub) -> None:
    def page(asked: Asked) -> Answer:
        number = int(asked.query.get("page", "1"))
        link = '<https://other/l>; rel="next"' if number < 3 else ""
        return Answer({"jobs": [{"id": number}]}, headers={"Link": link})

    fake.on("GET", "/l", page)
    assert fake.api.listed("/l", key="jobs") == [{"id": 1}, {"id": 2}, {"id": 3}]


def test_a_list_without_an_end_or_that_is_none_is_refused(fake: FakeGitHub) -> None:
    fake.on("GET", "/l", Answer([], headers={"Link": '<https://h/l?page=2>; rel="next"'}))
    with pytest.raises(UserError, match="more than 5000 entries"):
        fake.api.listed("/l")
    for body in ({}, {"jobs": 1}, {"jobs": [1]}):
        fake.get("/x", body)
        with pytest.raises(UserError, match="is not a"):
            fake.api.listed("/x", key="jobs")


def led(fake: FakeGitHub, location: str, status: int = 302) -> None:
    fake.on("GET", "/zip", Answer(status=status, headers={"Location": location}))


def test_a_download_leaves_the_token_behind_where_it_leaves_the_host(
    fake: FakeGitHub, storage: FakeGitHub
) -> None:
    led(fake, "/new", 301)  # as of a renamed repository
    fake.on("GET", "/new", Answer(status=302, headers={"Location": f"{storage.url}/blob?sig=1"}))
    storage.get("/blob", b"PK")
    assert fake.api.download("/zip", 2) == b"PK"
    assert all("Authorization" in asked.headers for asked in fake.asked)
    assert [asked.path for asked in fake.asked] == ["/zip", "/new"]
    assert "Authorization" not in storage.asked[0].headers


ELSEWHERE = "file:///etc/passwd http://example.com/a ftp://example.com https://u@h/ http://[ //h:x/"


@pytest.mark.parametrize("target", ["", *ELSEWHERE.split()])
def test_a_download_leads_to_no_other_kind_of_address(fake: FakeGitHub, target: str) -> None:
    led(fake, target)
    with pytest.raises(UserError, match=r"address|is redirected|Invalid"):
        fake.api.download("/zip", 2)


def test_a_download_in_a_circle_ends_and_an_answer_is_not_looked_for_elsewhere(
    fake: FakeGitHub,
) -> None:
    led(fake, "/zip")
    with pytest.raises(UserError, match="is redirected"):
        fake.api.download("/zip", 2)
    assert len(fake.asked) == 4
    fake.on("GET", "/x", Answer(status=301, headers={"Location": "/y"}))
    assert "renamed" in refusal(fake.api)
    assert len(fake.asked) == 5


def test_a_download_beyond_its_limit_or_broken_off_is_told(fake: FakeGitHub) -> None:
    headers: dict[str, str]
    for headers in ({}, {"Content-Length": ""}):
        fake.on("GET", "/zip", Answer(bytes(10_000), headers=headers))
        with pytest.raises(UserError, match="larger than 9999 bytes"):
            fake.api.download("/zip", 9_999)
        assert fake.api.download("/zip", 10_000) == bytes(10_000)
    fake.on("GET", "/zip", Answer(b"PK", headers={"Content-Length": "5"}))
    with pytest.raises(UserError, match="ended 3 bytes too early"):
        fake.api.download("/zip", 10)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer({"message": "Bad credentials"}, 401), "401 Bad credentials; give GH_TOKEN"),
        (Answer({"message": "not accessible"}, 403), "403 not accessible; give the job's token"),
        (Answer({}, 403, {"X-RateLimit-Remaining": "0"}), "the rate limit is reached"),
        (Answer({}, 403, {"Retry-After": "60"}), "the rate limit is reached"),
        (Answer({}, 429), "the rate limit is reached"),
        (Answer({"message": "Not Found"}, 404), "404 Not Found; check the name"),
        (Answer({"message": "expired"}, 410), "410 expired; it was deleted"),
        (Answer({"message": "a\n\x1b[31mb" + "c" * 9999}, 422), "422 a"),
        (Answer(b"<html>", 500), "500 Internal Server Error; run this again"),
        (Answer(b"<html>"), "not JSON"),
        (Answer(b"[" * 100_000), "not JSON"),
        (Answer([]), "not an object"),
    ],
)
def test_every_fault_is_one_sentence(fake: FakeGitHub, answer: Answer, words: str) -> None:
    fake.on("GET", "/x", answer)
    assert words in refusal(fake.api)


def test_nobody_who_answers_is_one_sentence(
    fake: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(github_api, "_TIMEOUT_S", 0.05)
    fake.on("GET", "/x", Answer(never=True))
    assert "timed out" in refusal(fake.api)
    assert "failed" in refusal(GitHub(TOKEN, "http://127.0.0.1:1"))


def test_a_stumble_is_tried_again_but_nothing_is_written_twice(fake: FakeGitHub) -> None:
    answers = iter([Answer({}, 502), Answer({}, 503), Answer({"id": 1})])
    fake.on("GET", "/x", lambda asked: next(answers))
    assert fake.api.get("/x") == {"id": 1}
    fake.on("POST", "/x", Answer({}, 502))
    with pytest.raises(UserError, match="502"):
        fake.api.post("/x", {})
    assert len(fake.writes) == 1


@pytest.mark.parametrize("token", ["", "a b", "a\nX-Evil: 1", "é"])
def test_a_token_that_is_none_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(UserError, match="GH_TOKEN is empty or not a token") as raised:
        GitHub(token)
    assert not token or token not in str(raised.value)


@pytest.mark.parametrize(
    "url", ["http://api.github.com", "", "api.github.com", "https://", "https://h:x", "file:///x"]
)
def test_an_address_that_is_not_encrypted_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="GITHUB_API_URL"):
        GitHub(TOKEN, url)


def test_the_job_s_environment_names_token_and_api_and_no_proxy_is_asked(
    fake: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    fake.get("/x", {"id": 1})
    assert GitHub.of({"GH_TOKEN": TOKEN, "GITHUB_API_URL": fake.url}).get("/x") == {"id": 1}
    with pytest.raises(UserError, match="GH_TOKEN"):
        GitHub.of({})


@pytest.mark.parametrize("path", ["x", "//h/x y", "/x\r\nA: b"])
def test_a_path_that_is_none_is_our_own_fault(path: str) -> None:
    with pytest.raises(ValueError, match="not an API path"):
        GitHub(TOKEN).get(path)
