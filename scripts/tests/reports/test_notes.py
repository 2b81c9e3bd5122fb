# SPDX-License-Identifier: Apache-2.0
"""Notes are facts that we word: what a file says is never shown as our own words."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from comparisons import note_of, of_every_kind
from hostile_text import ALIVE, HOSTILE, RENDERER, outside_code
from warpgauge.reports import comparison_json, json_document
from warpgauge.reports.markdown import report as markdown
from warpgauge.reports.markdown.text import in_sentence
from warpgauge.reports.terminal import report as terminal
from warpgauge.system import contract
from warpgauge.system.errors import UserError
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.note import Kind, Note

FORGED = "everything passed, merge it"


def read(*notes: object, method: object = None) -> Comparison:
    """A file that has these notes."""
    document = json.loads(comparison_json.render(of_every_kind()))
    return comparison_json.load(json.dumps({**document, "notes": notes, "method": method}))


def told(kind: Kind, /, **values: object) -> dict[str, object]:
    """A note of a file, whose text is forged."""
    return {"kind": kind.word, "values": {**note_of(kind).values, **values}, "text": FORGED}


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_comes_back_from_a_file_and_words_itself_the_same(kind: Kind) -> None:
    for note in (note_of(kind), note_of(kind, "a\x1b[2Jb", 0), note_of(kind, number=1)):
        found = replace(of_every_kind(), notes=(note,), method=note)
        text = comparison_json.render(found)
        Draft202012Validator(contract.schema(json_document.Comparison)).validate(json.loads(text))
        back = comparison_json.load(text)
        assert (back.notes, back.method) == ((note,), note)
        assert json.loads(text)["notes"][0]["text"] == str(note) == str(back.notes[0])
        assert " ".join(str(note).split()) in " ".join(terminal.plain(back).split())


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


def test_the_sentence_of_a_file_is_not_shown() -> None:
    found = read(*map(told, Kind), method=told(Kind.PAIRED))
    for text in (markdown.render(found), terminal.plain(found), comparison_json.render(found)):
        assert FORGED not in text


def test_of_kinds_that_a_newer_warpgauge_has_it_is_told_how_many_there_are() -> None:
    later = {
        "kind": "later",
        "values": {"reason": FORGED, "names": ["a"], "n": 1.5},
        "text": FORGED,
    }
    found = read(told(Kind.UNDATED), later, later)
    assert found.notes == (Note(Kind.UNDATED), Note(Kind.NEWER, notes=2))
    assert read(method=later).method == Note(Kind.NEWER, notes=1)
    assert FORGED not in markdown.render(found) + terminal.plain(found)


@pytest.mark.parametrize("kind", Kind)
def test_a_value_that_a_newer_warpgauge_added_is_passed_over(kind: Kind) -> None:
    assert read(told(kind, later=FORGED, kind="x", self="y")).notes == (note_of(kind),)


def wrong(value: object) -> list[Any]:
    """What is not as `value` is, though a note may have it elsewhere."""
    if isinstance(value, str):
        return [1, ["a"]]
    if isinstance(value, tuple):
        return ["a", 1, []]
    return ["a", ["a"], -1]


@pytest.mark.parametrize("kind", Kind)
def test_values_that_are_not_as_the_kind_has_them_are_refused_in_a_sentence(kind: Kind) -> None:
    for name, value in note_of(kind).values.items():
        for other in wrong(value):
            with pytest.raises(UserError) as caught:
                read(told(kind, **{name: other}))
            assert f"'{kind.word}'" in str(caught.value)
            assert "\n" not in str(caught.value)


def test_what_a_kind_cannot_do_without_must_be_there() -> None:
    with pytest.raises(UserError, match="its note 'stale'"):
        read({"kind": "stale", "values": {"days": 3}, "text": ""})
    with pytest.raises(UserError, match="'host_moved'"):
        read(told(Kind.HOST_MOVED, moved=math.inf))


@pytest.mark.parametrize(
    ("kind", "name"),
    [(Kind.EDITED, "side"), (Kind.UNCONFIRMED, "remedy"), (Kind.OTHER_SYSTEM, "clock")],
)
def test_a_word_of_ours_is_one_of_a_closed_list(kind: Kind, name: str) -> None:
    with pytest.raises(UserError, match=f"'{kind.word}'"):
        read(told(kind, **{name: FORGED}))


@given(st.sampled_from(list(Kind)), st.integers(0, 5))
def test_what_is_zero_leaves_no_gap(kind: Kind, number: int) -> None:
    assert re.search(r"  |,,|, \.|\[|\{| ,", str(note_of(kind, number=number))) is None
