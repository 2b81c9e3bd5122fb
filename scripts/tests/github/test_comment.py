# SPDX-License-Identifier: Apache-2.0
"""What is posted: verdicts first, every GPU named, never longer than GitHub takes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from comparisons import comparison, of_every_kind, verdict, with_text
from gate_pair import HEAD
from hosted_run import BRANCH, FORK, HOME, RUN, RUN_URL
from hostile_text import ALIVE, RENDERER, outside_code
from warpgauge.github import comment
from warpgauge.github import proposal as proposal_text
from warpgauge.github.artifact import MOST_ARTIFACTS
from warpgauge.github.comment import LENGTH_LIMIT, Part, outdated
from warpgauge.github.gpus import Gpu
from warpgauge.github.proposal import Added, Proposal
from warpgauge.github.pull_request import Base, Run
from warpgauge.records.model import Session
from warpgauge.reports.formats.markdown import MARK
from warpgauge.verdict.comparison import Comparison, Outcome

BASE = Base("release/2", "cd" * 20)
THE_RUN = Run(HOME, RUN, 3, 1, True, HEAD, BRANCH, FORK, RUN_URL)


def part(found: Comparison | str, slug: str = "nvidia-h200", name: str = "NVIDIA H200") -> Part:
    gpu = Gpu(slug, name, ("self-hosted", slug), 60)
    return Part(gpu, found, f"{RUN_URL}/job/5", f"{RUN_URL}/artifacts/9")


def slower() -> Comparison:
    return comparison([verdict("gemm/tiled", Outcome.REGRESSION, 0.05), verdict("sync/idle")])


def passing() -> Comparison:
    return comparison([verdict("a/b"), verdict("a/c")])


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


def links(body: str) -> list[tuple[str, str]]:
    """Where each link leads, and its text."""
    return [
        (url, re.sub("<[^>]*>", "", shown))
        for url, shown in re.findall(r'<a href="([^"]*)">(.*?)</a>', rendered(body))
    ]


def test_of_one_gpu_the_verdict_and_the_worst_row_come_first_then_the_base_and_the_links() -> None:
    source = "https://github.com/warp/gauge/blob/main/benchmarks/gemm.cu#L31"
    history = "https://github.com/warp/gauge/blob/history/nvidia-h200.jsonl"
    made = "https://github.com/warp/gauge/actions/runs/78/artifacts/12"
    one = replace(part(slower()), history_url=history, report_url=made)
    one = replace(one, sources={"gemm/tiled": source})
    body = comment.body(THE_RUN, BASE, [one])
    assert body.startswith(f"{MARK}**FAIL** · slower: [`gemm/tiled`]({source})")
    assert body.index("**1 slower · 1 within tolerance") < body.index("| benchmark |")
    assert (
        f"Commit `{HEAD[:10]}` on **NVIDIA H200** against `cdcdcdcdcd`, its merge base with "
        "`release/2`. "
    ) in body
    assert links(body) == [
        (source, "gemm/tiled"), (RUN_URL, "run"), (made, "report"), (f"{RUN_URL}/job/5", "job"),
        (f"{RUN_URL}/artifacts/9", "files"), (history, "history"),
        (source, "gemm/tiled"),
    ]  # fmt: skip
    assert "###" not in body


def test_an_address_that_is_none_is_no_link_and_a_branch_is_quoted() -> None:
    wrong = ("javascript:x", "", "https://a b", "https://a)b")
    one = Part(part("").gpu, slower(), *wrong, {"gemm/tiled": "x"})
    hostile = replace(BASE, branch="@all](https://evil.example) \u202e`")
    body = comment.body(THE_RUN, hostile, [one])
    assert links(body) == [(RUN_URL, "run")]
    assert not ALIVE.search(outside_code(rendered(body.removeprefix(MARK)).replace(RUN_URL, "")))


def test_a_gpu_without_a_result_is_not_decided_and_the_others_are_shown() -> None:
    sentence = "Its job was cancelled; nothing is known."
    alone = comment.body(THE_RUN, BASE, [part(sentence)])
    assert alone.startswith(f"{MARK}**NOT DECIDED** · {sentence}\n")
    assert (f"{RUN_URL}/job/5", "job") in links(alone)
    b200 = part(sentence, "nvidia-b200", "NVIDIA B200")
    beside = comment.body(THE_RUN, BASE, [part(passing()), b200])
    assert beside.startswith(f"{MARK}**NOT DECIDED** · **NVIDIA B200**: {sentence}\n")
    assert f"- **NVIDIA B200: NOT DECIDED** · [job]({RUN_URL}/job/5)" in beside
    assert beside.count(sentence) == 1
    assert "- **NVIDIA H200: PASS** · **2 within" in beside
    worse = comment.body(THE_RUN, BASE, [b200, part(slower())])
    assert worse.startswith(f"{MARK}**FAIL** · **NVIDIA H200**: slower: `gemm/tiled`")
    assert f"- **NVIDIA B200: NOT DECIDED** · {sentence} · [job]({RUN_URL}/job/5)" in worse
    assert comment.body(THE_RUN, BASE, []).startswith(f"{MARK}**NOT DECIDED**")


def test_of_several_gpus_the_worst_comes_first_then_each_verdict_then_a_column_for_each() -> None:
    a100 = part(of_every_kind(), "nvidia-a100", "NVIDIA A100")
    body = comment.body(THE_RUN, BASE, [part(slower()), a100])
    html = rendered(body)
    assert body.startswith(f"{MARK}**FAIL** · **NVIDIA A100**: slower: `gemm/naive/n:64`")
    assert html.count("<li>") >= 2
    order = ("- **NVIDIA H200: FAIL** · **1 slower", "- **NVIDIA A100: FAIL** · **2 slower",
             "| benchmark | NVIDIA H200 | NVIDIA A100 |", "<summary>NVIDIA H200",
             "<summary>NVIDIA A100")  # fmt: skip
    assert [*order] == sorted(order, key=body.index)
    table = body[body.index("| benchmark |") : body.index("<summary>")]
    assert "| `gemm/naive/n:64` |  | **slower** +30.0\xa0% |" in table
    assert "| `gemm/tiled` | **slower** +5.0\xa0% |  |" in table
    assert "| undecided, at most +10.2\xa0% |" in table
    assert "sync/new" not in table  # neither changed nor undecided
    # Each GPU's results begin with the row that decides it.
    assert "all results</summary>\n\nslower: `gemm/tiled` **+5.0\xa0%**\n" in body
    assert body.count(MARK) == 1


@pytest.mark.parametrize("count", [1, 2, 16])
@pytest.mark.parametrize("found", [large(), with_text("`|<b>@x ](y)" * 300)])
def test_what_does_not_fit_is_named_and_linked(count: int, found: Comparison) -> None:
    names = [f"{'`x' * 200}/{n}" for n in range(9)]
    rows = [verdict(one.name, accepted="y`" * 400) for one in found.verdicts]
    by_head = comparison(rows)
    parts = [
        replace(
            part(found, f"gpu-{n}", f"GPU {n}"),
            conclusion="success",
            by_head=by_head,
            removed=names,
        )
        for n in range(count)
    ]
    body = comment.body(THE_RUN, BASE, parts, judging=names)
    rendered(body)
    assert len(body) <= LENGTH_LIMIT - 500
    for n in range(count):
        shown = f"<summary>GPU {n}: " in body or f"tables of **GPU {n}** do not fit" in body
        assert shown or count == 1
    assert "<summary>GPU 0: " in body or count != 2
    marked = outdated(body, comment.to_be_measured(THE_RUN))
    assert body.removeprefix(MARK) in marked
    assert len(marked) <= LENGTH_LIMIT


def test_the_note_on_an_outdated_comment_stands_once_whatever_line_ends_it_has() -> None:
    body = comment.body(THE_RUN, BASE, [part(slower())])
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
    run = replace(THE_RUN, head="c" * 40, actor="octocat")
    body = proposal_text.body(proposal, part("").gpu, run, count)
    comments = proposal_text.comments(proposal)
    assert len(comments) == count - 1
    assert all(len(told) <= LENGTH_LIMIT for told in (body, *comments))
    assert all("gemm/0/" in told and "**Left out" in told for told in (body, *comments))
