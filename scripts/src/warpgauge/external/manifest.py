# SPDX-License-Identifier: Apache-2.0
"""kernels.toml: its types, its published schema, and how it is loaded.

The schema is generated from the types, and takes its descriptions from their docstrings. What only
the GPU, its driver or the element types decide is left to bench_external.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from warpgauge.external.expressions import LARGEST
from warpgauge.system import contract
from warpgauge.system.contract import converted, refuse_unknown
from warpgauge.system.location import Place
from warpgauge.system.text import cut, suggestion

# Ten thousand kernels are about 3 MB.
_LARGEST_MIB = 16

# A part of a benchmark's name, a word of the kernel plan, and a name in an expression.
_NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,99}(?![\s\S])"
# Text that may end a line of the kernel plan, or be a path.
_TEXT = r"^[^\u0000-\u001f\u007f]+(?![\s\S])"
_FUNCTION = r"^[^\u0000-\u001f\u007f]+\.py:[A-Za-z_][A-Za-z0-9_]*(?![\s\S])"
Name = Annotated[str, Meta(pattern=_NAME)]
Text = Annotated[str, Meta(pattern=_TEXT)]
Function = Annotated[str, Meta(pattern=_FUNCTION)]  # of a file in Python
Expression = int | str
Extent = Annotated[list[Expression], Meta(min_length=1, max_length=3)]
Number = int | float | str  # an expression, or a floating-point number
Tolerance = Annotated[float, Meta(ge=0)]
Values = Annotated[list[Annotated[int, Meta(ge=0, le=LARGEST)]], Meta(min_length=1)]
ElementType = Literal[
    "f64", "f32", "f16", "bf16", "e4m3", "e5m2",
    "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8",
]  # fmt: skip
Distribution = Annotated[
    dict[Literal["uniform", "normal", "sorted", "distinct", "constant"], Number | list[Number]],
    Meta(min_length=1, max_length=1),
]

IMAGES = ("cubin", "fatbin", "ptx", "source")
# The roles of buffers; those that the kernel reads, and those whose results are verified.
ROLES = ("input", "output", "in_place", "scratch")
READ, VERIFIED = ("input", "in_place"), ("output", "in_place")

# The forms of a check.
EXPECTED = ("reference", "npy", "python")

# What further members each form of an argument may have.
_MEMBERS = {
    **dict.fromkeys(READ, ("type", "count", "npy", "values")),
    **dict.fromkeys(("output", "scratch"), ("type", "count")),
    "value": ("type",),
    "null": (),
}


class Argument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One parameter of the kernel: a buffer, a scalar (`value`), or null.

    A buffer is an `input` that the kernel reads, an `output` that it writes, read and written
    `in_place`, or `scratch`, whose contents nobody reads afterwards. It has a name, a `type` and a
    `count` of elements, an expression. What is read holds seeded data, distributed as `values` say,
    or what the file `npy` has; the count may then be left out. A scalar is an expression of a
    `type`, or a floating-point number of a floating-point `type`.

    `values` have one distribution. `uniform`: from [least, most]. `normal`: of [mean, deviation].
    `sorted`: ascending from least to most. `distinct`: so many different values. `constant`: all
    equal. Numbers are expressions, or, for a floating-point type, floating-point numbers.
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

    def __post_init__(self) -> None:
        forms = [form for form in _MEMBERS if getattr(self, form) not in (None, False)]
        if len(forms) != 1:
            given = " and ".join(forms) or "nothing"
            raise ValueError(f"is {given}", f"write one of {', '.join(_MEMBERS)}")
        allowed = _MEMBERS[forms[0]]
        for member in ("type", "count", "npy", "values"):
            if getattr(self, member) is not None and member not in allowed:
                raise ValueError(f"{member!r} is not a member of {forms[0]!r}", "remove it")
        if allowed and self.type is None:
            raise ValueError("has no 'type'", 'add it, e.g. type = "f32"')
        if self.role and self.count is None and self.npy is None:
            raise ValueError("has no 'count'", 'add it, e.g. count = "n"')
        if self.values and self.npy is not None:
            raise ValueError("has 'values' beside 'npy'", "remove one of them")

    @property
    def role(self) -> str:
        """One of ROLES; "" for what is no buffer."""
        return next((role for role in ROLES if getattr(self, role) is not None), "")

    @property
    def name(self) -> str:
        """The buffer's name."""
        return str(getattr(self, self.role))


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a buffer must hold: what a kernel writes, a file has, or a function returns.

    These are the kernel `reference`, the file `npy`, and the function `python`, such as ref.py:add.
    It takes, by their names, axes and buffers that the kernel reads. An element may differ by
    `absolute` plus `relative` times what is expected.
    """

    reference: Name | None = None
    npy: Text | None = None
    python: Function | None = None
    relative: Tolerance = 0.0
    absolute: Tolerance = 0.0

    def __post_init__(self) -> None:
        forms = [form for form in EXPECTED if getattr(self, form) is not None]
        if len(forms) != 1:
            given = " and ".join(forms) or "nothing"
            raise ValueError(f"is {given}", f"write one of {', '.join(EXPECTED)}")


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

    def __post_init__(self) -> None:
        images = [kind for kind in IMAGES if getattr(self, kind) is not None]
        if len(images) != 1:
            given = " and ".join(images) or "no code"
            raise ValueError(f"has {given}", f"write one of {', '.join(IMAGES)}")
        if self.options and self.source is None:
            raise ValueError(f"has options, but a {images[0]} is already compiled", "remove them")
        if repeated := [axis for axis, own in self.axes.items() if len({*own}) < len(own)]:
            raise ValueError(f"the axis {repeated[0]!r} has a value twice", "remove one")
        names = [argument.name for argument in self.arguments if argument.role]
        if len({*names}) < len(names):
            raise ValueError("two buffers have the same name", "rename one, or use in_place")
        self._check_verification()

    def _check_verification(self) -> None:
        outputs = [its.name for its in self.arguments if its.role in VERIFIED]
        for name in self.verify:
            if name not in outputs:
                raise ValueError(f"verify.{name} is no output", suggestion(name, outputs))
        if len({check.reference for check in self.verify.values() if check.reference}) > 1:
            raise ValueError("is verified by two references", "one kernel must write all outputs")
        read = [its for its in self.arguments if its.role in READ and its.npy is None]
        random = [its.name for its in read if "constant" not in (its.values or {})]
        if random and any(check.npy for check in self.verify.values()):
            fault = f"its expected .npy file cannot match the random data of {random[0]!r}"
            raise ValueError(fault, "give that a .npy file too, or verify with a reference kernel")
        if self.reference_only:
            return
        if self.type is None:
            raise ValueError("has no 'type'", 'add it, e.g. type = "f32"')
        if not outputs:
            raise ValueError("has no output and nothing in place to verify", "add an output")
        for name in outputs:
            if name not in self.verify:
                remedy = f"add verify.{name}, or reference_only = true"
                raise ValueError(f"{name!r} is not verified", remedy)

    @property
    def image(self) -> tuple[str, str]:
        """The kind of code, and the file."""
        return next((kind, its) for kind in IMAGES if (its := getattr(self, kind)) is not None)

    @property
    def reference(self) -> str | None:
        """The kernel that verifies this one, if any."""
        return next((its.reference for its in self.verify.values() if its.reference), None)

    @property
    def functions(self) -> dict[str, tuple[str, str]]:
        """The file and the function in Python that verify a buffer, by its name."""
        checks = {
            name: its.python.rpartition(":") for name, its in self.verify.items() if its.python
        }
        return {name: (file, function) for name, (file, _, function) in checks.items()}


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A manifest of kernels, which warpgauge bench measures."""

    version: Literal[1]
    kernels: dict[Name, Kernel]


@dataclass(frozen=True)
class Manifest:
    """The kernels of one file, by name, in the file's order."""

    path: Path
    kernels: dict[str, Kernel]

    def place(self, *keys: str | int) -> Place:
        """Return a place such as ``kernels.scale.arguments[2]``. Long names are cut."""
        words = (f"[{key}]" if isinstance(key, int) else f".{cut(key, 100)}" for key in keys)
        return Place(self.path, "kernels" + "".join(words))

    def file(self, name: str) -> Path:
        """Return the absolute path of a file named in the manifest."""
        return self.path.absolute().parent / name


def load(path: Path) -> Manifest:
    """Load a manifest, and check all that does not depend on axes. Raises UserError."""
    top, place = contract.read_toml(path, _LARGEST_MIB), Place(path)
    refuse_unknown(top, Document.__struct_fields__, place)
    if top.get("version") != 1:
        raise place.error("is not a manifest of version 1", "write version = 1")
    tables = top.get("kernels")
    if not isinstance(tables, dict) or not tables:
        raise place.error("holds no kernel", "add a table [kernels.NAME]")
    manifest = Manifest(path, {})
    for name, table in tables.items():  # by themselves, so that a fault names the kernel
        there = manifest.place(name)
        converted(name, Name, there)
        refuse_unknown(table, Kernel.__struct_fields__, there)
        manifest.kernels[name] = converted(table, Kernel, there)
    for name, kernel in manifest.kernels.items():
        _check(manifest, name, kernel)
    references = {name: [kernel.reference] for name, kernel in manifest.kernels.items()}
    try:
        TopologicalSorter(references).prepare()
    except CycleError as error:
        circle = cut(" by ".join(map(repr, error.args[1][::-1])), 200)
        raise place.error(f"kernels verify each other, {circle}", "use a .npy file") from None
    return manifest


def _check(manifest: Manifest, name: str, kernel: Kernel) -> None:
    """Check what a kernel refers to, and its name, which the engine takes the cache state from."""
    kind, code = kernel.image
    files: list[tuple[Sequence[str], str]] = [((kind,), code)]
    files += [(("verify", its, "python"), file) for its, (file, _) in kernel.functions.items()]
    for keys, file in files:
        path = manifest.file(file)
        if not os.path.isfile(path):  # noqa: PTH113 - Path's raises for a long name
            raise manifest.place(name, *keys).error(f"{path} is not a file", "correct it")
    words = {word for part in (name, str(kernel.type), *kernel.axes) for word in part.split("_")}
    if (other := sorted(words & {"hot", "sustained"})) and not kernel.reference_only:
        fault = f"is measured with a cold cache, but {other[0]!r} in a name says otherwise"
        raise manifest.place(name).error(fault, "rename it")
    if kernel.reference is not None and kernel.reference not in manifest.kernels:
        hint = suggestion(kernel.reference, manifest.kernels)
        raise manifest.place(name, "verify").error(f"there is no kernel {kernel.reference!r}", hint)


def schema() -> dict[str, Any]:
    """Return the JSON schema, which is stored beside this file as kernels.schema.json."""
    made = contract.schema(Document)
    for name, keys in (
        ("Argument", (*ROLES, "value", "null")),
        ("Kernel", IMAGES),
        ("Check", EXPECTED),
    ):
        made["$defs"][name]["oneOf"] = [{"required": [key]} for key in keys]
    return made
