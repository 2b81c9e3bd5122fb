# SPDX-License-Identifier: Apache-2.0
"""A comparison of anything but a run of this suite is refused, and one that is larger than any."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_comment_refusals import GOOD, NAME, refusal, verdicts

import archives
from fake_github import FakeGitHub
from hosted_run import HostedRun, Json, changed, slower

DIFFERENCE = {"key": "x", "baseline": "y", "candidate": "z"}
RESOURCE = {"key": "x", "words": "x", "before": "1", "after": "2", "worse": True}


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[HostedRun]:
    with FakeGitHub() as api, FakeGitHub() as storage:
        yield HostedRun(tmp_path, api, storage)


def of_side(side: str, source: str | None = None, **context: str) -> bytes:
    """A report whose first session of a side says something more."""
    document: Json = json.loads(GOOD)
    document[side]["source"] = source or document[side]["source"]
    document[side]["sessions"][0]["context"] |= context
    return json.dumps(document).encode()


def many_verdicts() -> bytes:
    document: Json = json.loads(GOOD)
    one = {**document["verdicts"][1], "counters": {}, "resources": []}
    document["verdicts"] = [{**one, "name": f"a/{n}"} for n in range(20_001)]
    return json.dumps(document, separators=(",", ":")).encode()


def many_sessions() -> bytes:
    document: Json = json.loads(GOOD)
    (session,) = document["baseline"]["sessions"]
    document["baseline"]["sessions"] = [{**session, "key": str(n)} for n in range(1001)]
    return json.dumps(document).encode()


SURELY = {"ratio": 0.06, "low": 0.05, "high": 0.07}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (of_side("candidate", source="baseline"), "is of a baseline, not of a run file"),
        (of_side("baseline", programs="/sbin"), "is of another project's programs"),
        (of_side("candidate", programs=""), "is of another project's programs"),
        (changed(slower(), {"notes": ["x"] * 1001}), "has more than 1,000 notes"),
        (changed(slower(), {"differences": [DIFFERENCE] * 1001}), "more than 1,000 differences"),
        (verdicts(resources=[RESOURCE] * 101), "has more than 100 resources of a verdict"),
        (many_verdicts(), "has more than 20,000 verdicts"),
        (many_sessions(), "has more than 1,000 sessions of a side"),
        (verdicts(1, change=SURELY, noise_floor=0.01), "'sync/idle' is PASS, and slower by"),
    ],
)
def test_what_is_no_run_of_this_suite_or_larger_than_any_is_refused(
    hosted: HostedRun, content: bytes, words: str
) -> None:
    hosted.artifacts.clear()
    hosted.upload(archives.archive((NAME, content), method=0))
    assert words in refusal(hosted)
