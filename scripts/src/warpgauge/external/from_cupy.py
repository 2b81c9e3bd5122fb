# SPDX-License-Identifier: Apache-2.0
"""Describes a cupy.RawKernel or cupy.RawModule: its source with CuPy's options, or its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpgauge.external.kernel_entry import (
    Extent,
    Foreign,
    KernelEntry,
    Options,
    Parameters,
    framework,
    is_scalar,
)
from warpgauge.system.errors import UserError

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Options that CuPy passes to NVRTC besides the user's.
_OPTIONS = ("-ftz=true", "--device-as-default-execution-space")


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

    `arguments` are examples under names of your choice, in the order of the kernel's parameters. As
    in CuPy, a Python int is 64 bits and a float is a double; use NumPy scalars for other types.
    `shared` is dynamic shared memory in bytes. Raises UserError for a kernel that is not raw, and
    for source that NVRTC alone cannot compile.
    """
    cupy = framework("cupy")
    raw: Foreign = kernel
    if not isinstance(kernel, (cupy.RawKernel, cupy.RawModule)):
        raise UserError(f"{name} is neither a cupy.RawKernel nor a cupy.RawModule")
    if isinstance(kernel, cupy.RawKernel):
        symbol = raw.name
    if not symbol:
        raise UserError(f"{name}: give symbol, the name of one of the module's kernels")
    if raw.enable_cooperative_groups:
        raise UserError(f"{name}: a manifest cannot describe a cooperative launch")
    parameters = Parameters(name, folder, options)
    for parameter, example in arguments.items():
        if is_scalar(example):
            number = example if isinstance(example, np.generic) else np.asarray(example)[()]
            parameters.add(parameters.scalar(parameter, number))
        else:
            parameters.add(parameters.buffer(parameter, example))
    if raw.file_path:
        image = parameters.image_of(Path(raw.file_path))
    else:
        image = _source(cupy, parameters, raw)
    return parameters.kernel(image, symbol, grid, block, {"shared": str(shared)})


def _source(cupy: Foreign, parameters: Parameters, raw: Foreign) -> dict[str, object]:
    given = [*map(str, raw.options), *_OPTIONS]
    if raw.backend != "nvrtc" or "-DCUPY_USE_JITIFY" in given:
        raise UserError(f"{parameters.name}: only source for the backend nvrtc can be measured")
    if "<cupy/" in raw.code:
        given.append(f"-I{Path(cupy.__file__).parent / '_core' / 'include'}")
    return {"source": parameters.file("cupy.cu", raw.code), "options": [*dict.fromkeys(given)]}
