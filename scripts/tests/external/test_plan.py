# SPDX-License-Identifier: Apache-2.0
"""The kernel plan has every case as the manifest means it, and nothing that cannot be launched."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from manifests import KERNELS, write_manifest
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
