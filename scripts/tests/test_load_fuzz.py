# SPDX-License-Identifier: Apache-2.0
"""Whatever a file holds, loading gives a record or one sentence, and a record can be judged."""

from __future__ import annotations

import copy
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from builders import Json, baseline, failed, google, google_row, row, run
from warpgauge.errors import UserError
from warpgauge.load import load
from warpgauge.model import Record
from warpgauge.terminal import render, render_values
from warpgauge.verdict import judge

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["ns", "aggregate", "iteration", "median", "run/1", "baseline/1", 10**400])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
SESSIONS: dict[str, Json] = {"s": {"gpu_uuid": "u", "build_type": "Release"}}
DISTURBED: Json = {"throttled": 7, "sm_clock_hz": 1e9, "clock_event_reasons": 4}
TEMPLATES: list[Json] = [
    run([row("a/b", **DISTURBED)], sm_clock_target_hz="2e9"),
    google([google_row("f", 1.0, **DISTURBED), google_row("f", 1.0, **DISTURBED)]),
    run([row("a/b", registers=3), row("a/c", host_clock=1.0), failed("a/d")]),
    baseline([row("a/b", process_medians={"s": [1.0, 2.0]})], SESSIONS),
    google([google_row("f", 1.0, repetition_index=0), google_row("f_mean", 2.0), failed("g")]),
]


def leaves(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """The path of every value inside `value`."""
    members: list[tuple[object, object]] = []
    if isinstance(value, dict):
        members.extend(value.items())
    if isinstance(value, list):
        members.extend(enumerate(value))
    for key, member in members:
        yield (*path, key)
        yield from leaves(member, (*path, key))


@st.composite
def documents(draw: st.DrawFn) -> object:
    """A good document in which some values were replaced or taken away."""
    document: Json = copy.deepcopy(draw(st.sampled_from(TEMPLATES)))
    for _ in range(draw(st.integers(0, 3))):
        *way, last = draw(st.sampled_from(list(leaves(document))))
        owner: object = document
        for key in way:
            owner = owner[key]  # type: ignore[index]
        if draw(st.booleans()):
            owner[last] = draw(VALUES)  # type: ignore[index]
        else:
            del owner[last]  # type: ignore[attr-defined]
        if not document:
            break
    return document


def loaded(content: bytes) -> Record | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fuzz.json"
        path.write_bytes(content)
        try:
            return load(path)
        except UserError as error:
            assert str(error).isprintable()
            return None


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_any_json_loads_or_gives_a_sentence(value: object) -> None:
    loaded(json.dumps(value).encode())


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_load_or_give_a_sentence(content: bytes) -> None:
    loaded(content)


@settings(max_examples=150, deadline=None)
@given(documents(), documents())
def test_whatever_loads_can_be_judged_and_shown(one: object, other: object) -> None:
    baseline_side = loaded(json.dumps(one).encode())
    candidate_side = loaded(json.dumps(other).encode())
    console = Console(file=io.StringIO(), width=80)
    if baseline_side is not None:
        render_values(baseline_side, console)
    if baseline_side is not None and candidate_side is not None:
        try:
            comparison = judge(baseline_side, candidate_side)
        except UserError as error:
            assert "no regular expression" in str(error)
            return
        names = baseline_side.rows.keys() | candidate_side.rows.keys()
        assert {verdict.name for verdict in comparison.verdicts} <= names
        render(comparison, console, show_all=True)
