# SPDX-License-Identifier: Apache-2.0
"""The parts of rows and contexts that all kinds of files share."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from warpgauge.records.counters import DECISIVE
from warpgauge.records.document import TIME_UNITS, as_object, kind, misfit
from warpgauge.records.row import MOST_ROUNDS, Pair, Why
from warpgauge.system.location import Object, Place
from warpgauge.system.text import plural, quoted

# Marks what timed a row of another project's program, which lacks the counter for it.
TIMED_BY, HOST = "timed_by", "host"

# A digest of the machine code of a row's kernels, in run files and baselines.
MACHINE_CODE = "machine_code"

WHY = "why"

# Lists with an entry for each process, in run files of pairs (`model.Row`).
ROUNDS, PAIRS, ELAPSED = "process_rounds", "pairs", "elapsed"

# Prefix of counters that describe how a kernel is launched; the kernel's mangled name follows. Only
# processes' own rows have them. They are not measurements.
_KERNEL = "kernel:"

# Google Benchmark's own numbers in a row; every other number is a counter.
_NOT_COUNTERS = frozenset(
    (
        *"name run_name run_type time_unit label family_index per_family_instance_index".split(),
        *"repetitions repetition_index threads iterations real_time cpu_time".split(),
        # Fields that are not numbers.
        *"aggregate_name aggregate_unit error_occurred error_message skipped".split(),
        *(
            "process_medians",
            "skip_message",
            "big_o",
            TIMED_BY,
            MACHINE_CODE,
            ROUNDS,
            PAIRS,
            ELAPSED,
            "why",
        ),
    )
)

# Google Benchmark's --benchmark_context, our --filter and --inject are command arguments, for which
# this is Linux's limit. People read the lines of the context.
CONTEXT_LIMIT = 128 * 1024

# Names are keys, columns and lines of all reports. Templates make names of hundreds of characters.
NAME_LIMIT = 4096

NO_FILE = Place(Path())
_Round = Annotated[int, Meta(ge=1, le=MOST_ROUNDS)]
_PositiveNumber = Annotated[float, Meta(gt=0.0, le=sys.float_info.max)]
_NUMBERS = frozenset((int, float))
_LARGEST = sys.float_info.max


def is_name(text: str) -> bool:
    """Return whether a file with this name can be read again (`name_of`)."""
    return bool(text) and not text.isspace() and len(text) <= NAME_LIMIT


def name_of(row: Object, place: Place, key: str = "name") -> str:
    name = row.get(key)
    if not isinstance(name, str):
        raise place.error(f"has no '{key}'" if key not in row else f"'{key}' is {kind(name)}")
    if is_name(name):
        return name
    if len(name) > NAME_LIMIT:
        raise place.error(f"'{key}' is longer than {NAME_LIMIT} characters", "shorten it")
    raise place.error(f"'{key}' is empty")


def unit_of(row: Object, place: Place) -> float:
    """Return the seconds in one unit of the row's times. Raise UserError for an unknown unit."""
    unit = row.get("time_unit")
    if not isinstance(unit, str):
        fault = "has no 'time_unit'" if unit is None else f"'time_unit' is {kind(unit)}"
        raise place.error(fault, "use ns, us, ms or s")
    if unit not in TIME_UNITS:
        raise place.error(f"has the time unit {quoted(unit)}", "use ns, us, ms or s")
    return TIME_UNITS[unit]


def seconds(value: object, unit: float, key: str, place: Place) -> float:
    """Return a time in seconds. Raise UserError unless it is finite and positive."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise misfit(value, key, "a number", place)
    try:
        time = float(value) * unit
    except OverflowError:
        time = math.inf
    if 0.0 < time < math.inf:
        return time
    if math.isfinite(time):
        raise place.error(f"{quoted(key)} is {value:g}; a time must be positive")
    raise place.error(f"{quoted(key)} is {'NaN' if math.isnan(time) else 'infinite'}")


def counters_of(row: Object, place: Place = NO_FILE, *, strict: bool = False) -> dict[str, float]:
    """Return the finite counters of a row. A NaN is absent: Google Benchmark writes it so.

    Raise UserError for a decisive counter that is infinite or no number: treated as absent, it
    would hide spills or a lowered clock. If `strict`, also for any other that is not a number.
    """
    found = {}
    for key in _countable(tuple(row)):
        value: Any = row[key]
        is_number = type(value) in _NUMBERS
        if is_number and -_LARGEST <= value <= _LARGEST:
            found[key] = float(value)
        elif type(value) is float and math.isnan(value):
            continue
        elif key in DECISIVE or (strict and not is_number):
            what = "not finite" if is_number else f"{kind(value)}, not a number"
            fault = f"the counter {quoted(key)} is {what}"
            raise place.error(fault, "measure again, or remove it")
    return found


@lru_cache(maxsize=4096)
def _countable(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys that may be counters; cached, because rows share few sets of keys."""
    return tuple(key for key in keys if key not in _NOT_COUNTERS and not key.startswith(_KERNEL))


def launches_of(row: Object) -> dict[str, float]:
    """Return how each kernel of a process's row is launched, as a number per mangled name."""
    found: dict[str, float] = {}
    for key, value in row.items():
        if key.startswith(_KERNEL) and isinstance(value, (int, float)):
            found[key.removeprefix(_KERNEL)] = value
    return found


def why_of(row: Object, place: Place) -> Why | None:
    """Return the explanation of a slowdown, None without one. Raise UserError for anything else."""
    try:
        return msgspec.convert(row[WHY], Why) if WHY in row else None
    except msgspec.ValidationError:
        raise place.error("'why' is not a paragraph and a list", "remove it") from None


def number_or_zero(value: object) -> float:
    """Return a finite, non-negative number; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    return float(value) if 0.0 <= value <= _LARGEST else 0.0


def label_of(row: Object, key: str = "label") -> str:
    """Return a text of a row, "" if it has none."""
    label = row.get(key)
    return label if isinstance(label, str) else ""


def timed_by_host(row: Object) -> bool:
    """Return whether the row says that the host's clock timed it."""
    return row.get(TIMED_BY) == HOST


def rounds_of(row: Object, processes: int, place: Place) -> tuple[int, ...]:
    """Return the round of each of the row's processes, () if not stated. Raise UserError."""
    rounds: tuple[int, ...] = _each(row, ROUNDS, _Round, processes, place)
    if len(set(rounds)) < len(rounds):
        raise place.error("'process_rounds' names a round twice", _MEASURE_OR_REMOVE)
    return rounds


def elapsed_of(row: Object, rounds: int, place: Place) -> tuple[float | None, ...]:
    """Return the seconds of each round by the driver's clock, () if not stated. Raise UserError."""
    return _each(row, ELAPSED, _PositiveNumber | None, rounds, place)


def pairs_of(row: Object, rounds: Sequence[int], place: Place) -> tuple[Pair, ...]:
    """Return the pair of each round, () if not stated. Raise UserError."""
    pairs: tuple[Pair, ...] = _each(row, PAIRS, Pair, len(rounds), place)
    if any((pair.log_ratio is None) is not (pair.slices == 0) for pair in pairs):
        raise place.error("'pairs' has a log_ratio without slices, or the reverse")
    looks = [pair.look for _, pair in sorted(zip(rounds, pairs, strict=False), key=itemgetter(0))]
    if looks != sorted(looks):
        raise place.error("'pairs' has a look before that of an earlier round")
    return pairs


_WANTED = {
    ROUNDS: f"integers from 1 to {MOST_ROUNDS}",
    ELAPSED: "positive numbers",
    PAIRS: "pairs (base_first, look, log_ratio, slices)",
}
_MEASURE_OR_REMOVE = "measure again, or remove it"


def _each(row: Object, key: str, type: object, count: int, place: Place) -> tuple[Any, ...]:
    """Return a value of this type for each of `count` processes, () if not stated."""
    try:
        values = msgspec.convert(row.get(key, ()), tuple[type, ...])  # type: ignore[valid-type]
    except msgspec.ValidationError:
        fault = f"{quoted(key)} is not a list of {_WANTED[key]}"
        raise place.error(fault, _MEASURE_OR_REMOVE) from None
    if values and len(values) != count:
        fault = f"{quoted(key)} has {plural(len(values), 'entry', 'entries')} for {count} processes"
        raise place.error(fault, _MEASURE_OR_REMOVE)
    return values


def context_strings(top: Object, place: Place, key: str = "context") -> dict[str, str]:
    """Return the context as strings, without lists and objects (caches, load averages)."""
    if key not in top:
        return {}
    strings: dict[str, str] = {}
    for name, value in as_object(top[key], key, place).items():
        if isinstance(value, bool):
            strings[name] = "true" if value else "false"
        elif isinstance(value, (str, int, float)):
            strings[name] = str(value)
            if len(strings[name]) > CONTEXT_LIMIT:
                fault = f"{quoted(name)} of {quoted(key)} is longer than {CONTEXT_LIMIT} characters"
                raise place.error(fault, "shorten it")
    return strings
