# SPDX-License-Identifier: Apache-2.0
"""The rooms of the C++ side (fixtures/README.md): who may include whom, and no file outside."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FIXTURES, KERNELS = ROOT / "fixtures", ROOT / "kernels"
SOURCES = (".cpp", ".hpp", ".cu", ".cuh")
MOST_FILES = 45  # of a folder
MOST_CROSSING = 80  # includes from one room to another, tests aside
MOST_HEADERS = 12  # that gpu_benchmark.hpp pulls in

# What each room may include; "" is the top, which a benchmark's author includes.
MAY_INCLUDE = {
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


def _includes(text: str) -> list[str]:
    return _INCLUDE.findall(text)


def _room(header: str) -> str:
    """The room of a header named <warpgauge/ROOM/NAME>, "" for <warpgauge/NAME>."""
    return header.rpartition("/")[0]


def wrong_arrows(room: str, name: str, text: str) -> list[str]:
    """What a source of `room` includes and may not."""
    is_test = "_test." in name
    found = []
    for include in _includes(text):
        header = include.strip('<>"')
        if include.startswith("<warpgauge/"):
            other = _room(header.removeprefix("warpgauge/"))
            allowed = MAY_INCLUDE[room] | {room} | ({"testing"} if is_test else set())
            if other not in allowed:
                found.append(f"{room}/{name} includes {header}")
        elif include.startswith('"'):
            found.append(f"{room}/{name} includes {include}: write <warpgauge/...>")
        elif room in FORBIDDEN and not is_test and FORBIDDEN[room].match(include):
            found.append(f"{room}/{name} includes {include}")
    return found


def _sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in SOURCES)


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """One cycle of a graph, or nothing."""
    done: set[str] = set()

    def walk(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        for following in sorted(graph.get(node, ())):
            if found := walk(following, [*path, node]):
                return found
        done.add(node)
        return []

    return next((found for node in sorted(graph) if (found := walk(node, []))), [])


def test_every_source_of_the_engine_is_in_a_room() -> None:
    homeless = [
        str(path.relative_to(ROOT))
        for path in _sources(FIXTURES)
        if _room(str(path.relative_to(FIXTURES))) not in MAY_INCLUDE
        and "consumers" not in path.parts
    ]
    assert homeless == []


def test_includes_follow_the_arrows() -> None:
    wrong = [
        line
        for path in _sources(FIXTURES)
        if "consumers" not in path.parts
        for line in wrong_arrows(
            _room(str(path.relative_to(FIXTURES))), path.name, path.read_text()
        )
    ]
    assert wrong == []


def test_few_includes_cross_rooms() -> None:
    crossing = [
        (path.name, include)
        for path in _sources(FIXTURES)
        if "_test." not in path.name and "testing" not in path.parts
        for include in _includes(path.read_text())
        if include.startswith("<warpgauge/")
        and _room(include.strip("<>").removeprefix("warpgauge/"))
        != _room(str(path.relative_to(FIXTURES)))
    ]
    assert len(crossing) <= MOST_CROSSING


def test_a_benchmark_pulls_in_few_headers() -> None:
    seen: set[str] = set()
    left = ["gpu_benchmark.hpp"]
    while left:
        header = left.pop()
        if header not in seen:
            seen.add(header)
            left += [
                include.strip("<>").removeprefix("warpgauge/")
                for include in _includes((FIXTURES / header).read_text())
                if include.startswith("<warpgauge/")
            ]
    assert len(seen) - 1 <= MOST_HEADERS


def test_headers_include_each_other_in_no_cycle() -> None:
    graph = {
        str(path.relative_to(FIXTURES)): {
            include.strip("<>").removeprefix("warpgauge/")
            for include in _includes(path.read_text())
            if include.startswith("<warpgauge/")
        }
        for path in _sources(FIXTURES)
        if path.suffix in (".hpp", ".cuh")
    }
    assert cycle(graph) == []


def test_kernels_use_the_engine_s_cuda_room_alone() -> None:
    """Their tests too, but for what tests share."""
    wrong = [
        f"{path.relative_to(ROOT)} includes {include}"
        for path in _sources(KERNELS)
        for include in _includes(path.read_text())
        if include.startswith("<warpgauge/")
        and _room(include.strip("<>").removeprefix("warpgauge/"))
        not in ({"cuda", "testing"} if "_test." in path.name else {"cuda"})
    ]
    assert wrong == []


def test_no_folder_is_crowded() -> None:
    for top in (FIXTURES, KERNELS):
        for folder in [top, *(path for path in top.rglob("*") if path.is_dir())]:
            files = [path for path in folder.iterdir() if path.is_file()]
            assert len(files) <= MOST_FILES, folder


@pytest.mark.parametrize(
    ("room", "name", "text", "found"),
    [
        ("core", "axes.cpp", "#include <warpgauge/core/axes.hpp>\n#include <vector>\n", 0),
        ("core", "axes.cpp", "#include <warpgauge/gpu/nvml.hpp>\n", 1),
        ("core", "axes.cpp", "#include <cuda_runtime_api.h>\n", 1),
        ("host", "clock.cpp", "#include <warpgauge/cuda/check.hpp>\n", 1),
        ("gpu", "nvml.cpp", '#include "warpgauge/gpu/nvml.hpp"\n', 1),
        ("gpu", "nvml.cpp", "#include <warpgauge/gpu_case.hpp>\n", 1),
        ("gpu", "nvml.cpp", "#include <warpgauge/testing/device_required.hpp>\n", 1),
        ("gpu", "nvml_test.cpp", "#include <warpgauge/testing/device_required.hpp>\n", 0),
    ],
)
def test_a_wrong_arrow_is_found(room: str, name: str, text: str, found: int) -> None:
    assert len(wrong_arrows(room, name, text)) == found


def test_a_cycle_is_found() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert cycle({"a": {"b", "c"}, "b": {"c"}}) == []
