# SPDX-License-Identifier: Apache-2.0
"""Valid documents that something happened to: in their structure, or in the bytes of their text."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

import builders
import other_tools
from builders import Json, baseline, failed, google, google_row, row, run

_SESSIONS: dict[str, Json] = {
    "s": {"gpu_uuid": "u", "boot_id": "b", "build_type": "Release", "date": "2026-11-20"},
    "t": {"gpu_uuid": "v", "gpu_name": "NVIDIA Test", "build_type": "Release"},
}
_DISTURBED: Json = {"throttled": 7, "sm_clock_hz": 1e9, "clock_event_reasons": 4}
_MEAN: Json = {"run_name": "f", "run_type": "aggregate", "aggregate_name": "mean"}

TEMPLATES: tuple[Json, ...] = (
    run([row("a/b", registers=3, label="k"), row("a/c", host_clock=1.0), failed("a/d")]),
    run(
        [
            row("a/b", [1.0, 2.0], process_rounds=[1, 2], pairs=builders.pairs([1.5, None])),
            row("a/c", **_DISTURBED),
        ],
        filter="a",
    ),
    run([row("a/b", **_DISTURBED)], sm_clock_target_hz="2e9"),
    baseline(
        [
            row("a/b", process_medians={"s": [1.0, 2.0], "t": [1.0]}, registers=4),
            row("a/c", process_medians={"t": [3.0]}, time_unit="ms"),
            failed("a/d"),
        ],
        _SESSIONS,
    ),
    google([google_row("a/b", 1.0, **_DISTURBED), google_row("a/b", 1.0, label="k")]),
    google(
        [
            google_row("f", 1.0, items_per_second=2.0),
            google_row("f_mean", 2.0, aggregate_unit="time", **_MEAN),
            google_row("g_p99", 2.0, **{**_MEAN, "run_name": "g", "aggregate_name": "p99"}),
            failed("a/d"),
        ],
        caches=[{"level": 1}],
    ),
    other_tools.nvbench(
        {"a": [other_tools.state(1.0, device=1, n=1, x=0.5), other_tools.skipped("no")]}, ["A", "B"]
    ),
    other_tools.pytest_benchmark(
        {"a": {"median": 1.0, "stddev": 0.1, "rounds": 2}, "b": {"data": [1.0], "rounds": 1}}
    ),
    other_tools.hyperfine({"a": [1.0, 2.0]}, parameters={"n": "1"}),
)


class Raw(str):
    """Text that stands in a file as it is."""


Node = tuple[list[Any], int]


class _Members(list[list[object]]):
    """An object as pairs, so that it can have a key twice."""


# What a program, a person or a broken disk may leave where something else belongs.
_NUMBERS = "NaN -Infinity 1e999 -0 -0.0 1e-400".split()
_LONG = ["9" * 5000, "9" * 400, "[" * 900 + "]" * 900, "[" + "null," * 5000 + "null]"]
_LONG += ['{"x":' * 30_000 + "1" + "}" * 30_000]
_STRINGS = ['"\\ud800"', '"a\\u0000\\u001b[31m"']
_WORDS = "ns s aggregate iteration median run/1 baseline/1 a/b s (".split()
_ODD = st.sampled_from([*map(Raw, (*_NUMBERS, *_LONG, *_STRINGS)), "n" * 10_000, *_WORDS])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | _ODD
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)


def written(value: object) -> str:
    """JSON of a value, raw parts as they are."""
    if isinstance(value, Raw):
        return value
    if isinstance(value, _Members):
        return f"{{{', '.join(f'{json.dumps(key)}: {written(one)}' for key, one in value)}}}"
    if isinstance(value, dict):
        return written(_tree(value))
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    return json.dumps(value)


def _tree(value: object) -> object:
    if isinstance(value, dict):
        return _Members([key, _tree(one)] for key, one in value.items())
    return [_tree(one) for one in value] if isinstance(value, list) else value


def _nodes(value: object) -> Iterator[Node]:
    """Every value inside: the list that holds it or, for a member of an object, its pair."""
    if not isinstance(value, list):
        return
    for index, item in enumerate(value):
        yield value, index
        yield from _nodes(item[1] if isinstance(value, _Members) else item)


def _place(owner: list[Any], index: int) -> tuple[list[Any], int]:
    """Where the value of a node stands: for a member of an object behind its key."""
    return (owner[index], 1) if isinstance(owner, _Members) else (owner, index)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """The text of a document: some of its values replaced, lost, doubled, moved or renamed."""
    document = _tree(draw(st.sampled_from(TEMPLATES)))
    for _ in range(draw(st.integers(0, 3))):
        nodes = list(_nodes(document))
        if not nodes:
            break
        owner, index = draw(st.sampled_from(nodes))
        held, at = _place(owner, index)
        match draw(st.sampled_from(("replaced", "lost", "doubled", "moved", "renamed"))):
            case "lost":
                del owner[index]
            case "doubled":
                owner.insert(index, copy.deepcopy(owner[index]))
            case "moved":
                other, place = _place(*draw(st.sampled_from(nodes)))
                held[at] = copy.deepcopy(other[place])
            case "renamed" if isinstance(owner, _Members):
                held[0] = draw(st.text(max_size=9))
            case _:
                held[at] = draw(VALUES)
    return written(document)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """The bytes of a document, a piece of them replaced, lost or doubled, or the rest cut off."""
    content = written(draw(st.sampled_from(TEMPLATES))).encode()
    for _ in range(draw(st.integers(1, 3))):
        first = draw(st.integers(0, len(content)))
        last = min(first + draw(st.sampled_from((0, 1, 2, 10, 100, 10_000))), len(content))
        piece = content[first:last]
        put = draw(st.sampled_from((b"", piece * 2, piece[::-1])) | st.binary(max_size=4))
        content = content[:first] + put + content[last:]
    return content
