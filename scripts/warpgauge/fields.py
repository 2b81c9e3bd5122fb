# SPDX-License-Identifier: Apache-2.0
"""The parts of a row and of a context that every kind of file writes alike."""

from __future__ import annotations

import math

from warpgauge.document import TIME_UNITS, Object, Place, as_object, kind
from warpgauge.text import quoted

# Google Benchmark's own numbers in a row; every other number is a counter.
_NOT_COUNTERS = frozenset(
    (
        "family_index",
        "per_family_instance_index",
        "repetitions",
        "repetition_index",
        "threads",
        "iterations",
        "real_time",
        "cpu_time",
    )
)


def name_of(row: Object, place: Place, key: str = "name") -> str:
    name = row.get(key)
    if not isinstance(name, str):
        raise place.error(f"has no '{key}'" if key not in row else f"'{key}' is {kind(name)}")
    if not name.strip():
        raise place.error(f"'{key}' is empty")
    return name


def unit_of(row: Object, place: Place) -> float:
    """Seconds in one unit of the row's times."""
    unit = row.get("time_unit")
    if not isinstance(unit, str):
        fault = "has no 'time_unit'" if unit is None else f"'time_unit' is {kind(unit)}"
        raise place.error(fault, "use ns, us, ms or s")
    if unit not in TIME_UNITS:
        raise place.error(f"has the time unit {quoted(unit)}", "use ns, us, ms or s")
    return TIME_UNITS[unit]


def seconds(value: object, unit: float, key: str, place: Place) -> float:
    """A time that a measurement can have: finite and above zero."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise place.error(f"'{key}' is {kind(value)}, not a number")
    try:
        time = float(value) * unit
    except OverflowError:
        time = math.inf
    if not math.isfinite(time):
        raise place.error(f"'{key}' is {'NaN' if math.isnan(time) else 'infinite'}")
    if not time > 0.0:
        raise place.error(f"'{key}' is {value:g}; a time lies above zero")
    return time


def counters_of(row: Object) -> dict[str, float]:
    """The finite counters of a row; a NaN in a counter carries nothing."""
    counters: dict[str, float] = {}
    for key, value in row.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or key in _NOT_COUNTERS:
            continue
        try:
            number = float(value)
        except OverflowError:
            continue
        if math.isfinite(number):
            counters[key] = number
    return counters


def label_of(row: Object) -> str:
    label = row.get("label")
    return label if isinstance(label, str) else ""


def context_strings(top: Object, place: Place, key: str = "context") -> dict[str, str]:
    """The context as strings; lists and objects (caches, load averages) are left out."""
    if key not in top:
        return {}
    strings: dict[str, str] = {}
    for name, value in as_object(top[key], key, place).items():
        if isinstance(value, bool):
            strings[name] = "true" if value else "false"
        elif isinstance(value, (str, int, float)):
            strings[name] = str(value)
    return strings
