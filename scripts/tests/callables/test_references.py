# SPDX-License-Identifier: Apache-2.0
"""What functions in Python expect of kernels from elsewhere, and the inputs that are drawn."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shell
from manifests import KERNELS, write_manifest
from warpgauge.callables import messages, references
from warpgauge.external import manifest, plan
from warpgauge.external.program import PROGRAM, ExternalKernels
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import UserError

SCALE = "def scale(x):\n    return 2.5 * x\n"
BY_PYTHON = KERNELS.replace('reference = "naive"', 'python = "ref.py:scale"')

Numbers = NDArray[Any]


def read(name: str, type_: str, count: int, *values: str, npy: str | None = None) -> dict[str, Any]:
    known = {"type": type_, "count": count, "values": values, "npy": npy}
    return {name: {**known, "place": f"at {name}", "seed": name}}


def expected(folder: Path, name: str, type_: str, count: int, code: str) -> dict[str, Any]:
    """What the function f of `code` is to return."""
    (folder / "ref.py").write_text(code)
    messages.names_of.cache_clear()
    known = {"type": type_, "count": count, "place": f"at {name}"}
    return {name: {**known, "file": str(folder / "ref.py"), "function": "f"}}


def drawn(folder: Path, type_: str, *values: str, count: int = 4096) -> Numbers:
    """Elements of a buffer as the engine finds them."""
    references.compute(folder / "data", {}, read("x", type_, count, *values), {})
    dtype = {"bf16": "<u2", "e4m3": "|u1", "e5m2": "|u1"}.get(type_)
    return np.fromfile(folder / "data" / "x", dtype or f"<{type_[0]}{int(type_[1:]) // 8}")


def fault(folder: Path, *wanted: Mapping[str, Any], axes: Mapping[str, int] | None = None) -> str:
    with pytest.raises(UserError) as caught:
        references.compute(folder / "data", axes or {}, *wanted)
    return str(caught.value)


@pytest.mark.parametrize(
    ("type_", "values", "least", "most", "different"),
    [
        ("f32", (), -1.5, 1.5, 4096), ("u8", (), 0, 255, 256), ("i32", (), -(2**31), 2**31, 4096),
        ("f64", ("uniform", "2", "3"), 2, 3, 4096), ("u8", ("uniform", "3", "5"), 3, 5, 3),
        ("i64", ("constant", "-7"), -7, -7, 1), ("f16", ("constant", "0.5"), 0.5, 0.5, 1),
        ("f32", ("normal", "10", "0.5"), 7, 13, 4096), ("i8", ("normal", "127", "2"), 115, 127, 10),
        ("f32", ("distinct", "16"), 0, 15, 16), ("i8", ("distinct", "256"), -128, 127, 256),
    ],
)  # fmt: skip
def test_inputs_are_of_their_distribution(
    tmp_path: Path, type_: str, values: Sequence[str], least: float, most: float, different: int
) -> None:
    found = drawn(tmp_path, type_, *values)
    assert least <= found.min() <= found.max() <= most
    assert 0.6 * different <= len(np.unique(found)) <= different


def test_sorted_inputs_ascend_and_usual_ones_keep_from_zero(tmp_path: Path) -> None:
    ascending = drawn(tmp_path / "a", "i32", "sorted", "-5", "1000")
    assert (np.diff(ascending) >= 0).all()
    assert ascending[0] < 0 < 900 < ascending[-1]
    usual = drawn(tmp_path / "b", "f32")
    assert np.abs(usual).min() >= 0.5
    assert usual.min() < 0 < usual.max()


def test_the_same_inputs_are_drawn_again_and_others_for_another_buffer(tmp_path: Path) -> None:
    both = {**read("x", "f32", 64), **read("y", "f32", 64)}
    for folder in ("a", "b"):
        references.compute(tmp_path / folder, {}, both, {})
    first, again, other = ((tmp_path / file).read_bytes() for file in ("a/x", "b/x", "a/y"))
    assert first == again != other


def test_a_function_takes_what_it_names_in_double_precision(tmp_path: Path) -> None:
    saved = tmp_path / "w.npy"
    np.save(saved, np.array([[1, 2], [3, 4]], "<f2"))
    code = "def f(n, w, k, unused=3):\n    assert w.dtype == 'f8' and k.dtype == 'i8'\n"
    code += "    return (n * w.reshape(2, 2) + k.reshape(2, 2)).T"
    inputs = {**read("w", "f16", 4, npy=str(saved)), **read("k", "u8", 4, "constant", "255")}
    references.compute(
        tmp_path / "data", {"n": 10, "m": 1}, inputs, expected(tmp_path, "y", "f32", 4, code)
    )
    found = np.fromfile(tmp_path / "data" / "y.expected", "<f4")
    assert found.tolist() == [265, 285, 275, 295]
    assert not (tmp_path / "data" / "w").exists()  # the engine reads the file itself


def test_several_outputs_are_a_dict_of_one_call_and_what_is_in_place_is_as_before(
    tmp_path: Path,
) -> None:
    code = "calls = []\ndef f(bins):\n    calls.append(1)\n    bins += len(calls)\n"
    code += "    return {'bins': bins, 'y': -bins}"
    outputs = {
        **expected(tmp_path, "bins", "i32", 3, code), **expected(tmp_path, "y", "i32", 3, code)
    }  # fmt: skip
    references.compute(tmp_path / "data", {}, read("bins", "i32", 3, "constant", "5"), outputs)
    data = {name: np.fromfile(tmp_path / "data" / name, "<i4").tolist() for name in
            ("bins", "bins.expected", "y.expected")}  # fmt: skip
    assert data == {"bins": [5] * 3, "bins.expected": [6] * 3, "y.expected": [-6] * 3}


@pytest.mark.parametrize(
    ("type_", "exact", "bits"),
    [
        # Exact, halfway to even (down and up), out of range, NaN.
        ("bf16", [1, 1 + 2**-8, 1 + 3 * 2**-8, -np.inf], [0x3F80, 0x3F80, 0x3F82, 0xFF80]),
        ("e5m2", [-2, 1.125, 1.375, np.inf], [0xC0, 0x3C, 0x3E, 0x7C]),
        ("e4m3", [448, 1.0625, 1.1875, -1e9], [0x7E, 0x38, 0x3A, 0xFE]),
        ("e4m3", [2**-9, 2**-10, 3 * 2**-10, -0.5], [0x01, 0x00, 0x02, 0xB0]),
    ],
)
def test_types_that_numpy_has_not_are_rounded_to_the_nearest(
    tmp_path: Path, type_: str, exact: Sequence[float], bits: Sequence[int]
) -> None:
    code = f"from numpy import inf, nan\ndef f():\n    return [*{exact}, nan]"
    references.compute(tmp_path / "data", {}, {}, expected(tmp_path, "y", type_, 5, code))
    found = np.fromfile(tmp_path / "data" / "y.expected", "<u2" if type_ == "bf16" else "|u1")
    assert found[:4].tolist() == list(bits)
    assert found[4] == (0x7FFF if type_ == "bf16" else 0x7F)


@pytest.mark.parametrize("type_", ["bf16", "e4m3", "e5m2"])
def test_what_such_a_type_holds_is_read_and_written_unchanged(tmp_path: Path, type_: str) -> None:
    dtype = "<u2" if type_ == "bf16" else "|u1"
    bits = np.arange(1 << (8 * np.dtype(dtype).itemsize), dtype=dtype)
    raw = bits.view(f"|V{bits.itemsize}")
    np.save(tmp_path / "x.npy", raw)
    wanted = expected(tmp_path, "y", type_, len(bits), "def f(x):\n    return x")
    references.compute(
        tmp_path / "data", {}, read("x", type_, len(bits), npy=str(tmp_path / "x.npy")), wanted
    )
    found = np.fromfile(tmp_path / "data" / "y.expected", dtype)
    changed = bits[found != bits]
    sign = 1 << (8 * bits.itemsize - 1)
    exponents = {"bf16": 0x7F80, "e4m3": 0x7F, "e5m2": 0x7C}[type_]
    is_nan = (changed & exponents == exponents) & (found[found != bits] & exponents == exponents)
    assert (is_nan | (changed == sign)).all()  # one NaN, and one zero


@pytest.mark.parametrize(
    ("type_", "code", "said"),
    [
        ("f32", "def g(): pass", "ref.py has no function f"),
        ("f32", "import nowhere_at_all", "ref.py cannot be imported: ModuleNotFoundError"),
        ("f32", "def f(x):\n    return x[99:] @ 1", "ValueError"),
        (
            "f32",
            "def f(x, z):\n    return x",
            "takes 'z', but its axes and what the kernel reads a",
        ),
        ("f32", "def f(x):\n    return x[1:]", "f returned 3 elements, but the buffer has 4"),
        ("f32", "def f(x):\n    return {'z': x}", "f returned no 'y', but 'z'"),
        ("f32", "def f(x):\n    return None", "f returned 1 elements"),
        ("u8", "def f(x):\n    return 0 * x + 256", "256.0 is no u8"),
        ("i32", "def f(x):\n    return 0 * x + 0.5", "0.5 is no i32"),
    ],
)
def test_what_a_function_does_wrong_is_one_sentence_with_its_place(
    tmp_path: Path, type_: str, code: str, said: str
) -> None:
    found = fault(tmp_path, read("x", "f32", 4), expected(tmp_path, "y", type_, 4, code))
    assert found.startswith("at y: ")
    assert said in found
    assert "\n" not in found


def test_a_distribution_that_a_type_does_not_hold_is_refused(tmp_path: Path) -> None:
    assert fault(tmp_path, read("x", "u8", 4, "constant", "300"), {}) == "at x: 300.0 is no u8"
    assert "at x: ValueError" in fault(tmp_path / "2", read("x", "u8", 4, "uniform", "3", "2"), {})


@pytest.fixture
def python_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The python3 that is found is the one of these tests."""
    tools = tmp_path / "tools"
    tools.mkdir()
    shell.script(tools / "python3", f'exec {sys.executable} "$@"')
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")


def with_references(folder: Path, code: str, text: str = BY_PYTHON) -> Path:
    (folder / "ref.py").write_text(code)
    return write_manifest(folder, text)


def provided(folder: Path, code: str) -> Path:
    """The folder that was written for the kernels of a manifest, with a built bench_external."""
    path = with_references(folder, code)
    built = folder / "built"
    (built / PROGRAM).parent.mkdir(parents=True, exist_ok=True)
    (built / PROGRAM).touch()
    return ExternalKernels.of(path).provide(built, folder / "where")


@pytest.mark.usefixtures("python_on_path")
def test_a_plan_names_what_python_computed_for_each_case(tmp_path: Path) -> None:
    where = provided(tmp_path, SCALE)
    lines = (where / "kernels.plan").read_text().splitlines()
    for number, n in enumerate((256, 4096)):
        data = where / "data" / str(number)
        assert f"buffer input x f32 {n} {data}/x 0" in lines
        assert f"verify y npy {data}/y.expected 0 0.5 0" in lines
        x, y = (np.fromfile(data / name, "<f4") for name in ("x", "y.expected"))
        assert len(x) == n
        assert y == pytest.approx(2.5 * x, rel=1e-6)
    assert lines.count("kernel") == 2
    provided(tmp_path, SCALE)  # in place of what is there


@pytest.mark.usefixtures("python_on_path")
def test_a_function_that_fails_is_one_sentence_with_its_key(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        provided(tmp_path, SCALE.replace("2.5 * x", "x[:300]"))
    at = f"{tmp_path}/kernels.toml, kernels.scale.verify.y.python at n = 4096: "
    assert str(caught.value).startswith(f"{at}scale returned 300 elements")
    with pytest.raises(UserError, match="references was killed by SIGKILL"):
        provided(tmp_path, "import os\nos.kill(os.getpid(), 9)")


def test_without_numpy_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "np", None)
    answer = tmp_path / "fault"
    (tmp_path / "request").write_text(json.dumps([]))
    assert references.main([str(tmp_path / "request"), str(answer)]) != 0
    assert "NumPy" in answer.read_text()


def test_the_example_of_the_documents_is_a_reference(tmp_path: Path) -> None:
    page = ROOT / "docs/pages/kernels.md"
    section = page.read_text().split("## A reference in Python\n")[1].split("\n## ")[0]
    (line,) = (block.split("```")[0] for block in section.split("```toml\n")[1:])
    (code,) = (block.split("```")[0] for block in section.split("```python\n")[1:])
    text = "".join(line if its.startswith("verify.y") else its for its in KERNELS.splitlines(True))
    (case, _) = plan.cases(manifest.load(with_references(tmp_path, code, text)))
    assert case.references is not None
    references.compute(tmp_path / "data", **case.references)  # type: ignore[arg-type]
    x, y = (np.fromfile(tmp_path / "data" / name, "<f4") for name in ("x", "y.expected"))
    assert y == pytest.approx(2.5 * x, rel=1e-6)


def test_a_file_of_references_is_one_of_those_that_must_not_change(tmp_path: Path) -> None:
    (case, _) = plan.cases(manifest.load(with_references(tmp_path, SCALE)))
    assert case.files == (tmp_path / "scale.cubin", tmp_path / "ref.py")
