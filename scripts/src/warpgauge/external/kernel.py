# SPDX-License-Identifier: Apache-2.0
"""The types of a manifest, from which its published schema is generated.

The schema takes its descriptions from the docstrings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from warpgauge.external.element_types import ElementType
from warpgauge.external.expressions import LARGEST
from warpgauge.system import contract
from warpgauge.system.location import Place
from warpgauge.system.text import cut

# A part of a benchmark's name, a word of the kernel plan, and a name in an expression.
_NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,99}(?![\s\S])"
# Text that may end a line of the kernel plan, or be a path.
_TEXT = r"^[^\u0000-\u001f\u007f]+(?![\s\S])"
# For text that does not match: what is wrong, and what to do.
PATTERNS = {
    _NAME: ("is not a valid name", "use letters, digits and '_', and do not begin with a digit"),
    _TEXT: ("is empty, or holds a line break or another control character", "correct it"),
}
Name = Annotated[str, Meta(pattern=_NAME)]
Text = Annotated[str, Meta(pattern=_TEXT)]
Expression = int | str
Extent = Annotated[list[Expression], Meta(min_length=1, max_length=3)]
Number = int | float | str  # an expression, or a floating-point number
Pair = Annotated[list[Number], Meta(min_length=2, max_length=2)]
Tolerance = Annotated[float, Meta(ge=0)]
Values = Annotated[list[Annotated[int, Meta(ge=0, le=LARGEST)]], Meta(min_length=1)]

IMAGES = ("cubin", "fatbin", "ptx", "source")
# First bytes of binary code. The other kinds are text.
MAGIC = {b"\x7fELF": "cubin", b"\x50\xed\x55\xba": "fatbin"}
# The roles of buffers; those that the kernel reads, and those whose results are verified.
ROLES = ("input", "output", "in_place", "scratch")
READ, VERIFIED = ("input", "in_place"), ("output", "in_place")


class Distribution(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What seeded values are like: one of these.

    `uniform`: from [least, most]. `normal`: of [mean, deviation]. `sorted`: ascending from least to
    most. `distinct`: so many different values. `constant`: all equal. Numbers are expressions, or,
    for a floating-point type, floating-point numbers.
    """

    uniform: Pair | None = None
    normal: Pair | None = None
    sorted: Pair | None = None
    distinct: Expression | None = None
    constant: Number | None = None

    @property
    def given(self) -> dict[str, list[Number]]:
        """The given distributions with their numbers; a valid manifest has one."""
        every = {name: getattr(self, name) for name in self.__struct_fields__}
        return {
            name: its if isinstance(its, list) else [its]
            for name, its in every.items()
            if its is not None
        }


class Argument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One parameter of the kernel: a buffer, a scalar (`value`), or null.

    A buffer is an `input` that the kernel reads, an `output` that it writes, read and written
    `in_place`, or `scratch`, whose contents nobody reads afterwards. It has a name, a `type` and a
    `count` of elements, an expression. What is read holds seeded data, distributed as `values` say,
    or what the file `npy` has; the count may then be left out. A scalar is an expression of a
    `type`, or a floating-point number of a floating-point `type`.
    """

    input: Name | None = None
    output: Name | None = None
    in_place: Name | None = None
    scratch: Name | None = None
    value: Number | None = None
    null: bool = False
    type: ElementType | None = None
    count: Expression | None = None
    npy: Text | None = None
    values: Distribution | None = None

    @property
    def role(self) -> str | None:
        """One of ROLES; None for a scalar."""
        return next((role for role in ROLES if getattr(self, role) is not None), None)

    @property
    def buffer(self) -> str | None:
        """The buffer's name; None for a scalar."""
        return None if self.role is None else getattr(self, self.role)

    @property
    def is_fixed(self) -> bool:
        """Whether the values are the same in every run, so that a file can hold the results."""
        return self.npy is not None or "constant" in (self.values.given if self.values else ())


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a buffer must hold: what the kernel `reference` writes, or what is in the file `npy`.

    An element may differ by `absolute` plus `relative` times what is expected.
    """

    reference: Name | None = None
    npy: Text | None = None
    relative: Tolerance = 0.0
    absolute: Tolerance = 0.0


class Kernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One kernel; its benchmarks are external/<name>/<type>/<axis>:<value>, one for each point.

    Its code is one of `cubin`, `fatbin`, `ptx` and `source`, a file relative to the manifest; a
    source is compiled by NVRTC with `options`, and its `symbol` is the name as it stands there,
    also a template instance. Expressions are of integers, `axes`, + - * / (which rounds down),
    ceil_div(a, b), min, max and parentheses. `arguments` stand in the order of the kernel's
    parameters. `shared` is dynamic shared memory in bytes. `programmatic` allows a programmatic
    dependent launch. `bytes` and `flops` are what one launch has to move and to compute.
    `verify` has a check for each output and each buffer in place. `reference_only`: it verifies
    others, and is not measured.
    """

    cubin: Text | None = None
    fatbin: Text | None = None
    ptx: Text | None = None
    source: Text | None = None
    options: list[Text] = []
    symbol: Text
    type: Name | None = None
    axes: dict[Name, Values] = {}
    arguments: list[Argument]
    grid: Extent
    block: Extent
    shared: Expression = 0
    cluster: Extent | None = None
    programmatic: bool = False
    bytes: Expression | None = None
    flops: Expression | None = None
    verify: dict[Name, Check] = {}
    reference_only: bool = False

    @property
    def image(self) -> tuple[str, str]:
        """The kind of code, and the file."""
        ((kind, name),) = self.images.items()
        return kind, name

    @property
    def images(self) -> dict[str, str]:
        """The given kinds of code and their files; a valid manifest has one."""
        given = {kind: getattr(self, kind) for kind in IMAGES}
        return {kind: name for kind, name in given.items() if name is not None}

    @property
    def buffers(self) -> dict[str, Argument]:
        return {one.buffer: one for one in self.arguments if one.buffer is not None}

    @property
    def outputs(self) -> list[str]:
        """The buffers that must be verified."""
        return [name for name, buffer in self.buffers.items() if buffer.role in VERIFIED]

    @property
    def reference(self) -> str | None:
        """The kernel that verifies this one, if any; a valid manifest names at most one."""
        return next((one.reference for one in self.verify.values() if one.reference), None)


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A manifest of kernels, which scripts/bench --kernels measures."""

    version: Literal[1]
    kernels: dict[Name, Kernel]


@dataclass(frozen=True)
class Manifest:
    """The kernels of one file, by name, in the file's order."""

    path: Path
    kernels: Mapping[str, Kernel]

    def place(self, *keys: str | int) -> Place:
        """Return the place of a key, such as ``kernels.scale.arguments[2]``."""
        return place_of(self.path, "kernels", *keys)

    def file(self, name: str) -> Path:
        """Return the absolute path of a file named in the manifest."""
        return self._folder / name

    @cached_property
    def _folder(self) -> Path:
        return self.path.absolute().parent


def place_of(path: Path, *keys: str | int) -> Place:
    """Return the place of a key, in TOML's notation. Too long names are cut."""
    words = (f"[{key}]" if isinstance(key, int) else f".{cut(key, 100)}" for key in keys)
    return Place(path, "".join(words).removeprefix("."))


def schema() -> dict[str, Any]:
    """Return the JSON schema, which is stored beside this file as kernels.schema.json."""
    made = contract.schema(Document)
    for name, keys in (
        ("Argument", (*ROLES, "value", "null")),
        ("Distribution", Distribution.__struct_fields__),
        ("Kernel", IMAGES),
        ("Check", ("reference", "npy")),
    ):
        made["$defs"][name]["oneOf"] = [{"required": [key]} for key in keys]
    return made
