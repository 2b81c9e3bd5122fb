# SPDX-License-Identifier: Apache-2.0
"""Entries of XLA's kernels, from what XLA dumps when it compiles for an H100."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from warpgauge.external.frameworks import from_jax
from warpgauge.external.write_manifest import KernelEntry, Options
from warpgauge.system.errors import UserError

X, Y = np.arange(4096, dtype="f4"), np.ones(4096, "f4")

ADD = """\
HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[4096]{0}, f32[4096]{0})->f32[4096]{0}}

%fused_add (param_0.3: f32[4096], param_1.5: f32[4096]) -> f32[4096] {
  %param_1.5 = f32[4096]{0} parameter(1)
  ROOT %add.2.0 = f32[4096]{0} add(%param_1.5, %param_0.3), metadata={op_name="jit(f)/add"}
}

ENTRY %main.1 (x.1: f32[4096], y.1: f32[4096]) -> f32[4096] {
  %y.1 = f32[4096]{0} parameter(1), sharding={replicated}, metadata={op_name="y"}
  %x.1 = f32[4096]{0} parameter(0), sharding={replicated}, metadata={op_name="x"}
  ROOT %loop_add_fusion = f32[4096]{0} fusion(%y.1, %x.1), kind=kLoop, calls=%fused_add
}
"""  # noqa: E501
ADD_STEPS = [
    "001: kCustomKernel [source | sink] loop_add_fusion grid: [32, 1, 1] threads: [128, 1, 1]  "
    "shared_memory: 1024 bytes"
]
SEVERAL_STEPS = [
    "001: kCopy         [source       | next=002 (1)] kCopy",
    "002: kCustomKernel [prev=001 (1) | next=003 (1)] sort_6_1 grid: [128, 1, 1] "
    "threads: [32, 1, 1]  shared_memory: 0 bytes",
    "003: kCustomKernel [prev=003 (1) | sink        ] loop_reduce_fusion grid: [128, 2, 1] "
    "threads: [128, 1, 1]  shared_memory: 0 bytes",
]


def _ptx(symbol: str, parameters: int) -> str:
    declared = (f"\t.param .u64 .ptr .align 16 {symbol}_param_{i}" for i in range(parameters))
    return f".version 9.0\n.visible .entry {symbol}(\n{','.join(declared)}\n)\n.reqntid 128, 1, 1\n"


@dataclass
class Jitted:
    """A jitted function, of which XLA writes this when it compiles it."""

    program: str = ADD
    steps: Sequence[str] = tuple(ADD_STEPS)
    ptx: str = _ptx("loop_add_fusion", 3)

    def lower(self, *arguments: object) -> Jitted:
        return self

    def compile(self, compiler_options: Mapping[str, object]) -> Jitted:
        begin = f"{compiler_options['xla_dump_to']}/module_0001.jit_f"
        Path(f"{begin}.1.ptx").write_text(self.ptx)
        Path(f"{begin}.2.ptx").write_text("")
        if self.steps:
            Path(f"{begin}.thunk_sequence.txt").write_text("\n".join(self.steps))
        return self

    def as_text(self) -> str:
        return self.program


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """A JAX for machines without one."""
    fake = SimpleNamespace(
        tree=SimpleNamespace(leaves=list),
        numpy=SimpleNamespace(asarray=np.asarray),
        eval_shape=lambda function, *arguments: [X],
    )
    monkeypatch.setitem(sys.modules, "jax", fake)


def _entry(folder: Path, jitted: object, **options: object) -> KernelEntry:
    chosen: Options = options  # type: ignore[assignment]
    return from_jax(jitted, [X, Y], name="add", folder=folder, **chosen)


@pytest.mark.usefixtures("sample")
def test_one_fusion_is_a_kernel_with_its_launch_and_its_arrays(tmp_path: Path) -> None:
    entry = _entry(tmp_path, Jitted(), axes={"n": [4096]}).entry
    assert entry["arguments"] == [
        {"input": "y", "type": "f32", "count": "4096"},
        {"input": "x", "type": "f32", "count": "4096"},
        {"output": "out", "type": "f32", "count": "4096"},
    ]
    assert (entry["grid"], entry["block"]) == (["32", "1", "1"], [128, 1, 1])
    assert (entry["symbol"], entry["shared"]) == ("loop_add_fusion", "1024")
    assert (tmp_path / "add.ptx").read_text() == _ptx("loop_add_fusion", 3)


@pytest.mark.usefixtures("sample")
def test_the_arguments_are_saved_by_the_names_of_the_program(tmp_path: Path) -> None:
    _entry(tmp_path, Jitted(), outputs=["sum"], verify={"sum": {"npy": X + Y, "relative": 0.0}})
    np.testing.assert_array_equal(np.load(tmp_path / "add.x.npy"), X)
    np.testing.assert_array_equal(np.load(tmp_path / "add.y.npy"), Y)
    np.testing.assert_array_equal(np.load(tmp_path / "add.sum.npy"), X + Y)


@pytest.mark.usefixtures("sample")
def test_what_xla_does_not_say_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has 4 parameters, but 3 are known"):
        _entry(tmp_path, Jitted(ptx=_ptx("loop_add_fusion", 4)))
    unused = ADD.replace("  %x.1 = f32[4096]{0} parameter(0)", "  %x.1 = f32[4096]{0} constant(0)")
    with pytest.raises(UserError, match="has 3 parameters, but 1 are known"):
        _entry(tmp_path, Jitted(unused))
    with pytest.raises(UserError, match="XLA makes 3 steps of it, not one kernel"):
        _entry(tmp_path, Jitted(steps=SEVERAL_STEPS))
    with pytest.raises(UserError, match="check that JAX sees a GPU"):
        _entry(tmp_path, Jitted(steps=[]))
    with pytest.raises(UserError, match="2 names for the 1 outputs"):
        _entry(tmp_path, Jitted(), outputs=["a", "b"])
    with pytest.raises(UserError, match="compiles for one shape"):
        _entry(tmp_path, Jitted(), axes={"n": [4096, 8192]})
    with pytest.raises(UserError, match=r"not a function of jax\.jit"):
        _entry(tmp_path, print)


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
def test_without_a_gpu_jax_gives_no_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    import jax

    if jax.default_backend() != "cpu":
        pytest.skip("JAX works on a GPU here")
    with pytest.raises(UserError, match="check that JAX sees a GPU"):
        _entry(tmp_path, jax.jit(lambda x, y: x + y))
