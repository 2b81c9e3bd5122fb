# SPDX-License-Identifier: Apache-2.0
"""A kernel from a framework, as an entry of kernels.toml.

The framework functions (`from_triton`, ...) share the keyword arguments of `Options`.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

import numpy as np

from warpgauge.external.element_types import NPY_DESCR
from warpgauge.external.expressions import LARGEST, ExpressionError, evaluate
from warpgauge.external.kernel import MAGIC, READ, ROLES, VERIFIED
from warpgauge.system.atomic import replace_all
from warpgauge.system.errors import UserError
from warpgauge.system.text import listed, quoted

# Element types of NumPy, torch, CuPy and JAX, and their names in a manifest.
_TYPES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    **{
        f"{sign}int{bits}": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
    },
}
_NAME = re.compile(r"[a-z][a-z0-9_]*")

Foreign: TypeAlias = Any  # a framework's object, whose type is not known here
Argument = dict[str, object]  # one of the manifest's `arguments`
Extent = str | int  # an expression of the axes, or a number


class Options(TypedDict, total=False):
    """Fields of a manifest that no framework knows.

    `outputs` names the buffers that the kernel writes, `in_place` those that it reads and writes,
    and `scratch` those whose contents nobody reads afterwards; it reads all others. `values` gives
    the distribution of a buffer that it reads. `expressions` gives the element count of a buffer,
    or the value of a scalar, as an expression of the `axes`; others keep the number of the example.
    If `verify` gives an array as "npy", it is saved, and so are the examples of what the kernel
    reads: take those of `in_place` before a launch.
    """

    outputs: Sequence[str]
    in_place: Sequence[str]
    scratch: Sequence[str]
    values: Mapping[str, Mapping[str, object]]
    axes: Mapping[str, Sequence[int]]
    expressions: Mapping[str, str]
    verify: Mapping[str, Mapping[str, object]]
    bytes: Extent
    flops: Extent
    type: str  # part of the benchmark's name; default: the first output's type
    reference_only: bool


@dataclass(frozen=True)
class KernelEntry:
    """An entry of kernels.toml. Its paths are absolute; `write_manifest` makes them relative."""

    name: str
    entry: Mapping[str, object]


class Parameters:
    """The `arguments` of an entry, added in the order of the kernel's parameters."""

    def __init__(self, name: str, folder: Path, options: Options) -> None:
        unknown = sorted(options.keys() - Options.__annotations__.keys())
        if unknown:
            raise TypeError(f"{name}: unknown keyword {listed(unknown)}")
        if not _NAME.fullmatch(name):
            raise UserError(f"{quoted(name)} is not lower snake case; rename the kernel")
        self.name, self.folder, self.options = name, folder.resolve(), options
        self.arguments: list[Argument] = []
        self.files: dict[Path, bytes] = {}
        self._checks = {output: {**check} for output, check in options.get("verify", {}).items()}
        self._saves_inputs = any(_is_array(check.get("npy")) for check in self._checks.values())

    def buffer(self, name: str, example: object, pointer: str = "") -> Argument:
        """Return a buffer like the example; `pointer` is the type that the kernel expects."""
        kind = element_type(example)
        if (pointer or kind) != kind:
            raise self.fault(name, f"the kernel has {pointer}, but the example is {kind}")
        if kind not in NPY_DESCR:
            raise self.fault(name, f"a manifest does not support buffers of {kind}")
        by_role = {
            "output": self.options.get("outputs", ()),
            "in_place": self.options.get("in_place", ()),
            "scratch": self.options.get("scratch", ()),
        }
        roles = [role for role, names in by_role.items() if name in names] or ["input"]
        if len(roles) > 1:
            raise self.fault(name, f"it has one role, but the options name it as {listed(roles)}")
        role = roles[0]
        count = self.options.get("expressions", {}).get(name, math.prod(shape_of(example)))
        argument: Argument = {role: name, "type": kind, "count": str(count)}
        if values := self.options.get("values", {}).get(name):
            argument["values"] = values
        elif role in READ and self._saves_inputs:
            # Beside what is expected of a buffer that is read and written.
            file = f"{name}.initial" if role == "in_place" else name
            argument["npy"] = self._save(file, kind, example)
        return argument

    def scalar(self, name: str, example: object, kind: str = "") -> Argument:
        """Return a scalar; `kind` is the kernel's type, if the example does not say."""
        kind = kind or element_type(example)
        value: Extent | float | None = self.options.get("expressions", {}).get(name)
        if value is None:
            number: Foreign = example
            whole = kind[0] in "iu"
            value = float(number) if not whole else str(int(number)) if number >= 0 else int(number)
        return {"value": value, "type": kind}

    def require(self, name: str, holds: Callable[[int], bool], otherwise: str) -> None:
        """Raise UserError if a scalar's expression violates `holds` at some point of the axes."""
        expression = self.options.get("expressions", {}).get(name)
        axes = self.options.get("axes", {})
        for point in product(*axes.values()) if expression is not None else ():
            try:
                value = evaluate(str(expression), dict(zip(axes, point, strict=True)), -LARGEST)
            except ExpressionError as fault:
                raise self.fault(name, f"{quoted(str(expression))} {fault}") from None
            if not holds(value):
                raise self.fault(name, f"it is {value} at one value of the axes, but {otherwise}")

    def add(self, *arguments: Argument) -> None:
        self.arguments += arguments

    def kernel(
        self,
        image: Mapping[str, object],
        symbol: str,
        grid: Sequence[Extent],
        block: Sequence[Extent],
        launch: Mapping[str, object] | None = None,
    ) -> KernelEntry:
        """Write the files and return the entry. `launch` holds further launch fields.

        Raises UserError for a buffer of the options that is not a parameter, or that has no check.
        """
        options = self.options
        buffers = {a[role] for a in self.arguments for role in ROLES if role in a}
        written = {a[role]: a["type"] for a in self.arguments for role in VERIFIED if role in a}
        if missing := sorted({*options.get("outputs", ()), *self._checks} - written.keys()):
            raise UserError(f"{self.name}: no output parameter is named {listed(missing)}")
        others = {*options.get("in_place", ()), *options.get("scratch", ())}
        if missing := sorted((others | options.get("values", {}).keys()) - buffers):
            raise UserError(f"{self.name}: no buffer parameter is named {listed(missing)}")
        if not written:
            raise UserError(
                f"{self.name}: give outputs or in_place, the names of what the kernel writes"
            )
        for output, check in self._checks.items():
            if _is_array(check.get("npy")):
                check["npy"] = self._save(output, str(written[output]), check["npy"])
        replace_all(self.files)
        entry: dict[str, object] = {
            **image,
            "symbol": symbol,
            "type": options.get("type", next(iter(written.values()))),
            "axes": {axis: [*map(int, values)] for axis, values in options.get("axes", {}).items()},
            "arguments": self.arguments,
            "grid": [str(extent) for extent in grid],
            "block": [*block],
            **(launch or {}),
            **{key: str(options[key]) for key in ("bytes", "flops") if key in options},
            "verify": self._checks,
            "reference_only": options.get("reference_only", False),
        }
        return KernelEntry(self.name, {key: value for key, value in entry.items() if value})

    def file(self, suffix: str, content: bytes | str) -> Path:
        """Return the path of a file beside the manifest, which `kernel` will write."""
        path = self.folder / f"{self.name}.{suffix}"
        self.files[path] = content.encode() if isinstance(content, str) else content
        return path

    def image_of(self, source: Path) -> dict[str, object]:
        """Return a copied image; its first bytes tell cubin, fatbin and PTX. Raises UserError."""
        try:
            content = source.read_bytes()
        except OSError as fault:
            raise UserError(f"{source}: {fault.strerror}") from None
        kind = MAGIC.get(content[:4], "ptx")
        return {kind: self.file(kind, content)}

    def fault(self, parameter: str, what: str) -> UserError:
        return UserError(f"{self.name}: parameter {quoted(parameter)}: {what}")

    def _save(self, name: str, kind: str, example: object) -> Path:
        if kind in ("bf16", "e4m3", "e5m2"):
            raise self.fault(name, f"NumPy cannot save {kind}; verify with a reference kernel")
        saved = BytesIO()
        np.save(saved, np.ascontiguousarray(_host(example)), allow_pickle=False)
        return self.file(f"{name}.npy", saved.getvalue())


def element_type(example: object) -> str:
    """Return the element type, such as ``f32``, of an array or NumPy scalar. Raises UserError."""
    told = getattr(example, "dtype", None)
    if told is None:
        raise UserError(f"{quoted(str(example))} has no dtype; give an array or a NumPy scalar")
    name = str(told).removeprefix("torch.")
    if name not in _TYPES:
        raise UserError(f"a kernel of a manifest cannot take arrays of {name}")
    return _TYPES[name]


def is_scalar(example: object) -> bool:
    """Return whether this is a number, and not an array, even of one element."""
    return isinstance(example, (int, float, np.generic))


def shape_of(example: object) -> tuple[int, ...]:
    return tuple(int(extent) for extent in getattr(example, "shape", ()))


def named(
    names: Sequence[str], given: Sequence[object] | Mapping[str, object]
) -> dict[str, object]:
    """Return the examples by parameter name. Raises UserError for too many."""
    if isinstance(given, Mapping):
        return dict(given)
    if len(given) > len(names):
        raise UserError(f"{len(given)} arguments for the {len(names)} parameters {listed(names)}")
    return dict(zip(names, given, strict=False))


def framework(module: str) -> Foreign:
    """Import a framework, which is an optional dependency. Raises UserError if it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as fault:
        package = module.partition(".")[0]
        raise UserError(f"{package} cannot be imported here ({fault}); install {package}") from None


def _is_array(value: object) -> bool:
    return hasattr(value, "dtype")


def _host(example: object) -> np.ndarray[Any, Any]:
    """Return a NumPy array from an array that torch, CuPy, Numba or JAX may keep on a GPU."""
    for method in ("cpu", "get", "copy_to_host"):  # torch, CuPy, Numba
        if hasattr(example, method):
            example = getattr(example, method)()
    return np.asarray(example)
