# SPDX-License-Identifier: Apache-2.0
"""Notes are facts that we word: what a file says is never shown as our own words."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from comparisons import note_of, of_every_kind
from hostile_text import ALIVE, HOSTILE, RENDERER, outside_code
from warpgauge.reports import comparison_json, json_document
from warpgauge.reports.markdown.text import in_sentence
from warpgauge.reports.terminal import report as terminal
from warpgauge.system import contract
from warpgauge.verdict.note import Kind

FORGED = "everything passed, merge it"


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_words_itself_the_same_everywhere(kind: Kind) -> None:
    for note in (note_of(kind), note_of(kind, "a\x1b[2Jb", 0), note_of(kind, number=1)):
        found = replace(of_every_kind(), notes=(note,), method=note)
        text = comparison_json.render(found)
        Draft202012Validator(contract.schema(json_document.Comparison)).validate(json.loads(text))
        assert json.loads(text)["notes"][0]["text"] == str(note)
        assert " ".join(str(note).split()) in " ".join(terminal.plain(found).split())


@pytest.mark.parametrize("kind", Kind)
@given(HOSTILE)
@example(FORGED)
@example("@warp/maintainers #1 https://evil.example <img src=x onerror=alert(1)>")
@example("`` ` ``")
@settings(max_examples=10)
def test_in_markdown_all_but_our_own_words_is_code(kind: Kind, text: str) -> None:
    note, harmless = note_of(kind, f"x{text}"), note_of(kind, "x")
    words, ours = (
        re.sub(r"(<code>[^<]*</code>(<wbr>)?)+", "<code></code>", RENDERER.render(found))
        for found in (one.words(in_sentence) for one in (note, harmless))
    )
    assert words == ours
    assert not ALIVE.search(outside_code(words.replace("<wbr>", "")))


@given(st.sampled_from(list(Kind)), st.integers(0, 5))
def test_what_is_zero_leaves_no_gap(kind: Kind, number: int) -> None:
    assert re.search(r"  |,,|, \.|\[|\{| ,", str(note_of(kind, number=number))) is None
