# SPDX-License-Identifier: Apache-2.0
"""Describes a kernel that XLA compiles from a jitted JAX function, taken from XLA's dump."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warpgauge.external.kernel_entry import Foreign, KernelEntry, Options, Parameters, framework
from warpgauge.system.errors import UserError
from warpgauge.system.text import listed

if TYPE_CHECKING:
    from typing_extensions import Unpack

# 001: kCustomKernel [source | sink] loop_add_fusion grid: [32, 1, 1] threads: [128, 1, 1]
# shared_memory: 0 bytes
_LAUNCH = re.compile(
    r"(?P<symbol>[\w$]+) grid: \[(?P<grid>[\d, ]+)\] threads: \[(?P<block>[\d, ]+)\]\s+"
    r"shared_memory: (?P<shared>\d+) bytes"
)
# ROOT %loop_add_fusion = f32[4096]{0} fusion(%y.1, %x.1), kind=kLoop, ...
_INSTRUCTION = re.compile(
    r"^ +(?:ROOT )?%(\S+) = (\([^)]*\)|\S+) ([\w-]+)\(([^)]*)\)(.*)$", re.MULTILINE
)
_SHAPE = re.compile(r"(\w+)\[([\d,]*)\]")
_TYPES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "s64": "int64",
    "s32": "int32",
    "s8": "int8",
    "u32": "uint32",
    "u8": "uint8",
}


@dataclass(frozen=True)
class _Array:
    """An array of the compiled program; NumPy reads its data if it is an argument."""

    dtype: str
    shape: tuple[int, ...]
    data: object = None

    def __array__(self, *_: object, **__: object) -> np.ndarray[Any, Any]:
        if self.data is None:
            raise UserError("XLA computes one of the inputs itself; verify with a reference kernel")
        return np.asarray(self.data).astype(self.dtype).reshape(self.shape)


def from_jax(
    function: object,
    arguments: Sequence[object],
    *,
    name: str,
    folder: Path,
    symbol: str = "",
    **options: Unpack[Options],
) -> KernelEntry:
    """Return the entry of the kernel that XLA makes of ``jax.jit(...)`` for these `arguments`.

    Inputs are named after the function's parameters; outputs are named by `outputs`, or else out,
    or out0, out1, ... for several. An axis has one value, because shapes are fixed. If XLA makes
    several kernels, select one by `symbol`. Raises UserError, also if there is no GPU.
    """
    jax = framework("jax")
    jitted: Foreign = function
    if not hasattr(jitted, "lower"):
        raise UserError(f"{name} is not a function of jax.jit")
    if any(len(values) > 1 for values in options.get("axes", {}).values()):
        raise UserError(f"{name}: XLA compiles for one shape; make an entry for each value")
    with tempfile.TemporaryDirectory() as folder_of_dump:
        flags = {
            "xla_dump_to": folder_of_dump,
            "xla_dump_hlo_as_text": True,
            "xla_dump_emitter_re": ".*",  # since JAX 0.11, PTX is dumped only with this option
        }
        try:
            program = jitted.lower(*arguments).compile(compiler_options=flags).as_text()
        except Exception as fault:  # from the compiler or the driver
            raise UserError(f"{name}: XLA cannot compile it: {fault}") from fault
        launch, ptx = _dumped(Path(folder_of_dump), program, symbol, name)
    inputs, outputs = _operands(program, launch["symbol"], jax.tree.leaves(arguments), name)
    numbered = [f"out{i}" for i in range(len(outputs))] if len(outputs) > 1 else ["out"]
    names = options.get("outputs", numbered)
    if len(names) != len(outputs):
        raise UserError(f"{name}: {len(names)} names for the {len(outputs)} outputs of the kernel")
    parameters = Parameters(name, folder, {**options, "outputs": names})
    for parameter, array in [*inputs.items(), *zip(names, outputs, strict=True)]:
        parameters.add(parameters.buffer(parameter, array))
    entry = re.search(rf"\.entry\s+{re.escape(launch['symbol'])}\s*\(([^)]*)\)", ptx)
    count = entry[1].count(".param") if entry else 0
    if count != len(parameters.arguments):
        raise UserError(
            f"{name}: the kernel {launch['symbol']} has {count} parameters, but "
            f"{len(parameters.arguments)} arrays are known; it cannot be described"
        )
    grid, block = ([int(n) for n in launch[key].split(",")] for key in ("grid", "block"))
    image: dict[str, object] = {"ptx": parameters.file("ptx", ptx)}
    return parameters.kernel(image, launch["symbol"], grid, block, {"shared": launch["shared"]})


def _dumped(dump: Path, program: str, symbol: str, name: str) -> tuple[dict[str, str], str]:
    """Return the launch of the only kernel, or of `symbol`, and its PTX."""
    module = program.split(None, 2)[1].rstrip(",")  # HloModule jit_add, ...
    sequences = sorted(dump.glob(f"*.{module}.thunk_sequence.txt"))
    if not sequences:
        raise UserError(f"{name}: XLA made no kernel; check that JAX sees a GPU")
    lines = sequences[-1].read_text().splitlines()
    launches = [found.groupdict() for line in lines if (found := _LAUNCH.search(line))]
    chosen = [launch for launch in launches if symbol in ("", launch["symbol"])]
    if not chosen or (not symbol and len(lines) > 1):
        there = listed([launch["symbol"] for launch in launches]) or "none that it describes"
        raise UserError(
            f"{name}: XLA needs {len(lines)} steps, with the kernels {there}; give one of them as "
            "symbol"
        )
    prefix = sequences[-1].name.removesuffix(".thunk_sequence.txt")
    texts = (path.read_text() for path in sorted(dump.glob(f"{prefix}.*ptx")))
    declared = re.compile(rf"\.entry\s+{re.escape(chosen[0]['symbol'])}\b")
    return chosen[0], next((text for text in texts if declared.search(text)), "")


def _operands(
    program: str, symbol: str, leaves: Sequence[object], name: str
) -> tuple[dict[str, _Array], list[_Array]]:
    """Return the kernel's inputs by name, and its outputs, from its HLO instruction."""
    entry = program[program.index("\nENTRY ") :]
    known = {found[1]: found for found in _INSTRUCTION.finditer(entry)}
    made = next((i for i in known.values() if re.sub(r"\W", "_", i[1]) == symbol), None)
    if made is None:
        raise UserError(f"{name}: XLA's program does not say what the kernel {symbol} reads")
    inputs = {}
    for operand in re.findall(r"%([^\s,]+)", made[4]):
        (array,) = _arrays(known[operand][2])
        label = re.search(r'op_name="([^"]*)"', known[operand][5])
        called = label[1] if label and known[operand][3] == "parameter" else operand
        parameter = re.sub(r"\W+", "_", called).strip("_")
        if known[operand][3] == "parameter" and len(leaves) > int(known[operand][4]):
            array = _Array(array.dtype, array.shape, leaves[int(known[operand][4])])
        inputs[parameter] = array
    return inputs, _arrays(made[2])


def _arrays(shape: str) -> list[_Array]:
    """Return the arrays of ``f32[128,512]{1,0}``, or of a tuple of such shapes."""
    return [
        _Array(_TYPES.get(kind, kind), tuple(int(n) for n in extents.split(",") if n))
        for kind, extents in _SHAPE.findall(shape)
    ]
