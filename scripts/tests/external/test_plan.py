# SPDX-License-Identifier: Apache-2.0
"""The kernel plan has every case as the manifest means it, and nothing that cannot be launched."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from manifests import IN_PLACE, KERNELS, write_manifest
from warpgauge.external import manifest, plan
from warpgauge.system.errors import UserError
from work import calls


def planned(path: Path, **which: object) -> str:
    plan.write(plan.cases(manifest.load(path), **which), path.with_suffix(".plan"))  # type: ignore[arg-type]
    return path.with_suffix(".plan").read_text()


def fault(folder: Path, old: str, new: str, **which: object) -> str:
    """What refuses the manifest in which `new` is written for `old`."""
    assert old in KERNELS
    path = write_manifest(folder, KERNELS.replace(old, new, 1))
    with pytest.raises(UserError) as caught:
        planned(path, **which)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert message.isprintable()
    return message.removeprefix(str(path)).lstrip(", ")


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
    (one,) = plan.cases(kernels, ["scale"], {"n": [512], "m": [3]})
    assert one.name == "external/scale/f32/m:3/n:512"


def test_saved_arrays_are_inputs_and_what_is_expected(tmp_path: Path) -> None:
    for name in "xy":
        numpy.save(tmp_path / f"{name}.npy", numpy.zeros((16, 16), "<f4"))
    text = (
        KERNELS.replace('"x", type = "f32", count = "n"', '"x", type = "f32", npy = "x.npy"', 1)
        .replace('reference = "naive"', 'npy = "y.npy"')
        .replace("256, 4096", "256")
    )
    written = planned(write_manifest(tmp_path, text))
    assert f"buffer input x f32 256 {tmp_path}/x.npy 128\n" in written
    assert f"verify y npy {tmp_path}/y.npy 128 0.5 0\n" in written
    assert written.count("\nkernel\n") == 1
    path = write_manifest(tmp_path, text.replace("axes = { n = [256]", "axes = { n = [256, 512]"))
    told = r"verify\.y\.npy at n = 512: \S+y\.npy has 256 elements, but the buffer has 512"
    with pytest.raises(UserError, match=told):
        planned(path)


def test_a_launch_has_what_the_manifest_says(tmp_path: Path) -> None:
    more = 'grid = ["n / 128", 2]\ncluster = [2]\nprogrammatic = true\nshared = "n * 2"'
    text = KERNELS.replace('grid = ["ceil_div(n, 256)"]', more)
    scalars = (
        '{ value = -1, type = "i64" }, { value = "n", type = "f16" }, { value = inf, type = "f64" }'
    )
    text = text.replace("{ null = true }", scalars).replace("256, 4096", "256")
    written = planned(write_manifest(tmp_path, text))
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
        ("u32", "{ uniform = [0, 4294967295] }", "uniform 0 4294967295"),
        ("i8", "{ sorted = [-128, 127] }", "sorted -128 127"),
        ("e5m2", "{ normal = [0, 0.5] }", "normal 0 0.5"),
        ("f64", "{ constant = 1e300 }", "constant 1.0000000000000001e+300"),
        ("u8", "{ normal = [-3, 100.5] }", "normal -3 100.5"),
        ("u8", "{ distinct = 256 }", "distinct 256"),
    ],
)
def test_values_are_written_as_their_type_holds_them(
    tmp_path: Path, type: str, values: str, line: str
) -> None:
    x = '"x", type = "f32", count = "n"'
    text = KERNELS.replace("256, 4096", "256").replace(x, x.replace("f32", type))
    text = text.replace('count = "n" }', f'count = "n", values = {values} }}', 1)
    written = planned(write_manifest(tmp_path, text))
    assert f"buffer input x {type} 256 {line}\n" in written


@pytest.mark.parametrize(
    ("type", "values", "said"),
    [
        ("u8", "{ uniform = [0, 256] }", "uniform: the buffer 'x' of u8 cannot hold 256"),
        ("u32", "{ sorted = [-1, 9] }", "sorted: the buffer 'x' of u32 cannot hold -1"),
        ("i32", "{ constant = 0.5 }", "constant: the buffer 'x' of i32 cannot hold 0.5"),
        ("i64", "{ constant = inf }", "constant: the buffer 'x' of i64 cannot hold what is not"),
        ("i64", '{ constant = "1 + n*n*n*n*n*n*n" }', "constant: the buffer 'x' of i64 cannot be"),
        ("u8", "{ normal = [nan, 1] }", "normal: the buffer 'x' of u8 cannot hold what is not"),
        ("f16", "{ normal = [0, 11000] }", "normal: the buffer 'x' of f16 cannot hold -66000"),
        ("f32", "{ normal = [0, -1] }", "normal: the buffer 'x' of f32 cannot hold a negative"),
        ("e4m3", "{ uniform = [0, 449] }", "uniform: the buffer 'x' of e4m3 cannot hold 449"),
        ("u8", "{ distinct = 257 }", "distinct: the buffer 'x' of u8 can hold 1 to 256 different"),
        ("e5m2", "{ distinct = 9 }", "distinct: the buffer 'x' of e5m2 can hold 1 to 8 different"),
        ("f32", "{ distinct = 0 }", "distinct: the buffer 'x' of f32 can hold 1 to 16777216 diff"),
        ("f32", "{ uniform = [2, 1] }", "uniform: the buffer 'x' of f32 cannot hold values from"),
        ("f32", '{ constant = "k" }', "constant: 'k' names the unknown axis"),
    ],
)
def test_values_that_no_buffer_can_have_are_one_sentence(
    tmp_path: Path, type: str, values: str, said: str
) -> None:
    x = '"x", type = "f32", count = "n"'
    text = KERNELS.replace("256, 4096", "256").replace(x, x.replace("f32", type))
    text = text.replace('count = "n" }', f'count = "n", values = {values} }}', 1)
    with pytest.raises(UserError) as caught:
        planned(write_manifest(tmp_path, text))
    _, _, fault = str(caught.value).partition("kernels.scale.arguments[0].values.")
    assert fault.replace(" at n = 256", "", 1).startswith(said), caught.value


GRID, COUNT = '["ceil_div(n, 256)"]', 'count = "n"'


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (GRID, "[0]", "kernels.scale.grid[0] at n = 256: 0 is not between 1 and 2147483647"),
        (GRID, '["n - 256"]', "kernels.scale.grid[0] at n = 256: 'n - 256' is 0, not between"),
        (GRID, "[2147483648]", "kernels.scale.grid[0] at n = 256: 2147483648 is not"),
        (GRID, "[1, 65536]", "kernels.scale.grid[1] at n = 256: 65536 is not between 1 and 65535"),
        (GRID, f'["{"n" * 600}"]', f"kernels.scale.grid[0] at n = 256: '{'n' * 59}… has"),
        (GRID, '["k"]', "kernels.scale.grid[0] at n = 256: 'k' names the unknown axis 'k'; the"),
        (GRID, '["9**9**9"]', "kernels.scale.grid[0] at n = 256: '9**9**9' exceeds the largest "
                              "value of an"),
        ("[256]", "[1025]", "kernels.scale.block[0] at n = 256: 1025 is not between 1 and 1024"),
        ("[256]", "[32, 64]", "kernels.scale.block at n = 256: 32 x 64 is 2048, more than 1024"),
        ("[256]", "[256]\ncluster = [3]", "kernels.scale.grid at n = 256: the grid 1 x 1 x 1 is"),
        ("[256]", "[256]\ncluster = [8, 3]", "kernels.scale.cluster at n = 256: 8 x 3 is 24, more"),
        ("[256]", '[256]\nshared = "n * 100000000"', "kernels.scale.shared at n = 256: 'n * 1"),
        (COUNT, 'count = "n - n"', "kernels.scale.arguments[0].count at n = 256: 'n - n' is 0"),
        (COUNT, 'count = "n+1"', "kernels.naive.arguments[1].count at n = 256: is 256, but 257"),
        ('"8 * n"', '"0 - n"', "kernels.scale.bytes at n = 256: '0 - n' is -256, not between 0"),
        ('"n", type = "i32"', '"n * 9999999", type = "i32"', "kernels.scale.arguments[2].value at"),
        ('"n", type = "i32"', '"n * n", type = "f16"', "kernels.scale.arguments[2].value at n = "
         "256: 65536 exceeds the largest f16"),
        ('"n", type = "i32"', '-1, type = "u8"', "kernels.scale.arguments[2].value at n = 256: -1"),
        ("256, 4096", "4096, 256, 4096", "kernels.scale.axes.n: has a value twice; remove one"),
    ],
)  # fmt: skip
def test_what_cannot_be_launched_is_one_sentence(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert fault(tmp_path, old, new).startswith(said)


@pytest.mark.parametrize(
    ("which", "said"),
    [
        ({"kernels": ["scle"]}, "has no kernel 'scle'; did you mean 'scale'?"),
        ({"kernels": ["naive"]}, "kernels.naive: is reference_only"),
        ({"axes": {"k": [1]}}, "no kernel that is measured has the axis 'k'; known are n"),
        ({"axes": {"n": range(30_001)}}, "makes 30,001 benchmarks, more than 30,000"),
        ({"axes": {"n": range(2**60)}}, "makes 1,152,921,504,606,846,976 benchmarks"),
    ],
)
def test_what_cannot_be_chosen_is_one_sentence(
    tmp_path: Path, which: dict[str, object], said: str
) -> None:
    assert fault(tmp_path, "", "", **which).removeprefix(": ").startswith(said)


def test_two_benchmarks_of_one_name_are_in_no_plan(tmp_path: Path) -> None:
    one, _ = plan.cases(manifest.load(write_manifest(tmp_path)))
    with pytest.raises(UserError, match="two benchmarks are named 'external/scale/f32/n:256'"):
        plan.write([one, one], tmp_path / "plan")


def test_a_file_name_with_a_line_break_is_in_no_plan(tmp_path: Path) -> None:
    path = write_manifest(tmp_path / "a\nb")
    with pytest.raises(UserError, match="cannot be used in a kernel plan"):
        plan.write(plan.cases(manifest.load(path)), tmp_path / "plan")


def test_eight_times_as_many_kernels_are_eight_times_the_work(tmp_path: Path) -> None:
    head, scale = KERNELS.split("[kernels.scale]")
    scale, naive = scale.split("[kernels.naive]")

    def of(count: int) -> int:
        many = [f"[kernels.scale{number}]{scale}" for number in range(count)]
        path = write_manifest(tmp_path, f"{head}{''.join(many)}[kernels.naive]{naive}")
        return calls(lambda: plan.cases(manifest.load(path)))

    assert of(400) < 10 * of(50)


def test_the_largest_plan_is_as_much_work_as_its_cases(tmp_path: Path) -> None:
    kernels = manifest.load(write_manifest(tmp_path))

    def of(count: int) -> int:
        axes = {"n": range(1, count + 1)}
        return calls(lambda: plan.write(plan.cases(kernels, axes=axes), tmp_path / "plan"))

    assert of(10_000) < 12 * of(1000)
