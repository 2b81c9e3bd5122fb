# SPDX-License-Identifier: Apache-2.0
"""The kernel plan has every case as the manifest means it, or one sentence says what is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from manifests import IN_PLACE, KERNELS, write_manifest
from warpgauge.external import manifest, plan
from warpgauge.system.errors import UserError
from work import calls

ONE_POINT = KERNELS.replace("256, 4096", "256")
X = '"x", type = "f32", count = "n"'


def planned(path: Path, **which: object) -> str:
    plan.write(plan.cases(manifest.load(path), **which), path.with_suffix(".plan"))  # type: ignore[arg-type]
    return path.with_suffix(".plan").read_text()


def fault(folder: Path, text: str, **which: object) -> str:
    """What refuses the manifest `text`."""
    path = write_manifest(folder, text)
    with pytest.raises(UserError) as caught:
        planned(path, **which)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert message.isprintable()
    return message.removeprefix(str(path)).lstrip(", ").removeprefix(": ")


def test_a_case_is_written_for_every_point(tmp_path: Path) -> None:
    path = write_manifest(tmp_path)
    expected = ["warpgauge-kernels 1"]
    for n in (256, 4096):
        expected += f"""\
case external/scale/f32/n:{n}
bytes {8 * n}
flops {n}
buffer input x f32 {n}
buffer output y f32 {n}
kernel
image cubin {tmp_path}/scale.cubin
symbol scale_kernel
grid {n // 256} 1 1
block 256 1 1
shared 0
argument buffer x
argument buffer y
argument value i32 {n}
argument value f32 2.5
argument null
verify y reference 0.5 0
kernel
image source {tmp_path}/naive.cu
option -std=c++17
symbol naive<float>
grid 1 1 1
block 32 1 1
shared 0
argument buffer y
argument buffer x""".splitlines()
    assert planned(path).splitlines() == expected


def test_axes_may_have_other_values(tmp_path: Path) -> None:
    path = write_manifest(tmp_path, KERNELS.replace("n = [256, 4096]", "m = [1, 2], n = [256]"))
    kernels = manifest.load(path)
    names = [case.name for case in plan.cases(kernels)]
    assert names == ["external/scale/f32/m:1/n:256", "external/scale/f32/m:2/n:256"]
    (case,) = plan.cases(kernels, ["scale"], {"n": [512], "m": [3]})
    assert case.name == "external/scale/f32/m:3/n:512"
    assert case.files == (tmp_path / "scale.cubin", tmp_path / "naive.cu")


def test_a_launch_has_what_the_manifest_says(tmp_path: Path) -> None:
    more = 'grid = ["n / 128", 2]\ncluster = [2]\nprogrammatic = true\nshared = "n * 2"'
    text = ONE_POINT.replace('grid = ["ceil_div(n, 256)"]', more)
    scalars = (
        '{ value = -1, type = "i64" }, { value = "n", type = "f16" }, { value = inf, type = "f64" }'
    )
    written = planned(write_manifest(tmp_path, text.replace("{ null = true }", scalars)))
    for line in ("grid 2 2 1", "cluster 2 1 1", "programmatic", "shared 512"):
        assert f"{line}\n" in written
    for value in ("i64 -1", "f16 256", "f64 inf"):
        assert f"argument value {value}\n" in written


def test_buffers_are_also_read_and_written_or_scratch(tmp_path: Path) -> None:
    lines = planned(write_manifest(tmp_path, IN_PLACE)).splitlines()
    assert [line for line in lines if line.startswith(("buffer", "verify"))] == [
        "buffer in_place data f32 4096 uniform 0.5 4096",
        "buffer scratch tmp u8 8192",
        "buffer in_place bins u32 256 constant 0",
        "verify data reference 9.9999999999999995e-07 0",
        "verify bins reference 0 0",
    ]


@pytest.mark.parametrize(
    ("type", "values", "line"),
    [
        ("i64", '{ uniform = [-1, "n - 1"] }', "uniform -1 255"),
        ("i8", "{ sorted = [-128, 127] }", "sorted -128 127"),
        ("e5m2", "{ normal = [0, 0.5] }", "normal 0 0.5"),
        ("f64", "{ constant = 1e300 }", "constant 1.0000000000000001e+300"),
        ("u8", "{ distinct = 256 }", "distinct 256"),
    ],
)
def test_values_are_written_as_their_type_holds_them(
    tmp_path: Path, type: str, values: str, line: str
) -> None:
    text = ONE_POINT.replace(X, X.replace("f32", type))
    text = text.replace('count = "n" }', f'count = "n", values = {values} }}', 1)
    written = planned(write_manifest(tmp_path, text))
    assert f"buffer input x {type} 256 {line}\n" in written


GRID, COUNT = '["ceil_div(n, 256)"]', 'count = "n"'
AT = "at n = 256"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (GRID, "[0]", f"kernels.scale.grid[0] {AT}: 0 is not between 1 and "),
        (GRID, '["n - 256"]', f"kernels.scale.grid[0] {AT}: 'n - 256' is 0, not between"),
        (GRID, f'["{"n" * 600}"]', f"kernels.scale.grid[0] {AT}: '{'n' * 59}… has"),
        (GRID, '["k"]', f"kernels.scale.grid[0] {AT}: 'k' names the unknown axis 'k'; the"),
        (GRID, '["9**9**9"]', f"kernels.scale.grid[0] {AT}: '9**9**9' is not an expression"),
        (COUNT, 'count = "n - n"', f"kernels.scale.arguments[0].count {AT}: 'n - n' is 0"),
        ('"8 * n"', '"0 - n"', f"kernels.scale.bytes {AT}: '0 - n' is -256, not between 0"),
        (COUNT, f'{COUNT}, values = {{ constant = "k" }}',
         f"kernels.scale.arguments[0].values.constant {AT}: 'k' names the unknown axis"),
        (COUNT, f'{COUNT}, values = {{ constant = "n*n*n*n*n*n*n" }}',
         f"kernels.scale.arguments[0].values.constant {AT}: 'n*n*n*n*n*n*n' is 7205"),
    ],
)  # fmt: skip
def test_an_expression_without_a_value_is_one_sentence_with_its_point(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in KERNELS
    assert fault(tmp_path, KERNELS.replace(old, new, 1)).startswith(said)


@pytest.mark.parametrize(
    ("new", "has"),
    [
        (X.replace("x", "w"), "the input 'x' of 256 f32"),
        (X.replace("f32", "f64"), "the input 'x' of 256 f32"),
        (X.replace('"n"', '"n + 1"'), "the input 'x' of 256 f32"),
        (f"{X} }}, {{ scratch = {X.replace('x', 'z')}", ""),  # the reference needs none
    ],
)
def test_a_reference_has_the_buffers_of_the_kernel_that_it_verifies(
    tmp_path: Path, new: str, has: str
) -> None:
    text = KERNELS.replace(X, new, 1)
    if has:
        said = f"kernels.naive.arguments {AT}: {has} is not in 'scale', which it verifies"
        assert fault(tmp_path, text).startswith(said)
    else:
        planned(write_manifest(tmp_path, text))


@pytest.mark.parametrize(
    ("which", "said"),
    [
        ({"kernels": ["scle"]}, "measures no kernel 'scle'; did you mean 'scale'?"),
        ({"kernels": ["naive"]}, "measures no kernel 'naive'; "),
        ({"axes": {"k": [1]}}, "no kernel that is measured has the axis 'k'; known are n"),
        ({"axes": {"n": range(30_001)}}, "makes 30,001 benchmarks, more than 30,000"),
        ({"axes": {"n": range(2**60)}}, "makes 1,152,921,504,606,846,976 benchmarks"),
    ],
)
def test_what_cannot_be_chosen_is_one_sentence(
    tmp_path: Path, which: dict[str, object], said: str
) -> None:
    assert fault(tmp_path, KERNELS, **which).startswith(said)


def test_a_manifest_of_references_alone_measures_nothing(tmp_path: Path) -> None:
    head, naive = KERNELS.split("[kernels.scale]")[0], KERNELS[KERNELS.index("[kernels.naive]") :]
    assert fault(tmp_path, head + naive).startswith("every kernel is reference_only")


def test_two_benchmarks_of_one_name_are_in_no_plan(tmp_path: Path) -> None:
    case, _ = plan.cases(manifest.load(write_manifest(tmp_path)))
    with pytest.raises(UserError, match="two benchmarks are named 'external/scale/f32/n:256'"):
        plan.write([case, case], tmp_path / "plan")


def test_a_file_name_with_a_line_break_is_in_no_plan(tmp_path: Path) -> None:
    path = write_manifest(tmp_path / "a\nb")
    with pytest.raises(UserError, match="cannot be used in a kernel plan"):
        plan.write(plan.cases(manifest.load(path)), tmp_path / "plan")


@pytest.mark.parametrize("of", ["kernels", "points"])
def test_the_work_grows_with_the_number_of_cases(tmp_path: Path, of: str) -> None:
    head, scale = KERNELS.split("[kernels.scale]")
    scale, naive = scale.split("[kernels.naive]")

    def work(count: int) -> int:
        many = [f"[kernels.scale{number}]{scale}" for number in range(count)]
        text = KERNELS if of == "points" else f"{head}{''.join(many)}[kernels.naive]{naive}"
        path = write_manifest(tmp_path, text)
        axes = {"n": range(1, count + 1)} if of == "points" else {"n": [256]}
        kernels = manifest.load(path)
        return calls(lambda: plan.write(plan.cases(kernels, axes=axes), tmp_path / "plan"))

    assert work(1600) < 12 * work(200)


WITH_FILES = (
    ONE_POINT.replace(X, '"x", type = "f32", npy = "x.npy"', 1)
    .replace('reference = "naive"', 'npy = "y.npy"')
)  # fmt: skip


def with_files(folder: Path, x: NDArray[numpy.generic], type: str = "f32") -> Path:
    """A manifest whose x and y are files; `type` is that of x."""
    numpy.save(folder / "x.npy", x, allow_pickle=True)
    numpy.save(folder / "y.npy", numpy.zeros(256, "<f4"))
    return write_manifest(folder, WITH_FILES.replace('"x", type = "f32"', f'"x", type = "{type}"'))


def refused(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        planned(path)
    start = f"{path}, kernels.scale.arguments[0].npy {AT}: {path.parent}/x.npy "
    assert str(caught.value).startswith(start)
    assert str(caught.value).isprintable()
    return str(caught.value).removeprefix(start)


def test_saved_arrays_are_inputs_and_what_is_expected(tmp_path: Path) -> None:
    path = with_files(tmp_path, numpy.zeros((16, 16), "<f4"))
    written = planned(path)
    assert f"buffer input x f32 256 {tmp_path}/x.npy 128\n" in written
    assert f"verify y npy {tmp_path}/y.npy 128 0.5 0\n" in written
    assert written.count("\nkernel\n") == 1
    (case,) = plan.cases(manifest.load(path))
    assert {file.name for file in case.files} == {"scale.cubin", "x.npy", "y.npy"}
    write_manifest(tmp_path, WITH_FILES.replace("n = [256]", "n = [256, 512]"))
    with pytest.raises(
        UserError, match=r"verify\.y\.npy at n = 512: \S+y\.npy has 256 elements, but the buffer"
    ):
        planned(path)


@pytest.mark.parametrize(
    ("type", "dtype"),
    [
        ("f64", "<f8"), ("f16", "<f2"), ("i32", "<i4"), ("u8", "|u1"), ("bf16", "<u2"),
        ("bf16", "|V2"), ("e4m3", "|u1"), ("e4m3", "|V1"), ("e5m2", "|V1"), ("i64", "<i8"),
        ("u32", "<u4"), ("i8", "|i1"),
    ],
)  # fmt: skip
def test_a_file_has_the_type_of_its_buffer(tmp_path: Path, type: str, dtype: str) -> None:
    raw = numpy.zeros(256 * 8, "|u1").view(dtype)[:256]
    assert f"x {type} 256 {tmp_path}/x.npy 128\n" in planned(with_files(tmp_path, raw, type))


def test_what_a_buffer_cannot_hold_is_refused(tmp_path: Path) -> None:
    floats = numpy.arange(6, dtype="<f4").reshape(2, 3)
    assert "holds elements of '<f4', but f64 is '<f8'" in refused(
        with_files(tmp_path, floats, "f64")
    )
    assert "holds elements of '>f4'" in refused(with_files(tmp_path, floats.astype(">f4")))
    assert "Fortran order" in refused(with_files(tmp_path, numpy.asfortranarray(floats)))
    assert "is empty" in refused(with_files(tmp_path, numpy.zeros(0, "<f4")))
    records = numpy.zeros(2, dtype=[("a", "<f4")])
    assert "holds elements of" in refused(with_files(tmp_path, records))
    assert "is not a .npy file" in refused(with_files(tmp_path, numpy.array([{}])))


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    manifest_path = with_files(tmp_path, numpy.zeros(256, "<f4"))
    path = tmp_path / "x.npy"
    whole = path.read_bytes()
    for content in (b"", b"PK" + whole, whole[:9], whole[:100], whole[:-1]):
        path.write_bytes(content)
        assert "is not a .npy file" in refused(manifest_path)
    path.unlink()
    assert "is not a .npy file (there is no such file)" in refused(manifest_path)
    os.mkfifo(path)
    assert "is not a .npy file (there is no such file)" in refused(manifest_path)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=100,
)
@given(st.binary(max_size=80), st.sampled_from([b"\x01\x00", b"\x02\x00", b"\x03\x00"]))
def test_any_header_is_read_or_refused(tmp_path: Path, header: bytes, version: bytes) -> None:
    path = with_files(tmp_path, numpy.zeros(1, "<f4"))
    size = len(header).to_bytes(2 if version[0] == 1 else 4, "little")
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY" + version + size + header)
    assert refused(path)
