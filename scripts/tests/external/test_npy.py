# SPDX-License-Identifier: Apache-2.0
"""A .npy file is what its header says and what a buffer needs, or it is refused in one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from warpgauge.external import npy
from warpgauge.external.npy import Npy
from warpgauge.system.errors import UserError
from warpgauge.system.location import Place

PLACE = Place(Path("kernels.toml"), "kernels.scale.arguments[0].npy")


def saved(folder: Path, array: NDArray[numpy.generic]) -> Path:
    path = folder / "x.npy"
    numpy.save(path, array)
    return path


def v3(header: bytes) -> bytes:
    return b"\x93NUMPY\x03\x00" + len(header).to_bytes(4, "little") + header


def fault(path: Path, type: str) -> str:
    with pytest.raises(UserError) as caught:
        npy.read(path, type, PLACE)
    start = "kernels.toml, kernels.scale.arguments[0].npy: "
    assert str(caught.value).startswith(start)
    assert str(caught.value).isprintable()
    return str(caught.value).removeprefix(start)


@pytest.mark.parametrize(
    ("type", "dtype"),
    [
        ("f64", "<f8"), ("f32", "<f4"), ("f16", "<f2"), ("i32", "<i4"), ("u8", "|u1"),
        ("bf16", "<u2"), ("bf16", "|V2"), ("e4m3", "|u1"), ("e4m3", "|V1"), ("e5m2", "|V1"),
        ("i64", "<i8"), ("u32", "<u4"), ("i8", "|i1"),
    ],
)  # fmt: skip
def test_elements_begin_behind_the_header(tmp_path: Path, type: str, dtype: str) -> None:
    raw = numpy.frombuffer(bytes(range(48)), dtype)
    path = saved(tmp_path, raw)
    found = npy.read(path, type, PLACE)
    assert found.count == raw.size
    assert path.read_bytes()[found.offset :] == bytes(range(48))


def test_a_matrix_counts_its_elements_and_a_number_is_one(tmp_path: Path) -> None:
    assert npy.read(saved(tmp_path, numpy.zeros((3, 4), "<f4")), "f32", PLACE).count == 12
    assert npy.read(saved(tmp_path, numpy.float32(3) + numpy.zeros((), "<f4")), "f32", PLACE).count
    column = numpy.asfortranarray(numpy.zeros((4, 1), "<f4"))
    assert npy.read(saved(tmp_path, column), "f32", PLACE) == Npy("<f4", 4, 128)


def test_what_a_buffer_cannot_hold_is_refused(tmp_path: Path) -> None:
    floats = numpy.arange(6, dtype="<f4").reshape(2, 3)
    assert "holds elements of '<f4', but f64 is '<f8'" in fault(saved(tmp_path, floats), "f64")
    assert "holds elements of '>f4'" in fault(saved(tmp_path, floats.astype(">f4")), "f32")
    assert "Fortran order" in fault(saved(tmp_path, numpy.asfortranarray(floats)), "f32")
    records = numpy.zeros(2, dtype=[("a", "<f4")])
    assert "holds records" in fault(saved(tmp_path, records), "f32")
    objects = tmp_path / "x.npy"
    numpy.save(objects, numpy.array([{}], dtype=object), allow_pickle=True)
    assert "holds elements of '|O'" in fault(objects, "f32")


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, numpy.zeros(4, "<f4"))
    whole = path.read_bytes()
    for content, said in (
        (b"", "is not a .npy file"),
        (b"PK" + whole, "is not a .npy file"),
        (whole[:9], "is not a .npy file"),
        (whole[:100], "is not a .npy file"),
        (whole[:-1], "has 143 bytes, but its header says 144"),
        (whole + b"x", "has 145 bytes"),
        (whole[:6] + b"\x09" + whole[7:], "is not a .npy file"),
        (whole.replace(b"(4,)", b"(-4)"), "is not a .npy file"),
        (whole.replace(b"(4,)", b"4** "), "is not a .npy file"),
        (whole.replace(b"(4,)", b"(((("), "is not a .npy file"),
        (whole.replace(b"(4,)", b"{1:}"), "is not a .npy file"),
        (whole.replace(b"False", b"0    "), "is not a .npy file"),
        (whole.replace(b"'<f4'", rb"'\\d' "), "holds elements of"),
        (
            v3(b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"9999, " * 9999 + b")}"),
            "is not a .npy file",
        ),
    ):
        path.write_bytes(content)
        assert said in fault(path, "f32")
    path.unlink()
    assert "cannot be read (No such file or directory)" in fault(path, "f32")
    assert "is not a file" in fault(tmp_path, "f32")
    os.mkfifo(path)
    assert "is not a file" in fault(path, "f32")


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=200,
)
@given(st.binary(max_size=80), st.sampled_from([b"\x01\x00", b"\x02\x00", b"\x03\x00"]))
def test_any_header_is_read_or_refused(tmp_path: Path, header: bytes, version: bytes) -> None:
    size = len(header).to_bytes(2 if version[0] == 1 else 4, "little")
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY" + version + size + header)
    assert fault(tmp_path / "x.npy", "f32")
