# SPDX-License-Identifier: Apache-2.0
"""The folders of the C++ side: which may include which; no default stream."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FIXTURES, KERNELS = ROOT / "fixtures", ROOT / "kernels"
HEADERS = (".hpp", ".cuh")
SOURCES = (".cpp", ".cu", *HEADERS)
MOST_FILES = 45  # of a folder
MOST_CROSSING = 120  # includes from one room to another, tests aside
MOST_HEADERS = 13  # that gpu_benchmark.hpp pulls in

# What each room may include; "" is the top, which a benchmark's author includes.
MAY_INCLUDE: dict[str, set[str]] = {
    "core": set(),
    "cuda": set(),
    "host": {"core"},
    "process": set(),
    "drive": {"process", "core"},
    "gpu": {"host", "cuda", "core"},
    "program": {"gpu", "host", "cuda", "core"},
    "peer": {"process", "gpu", "cuda", "core"},
    "": {"program", "gpu", "host", "cuda", "core"},
    "external": {"", "gpu", "cuda", "core"},
    "python": {"", "trace", "gpu", "cuda", "core"},
    "trace": {"cuda", "core"},
    "testing": {"", "program", "gpu", "host", "cuda", "core"},
}
# core, host, process and drive know no CUDA; core has neither input nor output, process and drive
# no Google Benchmark.
FORBIDDEN = {
    "core": re.compile(r"<(cuda|cublas|fstream|iostream|unistd|sys/)"),
    "host": re.compile(r"<(cuda|cublas)"),
    "process": re.compile(r"<(cuda|cublas|benchmark/)"),
    "drive": re.compile(r"<(cuda|cublas|benchmark/)"),
}
_INCLUDE = re.compile(r'^\s*#\s*include\s+([<"][^>"]+[>"])', re.MULTILINE)


def room_of(path: Path) -> str:
    """Of a header or source of the engine; "" for the top."""
    folders = path.parent.relative_to(FIXTURES).parts
    return folders[0] if folders else ""


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


def test_few_includes_cross_rooms_and_a_benchmark_pulls_in_few_headers() -> None:
    crossing = [
        (path.name, header)
        for path in sources(FIXTURES)
        if not is_test(path) and room_of(path) != "testing"
        for header in headers(path)
        if room_of(header) != room_of(path)
    ]
    assert len(crossing) <= MOST_CROSSING
    seen, left = set[Path](), [FIXTURES / "gpu_benchmark.hpp"]
    while left:
        new = {*headers(left.pop())} - seen
        seen |= new
        left += new
    assert len(seen) <= MOST_HEADERS


def test_headers_include_each_other_in_no_cycle() -> None:
    graph = {path: headers(path) for path in sources(FIXTURES) if path.suffix in HEADERS}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names one


def test_kernels_use_the_engine_s_cuda_room_alone() -> None:
    """Their tests too, but for what tests share."""
    for path in sources(KERNELS):
        allowed = {"cuda", "testing"} if is_test(path) else {"cuda"}
        assert {room_of(header) for header in headers(path)} <= allowed, path


def test_no_folder_is_crowded() -> None:
    for top in (FIXTURES, KERNELS):
        files = Counter(path.parent for path in top.rglob("*") if path.is_file())
        assert max(files.values()) <= MOST_FILES, files.most_common(1)


# What takes its stream as the last argument, and the default one where that is left out.
_TAKES_A_STREAM = re.compile(
    r"\bcuda(?:\w+Async|EventRecord|GraphLaunch|GraphUpload|LaunchKernel|LaunchCooperativeKernel)\("
    r"|<<<"
)
# What has no other, and its names.
_IS_DEFAULT = re.compile(
    r"\bcuda(?:Memcpy|Memset)\w*(?<!Async)(?=\()|\bcudaStream(?:Legacy|PerThread)\b"
    r"|\bcudaStream(?:Synchronize|Query)(?=\((?:0|nullptr)\))"
    r"|\bthrust::device(?:_vector)?\b|\bthrust::cuda::par(?:_nosync)?\b(?!(?:\(\w*\))?\.on\()"
)
_COMMENT = re.compile(r"//[^\n]*")


def uses(source: str) -> Iterator[str]:
    """Each use of the default stream in C++ source."""
    code = _COMMENT.sub("", source)
    yield from _IS_DEFAULT.findall(code)
    for found in _TAKES_A_STREAM.finditer(code):
        arguments = _arguments(code[found.end() :])
        least = 4 if found[0] == "<<<" else 1
        if len(arguments) < least or "stream" not in arguments[-1].lower():
            yield found[0].rstrip("(")


def _arguments(code: str) -> list[str]:
    """What stands before the bracket that closes a call or a launch, one by one."""
    depth = 0
    arguments = [""]
    for at, character in enumerate(code):
        if depth == 0 and (character == ")" or code.startswith(">>>", at)):
            break
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            arguments.append("")
        else:
            arguments[-1] += character
    return arguments


# A use of the default stream slows what follows.
def test_the_default_stream_is_used_where_it_must_be_alone() -> None:
    """All C++ but the tests, which time nothing. The engine for Python uses no other stream."""
    files = [path for top in (KERNELS, FIXTURES, ROOT / "benchmarks") for path in sources(top)]
    read = {str(path.relative_to(ROOT)): path.read_text() for path in files if not is_test(path)}
    assert len(read) > 100
    found = {name: sorted(uses(text)) for name, text in read.items() if any(uses(text))}
    assert found == {
        "benchmarks/memcpy.cu": ["cudaMemcpy", "cudaStreamLegacy"],
        "fixtures/gpu/quiet_gpu.cpp": ["cudaStreamLegacy"],
    }


def test_a_use_is_found_and_a_stream_is_none() -> None:
    """In comments, across lines, in nested brackets, and with a stream in the last place only."""
    source = """
    // cudaMemset(p, 0, n) and kernel<<<1, 1>>>(p)
    cudaMemsetAsync(p, 0, n,
                    nullptr);
    cudaMemsetAsync(p, 0, count * sizeof(double) + guard, stream());
    kernel<T><<<dim3(a, b), dim3(32, 8, 1), 0>>>(p, stream);
    kernel<Tile><<<dim3(a, b), f(c, d), 0,
        at.stream>>>(p);
    cudaEventRecord(event.get());
    """
    assert list(uses(source)) == ["cudaMemsetAsync", "<<<", "cudaEventRecord"]
    assert list(uses("thrust::sort(thrust::cuda::par_nosync(storage), a, b);"))
    assert not list(uses("thrust::sort(thrust::cuda::par_nosync(storage).on(stream), a, b);"))
