# SPDX-License-Identifier: Apache-2.0
"""Describes kernels of Triton, CuPy, Numba, JAX and CUDA extensions as entries of kernels.toml.

All functions take examples of the kernel's arguments, write its code into `folder`, and share the
keyword arguments of `Options`. They raise UserError for what a manifest cannot describe.
"""

from __future__ import annotations

import importlib
import math
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from warpgauge.external.expressions import LARGEST, ExpressionError, evaluate
from warpgauge.external.write_manifest import Extent, KernelEntry, Options, Parameters, is_scalar
from warpgauge.system.errors import UserError
from warpgauge.system.text import listed, quoted

if TYPE_CHECKING:
    from typing_extensions import Unpack

Foreign: TypeAlias = Any  # a framework's object, whose type is not known here

# Names of Triton's element types in a manifest, if they differ. A bool is passed as a byte.
_TRITON_TYPES = {"fp64": "f64", "fp32": "f32", "fp16": "f16", "fp8e4nv": "e4m3", "fp8e5": "e5m2",
                 "i1": "i8"}  # fmt: skip
# Members of the metadata of Triton's compiled kernels.
_UNSUPPORTED = {
    "global_scratch_size": "global scratch memory",
    "profile_scratch_size": "profile scratch memory",
    "launch_cooperative_grid": "a cooperative launch",
    "tensordesc_meta": "tensor descriptors",
}

# Options that CuPy passes to NVRTC besides the user's.
_CUPY_OPTIONS = ("-ftz=true", "--device-as-default-execution-space")
_CUBIN, _FATBIN = b"\x7fELF", b"\x50\xed\x55\xba"  # first bytes

# XLA's launch, and an instruction of its program:
# 001: kCustomKernel [source | sink] loop_add_fusion grid: [32, 1, 1] threads: [128, 1, 1]
# shared_memory: 0 bytes
_LAUNCH = re.compile(
    r"([\w$]+) grid: \[([\d, ]+)\] threads: \[([\d, ]+)\]\s+shared_memory: (\d+) bytes"
)
# ROOT %loop_add_fusion = f32[4096]{0} fusion(%y.1, %x.1), kind=kLoop, ...
_INSTRUCTION = re.compile(
    r"^ +(?:ROOT )?%(\S+) = (?:\([^)]*\)|\S+) ([\w-]+)\(([^)]*)\)(.*)$", re.MULTILINE
)

# A fatbin's header: its magic number, a version, and the lengths of the header and of the images.
_HEADER = struct.Struct("<4sHHQ")
# In a cubin each kernel has a section for its parameters; cuobjdump lists those of compressed ones.
_SECTION = re.compile(rb"\0\.nv\.constant0\.([\w$.]+)(?=\0)")
_LISTED = re.compile(rb"^FUNC\s+GLOBAL\s.*\sENTRY\s+(\S+)$", re.MULTILINE)


def from_triton(
    kernel: object,
    grid: Sequence[Extent],
    arguments: Sequence[object] | Mapping[str, object],
    *,
    name: str,
    folder: Path,
    **options: Unpack[Options],
) -> KernelEntry:
    """Return the entry of a ``@triton.jit`` function, or of the compiled kernel of a launch.

    `arguments` are in order or by name, including options like num_warps. An autotuned function
    must have been launched; its best configuration is used. `grid` has expressions of the axes and
    of the function's compile-time constants.

    Triton specialises a kernel for its arguments: an integer 1 becomes a constant, and an integer
    divisible by 16 is assumed to stay so. An expression of the axes that violates this is refused.
    """
    compiled = _compiled_by_triton(kernel, arguments, name)
    source, metadata = compiled.src, compiled.metadata
    for key, what in _UNSUPPORTED.items():
        if getattr(metadata, key, None):
            raise UserError(f"{name}: it needs {what}, which a manifest cannot describe yet")
    examples = _named([*source.signature], arguments)
    parameters = Parameters(name, folder, options)
    constants: dict[str, object] = {}
    for index, (parameter, kind) in enumerate(source.signature.items()):
        example, wrong, assumed = examples.get(parameter), [], "multiples of 16"
        if (index,) in source.constants:
            constants[parameter] = assumed = source.constants[(index,)]
            wrong = [value for value in _values(parameters, parameter) if value != assumed]
        elif is_scalar(example) and ["tt.divisibility", 16] in source.attrs.get((index,), []):
            wrong = [value for value in _values(parameters, parameter) if value % 16]
        if wrong:
            why = f"it is {wrong[0]} at one value of the axes, but Triton compiled it only for"
            raise parameters.fault(parameter, f"{why} {assumed}")
        if parameter in constants or kind == "constexpr":
            continue
        if not isinstance(kind, str) or kind.startswith(("tensordesc", "nvTmaDesc")):
            why = "tuples and tensor descriptors cannot be described yet; pass elements or pointers"
            raise parameters.fault(parameter, why)
        if example is None:
            raise parameters.fault(parameter, "there is no example argument")
        element = kind.removeprefix("*").removeprefix("k")  # *kfp32 points to constants
        parameters.add(parameter, example, _TRITON_TYPES.get(element, element))
    parameters.arguments += [{"null": True}, {"null": True}]  # global_scratch, profile_scratch
    extents = [
        re.sub(r"[A-Za-z_]\w*", lambda word: str(constants.get(word[0], word[0])), str(extent))
        for extent in grid
    ]
    launch = {"shared": str(metadata.shared), "programmatic": metadata.launch_pdl}
    if metadata.num_ctas > 1:  # Triton's grid counts clusters, a launch's counts blocks
        extents[0] = f"({extents[0]}) * {metadata.num_ctas}"
        launch["cluster"] = [metadata.num_ctas]
    image = {"cubin": parameters.file("cubin", compiled.asm["cubin"])}
    block = [metadata.num_warps * metadata.target.warp_size]
    return parameters.kernel(image, metadata.name, extents, block, **launch)


def _compiled_by_triton(kernel: Foreign, arguments: Foreign, name: str) -> Foreign:
    """Compile for the examples, without a launch."""
    triton: Foreign = importlib.import_module("triton")
    if isinstance(kernel, triton.compiler.CompiledKernel):
        return kernel
    tuned: dict[str, object] = {}
    if isinstance(kernel, triton.runtime.Autotuner):
        best = getattr(kernel, "best_config", None)
        if best is None:
            raise UserError(f"{name}: Triton has not tuned it yet; launch it on the examples first")
        tuned, kernel = best.all_kwargs(), kernel.fn
    if not isinstance(kernel, triton.runtime.KernelInterface):
        raise UserError(f"{name} is neither a @triton.jit function nor a compiled kernel of Triton")
    with _compiling("Triton", name):
        return kernel.warmup(grid=(1,), **{**_named(kernel.arg_names, arguments), **tuned})


def _values(parameters: Parameters, name: str) -> Iterator[int]:
    """Yield the values of a scalar's expression, if it has one, at all points of the axes."""
    expression = parameters.options.get("expressions", {}).get(name)
    axes = parameters.options.get("axes", {})
    points = product(*axes.values()) if expression is not None else ()
    try:
        for point in points:
            yield evaluate(str(expression), dict(zip(axes, point, strict=True)), -LARGEST)
    except ExpressionError as fault:
        raise parameters.fault(name, f"{quoted(str(expression))} {fault.args[0]}") from None


def from_cupy(
    kernel: object,
    grid: Sequence[Extent],
    block: Sequence[Extent],
    arguments: Mapping[str, object],
    *,
    name: str,
    folder: Path,
    symbol: str = "",
    shared: Extent = 0,
    **options: Unpack[Options],
) -> KernelEntry:
    """Return the entry of a RawKernel, or of the kernel `symbol` of a RawModule.

    `arguments` have names of your choice, in the order of the kernel's parameters. As in CuPy, a
    Python int is 64 bits and a float is a double; use NumPy scalars for other types. `shared` is
    dynamic shared memory in bytes. The entry has the source with CuPy's options, or the file.
    """
    cupy: Foreign = importlib.import_module("cupy")
    raw: Foreign = kernel
    if not isinstance(kernel, (cupy.RawKernel, cupy.RawModule)):
        raise UserError(f"{name} is neither a cupy.RawKernel nor a cupy.RawModule")
    if not (symbol := getattr(raw, "name", symbol)):
        raise UserError(f"{name}: give symbol, the name of one of the module's kernels")
    if raw.enable_cooperative_groups:
        raise UserError(f"{name}: a manifest cannot describe a cooperative launch")
    parameters = Parameters(name, folder, options)
    for parameter, example in arguments.items():
        parameters.add(parameter, np.asarray(example)[()] if is_scalar(example) else example)
    image: dict[str, object]
    if raw.file_path:
        content = Path(raw.file_path).read_bytes()
        kind = {_CUBIN: "cubin", _FATBIN: "fatbin"}.get(content[:4], "ptx")
        image = {kind: parameters.file(kind, content)}
    else:
        compiler = [*dict.fromkeys([*map(str, raw.options), *_CUPY_OPTIONS])]
        if raw.backend != "nvrtc" or "-DCUPY_USE_JITIFY" in compiler:
            raise UserError(f"{name}: only source for the backend nvrtc can be measured")
        if "<cupy/" in raw.code:
            compiler.append(f"-I{Path(cupy.__file__).parent / '_core' / 'include'}")
        image = {"source": parameters.file("cupy.cu", raw.code), "options": compiler}
    return parameters.kernel(image, symbol, grid, block, shared=str(shared))


def from_numba(
    kernel: object,
    grid: Sequence[Extent],
    block: Sequence[Extent],
    arguments: Sequence[object] | Mapping[str, object],
    *,
    name: str,
    folder: Path,
    shared: Extent = 0,
    compute_capability: tuple[int, int] | None = None,
    **options: Unpack[Options],
) -> KernelEntry:
    """Return the entry of a ``@cuda.jit`` function, compiled for the example arguments.

    It is compiled for this GPU unless `compute_capability` is given. For a one-dimensional array,
    the expression is its length; arrays of more dimensions keep the shape of the example.
    """
    cuda: Foreign = importlib.import_module("numba.cuda")
    dispatcher: Foreign = kernel
    if not hasattr(dispatcher, "py_func") or not hasattr(dispatcher, "targetoptions"):
        raise UserError(f"{name} is not a function of @numba.cuda.jit")
    code = dispatcher.py_func.__code__
    examples = _named(code.co_varnames[: code.co_argcount], arguments)
    parameters = Parameters(name, folder, options)
    kinds = [dispatcher.typeof_pyval(example) for example in examples.values()]
    for (parameter, example), kind in zip(examples.items(), kinds, strict=True):
        _add_as_numba(parameters, parameter, kind, example)
    given, known = dispatcher.targetoptions, ("fastmath", "opt", "launch_bounds")
    chosen = {key: given[key] for key in known if given.get(key) is not None}
    with _compiling("Numba", name):
        target = compute_capability or cuda.get_current_device().compute_capability
        ptx, _ = cuda.compile_ptx(dispatcher.py_func, (*kinds,), cc=target, **chosen)
    symbol = _symbol(parameters, ptx, r"[\w$]+")
    image = {"ptx": parameters.file("ptx", ptx)}
    return parameters.kernel(image, symbol, grid, block, shared=str(shared))


def _add_as_numba(parameters: Parameters, name: str, kind: Foreign, example: Foreign) -> None:
    """Add what Numba passes for one argument; for an array, the fields of its struct."""
    if is_scalar(example):
        parameters.add(name, np.asarray(example).astype(str(kind))[()])
        return
    if getattr(kind, "layout", None) != "C":
        raise parameters.fault(name, "it is neither a contiguous array nor a number")
    size, shape = kind.dtype.bitwidth // 8, [*example.shape]
    strides = [size * math.prod(shape[at + 1 :]) for at in range(len(shape))]
    buffer = parameters.add(name, example)
    if len(shape) == 1:
        shape = [buffer["count"]]
    numbers = (buffer["count"], size, *shape, *strides)
    count, itemsize, *rest = [_i64(number) for number in numbers]
    null: dict[str, object] = {"null": True}  # meminfo, parent
    parameters.arguments[-1:] = [null, null, count, itemsize, buffer, *rest]


def _i64(value: object) -> dict[str, object]:
    return {"value": str(value), "type": "i64"}


def from_jax(
    function: object,
    arguments: Sequence[object],
    *,
    name: str,
    folder: Path,
    **options: Unpack[Options],
) -> KernelEntry:
    """Return the entry of the one kernel that XLA makes of ``jax.jit(...)`` for `arguments`.

    Inputs are named after the function's parameters; outputs are named by `outputs`, or else out,
    or out0, out1, ... for several. An axis has one value, because shapes are fixed. Needs a GPU.
    """
    jax: Foreign = importlib.import_module("jax")
    jitted: Foreign = function
    if not hasattr(jitted, "lower"):
        raise UserError(f"{name} is not a function of jax.jit")
    if any(len(values) > 1 for values in options.get("axes", {}).values()):
        raise UserError(f"{name}: XLA compiles for one shape; make an entry for each value")
    with tempfile.TemporaryDirectory() as dump:
        flags = {
            "xla_dump_to": dump,
            "xla_dump_hlo_as_text": True,
            "xla_dump_emitter_re": ".*",  # since JAX 0.11, PTX is dumped only with this option
        }
        with _compiling("XLA", name):
            program = jitted.lower(*arguments).compile(compiler_options=flags).as_text()
        symbol, grid, block, shared, ptx = _dumped_by_xla(Path(dump), program, name)
    leaves = [jax.numpy.asarray(leaf) for leaf in jax.tree.leaves(arguments)]
    results = jax.tree.leaves(jax.eval_shape(jitted, *arguments))
    numbered = [f"out{i}" for i in range(len(results))] if len(results) > 1 else ["out"]
    outputs = options.get("outputs", numbered)
    if len(outputs) != len(results):
        raise UserError(f"{name}: {len(outputs)} names for the {len(results)} outputs")
    parameters = Parameters(name, folder, {**options, "outputs": outputs})
    for parameter, array in _inputs_of_xla(program, symbol, leaves).items():
        parameters.add(parameter, array)
    for output, result in zip(outputs, results, strict=True):
        parameters.add(output, result)
    symbol = _symbol(parameters, ptx, re.escape(symbol))
    image = {"ptx": parameters.file("ptx", ptx)}
    extents = ([int(size) for size in sizes.split(",")] for sizes in (grid, block))
    return parameters.kernel(image, symbol, *extents, shared=shared)


def _dumped_by_xla(dump: Path, program: str, name: str) -> tuple[str, ...]:
    """Return the only kernel's symbol, grid, block, bytes of shared memory, and PTX."""
    module = program.split(None, 2)[1].rstrip(",")  # HloModule jit_add, ...
    sequences = sorted(dump.glob(f"*.{module}.thunk_sequence.txt"))
    if not sequences:
        raise UserError(f"{name}: XLA made no kernel; check that JAX sees a GPU")
    steps = sequences[-1].read_text()
    launch, count = _LAUNCH.search(steps), len(steps.splitlines())
    if launch is None or count > 1:
        raise UserError(f"{name}: XLA makes {count} steps of it, not one kernel; jit a part of it")
    prefix = sequences[-1].name.removesuffix(".thunk_sequence.txt")
    texts = (path.read_text() for path in sorted(dump.glob(f"{prefix}.*ptx")))
    return *launch.groups(), next((ptx for ptx in texts if f".entry {launch[1]}" in ptx), "")


def _inputs_of_xla(program: str, symbol: str, leaves: Sequence[object]) -> dict[str, object]:
    """Return the kernel's inputs by name, in the order of its HLO instruction's operands."""
    known = {name: its for name, *its in _INSTRUCTION.findall(program, program.index("\nENTRY "))}
    if sum(kind == "parameter" for kind, *_ in known.values()) != len(leaves):
        return {}  # an argument that is not used has no parameter, and the others' numbers change
    made = next((its for name, its in known.items() if re.sub(r"\W", "_", name) == symbol), None)
    inputs = {}
    for operand in re.findall(r"%([^\s,]+)", made[1] if made else ""):
        kind, number, rest = known[operand]
        if kind == "parameter":
            label = re.search(r'op_name="([^"]*)"', rest)
            name = re.sub(r"\W+", "_", label[1] if label else operand).strip("_")
            inputs[name] = leaves[int(number)]
    return inputs


def from_torch_extension(
    library: Path,
    symbol: str,
    grid: Sequence[Extent],
    block: Sequence[Extent],
    arguments: Mapping[str, object],
    *,
    name: str,
    folder: Path,
    shared: Extent = 0,
    **options: Unpack[Options],
) -> KernelEntry:
    """Return the entry of the kernel `symbol`: a mangled name, or a plain name if it is unique.

    `library` is a shared library built by nvcc or torch.utils.cpp_extension. `arguments` have names
    of your choice, in the order of the kernel's parameters: arrays, and NumPy scalars, whose type
    is that of the parameter.
    """
    parameters = Parameters(name, folder, options)
    kernels = {found: fatbin for fatbin in _fatbins(library) for found in _kernels(fatbin)}
    plain = re.compile(rf"_Z\w*(?<!\d){len(symbol)}{re.escape(symbol)}")
    chosen = [symbol] if symbol in kernels else sorted(filter(plain.match, kernels))
    if len(chosen) != 1:
        has = "has several kernels of the name" if chosen else "has no kernel"
        there = listed(chosen or sorted(kernels)) or "none"
        compressed = "for compressed code put cuobjdump on PATH, or build with nvcc --no-compress"
        raise UserError(f"{library} {has} {quoted(symbol)}; choose one of {there}; {compressed}")
    for parameter, example in arguments.items():
        parameters.add(parameter, example)
    image = {"fatbin": parameters.file("fatbin", kernels[chosen[0]])}
    return parameters.kernel(image, chosen[0], grid, block, shared=str(shared))


def _fatbins(library: Path) -> Iterator[bytes]:
    """Yield the fatbins of all translation units."""
    content = library.read_bytes()
    at = content.find(_FATBIN)
    while 0 <= at <= len(content) - _HEADER.size:
        _, version, header, length = _HEADER.unpack_from(content, at)
        if version == 1 and header == _HEADER.size and at + header + length <= len(content):
            yield content[at : at + header + length]
        at = content.find(_FATBIN, at + 1)


def _kernels(fatbin: bytes) -> set[str]:
    """Return the mangled names of a fatbin's kernels; of a compressed one, if cuobjdump exists."""
    names, tool = _SECTION.findall(fatbin), shutil.which("cuobjdump")
    if not names and tool is not None:
        with tempfile.NamedTemporaryFile(suffix=".fatbin") as file:
            file.write(fatbin)
            file.flush()
            done = subprocess.run([tool, "-symbols", file.name], capture_output=True)
        names = _LISTED.findall(done.stdout)
    return {found.decode() for found in names}


def _symbol(parameters: Parameters, ptx: str, pattern: str) -> str:
    """Return the kernel of a PTX. Raises UserError unless it has the parameters that are known."""
    entry = re.search(rf"\.entry\s+({pattern})\s*\(([^)]*)\)", ptx)
    count, known = entry[2].count(".param") if entry else 0, len(parameters.arguments)
    if entry is None or count != known:
        fault = f"its PTX has {count} parameters, but {known} are known; it cannot be described"
        raise UserError(f"{parameters.name}: {fault}")
    return entry[1]


def _named(
    names: Sequence[str], given: Sequence[object] | Mapping[str, object]
) -> dict[str, object]:
    """Return the examples by parameter name. Raises UserError for too many."""
    if isinstance(given, Mapping):
        return dict(given)
    if len(given) > len(names):
        raise UserError(f"{len(given)} arguments for the {len(names)} parameters {listed(names)}")
    return dict(zip(names, given, strict=False))


@contextmanager
def _compiling(framework: str, name: str) -> Iterator[None]:
    """Turn whatever the compiler, the driver or the arguments raise into a UserError."""
    try:
        yield
    except Exception as fault:
        raise UserError(f"{name}: {framework} cannot compile it: {fault}") from fault
