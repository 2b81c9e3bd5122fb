# SPDX-License-Identifier: Apache-2.0
"""No CUDA source uses the default stream, which slows what follows: fixtures/README.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from warpgauge.system.environment import ROOT

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


def sources() -> Iterator[Path]:
    """All C++ but the tests, which time nothing."""
    for room in ("kernels", "fixtures", "benchmarks"):
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix in (".cu", ".cuh", ".cpp", ".hpp") and "_test." not in path.name:
                yield path


def test_only_the_blocking_copies_that_are_timed_use_the_default_stream() -> None:
    read = {path.relative_to(ROOT).as_posix(): path.read_text() for path in sources()}
    assert len(read) > 100
    found = {name: sorted(uses(text)) for name, text in read.items() if any(uses(text))}
    assert found == {"benchmarks/memcpy.cu": ["cudaMemcpy", "cudaStreamLegacy"]}


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
