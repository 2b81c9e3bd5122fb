# SPDX-License-Identifier: Apache-2.0
"""Kernels of each framework, measured: verified against a reference, and as long as CUPTI says.

Needs a GPU, the built bench_external, and the framework. Each framework works in a process of its
own, which is gone when the kernels are measured: another process on the GPU would disturb them. The
kernels of all frameworks are measured by one command, which takes a fifth of the time of five.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import stdev
from typing import Any

import numpy as np
import pytest

from fidelity import command
from warpgauge.external.frameworks import (
    Foreign,
    from_cupy,
    from_jax,
    from_numba,
    from_torch_extension,
    from_triton,
)
from warpgauge.external.write_manifest import (
    KernelEntry,
    Options,
    Parameters,
    write_manifest,
)
from warpgauge.system.environment import ROOT
from warpgauge.system.process import nvidia_smi

PROGRAMS = ROOT / "build" / "release" / "benchmarks"
SIZES = [1 << 12, 1 << 16, 1 << 20, 1 << 24]
ROWS, COLUMNS = 4096, 1000

ADD = """
template <class T> __device__ void add_one(const T* x, const T* y, T* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + y[i];
}
extern "C" __global__ void add(const float* x, const float* y, float* out, int n) {
  add_one(x, y, out, n);
}
"""
SOFTMAX = """
extern "C" __global__ void softmax(const float* x, float* out, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* in = x + static_cast<size_t>(row) * columns;
  float most = in[0];
  for (int i = 1; i < columns; ++i) most = fmaxf(most, in[i]);
  double sum = 0;
  for (int i = 0; i < columns; ++i) sum += exp(static_cast<double>(in[i]) - most);
  for (int i = 0; i < columns; ++i)
    out[static_cast<size_t>(row) * columns + i] = exp(static_cast<double>(in[i]) - most) / sum;
}
"""


pytestmark = [
    pytest.mark.skipif(not nvidia_smi("-L"), reason="there is no GPU"),
    pytest.mark.skipif(
        not (PROGRAMS / "bench_external").exists(), reason="bench_external is not built"
    ),
    pytest.mark.filterwarnings("ignore"),  # of the frameworks
]


def _options(folder: Path, **more: object) -> Foreign:
    """Of a vector add, for all sizes."""
    return {
        "folder": folder,
        "outputs": ["out"],
        "axes": {"n": SIZES},
        "expressions": dict.fromkeys(["x", "y", "out", "n"], "n"),
        "verify": {"out": {"reference": "add_reference", "relative": 0.0, "absolute": 0.0}},
        "bytes": "12 * n",
        **more,
    }


def _reference(
    folder: Path, source: str, symbol: str, rows: str, counts: Sequence[str]
) -> KernelEntry:
    """A reference in CUDA C++, whose buffers but `out` are its inputs."""
    options: Options = {"outputs": ["out"], "axes": {"n": SIZES}, "reference_only": True}
    if symbol == "softmax":
        options["axes"] = {"n": [ROWS]}
    parameters = Parameters(f"{symbol}_reference", folder, options)
    for name in ("x", "y", "out") if symbol == "add" else ("x", "out"):
        parameters.add(name, np.zeros(1, "f4"))["count"] = counts[0]
    for value in counts[1:]:
        parameters.arguments.append({"value": value, "type": "i32"})
    image: dict[str, object] = {"source": parameters.file("cu", source)}
    return parameters.kernel(image, symbol, [f"ceil_div({rows}, 256)"], [256])


def _add_reference(folder: Path) -> KernelEntry:
    return _reference(folder, ADD, "add", "n", ["n", "n"])


def _softmax_reference(folder: Path) -> KernelEntry:
    return _reference(folder, SOFTMAX, "softmax", "n", [f"n * {COLUMNS}", "n", str(COLUMNS)])


def triton_entries(folder: Path) -> list[KernelEntry]:
    torch: Foreign = importlib.import_module("torch")
    import triton

    from triton_kernels import add_kernel, softmax_kernel

    x, y = (torch.rand(SIZES[-1], device="cuda") for _ in range(2))
    examples = [x, y, torch.empty_like(x), SIZES[-1]]
    grid = ["ceil_div(n, BLOCK)"]
    options = _options(folder)
    named = dict(zip(["x", "y", "out", "n"], examples, strict=True))
    wide = from_triton(
        add_kernel, grid, {**named, "BLOCK": 1024, "num_warps": 8}, name="add", **options
    )
    tuned = triton.autotune(
        [triton.Config({"BLOCK": block}, num_warps=block // 128) for block in (512, 1024)],
        key=["n"],
    )(add_kernel)
    tuned[lambda meta: (triton.cdiv(SIZES[-1], meta["BLOCK"]),)](*examples)
    best = from_triton(tuned, grid, examples, name="add_tuned", **options)

    rows = torch.rand(ROWS, COLUMNS, device="cuda")
    launched = softmax_kernel[(ROWS,)](rows, torch.empty_like(rows), COLUMNS, BLOCK=1024)
    fused = from_triton(
        launched,
        ["n"],
        [rows, torch.empty_like(rows), COLUMNS],
        name="softmax",
        folder=folder,
        outputs=["out"],
        axes={"n": [ROWS]},
        verify={"out": {"reference": "softmax_reference", "relative": 1e-5, "absolute": 1e-9}},
        bytes=8 * ROWS * COLUMNS,
    )
    return [wide, best, fused]


def cupy_entries(folder: Path) -> list[KernelEntry]:
    cupy: Foreign = importlib.import_module("cupy")
    x = cupy.zeros(SIZES[-1], "f4")
    examples = {"x": x, "y": x, "out": x, "n": np.int32(SIZES[-1])}
    grid, options = ["ceil_div(n, 256)"], _options(folder)
    raw = from_cupy(cupy.RawKernel(ADD, "add"), grid, [256], examples, name="raw", **options)
    templated = ADD.replace("__device__ void", "__global__ void").partition('extern "C"')[0]
    module = cupy.RawModule(code=templated, name_expressions=["add_one<float>"])
    template = from_cupy(
        module, grid, [256], examples, name="template", symbol="add_one<float>", **options
    )
    return [raw, template]


def numba_entries(folder: Path) -> list[KernelEntry]:
    cuda: Foreign = importlib.import_module("numba.cuda")

    def add(x: Foreign, y: Foreign, out: Foreign, n: Foreign) -> None:
        i = cuda.grid(1)
        if i < n:
            out[i] = x[i] + y[i]

    x = cuda.to_device(np.zeros(SIZES[-1], "f4"))
    kernel = from_numba(
        cuda.jit(add),
        ["ceil_div(n, 256)"],
        [256],
        [x, x, x, np.int32(SIZES[-1])],
        name="add",
        **_options(folder),
    )
    return [kernel]


def jax_entries(folder: Path) -> list[KernelEntry]:
    jax: Foreign = importlib.import_module("jax")
    add, softmax = jax.jit(lambda x, y: x + y), jax.jit(jax.nn.softmax)
    random = np.random.default_rng(1)
    kernels = []
    for size in SIZES:
        x, y = (random.random(size, "f4") for _ in range(2))
        options = _options(
            folder, axes={"n": [size]}, verify={"out": {"npy": x + y, "relative": 0.0}}
        )
        kernels.append(from_jax(add, [x, y], name=f"add_{size}", **options))
    rows = random.random((ROWS, COLUMNS), "f4")
    expected = {"npy": np.asarray(softmax(rows)), "relative": 1e-5, "absolute": 1e-9}
    kernels.append(
        from_jax(softmax, [rows], name="softmax", folder=folder, verify={"out": expected})
    )
    return kernels


def torch_extension_entries(folder: Path) -> list[KernelEntry]:
    torch: Foreign = importlib.import_module("torch")
    extension: Foreign = importlib.import_module("torch.utils.cpp_extension")
    launch = "void launch(torch::Tensor x, torch::Tensor y, torch::Tensor out)"
    pointers = ", ".join(f"{name}.data_ptr<float>()" for name in ("x", "y", "out"))
    body = f"{{ const int n = x.numel(); add<<<(n + 255) / 256, 256>>>({pointers}, n); }}"
    built = extension.load_inline(
        name="warpgauge_test",
        cpp_sources=f"{launch};",
        cuda_sources=f"{ADD}\n{launch} {body}",
        functions=["launch"],
        build_directory=str(folder),
    )
    x = torch.zeros(SIZES[-1], device="cuda")
    kernel = from_torch_extension(
        Path(built.__file__),
        "add",
        ["ceil_div(n, 256)"],
        [256],
        {"x": x, "y": x, "out": x, "n": np.int32(SIZES[-1])},
        name="add",
        **_options(folder),
    )
    return [kernel]


WORLDS: Mapping[str, tuple[str, Callable[[Path], list[KernelEntry]]]] = {
    "triton": ("triton", triton_entries),
    "cupy": ("cupy", cupy_entries),
    "numba": ("numba", numba_entries),
    "jax": ("jax_plugins", jax_entries),  # the one for GPUs
    "torch": ("torch", torch_extension_entries),
}


def _entries(world: str, folder: Path) -> list[KernelEntry] | str:
    """The kernels of a framework, their names beginning with its own; why there are none."""
    module, entries = WORLDS[world]
    if importlib.util.find_spec(module) is None:
        return f"{module} is not installed"
    (folder / world).mkdir()
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        found = process.submit(entries, folder / world).result()
    return [replace(one, name=f"{world}_{one.name}") for one in found]


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any] | Exception | str]:
    """By framework what the command found of its kernels, or why there is nothing."""
    folder = tmp_path_factory.mktemp("frameworks")
    missing: dict[str, Exception | str] = {}
    kernels = [reference(folder) for reference in (_add_reference, _softmax_reference)]
    for world in WORLDS:
        try:
            made = _entries(world, folder)
        except Exception as fault:  # the others are measured all the same
            missing[world] = fault
            continue
        if isinstance(made, str):
            missing[world] = made
        else:
            kernels += made
    write_manifest(folder / "kernels.toml", kernels)
    out = folder / "findings.json"
    command.main([f"{folder}/kernels.toml", f"--format=json={out}"], ROOT)
    measured: dict[str, list[Any]] = {world: [] for world in WORLDS}
    for one in json.loads(out.read_text())["benchmarks"]:
        measured[one["name"].split("/")[1].partition("_")[0]].append(one)
    return {**measured, **missing}


@pytest.mark.parametrize("world", WORLDS)
def test_the_kernels_of_a_framework_take_as_long_as_cupti_says(
    world: str, findings: Mapping[str, list[Any] | Exception | str]
) -> None:
    rows = findings[world]
    if isinstance(rows, str):
        pytest.skip(rows)
    if isinstance(rows, Exception):
        raise rows
    assert rows
    for row in rows:
        print(json.dumps(row))  # with -s
    # Of many short blocks CUPTI adds more than a time may differ by, and can tell neither.
    assert [row for row in rows if row.get("verdict") not in {"within", "DISTURBED"}] == []
    # A tick of the event's clock is 32 ns, which several operations share.
    scatter = {row["name"]: stdev(row["process_medians_ns"]) for row in rows}
    allowed = {row["name"]: max(0.003 * row["replay_ns"], 8) for row in rows}
    assert {name: ns for name, ns in scatter.items() if not ns <= allowed[name]} == {}
