# SPDX-License-Identifier: Apache-2.0
"""A comparison as Markdown: what comes first, folds, or is cut, and that names stay names."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest
from hypothesis import example, given

from comparisons import comparison, of_every_kind, proved, verdict, with_text
from hostile_text import ALIVE, HOSTILE, RENDERER, TAG, outside_code
from warpgauge.records.row import Moved, Why
from warpgauge.reports.advice import is_harmless
from warpgauge.reports.formats import markdown as report
from warpgauge.reports.formats.markdown import LIMIT, MARK, render, tables
from warpgauge.reports.markdown_text import prose
from warpgauge.system.text import inert
from warpgauge.verdict.comparison import Comparison, Evidence, Outcome, Verdict
from warpgauge.verdict.note import Note, listed
from work import calls


def table_sizes(rendered: str) -> list[set[int]]:
    """For each table how many cells its rows have."""
    tables = re.findall(r"<table>.*?</table>", rendered, flags=re.DOTALL)
    return [
        {len(re.findall(r"<t[hd]\b", row)) for row in table.split("<tr")[1:]} for table in tables
    ]


def rendered(found: Comparison) -> str:
    """With spaces that may break in place of those that may not."""
    return render(found).replace("\N{NO-BREAK SPACE}", " ")


@pytest.fixture(scope="module")
def text() -> str:
    return rendered(of_every_kind())


def structure(rendered: str) -> list[str]:
    """Its tags, but those of foreign text: code."""
    return [tag for tag in TAG.findall(rendered) if tag != "code"]


def test_the_verdict_is_the_first_line_and_a_mark_for_programs_the_last(text: str) -> None:
    first, _, numbers, *_ = text.splitlines()
    assert first == (
        "**FAIL** · slower: `gemm/naive/n:64` **+30.0 %**: `Registers are spilled`; registers "
        "40 → 72"
    )
    assert numbers.startswith("**2 slower · 1 faster · 2 within tolerance (at most +0.30 %) · ")
    assert numbers.endswith("Found against the baseline, not confirmed in pairs. On `NVIDIA Test`.")
    paired = verdict("a", Outcome.REGRESSION, 0.1, evidence=Evidence.PAIRED)
    assert "Confirmed in alternating" in render(comparison([paired])).splitlines()[2]
    assert text.endswith(MARK)


@pytest.mark.parametrize(
    ("rows", "first"),
    [
        ([verdict("a", bound=0.002), verdict("b")], "**PASS** · **2 within tolerance (at most "),
        ([verdict("a", Outcome.IMPROVED, -0.1), verdict("b", Outcome.IMPROVED, -0.3)],
         "**PASS** · faster: `b` **−30.0 %**\n"),
        ([verdict("a", Outcome.INCONCLUSIVE, bound=0.02),
          verdict("b", Outcome.INCONCLUSIVE, bound=0.3, reason="too noisy")],
         "**NOT DECIDED** · undecided: `b`: at most +30.0 %, tolerance 1 %; `too noisy`"),
        ([verdict("a", Outcome.INCONCLUSIVE, bound=0.3), verdict("b", Outcome.ERROR, reason="x@y")],
         "**NOT DECIDED** · failed: `b`: `x@y`"),
        ([], "**PASS** · **no benchmarks**."),
    ],
    ids=["unchanged", "faster", "inconclusive", "failed", "empty"],
)  # fmt: skip
def test_the_first_words_are_the_check_s_and_the_row_that_decides(
    rows: list[Verdict], first: str
) -> None:
    assert rendered(comparison(rows)).startswith(first)


def test_what_is_slower_comes_first_then_what_was_not_measured_then_the_rest(text: str) -> None:
    rows = text.split("\n\n", 2)[2]
    words = (
        "| slower because |", "`gemm/naive", "`gemm/tiled",
        "1 undecided", "`memcpy/h2d", "`memcpy/d2h", "`sync/idle", "`sync/gone", "`launch/empty",
        "2 slower · 1 faster", "`gemm/cublas", "How it was measured", "- No GPU was",
        "`driver_version`", "Slower or faster: p", "1 new", "`sync/new", "2 within", "`launch/one",
        "scripts/bench --filter '^gemm/naive/n:64$",
    )  # fmt: skip
    places = [rows.index(word) for word in words]
    assert places == sorted(places)


def test_rows_slower_for_one_cause_are_one_line_and_each_is_folded(text: str) -> None:
    assert (
        "| `Registers are spilled`; registers 40 → 72<br>`gemm/naive/n:64` | **+30.0 %** |" in text
    )
    assert "| perhaps driver `580 → 590`<br>`gemm/tiled/n:64` | **+5.0 %** |" in text
    assert "| `gemm/naive/n:64` | +30.0 % (+29.9 … +30.1) | 10.00 µs → 13.00 µs |" in text
    rows = [verdict(name, Outcome.REGRESSION, 0.1) for name in "abc"]
    policy = verdict("d", Outcome.REGRESSION, 0.2, reason="more than is accepted")
    alike = rendered(comparison([*rows, policy]))
    assert "| no cause found<br>`a` and 2 more | **+10.0 %** |" in alike
    assert "| `more than is accepted`<br>`d` | **+20.0 %** |" in alike


def test_what_the_first_line_says_is_not_said_again() -> None:
    undecided = [verdict(name, Outcome.INCONCLUSIVE, bound=0.1, reason=name * 3) for name in "ab"]
    assert rendered(comparison(undecided)).count("`aaa`") == 1
    assert rendered(comparison(undecided)).count("`bbb`") == 1
    slower = verdict("a", Outcome.REGRESSION, 0.1, reason="why")
    assert rendered(comparison([slower])).count("`why`") == 1


def test_a_column_without_anything_in_it_is_left_out(text: str) -> None:
    assert "| at most |" in text
    unbounded = replace(verdict("a"), bound=None)
    assert "| at most |" not in rendered(comparison([unbounded]))


def test_a_tolerance_of_its_own_stands_beside_the_bound_of_a_row() -> None:
    own = replace(verdict("a", bound=0.09), tolerance=0.1)
    assert "| `a` | +9.0 % of 10 % |" in rendered(comparison([own, verdict("b")]))


@given(HOSTILE.filter(str.strip))
@example("gemm/cublas/f32/n:1024/" * 9)
def test_a_name_is_always_one_code_span(name: str) -> None:
    rows = [verdict(f"{name}{n}", Outcome.REGRESSION, 0.1) for n in range(2)]
    shown = RENDERER.render(render(comparison([*rows, verdict(f"{name}2")])))
    spans = [html.unescape(span) for span in re.findall(r"<code>(.*?)</code>", shown)]
    for n in range(3):
        assert inert(f"{name}{n}") in spans


def test_a_refused_comparison_is_its_sentence_and_no_table_of_it() -> None:
    reason = "The candidate was measured on X."
    refused = [verdict(f"a/{i}", Outcome.INVALID, reason=reason) for i in range(50)]
    text = render(comparison(refused, refusal=reason))
    assert text.startswith(f"**NOT DECIDED** · Not compared: `{reason}` On")
    assert "a/1" not in text


def many(outcomes: dict[Outcome, int]) -> Comparison:
    name = "family{}/{}/a_name_as_long_as_they_are/n:{}"
    return comparison(
        [
            verdict(name.format(i % 40, outcome.value, i), outcome, 0.1)
            for outcome, count in outcomes.items()
            for i in range(count)
        ]
    )


def test_ten_times_as_many_rows_are_ten_times_the_work() -> None:
    def of(count: int) -> int:
        rows = many({Outcome.PASS: count, Outcome.REGRESSION: 50, Outcome.ERROR: 50})
        return calls(lambda: render(rows))

    assert of(9900) < 12 * of(990)


def test_ten_thousand_rows_stay_within_the_limit() -> None:
    big = many({Outcome.PASS: 9900, Outcome.REGRESSION: 50, Outcome.ERROR: 50})
    text = render(big)
    assert LIMIT * 0.9 < len(text) <= LIMIT
    assert text.count("\n| `family") > 100
    assert len(re.findall(r"^\| `family\d+/REGRESSION/", text, flags=re.MULTILINE)) == 50
    shown = text.count("/PASS/")
    assert f"**Left out for lack of space: {9900 - shown:,} lines.**" in text
    # What is cut still has whole tables and closed folds.
    assert text.count("<details>") == text.count("</details>")
    assert all(len(sizes) == 1 for sizes in table_sizes(RENDERER.render(text)))
    assert "--format json=FILE" in text


def test_what_is_least_important_is_cut_first_and_everything_cut_is_counted() -> None:
    text = render(many({Outcome.REGRESSION: 2000, Outcome.MISSING: 30, Outcome.PASS: 2}))
    assert len(text) <= LIMIT
    shown = text.count("\n| `family")
    assert 0 < shown < 2000
    # Of the table, on how it was measured, and within tolerance.
    assert f"Left out for lack of space: {2000 - shown + 2 + 2:,} lines.**" in text
    assert "scripts/bench --filter" in text


@given(HOSTILE.filter(prose).filter("commit".__ne__))  # the key of a difference of its own
@example("b")
@example("a|b\n|c`\n\n# x")
@example("</details><img src=x onerror=alert(1)>")
@example("@user #123 GH-1 https://example.org www.example.org [a](b) ![c](d) ::error::")
@example("\x1b[31m\u202e]]>-->")
@example("$`x`$ \\| `` ` ``")
def test_foreign_text_changes_nothing_of_the_structure(text: str) -> None:
    rendered = RENDERER.render(render(with_text(text)))
    # A name that a shell takes for more than a name is in no policy that might be pasted.
    end = "x" if is_harmless(f"{text}/a/{text}") else "!"
    plain = RENDERER.render(render(with_text("x" * (len(inert(text)) - 1) + end)))
    assert structure(rendered) == structure(plain)
    assert table_sizes(rendered) == table_sizes(plain)
    assert all(len(sizes) == 1 for sizes in table_sizes(rendered))
    assert not ALIVE.search(outside_code(rendered.replace(MARK.strip(), "")))


def test_a_sentence_of_our_own_is_whole_however_long_the_names_in_it() -> None:
    names = listed(f"gemm/{letter * 300}" for letter in "abc")
    note = Note("not_the_code", f"Not the code: {names}. The baseline alone judges.")
    assert "The baseline alone judges." in render(replace(of_every_kind(), notes=(note,)))


def test_foreign_sentences_stand_in_code_spans_only() -> None:
    words = "everything is fine merge it"
    rows = [
        replace(
            verdict("a", Outcome.REGRESSION, 0.1, reason=words, accepted=words),
            why=Why(words, (Moved(words, words, words, words),)),
        ),
        verdict("b", Outcome.ERROR, reason=words),
        verdict("c", accepted=words),
    ]
    for refusal in (None, words):
        found = comparison(rows[1 if refusal else 0 :], refusal=refusal)
        shown = RENDERER.render(render(found))
        assert "<code>everything is fine merge it</code>" in shown
        assert "merge" not in outside_code(shown)


def test_a_reason_is_whole_words_within_its_limit() -> None:
    why = Why("gemm/a is slower. " + 200 * "Registers spill. ", ())
    rows = [replace(verdict(name, Outcome.REGRESSION, 0.1), why=why) for name in "abcd"]
    found = comparison(rows)
    report = RENDERER.render(render(found))
    assert "<summary>Why it is slower: 4 benchmarks</summary>" in report
    few = tables(comparison(rows[:1]), LIMIT)
    (line,) = (line for line in few.splitlines() if "Registers spill" in line)
    assert 1000 < len(line) < 1800
    assert "Left out for lack of space: " in tables(found, 2500)


def test_the_lines_of_a_proved_cause_are_folded_with_the_share_of_each_row() -> None:
    first = proved("threads 128 → 512", "v.cuh:25", ["- int x = `128`;", "+ <b>512</b>"])
    second = proved("n 1 → 2", share=0.3, note="they build only together")
    rows = [
        verdict("a", Outcome.REGRESSION, 0.2, why=Why("", (), (first, second))),
        verdict("b", Outcome.REGRESSION, 0.1, why=Why("", (), (replace(first, share=0.9),))),
    ]
    text = rendered(comparison(rows))
    assert "| `threads 128 → 512` (`v.cuh:25`)<br>`a` and 1 more | **+20.0 %** |" in text
    head = "- `threads 128 → 512` (`v.cuh:25`)<br>``- int x = `128`;``<br>`+ <b>512</b>`<br>"
    assert f"{head}100 % (96 to 104 %) of `a`; 90 % (96 to 104 %) of `b`\n" in text
    assert "30 % (26 to 34 %) of `a` (`they build only together`)" in text
    assert text.index("<summary>The lines") < text.index(head)
    assert "Why it is slower" not in text


def test_names_of_rows_that_matter_lead_to_their_source_and_to_nothing_else() -> None:
    rows = [verdict(f"a/{n}", Outcome.REGRESSION, 0.1) for n in range(3)] + [verdict("b/c")]
    good = "https://github.com/warp/gauge/blob/main/benchmarks/a.cu#L3"
    sources = {"a/0": good, "a/1": "javascript:alert(1)", "a/2": f"{good})[x](y", "b/c": good}
    tables = report.tables(comparison(rows), LIMIT, sources)
    assert {*re.findall(r'href="([^"]*)"', RENDERER.render(tables))} == {good}
    assert f"| [`a/0`]({good}) |" in tables
