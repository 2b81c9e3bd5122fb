# SPDX-License-Identifier: Apache-2.0
"""Entries of Triton kernels: what its compiler tells, of the real one where it is installed."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from warpgauge.external.frameworks import from_triton
from warpgauge.external.write_manifest import KernelEntry
from warpgauge.system.errors import UserError

X = np.zeros(4096, "f4")
EXAMPLES: dict[str, object] = {"x": X, "out": X, "n": 4096, "k": 1, "BLOCK": 1024}


@dataclass
class Compiled:
    """What Triton 3.6 says of a kernel that it compiled for sm_90."""

    changes: dict[str, object] = field(default_factory=dict)
    types: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.metadata = SimpleNamespace(
            **{
                "name": "add",
                "num_warps": 8,
                "num_ctas": 1,
                "shared": 4096,
                "launch_pdl": False,
                "launch_cooperative_grid": False,
                "global_scratch_size": 0,
                "profile_scratch_size": 0,
                "tensordesc_meta": [],
                "target": SimpleNamespace(backend="cuda", arch=90, warp_size=32),
                **self.changes,
            }
        )
        kinds = {"x": "*fp32", "out": "*fp32", "n": "i32", "k": "constexpr", "BLOCK": "constexpr"}
        aligned = [["tt.divisibility", 16]]
        self.src = SimpleNamespace(
            signature={**kinds, **self.types},
            constants={(4,): 1024, (3,): 1},
            attrs={(0,): aligned, (2,): aligned},
        )
        self.asm = {"cubin": b"\x7fELF"}


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Triton whose compiled kernels are ours, for machines without one."""
    fake = SimpleNamespace(compiler=SimpleNamespace(CompiledKernel=Compiled))
    monkeypatch.setitem(sys.modules, "triton", fake)


def _entry(folder: Path, compiled: object, **expressions: str) -> KernelEntry:
    return from_triton(
        compiled,
        ["ceil_div(n, BLOCK)"],
        EXAMPLES,
        name="add",
        folder=folder,
        outputs=["out"],
        axes={"n": [4096, 8192]},
        expressions={"x": "n", "out": "n", "n": "n", **expressions},
        verify={"out": {"reference": "plain"}},
    )


@pytest.mark.usefixtures("sample")
def test_the_launch_and_the_hidden_parameters_are_those_of_triton(tmp_path: Path) -> None:
    entry = _entry(tmp_path, Compiled()).entry
    assert entry["arguments"] == [
        {"input": "x", "type": "f32", "count": "n"},
        {"output": "out", "type": "f32", "count": "n"},
        {"value": "n", "type": "i32"},
        {"null": True},
        {"null": True},
    ]
    assert entry["grid"] == ["ceil_div(n, 1024)"]
    assert (entry["block"], entry["shared"]) == ([256], "4096")
    assert not {"cluster", "programmatic"} & entry.keys()


@pytest.mark.usefixtures("sample")
def test_a_cluster_multiplies_the_grid(tmp_path: Path) -> None:
    entry = _entry(tmp_path, Compiled({"num_ctas": 2, "launch_pdl": True})).entry
    assert entry["grid"] == ["(ceil_div(n, 1024)) * 2"]
    assert (entry["cluster"], entry["programmatic"]) == ([2], True)


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize(
    ("compiled", "what"),
    [
        (Compiled({"global_scratch_size": 128}), "global scratch memory"),
        (Compiled({"profile_scratch_size": 128}), "profile scratch memory"),
        (Compiled({"launch_cooperative_grid": True}), "cooperative launch"),
        (Compiled({"tensordesc_meta": [{"swizzle": 3}]}), "tensor descriptors"),
        (Compiled(types={"x": "tensordesc<fp32[64]>"}), "'x': .* tensor descriptors"),
        (Compiled(types={"x": ("*fp32", "i32")}), "'x': tuples"),
        (Compiled(types={"x": "*fp16"}), "'x': the kernel has f16, but the example is f32"),
        (Compiled(types={"z": "i32"}), "'z': there is no example"),
    ],
)
def test_what_a_manifest_cannot_say_is_refused_by_name(
    tmp_path: Path, compiled: Compiled, what: str
) -> None:
    with pytest.raises(UserError, match=what):
        _entry(tmp_path, compiled)


@pytest.mark.usefixtures("sample")
def test_axes_that_break_what_triton_assumed_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"'n': it is 4097 .* multiples of 16"):
        _entry(tmp_path, Compiled(), n="n + 1")
    with pytest.raises(UserError, match=r"'k': it is 4096 .* compiled it only for 1"):
        _entry(tmp_path, Compiled(), k="n")
    with pytest.raises(UserError, match=r"'BLOCK': it is 8192 .* compiled it only for 1024"):
        _entry(tmp_path, Compiled(), BLOCK="n / n * 1024 + (n - 4096) / 4096 * 7168")


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_a_kernel_that_triton_compiles_for_sm_90(tmp_path: Path) -> None:
    import triton

    from triton_kernels import add_kernel, softmax_kernel

    target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
    kinds = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = triton.compiler.ASTSource(
        add_kernel, kinds, {"BLOCK": 1024}, {(3,): [["tt.divisibility", 16]]}
    )
    compiled = triton.compile(source, target=target, options={"num_warps": 8})
    entry = from_triton(
        compiled,
        ["ceil_div(n, BLOCK)"],
        [X, X, X, 4096],
        name="add",
        folder=tmp_path,
        outputs=["out"],
    ).entry
    assert entry["arguments"] == [
        {"input": "x", "type": "f32", "count": "4096"},
        {"input": "y", "type": "f32", "count": "4096"},
        {"output": "out", "type": "f32", "count": "4096"},
        {"value": "4096", "type": "i32"},
        {"null": True},
        {"null": True},
    ]
    assert compiled.asm["ptx"].count("\t.param ") == 6
    assert f".reqntid {entry['block'][0]}" in compiled.asm["ptx"]  # type: ignore[index]
    assert (tmp_path / "add.cubin").read_bytes() == compiled.asm["cubin"]
    source = triton.compiler.ASTSource(
        softmax_kernel,
        {"x": "*fp32", "out": "*fp32", "columns": "i32", "BLOCK": "constexpr"},
        {"BLOCK": 512},
    )
    compiled = triton.compile(source, target=target)
    softmax = from_triton(
        compiled, [64], [X, X, 500], name="softmax", folder=tmp_path, outputs=["out"]
    )
    assert softmax.entry["block"] == [128]
    assert int(str(softmax.entry["shared"])) > 0


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_what_is_no_kernel_and_what_is_not_tuned_yet_are_refused(tmp_path: Path) -> None:
    import triton

    from triton_kernels import add_kernel

    with pytest.raises(UserError, match=r"add is neither a @triton\.jit function"):
        from_triton(print, [1], [X], name="add", folder=tmp_path)
    tuned = triton.autotune([triton.Config({"BLOCK": 128})], key=["n"])(add_kernel)
    with pytest.raises(UserError, match="Triton has not tuned it yet"):
        from_triton(tuned, [1], [X, X, X, 4096], name="add", folder=tmp_path)
