# SPDX-License-Identifier: Apache-2.0
"""Loads and checks kernels.toml: external kernels, their launches and their verification."""

from __future__ import annotations

import keyword
import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from warpgauge.external.element_types import LARGEST_FLOAT, NPY_DESCR, SCALARS
from warpgauge.external.kernel import (
    IMAGES,
    MAGIC,
    PATTERNS,
    READ,
    ROLES,
    Argument,
    Check,
    Distribution,
    Document,
    Kernel,
    Manifest,
    Name,
    Values,
    place_of,
)
from warpgauge.system import toml_file
from warpgauge.system.location import Place
from warpgauge.system.text import cut, quoted, suggestion
from warpgauge.system.toml_file import Words, converted, refuse_unknown

__all__ = ["Manifest", "load"]

# Ten thousand kernels are about 3 MB.
_LARGEST_MIB = 16
_VERSION = 1
_BEGIN = 512  # bytes that identify the kind of a file


def load(path: Path) -> Manifest:
    """Load a manifest, and check all that does not depend on axes. Raises UserError."""
    top = toml_file.read(path, _LARGEST_MIB)
    refuse_unknown(top, Document.__struct_fields__, Place(path))
    version = top.get("version")
    if isinstance(version, int) and version > _VERSION:
        remedy = f"update warpgauge, which reads only version {_VERSION}"
        raise Place(path).error(f"has version {version}", remedy)
    if version != _VERSION:
        raise Place(path).error("is not a manifest of version 1", "begin it with version = 1")
    kernels = top.get("kernels", {})
    tables = _converted(kernels, dict[str, dict[str, Any]], place_of(path, "kernels"))
    if not tables:
        raise Place(path).error("holds no kernel", "add a table [kernels.NAME]")
    manifest = Manifest(path, {name: _kernel(name, table, path) for name, table in tables.items()})
    check(manifest)
    return manifest


def _kernel(name: str, table: Mapping[str, Any], path: Path) -> Kernel:
    """Convert entries one by one, because msgspec does not say which entry of a table is wrong."""
    keys = ("kernels", name)
    place = place_of(path, *keys)
    _converted(name, Name, place)
    refuse_unknown(table, Kernel.__struct_fields__, place)
    for part, kind in (("axes", Values), ("verify", Check)):
        entries = table.get(part)
        for entry, value in entries.items() if isinstance(entries, dict) else ():
            there = place_of(path, *keys, part, entry)
            _converted(entry, Name, there)
            if part == "verify":
                refuse_unknown(value, Check.__struct_fields__, there)
                if not isinstance(value, dict):
                    fault = f"{quoted(entry)} is not a table"
                    remedy = "write verify.OUTPUT = { reference = ... }"
                    raise place_of(path, *keys, part).error(fault, remedy)
            _converted(value, kind, there)
    arguments = table.get("arguments")
    for number, value in enumerate(arguments if isinstance(arguments, list) else ()):
        there = place_of(path, *keys, "arguments", number)
        refuse_unknown(value, Argument.__struct_fields__, there)
        if isinstance(value, dict):
            refuse_unknown(value.get("values"), _DISTRIBUTIONS, _key(there, "values"))
        known = SCALARS if isinstance(value, dict) and "value" in value else NPY_DESCR
        words = Words(PATTERNS, {"type": f"known are {', '.join(known)}"})
        converted(value, Argument, there, words)
    return _converted(table, Kernel, place)


_converted = partial(converted, words=Words(PATTERNS, {}))


_FORMS = "write one of input, output, in_place, scratch, value and null"
_DISTRIBUTIONS = Distribution.__struct_fields__


def check(manifest: Manifest) -> None:
    """Raise UserError that names the first wrong key."""
    for name, kernel in manifest.kernels.items():
        _check_image(manifest, name, kernel)
        for number, argument in enumerate(kernel.arguments):
            _check_argument(argument, manifest.place(name, "arguments", number))
        _check_names(kernel, manifest.place(name, "arguments"))
        if not kernel.reference_only:
            _check_name(name, kernel, manifest.place(name))
        _check_verification(manifest, name, kernel)
    _refuse_circle(manifest)


def _check_name(name: str, kernel: Kernel, place: Place) -> None:
    """Check the name of the benchmarks, from which the engine derives the cache state."""
    if kernel.type is None:
        raise place.error("has no 'type'", 'add it, e.g. type = "f32"')
    if unfit := next(filter(keyword.iskeyword, kernel.axes), ""):
        raise _key(place, f"axes.{unfit}").error("cannot be used in an expression", "rename it")
    words = {word for part in (name, kernel.type, *kernel.axes) for word in part.split("_")}
    if other := sorted(words & {"hot", "sustained"}):
        fault = f"is measured with a cold cache, but {other[0]!r} in a name says otherwise"
        raise place.error(fault, "rename it")


def _check_image(manifest: Manifest, name: str, kernel: Kernel) -> None:
    if len(kernel.images) != 1:
        many = " and ".join(f"'{kind}'" for kind in kernel.images) or "no code"
        raise manifest.place(name).error(f"has {many}", f"write one of {', '.join(IMAGES)}")
    kind, file = kernel.image
    _require_code(manifest.file(file), kind, manifest.place(name, kind))
    if kernel.options and kind != "source":
        place = manifest.place(name, "options")
        raise place.error(f"a {kind} is already compiled", "remove the options")


def _require_code(path: Path, kind: str, place: Place) -> None:
    try:
        if path.exists() and not path.is_file():  # opening a pipe would block
            raise place.error(f"{path} is not a file", "name a file")
        with path.open("rb") as file:
            begin = file.read(_BEGIN)
    except OSError as fault:
        raise place.error(f"{path} cannot be read ({fault.strerror})", "name a file") from None
    if not begin:
        raise place.error(f"{path} is empty", "make it again")
    binary = MAGIC.get(begin[:4])
    if kind in MAGIC.values():
        # The driver also accepts a single cubin as a fatbin.
        fits = binary == kind or (kind == "fatbin" and binary is not None)
    else:  # NVRTC ends its PTX with a NUL
        fits = binary is None and b"\0" not in begin.rstrip(b"\0")
    if not fits:
        wanted = "CUDA source" if kind == "source" else f"a {kind}"
        raise place.error(f"{path} is not {wanted}", f"name it by its kind: {', '.join(IMAGES)}")


def _check_argument(one: Argument, place: Place) -> None:
    given = [key for key in (*ROLES, "value") if getattr(one, key) is not None]
    given += ["null"] * one.null
    if given == ["input", "output"] and one.input == one.output:
        remedy = f"write in_place = {quoted(str(one.input))} for what is read and written"
        raise place.error("is input and output", remedy)
    if len(given) != 1:
        raise place.error(f"is {' and '.join(given) or 'nothing'}", _FORMS)
    form = given[0]
    buffer = ("type", "count")
    read = (*buffer, "npy", "values")
    allowed = {"input": read, "in_place": read, "value": ("type",), "null": ()}
    for key in read:
        if getattr(one, key) is not None and key not in allowed.get(form, buffer):
            raise _key(place, key).error(f"is not a member of '{form}'", "remove it")
    if form == "null":
        return
    if one.type is None:
        raise place.error("has no 'type'", 'add it, e.g. type = "f32"')
    if form != "value" and one.type not in NPY_DESCR:
        known = ", ".join(NPY_DESCR)
        raise _key(place, "type").error(f"no buffer is of {one.type}", f"known are {known}")
    if form != "value" and one.count is None and one.npy is None:
        raise place.error("has no 'count'", 'add it, e.g. count = "n"')
    if form == "value":
        _check_value(one, one.type, place)
    if one.values is not None:
        _check_values(one, one.values, _key(place, "values"))


def _check_value(one: Argument, type: str, place: Place) -> None:
    if type not in SCALARS:
        known = ", ".join(SCALARS)
        raise _key(place, "type").error(f"no scalar is of {type}", f"known are {known}")
    if not isinstance(one.value, float):
        return
    if type not in LARGEST_FLOAT:
        raise _key(place, "value").error(f"{one.value!r} is no {type}", "write an integer")
    if math.isfinite(one.value) and abs(one.value) > LARGEST_FLOAT[type]:
        fault = f"{one.value!r} exceeds the largest {type}"
        raise _key(place, "value").error(fault, "write a smaller one")


def _check_values(argument: Argument, values: Distribution, place: Place) -> None:
    if len(values.given) != 1:
        many = " and ".join(f"'{key}'" for key in values.given) or "no distribution"
        raise place.error(f"has {many}", f"write one of {', '.join(_DISTRIBUTIONS)}")
    if argument.npy is not None:
        raise place.error("stand beside 'npy'", "remove one of them")


def _check_names(kernel: Kernel, place: Place) -> None:
    roles: dict[str, str | None] = {}
    for one in kernel.arguments:
        if one.buffer is None:
            continue
        before = roles.setdefault(one.buffer, None)
        if before == one.role:
            raise place.error(f"two buffers are named {one.buffer!r}", "rename one")
        if before is not None:
            fault = f"{one.buffer!r} is both {before} and {one.role}"
            remedy = "use two buffers, or in_place for a parameter that is read and written"
            raise place.error(fault, remedy)
        roles[one.buffer] = one.role


def _check_verification(manifest: Manifest, name: str, kernel: Kernel) -> None:
    for output, one in kernel.verify.items():
        place = manifest.place(name, "verify", output)
        if output not in kernel.outputs:
            raise place.error("is no output of this kernel", suggestion(output, kernel.outputs))
        _check_one(manifest, kernel, output, one, place)
    if kernel.reference_only:
        return
    if not kernel.outputs:
        place = manifest.place(name, "arguments")
        fault = "have no output and nothing in place, so nothing can be verified"
        raise place.error(fault, "add an output")
    for output in kernel.outputs:
        if output not in kernel.verify:
            fault = f"the {kernel.buffers[output].role} {output!r} is not verified"
            remedy = f"add verify.{output}, or reference_only = true"
            raise manifest.place(name).error(fault, remedy)


def _check_one(manifest: Manifest, kernel: Kernel, output: str, one: Check, place: Place) -> None:
    if (one.reference is None) == (one.npy is None):
        both = "both" if one.npy is not None else "neither"
        raise place.error(f"has {both} of 'reference' and 'npy'", "write one of them")
    for key in ("relative", "absolute"):
        if not math.isfinite(getattr(one, key)):
            raise _key(place, key).error("is not finite", "write a tolerance")
    if one.reference is None:
        read = {key: its for key, its in kernel.buffers.items() if its.role in READ}
        seeded = next((key for key, its in read.items() if not its.is_fixed), "")
        if seeded:
            fault = (
                f"the .npy file cannot match the random data of the {read[seeded].role} {seeded!r}"
            )
            raise place.error(
                fault, f"give {seeded!r} a .npy file too, or verify with a reference kernel"
            )
        return
    place = _key(place, "reference")
    if one.reference != kernel.reference:
        fault = f"is {one.reference!r}, but another output has {kernel.reference!r}"
        raise place.error(fault, "one kernel must write both")
    reference = manifest.kernels.get(one.reference)
    if reference is None:
        fault = f"this manifest has no kernel {one.reference!r}"
        raise place.error(fault, suggestion(one.reference, manifest.kernels))
    if output not in reference.outputs:
        raise place.error(f"{one.reference!r} does not write {output!r}", "rename its output")
    for buffer, its in reference.buffers.items():
        ours = kernel.buffers.get(buffer)
        if ours is None or ours.role != its.role or ours.type != its.type:
            fault = f"{one.reference!r} has the {_described(its)}, but this kernel does not"
            raise place.error(fault, "give the buffers of both the same names and types")


def _described(one: Argument) -> str:
    return f"{one.role} {one.buffer!r} of {one.type}"


def _refuse_circle(manifest: Manifest) -> None:
    """Raise UserError for kernels that verify each other, which verifies nothing."""
    grounded: set[str] = set()
    for name in manifest.kernels:
        chain: dict[str, None] = {}
        at: str | None = name
        while at is not None and at not in grounded:
            if at in chain:
                place = manifest.place(at, "verify")
                names = [*chain, at]
                circle = cut(" by ".join(map(repr, names[names.index(at) :])), 200)
                raise place.error(f"{circle} is a circle", "verify one of them with a .npy file")
            chain[at] = None
            at = manifest.kernels[at].reference
        grounded.update(chain)


def _key(place: Place, key: str) -> Place:
    return place._replace(what=f"{place.what}.{key}")
