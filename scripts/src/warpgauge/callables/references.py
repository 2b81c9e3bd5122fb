# SPDX-License-Identifier: Apache-2.0
"""What functions in Python expect of the kernels of a manifest, on inputs that are drawn here.

It runs in the python3 of PATH, so that a function may use its frameworks.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from warpgauge.callables.arrays import HostArray
from warpgauge.callables.messages import Returned, Values, function_of, in_a_line
from warpgauge.system.errors import UserError
from warpgauge.system.text import listed

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]

# Types that NumPy has not, and those of their bits.
_BITS = {"bf16": "<u2", "e4m3": "|u1", "e5m2": "|u1"}
_DEVIATIONS = 6  # that normal values lie from their mean, at most
_ODD = 0x9E3779B97F4A7C15  # a factor by which different integers stay so


def main(words: Sequence[str]) -> int:
    """Compute what the file of the first word asks for; say what failed in that of the second."""
    request, answer = map(Path, words)
    try:
        if np is None:
            raise UserError("the python3 of PATH has no NumPy, which a reference in Python needs")
        for case in json.loads(request.read_bytes()):
            compute(Path(case["folder"]), case["axes"], case["read"], case["expected"])
    except UserError as fault:
        answer.write_text(str(fault))
        return fault.status
    return 0


def compute(
    folder: Path,
    axes: Mapping[str, int],
    read: Mapping[str, Values],
    expected: Mapping[str, Values],
) -> None:
    """Write what the kernel reads, and what it is expected to write, as the engine reads it.

    Raises UserError.
    """
    folder.mkdir(parents=True)
    stored = {}
    for name, its in read.items():
        with _faults_at(its["place"]):
            if its["npy"] is not None:
                given = np.load(its["npy"]).reshape(-1)
                stored[name] = given.view(_BITS.get(its["type"], given.dtype))
            else:
                stored[name] = _drawn(its)
                stored[name].tofile(folder / name)
    returned: dict[tuple[str, str], Returned] = {}
    for name, its in expected.items():
        with _faults_at(its["place"]):
            which = its["file"], its["function"]
            if which not in returned:
                known = {name: _decoded(stored[name], its["type"]) for name, its in read.items()}
                returned[which] = _called(function_of(Path(which[0]), which[1]), {**axes, **known})
            result = _result(returned[which], name, which[1], its)
            result.tofile(folder / f"{name}.expected")


@contextmanager
def _faults_at(place: str) -> Iterator[None]:
    """Raise what is raised as a UserError that begins with a place of the manifest."""
    try:
        yield
    except Exception as fault:
        raise UserError(f"{place}: {in_a_line(fault)}") from fault


def _called(function: Callable[..., Returned], known: Mapping[str, object]) -> Returned:
    """Call a function with those of the known arguments that it takes. Raises UserError."""
    parameters = inspect.signature(function).parameters
    needed = [name for name, its in parameters.items() if its.default is its.empty]
    if unknown := [name for name in needed if name not in known]:
        fault = f"its function takes {listed(unknown)}, but its axes and what the kernel reads are"
        raise UserError(f"{fault} {', '.join(known)}")
    return function(**{name: known[name] for name in parameters if name in known})


def _result(returned: Returned, name: str, function: str, its: Values) -> HostArray:
    if isinstance(returned, dict):
        if name not in returned:
            raise UserError(f"{function} returned no {name!r}, but {listed([*returned])}")
        returned = returned[name]
    values = np.asarray(returned).reshape(-1)
    if values.size != its["count"]:
        sizes = f"{values.size} elements, but the buffer has {its['count']}"
        raise UserError(f"{function} returned {sizes}: return one array, or a dict by buffers")
    return _encoded(values, its["type"])


def _drawn(its: Values) -> HostArray:
    """Return values of a distribution as the engine's, though not the same (distribution.hpp)."""
    type_, count = its["type"], its["count"]
    whole = type_[0] in "iu"
    form, *numbers = its["values"] or ["standard"]
    first, second, *_ = *map(float, numbers), 0.0, 0.0
    draw = np.random.default_rng([*its["seed"].encode()])
    if form == "standard" and whole:
        dtype = _dtype(type_)
        return np.frombuffer(draw.bytes(count * dtype.itemsize), dtype)
    if form == "standard":
        values = draw.uniform(0.5, 1.5, count) * draw.choice((-1.0, 1.0), count)
    elif form == "constant":
        values = np.full(count, first)
    elif form == "distinct":
        which = draw.integers(int(first), size=count, dtype="u8")
        if whole:
            return (which * np.uint64(_ODD)).astype(_dtype(type_))
        values = which.astype(float)
    elif form == "normal":
        near = np.clip(draw.standard_normal(count), -_DEVIATIONS, _DEVIATIONS)
        values = first + second * near
        if whole:
            least, most = np.iinfo(_dtype(type_)).min, np.iinfo(_dtype(type_)).max
            values = np.clip(np.rint(values), least, most)
    elif whole:
        values = draw.integers(int(first), int(second), count, endpoint=True)
    else:
        values = draw.uniform(first, second, count)
    return _encoded(np.sort(values) if form == "sorted" else values, type_)


def _dtype(type_: str) -> HostArray:
    return np.dtype(_BITS.get(type_) or f"<{type_[0]}{int(type_[1:]) // 8}")


def _decoded(stored: HostArray, type_: str) -> HostArray:
    """Return the values in float64, or int64."""
    if type_ in _BITS:
        return _by_bits(type_)[stored]
    return stored.astype(np.float64 if type_[0] == "f" else np.int64)


def _encoded(values: HostArray, type_: str) -> HostArray:
    """Return the nearest values of a type. Raises UserError for what is no integer of it."""
    if type_ not in _BITS:
        with np.errstate(all="ignore"):
            stored = values.astype(_dtype(type_))
        if type_[0] in "iu" and (wrong := values[stored != values]).size:
            raise UserError(f"{wrong[0]} is no {type_}")
        return stored
    values, dtype = values.astype(float), _dtype(type_)
    known, bits = np.unique(_by_bits(type_), return_index=True)
    known, bits = known[:-1], bits[:-1]  # without NaN
    middles = (known[1:] + known[:-1]) / 2
    at = np.searchsorted(middles, values)
    # Of two that are equally near, the one with even bits.
    is_middle = middles[np.minimum(at, len(middles) - 1)] == values
    at = at + (is_middle & (bits[at] % 2 == 1))
    nan = 2 ** (8 * dtype.itemsize - 1) - 1
    return np.where(np.isnan(values), nan, bits[at]).astype(dtype)


def _by_bits(type_: str) -> HostArray:
    """Return all values of a type that NumPy has not, in the order of their bits."""
    if type_ == "bf16":
        with np.errstate(invalid="ignore"):  # of signalling NaN
            return (np.arange(1 << 16, dtype="<u4") << 16).view("<f4").astype(float)
    bits = np.arange(1 << 8)
    if type_ == "e5m2":
        return (bits.astype("<u2") << 8).view("<f2").astype(float)
    exponent, fraction = bits >> 3 & 15, bits & 7
    sizes = np.where(exponent > 0, (8 + fraction) * 2.0 ** (exponent - 10), fraction * 2.0**-9)
    return np.where(bits & 127 == 127, np.nan, np.where(bits > 127, -sizes, sizes))
