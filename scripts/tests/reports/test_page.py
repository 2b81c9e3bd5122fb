# SPDX-License-Identifier: Apache-2.0
"""The comment in a real browser: what a reader sees at once, and that nothing in it is alive."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from comparisons import comparison, of_every_kind, verdict, with_text
from devtools import examples
from github_page import CHROMIUM, HEIGHT, WIDTH, measured
from hostile_text import ALIVE
from warpgauge.records.counters import RESOURCES
from warpgauge.reports.formats.markdown import render
from warpgauge.system.text import inert
from warpgauge.verdict.comparison import (
    Comparison,
    ContextDifference,
    Evidence,
    Outcome,
    ResourceChange,
    Verdict,
)

ROOT = Path(__file__).parents[3]

# The names that our own benchmarks have.
USUAL = sorted(
    {
        one["name"]
        for file in (ROOT / "baselines").glob("*/*.json")
        for one in json.loads(file.read_text(encoding="utf-8"))["benchmarks"]
    }
)

# What our Markdown makes; anything else would be somebody else's.
OURS = set("p strong code pre table thead tbody tr th td details summary ul li br a".split())

needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed (Debian's package chromium)"
)


def looked_at(*found: Comparison, may_scroll: bool = False) -> list[Any]:
    """Comparisons, rendered; what is always so holds.

    A table whose names are longer than all of ours scrolls for itself, but the page never does.
    """
    texts = [*map(render, found)]
    for text, seen in zip(texts, measured(*texts), strict=True):
        assert set(seen["elements"]) <= OURS
        assert set(seen["attributes"]) <= {"align"}
        for rows in seen["tables"]:
            assert len(set(rows)) == 1
        assert seen["folds"] == text.count("<details>")
        assert not ALIVE.search(seen["loose"])
        assert {*seen["wide"], *seen["wide_unfolded"]} <= ({"table"} if may_scroll else set())
    return list(measured(*texts))


def row_of(seen: Any, name: str) -> Any:  # noqa: ANN401
    """The first row of a table that has this name."""
    return next(row for row in seen["rows"] if name in row["text"])


def assert_at_a_glance(seen: Any, name: str, *words: str) -> None:  # noqa: ANN401
    """The row is on the first screen, unfolded, and says so much of what it has to."""
    found = row_of(seen, name)
    assert found["seen"]
    assert 0 <= found["left"] < found["right"] <= WIDTH
    assert 0 <= found["top"] < found["bottom"] <= HEIGHT
    told = " ".join(found["text"].split())
    assert [one for one in words if one not in told] == []


def confirmed(name: str, ratio: float, **more: Any) -> Any:  # noqa: ANN401
    outcome = Outcome.REGRESSION if ratio > 0 else Outcome.IMPROVED
    one = verdict(name, outcome, ratio, evidence=Evidence.PAIRED, limit_fraction=0.5,
                  registers=40.0, blocks_per_sm=3.0, kernels=1.0, **more)  # fmt: skip
    return replace(one, p=1e-5, baseline_counters={**one.counters, "limit_fraction": 0.6})


def unchanged(names: Sequence[str]) -> list[Any]:
    return [verdict(name, ratio=0.001, limit_fraction=0.9) for name in names]


@needs_browser
def test_a_regression_says_at_a_glance_what_how_much_and_why() -> None:
    spills = ResourceChange("local_bytes", "local bytes (spills)", "0", "96", worse=True)
    worst = confirmed("gemm/own/f32/n:512", 0.3, resources=[spills])
    slower = [confirmed("gemm/own/f32/n:1024", 0.05), worst]
    alone, several = looked_at(
        comparison([worst, *unchanged(USUAL)]), comparison([*slower, *unchanged(USUAL)])
    )
    for seen in (alone, several):
        first = seen["first"]["text"]
        assert "gemm/own/f32/n:512" in first
        assert "+30.0\N{NO-BREAK SPACE}%" in first
        assert "local bytes (spills) 0 → 96" in first
        assert not row_of(seen, "launch/")["seen"]  # what is within tolerance is folded
    assert_at_a_glance(
        alone, "gemm/own/f32/n:512", "+30.0 % (+29.9 … +30.1)", "10.00 µs → 13.00 µs"
    )
    assert_at_a_glance(several, "gemm/own/f32/n:512", "local bytes (spills) 0 → 96", "+30.0 %")
    assert_at_a_glance(several, "gemm/own/f32/n:1024", "+5.0 %", "no cause found")


@needs_browser
def test_the_longest_names_fit_each_on_one_line_beside_the_longest_causes() -> None:
    driver = ContextDifference("driver_version", "575.57.08", "580.65.06")
    name = max(USUAL, key=len)
    kernel = ResourceChange("kernel", "kernel", "a_kernel" * 9, "b_kernel" * 9, worse=True)
    rows = [confirmed(name, 0.2, resources=[kernel])]
    rows += [verdict(f"{letter}{name[1:]}", Outcome.REGRESSION, 0.1) for letter in "xy"]
    (seen,) = looked_at(comparison([*rows, *unchanged(USUAL)], differences=[driver]))
    assert_at_a_glance(seen, name, "kernel a_kernel")
    assert_at_a_glance(seen, f"x{name[1:]}", "and 1 more", "perhaps driver 575.57.08 → 580.65.06")
    (folded,) = looked_at(comparison(rows[:1]))
    assert row_of(folded, name)["cells"][0]["lines"] == 1


@needs_browser
def test_no_cause_takes_more_than_a_few_lines() -> None:
    name = max(USUAL, key=len)
    changes = [
        ResourceChange(key, words, before, after, worse)
        for worse in (True, False)
        for key, words in RESOURCES.items()
        for before, after in (("9", "12"), ("1048576", "1073741824 bytes"))
    ]
    changes += [
        ResourceChange("kernel", "kernel", "a_kernel" * n, "b" * 5 * n, True) for n in (1, 9)
    ]
    causes = [[change, *changes[at + 1 : at + 5 : 2]] for at, change in enumerate(changes)]
    sentences = ["wrong result at element 7", "a b " * 99, "fails: 1/3 of /usr/lib/x.so " * 9]
    rows = [confirmed(f"{name[:-2]}{n}", 0.3, resources=some) for n, some in enumerate(causes)]
    rows += [confirmed(f"{name[:-2]}r{n}", 0.2, reason=why) for n, why in enumerate(sentences)]
    (seen,) = looked_at(comparison(rows))
    why = [row["cells"][0] for row in seen["rows"] if row["seen"]]
    assert len(why) > 10
    assert [(cell["lines"], cell["text"]) for cell in why if not 1 <= cell["lines"] <= 7] == []


@needs_browser
@pytest.mark.parametrize(
    ("row", "words"),
    [
        (confirmed("sync/a", -0.2), ["faster", "−20.0 %"]),
        (verdict("sync/a", Outcome.INCONCLUSIVE, 0.1, reason="too noisy"),
         ["undecided", "too noisy", "+10.2 %"]),
        (verdict("sync/a", Outcome.ERROR, reason="wrong result"), ["failed", "wrong result"]),
        (verdict("sync/a", ratio=0.1, accepted="known, until 2027-01-31"),
         ["accepted", "+10.0 %", "known, until 2027-01-31"]),
    ],
    ids=["improvement", "inconclusive", "errored", "accepted"],
)  # fmt: skip
def test_whatever_is_not_a_pass_is_on_the_first_screen(row: Verdict, words: list[str]) -> None:
    alone, beside = (
        comparison([*rows, *unchanged(USUAL)])
        for rows in ([row], [confirmed("gemm/own", 0.3), row])
    )
    for seen in looked_at(alone, beside):
        text = seen["first_screen"].replace("\N{NO-BREAK SPACE}", " ")
        assert [word for word in ("sync/a", *words) if word not in text] == []


@needs_browser
def test_every_kind_of_row_at_once_fits_in_the_width() -> None:
    (seen,) = looked_at(of_every_kind())
    assert_at_a_glance(seen, "gemm/naive/n:64", "registers 40 → 72")


HOSTILE = (
    "[a](http://b.org) ![c](http://d.org/e.png) **f** @maintainer #123 www.example.org :tada:",
    "</code></td></table></details><h1 onclick=alert(1)>x</h1><img src=x onerror=alert(1)><!-- ",
    "a|b|c\n\n| d | e |\n|---|---|\n```\n~~~ `` ` ``` $x$ $$y$$ \\(z\\) <wbr> &lt;b&gt;",
    "\u202egnp.exe\u2066 \u05d0\u05d1\u05d2 \u0628\u0629 javascript:alert(1)",
    "x" * 700,
)


@needs_browser
def test_a_hostile_name_is_read_and_does_nothing() -> None:
    """`looked_at` holds the rest."""
    seen = looked_at(*map(with_text, HOSTILE), may_scroll=True)
    plain = looked_at(
        *(with_text(re.sub(r"\S", "x", inert(text))) for text in HOSTILE), may_scroll=True
    )
    for one, other in zip(seen, plain, strict=True):
        assert (one["tables"], one["folds"]) == (other["tables"], other["folds"])
        assert one["links"] == []


@needs_browser
def test_the_worst_of_five_hundred_changed_rows_is_the_first_and_all_tables_are_whole() -> None:
    rows = [verdict(f"family{n % 9}/a/n:{n}", Outcome.REGRESSION, 0.002 * n) for n in range(1, 501)]
    (seen,) = looked_at(comparison([*rows, *unchanged(USUAL)]))
    assert_at_a_glance(seen, "family5/a/n:500", "+100 %")
    assert "family5/a/n:500" in seen["rows"][0]["text"]


def test_the_examples_are_made_of_the_recorded_comparison() -> None:
    files = filter(Path.is_file, examples.FOLDER.iterdir())
    texts = {file.name: file.read_text(encoding="utf-8") for file in files}
    del texts["README.md"]
    assert texts == examples.made()


@needs_browser
def test_the_examples_read_at_a_glance() -> None:
    """The verdict, the row that decides and its cause: on the first screen, whole, in few lines."""
    first = {
        "failed-job": ["FAIL", "gemm/register_2d/f32/n:2048", "+6.6 %"],
        "regression": ["FAIL", "gemm/register_2d/f32/n:2048", "+6.6 %"],
        "two-gpus": ["FAIL", "gemm/register_2d/f32/n:2048", "+6.6 %"],
    }
    texts = [(examples.FOLDER / f"{name}.md").read_text(encoding="utf-8") for name in first]
    for (word, *words), seen in zip(first.values(), measured(*texts), strict=True):
        told = " ".join(seen["first"]["text"].split())
        assert told.startswith(word)
        assert [one for one in words if one not in told] == []
        assert seen["first"]["lines"] <= 3
        assert 0 <= seen["first"]["top"] < seen["first"]["bottom"] <= HEIGHT / 4
        assert seen["wide"] == seen["wide_unfolded"] == []
        shown = [one for one in seen["rows"] if one["seen"]]
        for row in shown:
            assert row["bottom"] <= HEIGHT
            assert all(cell["lines"] <= 2 for cell in row["cells"])
