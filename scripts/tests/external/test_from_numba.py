# SPDX-License-Identifier: Apache-2.0
"""Entries of Numba's kernels, which it compiles for sm_90 without a GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from warpgauge.external.frameworks import Foreign, from_numba
from warpgauge.external.write_manifest import KernelEntry
from warpgauge.system.errors import UserError

cuda: Foreign = pytest.importorskip("numba.cuda", reason="Numba is not installed")

X = np.zeros(4096, "f4")

try:
    cuda.compile_ptx(lambda: None, (), cc=(9, 0))
except Exception as fault:  # e.g. a NumPy that this Numba does not know
    pytest.skip(f"Numba compiles nothing here: {fault}", allow_module_level=True)


@pytest.fixture(scope="module")
def scale() -> Foreign:
    def scale(x: Foreign, y: Foreign, factor: Foreign, n: Foreign) -> None:
        i = cuda.grid(1)
        if i < n:
            y[i] = factor * x[i]

    return cuda.jit(scale)


def _entry(folder: Path, kernel: object, *arguments: object, **expressions: str) -> KernelEntry:
    return from_numba(
        kernel,
        ["ceil_div(n, 256)"],
        [256],
        arguments,
        name="scale",
        folder=folder,
        compute_capability=(9, 0),
        outputs=["y"],
        axes={"n": [4096]},
        expressions=expressions,
    )


def _i64(value: str) -> dict[str, object]:
    return {"value": value, "type": "i64"}


def test_an_array_is_the_members_of_numbas_struct(tmp_path: Path, scale: object) -> None:
    expressions = {"x": "n", "y": "n", "n": "n"}
    entry = _entry(tmp_path, scale, X, X, np.float32(2.5), 4096, **expressions).entry
    null = {"null": True}
    assert entry["arguments"] == [
        *(null, null, _i64("n"), _i64("4")),
        {"input": "x", "type": "f32", "count": "n"},
        *(_i64("n"), _i64("4")),
        *(null, null, _i64("n"), _i64("4")),
        {"output": "y", "type": "f32", "count": "n"},
        *(_i64("n"), _i64("4")),
        {"value": 2.5, "type": "f32"},
        _i64("n"),
    ]
    ptx = (tmp_path / "scale.ptx").read_text()
    assert f".visible .entry {entry['symbol']}(" in ptx
    assert ".target sm_90" in ptx


def test_a_matrix_has_the_shape_and_the_strides_of_the_example(tmp_path: Path) -> None:
    def first(y: Foreign) -> None:
        y[0, 0, 0] = 1.0

    arguments = _entry(tmp_path, cuda.jit(first), np.zeros((2, 3, 4), "f8")).entry["arguments"]
    assert isinstance(arguments, list)
    assert arguments[2:] == [
        *(_i64("24"), _i64("8")),
        {"output": "y", "type": "f64", "count": "24"},
        *map(_i64, ["2", "3", "4", "96", "32", "8"]),
    ]


def test_what_numba_cannot_compile_or_a_manifest_not_say_is_refused(
    tmp_path: Path, scale: object
) -> None:
    with pytest.raises(UserError, match="'x': it is neither a contiguous array"):
        _entry(tmp_path, scale, X[::2], X, np.float32(1), 1)
    with pytest.raises(UserError, match="Numba cannot compile it"):
        _entry(tmp_path, scale, X, X)
    with pytest.raises(UserError, match="5 arguments for the 4 parameters"):
        _entry(tmp_path, scale, X, X, 1.0, 1, 1)
    with pytest.raises(UserError, match=r"not a function of @numba\.cuda\.jit"):
        _entry(tmp_path, print, X)
