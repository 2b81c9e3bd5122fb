# SPDX-License-Identifier: Apache-2.0
"""Read nvbench's JSON, and the samples that ``--jsonbin`` writes beside it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

from warpgauge.records.counters import SM_CLOCK, Clock
from warpgauge.records.document import MESSAGE_LIMIT, Document, misfit, rows_of
from warpgauge.records.fields import name_of, number_or_zero, seconds
from warpgauge.records.google_benchmark import MOST_REPETITIONS, repetitions_of
from warpgauge.records.model import Record, Source
from warpgauge.records.other_tools import number_of, record_of, text_of
from warpgauge.records.row import Row
from warpgauge.system.location import SIZE_LIMIT_BYTES, Object, Place, bytes_of
from warpgauge.system.text import cut, quoted

_MAJOR = 1  # number of the format's version

# Where a state's time is: of isolated launches, or of the host alone. Those of a batch are others.
_TIMES = (("nv/cold", "gpu", Clock.DEVICE), ("nv/cpu_only", "cpu", Clock.HOST))
_RATES = {
    "bw/global/bytes_per_second": "bytes_per_second",
    "bw/item_rate": "items_per_second",
    "sm_clock_rate/mean": SM_CLOCK,
}

# nvbench calls states skipped that failed, or that a failure kept from running.
_FAILURES = ("Unexpected error: ", "Skipped because a previous state")

# What files of 2021, which state no version, call these.
_TAGS_OF_2021 = {
    "Number of Samples (Cold)": "nv/cold/sample_size",
    "Average CPU Time (Cold)": "nv/cold/time/cpu/mean",
    "Average GPU Time (Cold)": "nv/cold/time/gpu/mean",
    "GPU Relative Standard Deviation (Cold)": "nv/cold/time/gpu/stdev/relative",
}

_SAME_MEAN = 1e-4  # relative: samples are single-precision numbers


def nvbench(document: Document) -> Record | None:
    """Return the record of a file of ``--json`` or ``--jsonbin``. Raise UserError."""
    top, place = document.top, document.place
    meta = top.get("meta")
    versions = meta.get("version") if isinstance(meta, dict) else None
    if not isinstance(versions, dict) or "nvbench" not in versions:
        if "context" in top or not {"devices", "benchmarks"} <= top.keys():
            return None
        versions = {"json": {"major": _MAJOR}}
    form = versions.get("json")
    if not isinstance(form, dict) or form.get("major") != _MAJOR:
        fault = f"is nvbench's JSON of version {quoted(text_of(versions, 'json', 'string'))}"
        raise place.error(f"{fault}; this warpgauge reads {_MAJOR}.x", "update warpgauge")
    names = {
        device.get("id"): text_of(device, "name")
        for device in _objects(top.get("devices"), "devices", place)
        if isinstance(device.get("id"), int)
    }
    states = list(_states(document))
    used = [key for key in names if any(state.get("device") == key for _, _, state in states)]
    arguments = meta.get("argv") if isinstance(meta, dict) else None
    context = {
        "executable": str(arguments[0]) if isinstance(arguments, list) and arguments else "",
        "library_version": text_of(versions, "nvbench", "string"),
        "gpu_name": ", ".join(names[key] for key in used),
    }
    rows = (
        # A GPU's number is in names only where a file has several of them, to tell these apart.
        (at, f"{name}/device:{state.get('device')}" if len(used) > 1 else name, state)
        for at, name, state in states
    )
    return record_of(place, Source.NVBENCH, context, rows, _row)


def _objects(value: object, key: str, place: Place) -> list[Object]:
    """Return a list of objects; nvbench writes null for an empty one, and wrote them by name."""
    members = [] if value is None else value
    if isinstance(members, dict):
        members = [{"name": key, **of} if isinstance(of, dict) else of
                   for key, of in members.items()]  # fmt: skip
    if not isinstance(members, list) or not all(isinstance(member, dict) for member in members):
        raise misfit(value, key, "a list of objects", place)
    return members


def _states(document: Document) -> Iterator[tuple[Place, str, Object]]:
    for place, benchmark in rows_of(document):
        family = name_of(benchmark, place)
        for state in _objects(benchmark.get("states"), "states", place):
            axes = _objects(state.get("axis_values"), "axis_values", place)
            name = "/".join([family, *(_axis(axis, place) for axis in axes)])
            yield Place(place.path, quoted(name)), name, state


def _axis(axis: Object, place: Place) -> str:
    value = axis.get("value")
    if axis.get("type") == "float64":  # written with all its digits: 0.00030000000000000003
        value = f"{number_of(value, 'value', place):.12g}"
    return f"{text_of(axis, 'name')}:{value}"


def _row(place: Place, name: str, state: Object) -> Row:
    if state.get("is_skipped"):
        reason = text_of(state, "skip_reason") or "it gave no reason"
        skipped = not reason.startswith(_FAILURES)
        return Row(name, {}, Clock.DEVICE, error=cut(reason, MESSAGE_LIMIT), skipped=skipped)
    found = _objects(state.get("summaries"), "summaries", place)
    summaries = dict(_summary(summary, place) for summary in found)
    measured = [key for key in _TIMES if f"{key[0]}/time/{key[1]}/mean" in summaries]
    if not measured:
        raise place.error("has neither a GPU time nor a CPU time")
    of, timer, clock = measured[0]

    def value(tag: str, default: object = None) -> float:
        of_file = summaries.get(tag, {}).get("value")  # null for NaN, of 2021
        return number_of(default if of_file is None else of_file, tag, place)

    mean = seconds(value(f"{of}/time/{timer}/mean"), 1.0, "mean", place)
    count = int(number_or_zero(value(f"{of}/sample_size", 1)))
    times = _samples(place, summaries.get(f"nv/json/bin:{of}/sample_times", {}), mean)
    if not times:
        typical = seconds(value(f"{of}/time/{timer}/median", mean), 1.0, "median", place)
        noise = value(f"{of}/time/{timer}/stdev/relative", math.inf)
        times = repetitions_of(typical, noise * mean if noise >= 0.0 else math.inf, count)
    rates = {key: value(f"{of}/{tag}", 0) for tag, key in _RATES.items()}
    return Row(
        name,
        {place.path.name: times},
        clock,
        {key: rate for key, rate in rates.items() if 0.0 < rate < math.inf},
        cpu_seconds=number_or_zero(value(f"{of}/time/cpu/mean", 0)),
    )


def _summary(summary: Object, place: Place) -> tuple[str, Object]:
    """Return the tag of a summary, and its data by name."""
    tag, data = text_of(summary, "tag"), summary.get("data")
    if not tag:
        tag = _TAGS_OF_2021.get(text_of(summary, "name"), "")
        data = {key: of for key, of in summary.items() if isinstance(of, dict)}
    data = _objects(data, "data", place)
    return tag, {text_of(datum, "name"): datum.get("value") for datum in data}


def _samples(place: Place, summary: Object, mean: float) -> tuple[float, ...]:
    """Return quantiles of the samples, as many as count; () without a file. Raise UserError."""
    import numpy as np  # takes time, which few commands need

    # Older versions name the file from their working directory. It lies beside the JSON.
    written = Path(text_of(summary, "filename"))
    file = Place(place.path.parent / written.parent.name / written.name)
    if not written.name or not os.path.isfile(file.path):  # noqa: PTH113 - of any text
        return ()
    too_large = file.error("is larger than a file of samples may be", "measure fewer samples")
    content = bytes_of(file, SIZE_LIMIT_BYTES, too_large, "measure it again")
    size = int(number_or_zero(number_of(summary.get("size"), "size", place)))
    samples = np.frombuffer(content[: len(content) // 4 * 4], "<f4").astype(np.float64)
    same = 0 < size == len(samples)
    if not same or not math.isclose(float(samples.mean()), mean, rel_tol=_SAME_MEAN):
        raise file.error("holds other samples than this run's", "measure it again, or remove it")
    count = min(size, MOST_REPETITIONS)
    times = np.quantile(samples, (np.arange(count) + 0.5) / count)
    return tuple([seconds(time, 1.0, "sample", file) for time in times.tolist()])
