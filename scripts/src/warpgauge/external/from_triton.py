# SPDX-License-Identifier: Apache-2.0
"""Describes a Triton kernel: the cubin compiled for the example arguments, and its launch.

Triton specialises a kernel for its arguments: an integer 1 becomes a constant, and an integer
divisible by 16 is assumed to stay so. An expression of the axes that violates this is rejected.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from warpgauge.external.kernel_entry import (
    Extent,
    Foreign,
    KernelEntry,
    Options,
    Parameters,
    framework,
    is_scalar,
    named,
)
from warpgauge.system.errors import UserError

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Names of Triton's element types in a manifest, if they differ. A bool is passed as a byte.
_TYPES = {
    "fp64": "f64",
    "fp32": "f32",
    "fp16": "f16",
    "bf16": "bf16",
    "fp8e4nv": "e4m3",
    "fp8e5": "e5m2",
    "i1": "i8",
}
_DIVISIBLE_BY_16 = ["tt.divisibility", 16]


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

    `arguments` are examples, in order or by name, including options like num_warps. An autotuned
    function must have been launched; its best configuration is used. `grid` has expressions of the
    axes and of the function's compile-time constants. Raises UserError for what a manifest cannot
    describe: scratch memory, tensor descriptors, tuples, cooperative launches.
    """
    triton = framework("triton")
    compiled: Foreign = kernel
    if not isinstance(kernel, triton.compiler.CompiledKernel):
        compiled = _compiled(triton, kernel, arguments, name)
    source, metadata = compiled.src, compiled.metadata
    _refuse(name, metadata)
    examples = named([*source.signature], arguments)
    constants = {
        parameter: source.constants[(index,)]
        for index, parameter in enumerate(source.signature)
        if (index,) in source.constants
    }
    divisible = {
        parameter
        for index, parameter in enumerate(source.signature)
        if _DIVISIBLE_BY_16 in source.attrs.get((index,), [])
    }
    parameters = Parameters(name, folder, options)
    for parameter, constant in constants.items():
        parameters.require(
            parameter,
            partial(operator.eq, constant),
            f"Triton compiled it only for {constant}",
        )
    for parameter in divisible:
        if is_scalar(examples.get(parameter)):
            parameters.require(
                parameter,
                lambda value: value % 16 == 0,
                "Triton compiled it only for multiples of 16",
            )
    for parameter, kind in source.signature.items():
        if parameter in constants or kind == "constexpr":
            continue
        if parameter not in examples:
            raise parameters.fault(parameter, "there is no example argument")
        parameters.add(_argument(parameters, parameter, kind, examples[parameter]))
    parameters.add({"null": True}, {"null": True})  # global_scratch, profile_scratch
    extents = [_with_constants(str(extent), constants) for extent in grid]
    launch: dict[str, object] = {
        "shared": str(metadata.shared),
        "programmatic": metadata.launch_pdl,
    }
    if metadata.num_ctas > 1:  # Triton's grid counts clusters, a launch's counts blocks
        extents[0] = f"({extents[0]}) * {metadata.num_ctas}"
        launch["cluster"] = [metadata.num_ctas]
    image = {"cubin": parameters.file("cubin", compiled.asm["cubin"])}
    block = [metadata.num_warps * metadata.target.warp_size]
    return parameters.kernel(image, metadata.name, extents, block, launch)


def _compiled(triton: Foreign, kernel: Foreign, arguments: Foreign, name: str) -> Foreign:
    """Compile for the examples, without a launch."""
    tuned: dict[str, object] = {}
    if isinstance(kernel, triton.runtime.Autotuner):
        best = getattr(kernel, "best_config", None)
        if best is None:
            raise UserError(f"{name}: Triton has not tuned it yet; launch it on the examples first")
        tuned, kernel = best.all_kwargs(), kernel.fn
    if not isinstance(kernel, triton.runtime.KernelInterface):
        raise UserError(f"{name} is neither a @triton.jit function nor a compiled kernel of Triton")
    try:
        return kernel.warmup(grid=(1,), **{**named(kernel.arg_names, arguments), **tuned})
    except Exception as fault:  # from the compiler, the driver, or the arguments
        raise UserError(f"{name}: Triton cannot compile it: {fault}") from fault


def _refuse(name: str, metadata: Foreign) -> None:
    for key, what in (
        ("global_scratch_size", "global scratch memory"),
        ("profile_scratch_size", "profile scratch memory"),
        ("launch_cooperative_grid", "a cooperative launch"),
        ("tensordesc_meta", "tensor descriptors"),
    ):
        if getattr(metadata, key, None):
            raise UserError(f"{name}: it needs {what}, which a manifest cannot describe yet")


def _argument(
    parameters: Parameters, name: str, kind: object, example: object
) -> dict[str, object]:
    if not isinstance(kind, str):
        raise parameters.fault(name, "a tuple cannot be described yet; pass its elements")
    if kind.startswith(("tensordesc", "nvTmaDesc")):
        raise parameters.fault(name, "tensor descriptors cannot be described yet; pass pointers")
    if not kind.startswith("*"):
        return parameters.scalar(name, example, _TYPES.get(kind, kind))
    element = kind[1:].removeprefix("k")  # *kfp32 points to constants
    return parameters.buffer(name, example, _TYPES.get(element, element))


def _with_constants(expression: str, constants: Mapping[str, object]) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda word: str(constants.get(word[0], word[0])), expression)
