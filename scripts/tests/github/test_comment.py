# SPDX-License-Identifier: Apache-2.0
"""What is posted: verdicts first, every GPU named, never longer than GitHub takes."""

from __future__ import annotations

import pytest

from comparisons import comparison, of_every_kind, verdict, with_text
from hosted_run import BRANCH, FORK, HEAD, HOME, RUN, RUN_URL, slower
from hostile_text import RENDERER
from warpgauge.github import comment
from warpgauge.github import proposal as proposal_text
from warpgauge.github.comment import LENGTH_LIMIT, Part, outdated
from warpgauge.github.gpus import Gpu
from warpgauge.github.proposal import Added, Proposal
from warpgauge.github.pull_request import Run
from warpgauge.github.recorded_files import MOST_ARTIFACTS, WorkflowRun
from warpgauge.records.model import Session
from warpgauge.reports.markdown.report import MARK
from warpgauge.verdict.comparison import Comparison, Outcome

THE_RUN = Run(HOME, RUN, 3, 1, True, HEAD, BRANCH, FORK, RUN_URL)


def part(found: Comparison | str, slug: str = "nvidia-h200", name: str = "NVIDIA H200") -> Part:
    return Part(Gpu(slug, name, ("self-hosted", slug), 60), found, f"{RUN_URL}/artifacts/9")


def large() -> Comparison:
    """More regressions than a comment has room for."""
    return comparison(
        [verdict(f"gemm/{n}/" + "x" * 60, Outcome.REGRESSION, 0.1) for n in range(999)]
    )


def rendered(body: str) -> str:
    html = str(RENDERER.render(body))
    assert html.count("<table>") == html.count("</table>")
    assert html.count("<details>") == html.count("</details>")
    return html


def test_of_one_gpu_the_verdict_comes_first_and_without_a_list() -> None:
    body = comment.body(THE_RUN, [part(slower())])
    mark, origin, blank, verdict_line, *_ = body.split("\n")
    assert f"{mark}\n" == MARK
    assert origin == (
        f"warpgauge on `abababab` · [run]({RUN_URL}) · "
        f"everything measured: [nvidia-h200]({RUN_URL}/artifacts/9)"
    ).replace("abababab", HEAD[:10])
    assert blank == ""
    assert verdict_line.startswith("**1 regression, 0 improvements; 1 of 2 unchanged")
    assert "###" not in body
    assert rendered(body).count("<table>") >= 1


def test_of_several_gpus_all_verdicts_come_first() -> None:
    a100 = part(of_every_kind(), "nvidia-a100", "NVIDIA A100")
    b200 = part("its job was cancelled", "nvidia-b200", "NVIDIA B200")
    body = comment.body(THE_RUN, [part(slower()), a100, b200])
    html = rendered(body)
    assert html.count("<li>") >= 3
    assert body.index("**NVIDIA A100**: **2 regressions") < body.index("### NVIDIA H200")
    assert body.index("**NVIDIA B200**: **not measured**, its job was cancelled") < body.index(
        "### NVIDIA H200"
    )
    assert body.index("### NVIDIA H200") < body.index("### NVIDIA A100")
    assert "### NVIDIA B200" not in body
    assert body.count(MARK) == 1


@pytest.mark.parametrize("count", [1, 2, 16])
@pytest.mark.parametrize("found", [large(), with_text("`|<b>@x ](y)" * 300)])
def test_what_does_not_fit_is_named_and_linked(count: int, found: Comparison) -> None:
    parts = [part(found, f"gpu-{n}", f"GPU {n}") for n in range(count)]
    body = comment.body(THE_RUN, parts)
    rendered(body)
    assert len(body) <= LENGTH_LIMIT - 500
    for n in range(count):
        shown = f"### GPU {n}\n" in body or f"tables of **GPU {n}** do not fit" in body
        assert shown or count == 1
    assert "### GPU 0\n" in body or count != 2
    marked = outdated(body, comment.to_be_measured(THE_RUN))
    assert body.removeprefix(MARK) in marked
    assert len(marked) <= LENGTH_LIMIT


def test_the_note_on_an_outdated_comment_stands_once_whatever_line_ends_it_has() -> None:
    body = comment.body(THE_RUN, [part(slower())])
    once = outdated(body, "one")
    assert outdated(once.replace("\n", "\r\n"), "two") == once.replace("one", "two", 1)
    assert RENDERER.render(once).count("<blockquote>") == 1


@pytest.mark.parametrize("count", [1, MOST_ARTIFACTS])
@pytest.mark.parametrize(
    "text", ["580.1", "`" * 3000, "a ` " * 900, "\x1b|" * 1500, "\U0001f600\n" * 3000]
)
def test_a_proposal_and_its_comments_are_no_longer_than_github_takes(text: str, count: int) -> None:
    facts = ("gpu_uuid", "driver_version", "runtime_version", "boot_id", "date")
    session = Session(f"2026-11-20 {text}", dict.fromkeys(facts, text))
    one = Added(session, (f"replaced: session {text}", text, text), large())
    proposal = Proposal((one,) * count, {})
    run = WorkflowRun(7, 1, "c" * 40, "main", "octocat", "2026-11-20T09:00:00Z")
    body = proposal_text.body(proposal, part("").gpu, run, "https://github.com/warp/gauge", count)
    comments = proposal_text.comments(proposal)
    assert len(comments) == count - 1
    assert all(len(told) <= LENGTH_LIMIT for told in (body, *comments))
    assert all("gemm/0/" in told and "**Left out" in told for told in (body, *comments))
