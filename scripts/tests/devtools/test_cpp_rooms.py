# SPDX-License-Identifier: Apache-2.0
"""The rooms of the C++ side (fixtures/README.md): who may include whom, and no file outside."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FIXTURES, KERNELS = ROOT / "fixtures", ROOT / "kernels"
HEADERS = (".hpp", ".cuh")
SOURCES = (".cpp", ".cu", *HEADERS)
MOST_FILES = 45  # of a folder
MOST_CROSSING = 80  # includes from one room to another, tests aside
MOST_HEADERS = 12  # that gpu_benchmark.hpp pulls in

# What each room may include; "" is the top, which a benchmark's author includes.
MAY_INCLUDE: dict[str, set[str]] = {
    "core": set(),
    "cuda": set(),
    "host": {"core"},
    "gpu": {"host", "cuda", "core"},
    "program": {"gpu", "host", "cuda", "core"},
    "": {"program", "gpu", "host", "cuda", "core"},
    "trace": {"cuda", "core"},
    "testing": {"", "program", "gpu", "host", "cuda", "core"},
}
# core and host know no CUDA; core has neither input nor output.
FORBIDDEN = {
    "core": re.compile(r"<(cuda|cublas|fstream|iostream|unistd|sys/)"),
    "host": re.compile(r"<(cuda|cublas)"),
}
_INCLUDE = re.compile(r'^\s*#\s*include\s+([<"][^>"]+[>"])', re.MULTILINE)


def room_of(path: Path) -> str:
    """Of a header or source of the engine; "" for the top."""
    return str(path.parent.relative_to(FIXTURES)).removeprefix(".")


def sources(top: Path) -> list[Path]:
    """All but those of the projects that use the installed engine."""
    found = sorted(path for path in top.rglob("*") if path.suffix in SOURCES)
    return [path for path in found if "consumers" not in path.parts]


def included(path: Path) -> list[str]:
    return _INCLUDE.findall(path.read_text())


def headers(path: Path) -> list[Path]:
    """Those of the engine that a source includes."""
    names = [one.strip("<>") for one in included(path) if one.startswith("<warpgauge/")]
    return [FIXTURES / name.removeprefix("warpgauge/") for name in names]


def is_test(path: Path) -> bool:
    return "_test." in path.name


def test_includes_follow_the_arrows() -> None:
    wrong: list[tuple[Path, object]] = []
    for path in sources(FIXTURES):
        room = room_of(path)
        allowed = {room, *MAY_INCLUDE[room], *(["testing"] if is_test(path) else [])}
        wrong += [(path, header) for header in headers(path) if room_of(header) not in allowed]
        forbidden = FORBIDDEN.get(room)
        if forbidden and not is_test(path):
            wrong += [(path, one) for one in included(path) if forbidden.match(one)]
        wrong += [(path, one) for one in included(path) if one.startswith('"')]
    assert wrong == []


def test_few_includes_cross_rooms() -> None:
    crossing = [
        (path.name, header)
        for path in sources(FIXTURES)
        if not is_test(path) and room_of(path) != "testing"
        for header in headers(path)
        if room_of(header) != room_of(path)
    ]
    assert len(crossing) <= MOST_CROSSING


def test_a_benchmark_pulls_in_few_headers() -> None:
    first = FIXTURES / "gpu_benchmark.hpp"
    seen, left = {first}, [first]
    while left:
        new = {*headers(left.pop())} - seen
        seen |= new
        left += new
    assert len(seen) - 1 <= MOST_HEADERS


def test_headers_include_each_other_in_no_cycle() -> None:
    graph = {path: headers(path) for path in sources(FIXTURES) if path.suffix in HEADERS}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names one


def test_kernels_use_the_engine_s_cuda_room_alone() -> None:
    """Their tests too, but for what tests share."""
    wrong = [
        (path, header)
        for path in sources(KERNELS)
        for header in headers(path)
        if room_of(header) not in ({"cuda", "testing"} if is_test(path) else {"cuda"})
    ]
    assert wrong == []


def test_no_folder_is_crowded() -> None:
    for top in (FIXTURES, KERNELS):
        for folder in [top, *(path for path in top.rglob("*") if path.is_dir())]:
            files = [path for path in folder.iterdir() if path.is_file()]
            assert len(files) <= MOST_FILES, folder
