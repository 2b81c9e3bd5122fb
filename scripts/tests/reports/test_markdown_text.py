# SPDX-License-Identifier: Apache-2.0
"""Foreign text in Markdown: read, and nothing else."""

from __future__ import annotations

import html

from hypothesis import example, given
from hypothesis import strategies as st

from hostile_text import ALIVE, HOSTILE, RENDERER, TAG, outside_code
from warpgauge.reports.markdown_text import code, finished, prose, table_head, table_row
from warpgauge.system.text import inert


@given(HOSTILE)
@example("a\\|b`")
@example("` `")
@example(" ")
@example("``|``")
def test_code_shows_exactly_the_inert_text(text: str) -> None:
    shown = RENDERER.renderInline(f"before {code(text)} after")
    escaped = html.escape(inert(text)).replace("&#x27;", "'")
    assert not text or shown == f"before <code>{escaped}</code> after"


@given(HOSTILE)
@example("@user and #123, GH-1; https://x.org www.x.org <b>")
@example("1. one")
@example("- one")
@example("===")
@example("fixed in deadbeef1, :smile:, $x$, ABC-12")
@example("a&#64;b")
@example("x.GH-1 and a,www.a.b, deadbeef1.x")
def test_prose_is_words_and_code_and_nothing_else(text: str) -> None:
    for document in (prose(text), f"- {prose(text)}", f"x\n{prose(text)}"):
        rendered = RENDERER.render(document)
        assert set(TAG.findall(rendered)) <= {"p", "code", "ul", "li"}
        assert rendered.count("<li>") == document.startswith("- ")
        assert not ALIVE.search(outside_code(rendered))


def test_prose_leaves_a_sentence_as_it_is() -> None:
    words = "The host may have moved by 5.1 % (its noise, up to +7.2 %): too noisy."
    assert prose(words) == words
    assert prose("moved (host/copy) by 3 %") == "moved `(host/copy)` by 3 %"
    assert prose("at commit 0123456789, then /a/b.") == "at commit `0123456789`, then `/a/b`."


@given(st.lists(HOSTILE, min_size=3, max_size=3))
@example(["a|b", "\\|", "`|"])
def test_a_row_has_its_cells_whatever_is_in_them(texts: list[str]) -> None:
    cells = [code(texts[0]), prose(texts[1]), code(texts[2])]
    rendered = RENDERER.render(table_head(("a", "b", "c")) + table_row(cells))
    assert rendered.count("<td") == 3
    assert rendered.count("<tr>") == 2
    assert set(TAG.findall(rendered)) <= set("table thead tbody tr th td code".split())
    assert not ALIVE.search(outside_code(rendered))


def test_a_long_text_is_cut() -> None:
    assert len(code("x" * 100_000)) < 700
    assert len(prose("x" * 100_000)) < 700


def test_no_line_ends_between_a_number_and_its_unit_outside_of_code() -> None:
    fence = "```sh\nsleep 3 s\n```"
    text = f"3 % of 40.5 µs, 4 samples; `5 ns` ``a ` 6 s`` 7 GB/s\n\n{fence}\n\n8 ms"
    shown = finished(text).replace("\N{NO-BREAK SPACE}", "~")
    code = f"`5 ns` ``a ` 6 s`` 7~GB/s\n\n{fence}\n\n8~ms"
    assert shown == f"3~% of 40.5~µs, 4 samples; {code}"
