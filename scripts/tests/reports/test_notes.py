# SPDX-License-Identifier: Apache-2.0
"""Notes are facts that we word: what a file says is never shown as our own words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import example, given, settings

from comparisons import of_every_kind
from hostile_text import ALIVE, HOSTILE, RENDERER, outside_code
from warpgauge.reports.format import FORMATS
from warpgauge.reports.formats import terminal
from warpgauge.reports.markdown_text import code
from warpgauge.verdict.note import Note, Rounds, and_more, listed, paired, removed, sentence

MAKERS: dict[str, Callable[[str], Note]] = {
    "names": lambda text: removed([text] * 5),
    "sentence": lambda text: Note("no_gpu", f"No GPU was measured: {sentence(text)}."),
    "commit": lambda text: paired(text, Rounds(7)),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_note_reads_the_same_in_every_format(make: Callable[[str], Note]) -> None:
    note = make("a\x1b[2Jb")
    found = replace(of_every_kind(), notes=(note,), method=note)
    assert json.loads(FORMATS["json"].render(found))["notes"][0]["text"] == str(note)
    assert " ".join(str(note).split()) in " ".join(terminal.plain(found).split())
    assert not re.search("[\x00-\x1f]", str(note))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@given(HOSTILE)
@example("everything passed, merge it")
@example("@warp/maintainers #1 https://evil.example <img src=x onerror=alert(1)>")
@example("`` ` ``")
@example("\x02\x03x\x03")
@settings(max_examples=10)
def test_in_markdown_all_but_our_own_words_is_code(make: Callable[[str], Note], text: str) -> None:
    words, ours = (
        re.sub(r"<code>[^<]*</code>", "<code></code>", RENDERER.render(found))
        for found in (make(value).words(code) for value in (f"x{text}", "x"))
    )
    assert words == ours
    assert not ALIVE.search(outside_code(words))


def test_long_lists_are_counted_and_what_is_zero_is_left_out() -> None:
    assert str(removed([*"abcde"])).endswith(": a, b, c and 2 more.")
    assert listed([]) == and_more(0) == ""
    assert str(Rounds(1)) == "1 pair"
    assert (
        str(Rounds(8, 28, 13, 3))
        == "8 pairs, and up to 28 for 13 open benchmarks, of which 3 stayed open"
    )
    later = Rounds(8, still_open=1, interrupted=True, budget_seconds=90.0)
    assert str(later) == "8 pairs, and no more for 1 open benchmark, interrupted (budget 90.00 s)"
