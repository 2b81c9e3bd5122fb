# SPDX-License-Identifier: Apache-2.0
"""A comparison as Markdown: what comes first, folds, or is cut, and that names stay names."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest
from hypothesis import example, given, settings

from comparisons import comparison, of_every_kind, verdict, with_text
from hostile_text import ALIVE, HOSTILE, RENDERER, TAG, outside_code
from warpgauge.reports.advice import is_harmless
from warpgauge.reports.markdown.report import LIMIT, MARK, render
from warpgauge.reports.markdown.text import prose
from warpgauge.verdict.comparison import Comparison, Evidence, Outcome
from warpgauge.verdict.note import Kind, Note


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
    """Its tags, but those of foreign text: code, which may break."""
    return [tag for tag in TAG.findall(rendered) if tag not in ("code", "wbr")]


def test_the_verdict_is_the_first_line_and_a_mark_for_programs_the_last(text: str) -> None:
    first = text.splitlines()[0]
    assert first.startswith("**2 regressions, 1 improvement; 2 of 10 unchanged")
    assert "Worst: `gemm/naive/n:64` (+30.0 %). Found against the baseline" in first
    paired = verdict("a", Outcome.REGRESSION, 0.1, evidence=Evidence.PAIRED)
    assert "Confirmed in alternating" in render(comparison([paired])).splitlines()[0]
    assert first.endswith(" On NVIDIA Test.")
    assert text.endswith(MARK)


def test_what_is_slower_comes_first_then_what_was_not_measured_then_the_rest(text: str) -> None:
    rows = text.split("\n\n", 1)[1]
    words = (
        "**Regressions**", "`gemm/naive", "`gemm/tiled", "```text", "**Inconclusive, or not",
        "`memcpy/h2d", "`memcpy/d2h", "`sync/idle", "`sync/gone", "**Improvements**",
        "`gemm/cublas", "`launch/empty", "`sync/new", "- No GPU was", "`launch/one",
        "`driver_version`", "Reported if p", "scripts/bench --filter '^gemm/naive/n:64$'",
    )  # fmt: skip
    assert [*words] == sorted(words, key=rows.index)


def test_a_changed_row_says_how_much_how_sure_and_why(text: str) -> None:
    assert (
        "| `gemm/naive/n:64` | +30.0 % (+29.9 … +30.1) | screened only, p = 0.001 "
        "| registers 40 → 72 | 10.00 µs → 13.00 µs | 42 % |"
    ) in text
    found = replace(
        verdict("a", Outcome.REGRESSION, 0.1, evidence=Evidence.PAIRED, limit_fraction=0.5,
                registers=40.0, kernels=2.0),
        processes=(14, 14), p=1e-5,
        baseline_counters={"limit_fraction": 0.55, "registers": 40.0, "kernels": 2.0},
    )  # fmt: skip
    assert (
        "| confirmed in pairs, 14 rounds, p < 0.001 | none seen: registers, kernels unchanged "
        "| 10.00 µs → 11.00 µs | 55 % → 50 % |"
    ) in rendered(comparison([found]))


def test_a_column_without_anything_in_it_is_left_out(text: str) -> None:
    assert "| likely cause |" in text
    rows = [verdict("a", Outcome.REGRESSION, 0.1), verdict("b/c"), verdict("b/d")]
    bare = rendered(comparison(rows))
    assert "likely cause" not in bare
    assert "of limit" not in bare


def test_a_refused_comparison_is_its_sentence_and_no_table_of_it() -> None:
    reason = "The candidate was measured on X."
    refused = [verdict(f"a/{i}", Outcome.INVALID, reason=reason) for i in range(50)]
    text = render(comparison(refused, refusal=reason))
    assert text.startswith(f"**Not compared.** {reason}\n")
    assert "INVALID" not in text


def many(outcomes: dict[Outcome, int]) -> Comparison:
    name = "family{}/{}/a_name_as_long_as_they_are/n:{}"
    return comparison(
        [
            verdict(name.format(i % 40, outcome.value, i), outcome, 0.1)
            for outcome, count in outcomes.items()
            for i in range(count)
        ]
    )


@pytest.mark.timed
def test_ten_thousand_rows_take_half_a_second_and_stay_within_the_limit() -> None:
    big = many({Outcome.PASS: 9900, Outcome.REGRESSION: 50, Outcome.ERROR: 50})
    start = time.perf_counter()
    text = render(big)
    assert time.perf_counter() - start < 0.5
    assert LIMIT * 0.9 < len(text) <= LIMIT
    assert text.count("\n| `family") > 100
    assert len(re.findall(r"^\| `family\d+/REGRESSION/", text, flags=re.MULTILINE)) == 50
    left_out = f"{9900 - text.count('/PASS/'):,} unchanged benchmarks."
    assert f"Left out, to stay within 60,000 characters: {left_out}" in text
    # What is cut still has whole tables and closed folds.
    assert text.count("<details>") == text.count("</details>")
    assert all(len(sizes) == 1 for sizes in table_sizes(RENDERER.render(text)))
    assert "--format json=FILE" in text


def test_what_is_least_important_is_cut_first_and_everything_cut_is_counted() -> None:
    text = render(many({Outcome.REGRESSION: 2000, Outcome.MISSING: 30, Outcome.PASS: 2}))
    assert len(text) <= LIMIT
    shown = text.count("\n| `family")
    assert 0 < shown < 2000
    assert (
        f"{2000 - shown:,} regressions, 30 benchmarks not measured, "
        "1 difference of the environment, 2 unchanged benchmarks."
    ) in text
    assert "scripts/bench --filter" in text


@given(HOSTILE.filter(prose).filter("commit".__ne__))  # the key of a difference of its own
@example("b")
@example("a|b\n|c`\n\n# x")
@example("</details><img src=x onerror=alert(1)>")
@example("@user #123 GH-1 https://example.org www.example.org [a](b) ![c](d) ::error::")
@example("\x1b[31m\u202e]]>-->")
@example("$`x`$ \\| `` ` ``")
@settings(deadline=None)
def test_foreign_text_changes_nothing_of_the_structure(text: str) -> None:
    rendered = RENDERER.render(render(with_text(text)))
    # A name that a shell takes for more than a name is in no policy that might be pasted.
    plain = RENDERER.render(render(with_text("x" if is_harmless(f"{text}/a/{text}") else "x y")))
    assert structure(rendered) == structure(plain)
    assert table_sizes(rendered) == table_sizes(plain)
    assert all(len(sizes) == 1 for sizes in table_sizes(rendered))
    assert not ALIVE.search(outside_code(rendered.replace(MARK.strip(), "")))


def test_a_sentence_of_our_own_is_whole_however_long_the_names_in_it() -> None:
    note = Note(Kind.NOT_THE_CODE, names=tuple(f"gemm/{letter * 300}" for letter in "abc"))
    assert "`--no-confirm` lets the baseline decide." in render(
        replace(of_every_kind(), notes=(note,))
    )


def test_the_old_share_of_the_limit_is_told_of_a_pair_only() -> None:
    one = verdict("a", Outcome.REGRESSION, 0.1, limit_fraction=0.4)
    one = replace(one, baseline_counters={"limit_fraction": 0.39})
    screened, paired = (
        rendered(comparison([replace(one, evidence=evidence)]))
        for evidence in (Evidence.SCREENED, Evidence.PAIRED)
    )
    assert "| 40 % |" in screened
    assert "39 %" not in screened
    assert "| 39 % → 40 % |" in paired
