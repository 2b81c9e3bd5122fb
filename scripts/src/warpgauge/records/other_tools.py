# SPDX-License-Identifier: Apache-2.0
"""Read the result files of pytest-benchmark, hyperfine and Catch2."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar
from xml.etree import ElementTree

from warpgauge.records.counters import Clock
from warpgauge.records.document import MESSAGE_LIMIT, Document, as_object, misfit, rows_of
from warpgauge.records.fields import context_strings, name_of, number_or_zero, seconds
from warpgauge.records.google_benchmark import repetitions_of
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.row import Row
from warpgauge.system.errors import UserError
from warpgauge.system.location import MEASURE_AGAIN, Object, Place
from warpgauge.system.text import cut, quoted

_Raw = TypeVar("_Raw")


def record_of(
    whole: Place,
    source: Source,
    context: Mapping[str, str],
    rows: Iterable[tuple[Place, str, _Raw]],
    read: Callable[[Place, str, _Raw], Row],
) -> Record:
    """Return the record of a file. A row that `read` refuses is an error row. Raise UserError."""
    made: dict[str, Row] = {}
    faults: dict[str, UserError] = {}
    for place, name, raw in rows:
        name_of({"name": name}, place)
        try:
            if name in made:
                raise place.error("this benchmark is in the file twice", "give each its own name")
            made[name] = read(place, name, raw)
        except UserError as fault:
            words = str(fault).removeprefix(f"{whole.path.parent}/")
            made[name] = Row(name, {}, Clock.HOST, error=words)
            faults[name] = fault
    if not made:
        raise whole.error("holds no benchmark")
    if faults.keys() == made.keys():
        raise next(iter(faults.values()))
    session = Session(whole.path.name, {key: value for key, value in context.items() if value})
    of_processes, sentences = source is Source.HYPERFINE, tuple(map(str, faults.values()))
    return Record(whole.path, source, {session.key: session}, made, of_processes, sentences)


def text_of(members: Object, *keys: str) -> str:
    """Return the string under `keys` of nested objects, "" if there is none."""
    value: object = members
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def number_of(value: object, key: str, place: Place) -> float:
    """Return a number that may be written as a string. Raise UserError."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise misfit(value, key, "a number", place) from None


def pytest_benchmark(document: Document) -> Record | None:
    """Return the record of a file of ``pytest --benchmark-json`` or ``--benchmark-autosave``."""
    top = document.top
    if not {"machine_info", "commit_info"} <= top.keys():
        return None
    commit = context_strings(top, document.place, "commit_info")
    context = {
        "date": text_of(top, "datetime"),
        "host_name": text_of(top, "machine_info", "node"),
        "cpu_model": text_of(top, "machine_info", "cpu", "brand_raw"),
        "library_version": text_of(top, "version"),
        "commit": commit["id"] if len(commit.get("id", "")) == 40 else "",  # or "unversioned"
        "dirty": commit.get("dirty", ""),
    }
    rows = ((place, name_of(row, place, "fullname"), row) for place, row in rows_of(document))
    return record_of(document.place, Source.PYTEST_BENCHMARK, context, rows, _of_pytest)


def _of_pytest(place: Place, name: str, row: Object) -> Row:
    stats = as_object(row.get("stats"), "stats", place)
    rounds = int(number_or_zero(stats.get("rounds")))
    if data := stats.get("data"):
        times = _seconds_of(data, "data", place)
    else:
        typical = seconds(stats.get("median"), 1.0, "median", place)
        times = repetitions_of(typical, number_or_zero(stats.get("stddev")), rounds)
    iterations = rounds * int(number_or_zero(stats.get("iterations")))
    return Row(name, {place.path.name: times}, Clock.HOST, iterations=iterations)


def _seconds_of(times: object, key: str, place: Place) -> tuple[float, ...]:
    if not isinstance(times, list) or not times:
        raise misfit(times, key, "a list of times", place)
    return tuple([seconds(time, 1.0, key, place) for time in times])


def hyperfine(document: Document) -> Record | None:
    """Return the record of a file of ``hyperfine --export-json``, whose times are processes'."""
    results = document.top.get("results")
    if not isinstance(results, list) or not all(
        isinstance(result, dict) and "command" in result for result in results
    ):
        return None
    rows = _commands(results, document.place)
    return record_of(document.place, Source.HYPERFINE, {}, rows, _of_hyperfine)


def _commands(results: Sequence[Object], whole: Place) -> Iterator[tuple[Place, str, Object]]:
    for index, result in enumerate(results):
        place = Place(whole.path, "", index, result["command"])
        name, parameters = name_of(result, place, "command"), result.get("parameters")
        axes = parameters.items() if isinstance(parameters, dict) else ()
        yield place, "/".join([name, *(f"{axis}:{value}" for axis, value in axes)]), result


def _of_hyperfine(place: Place, name: str, result: Object) -> Row:
    statuses = result.get("exit_codes")
    if isinstance(statuses, list) and any(status != 0 for status in statuses):
        raise place.error("a run failed", "run hyperfine without --ignore-failure")
    cpu = sum(number_or_zero(result.get(key)) for key in ("user", "system"))
    times = _seconds_of(result.get("times"), "times", place)
    return Row(name, {place.path.name: times}, Clock.HOST, cpu_seconds=cpu)


def catch2_json(document: Document) -> None:
    """Raise UserError for JSON of Catch2, whose reporter leaves benchmarks out."""
    if text_of(document.top, "metadata", "catch2-version"):
        fault = "is Catch2's JSON, which holds no benchmark results"
        raise document.place.error(fault, "run the program with --reporter xml::out=FILE")


def catch2(place: Place, content: bytes) -> Record | None:
    """Return the record of a file of Catch2's XML reporter; None for other content."""
    start = content[:1000].lstrip()
    # Catch2 declares no types; a file that does could define entities that fill the memory.
    if not start.startswith(b"<") or b"<Catch" not in start or b"<!DOCTYPE" in content:
        return None
    context: dict[str, str] = {}
    try:
        rows = list(_benchmarks(place, content, context))
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # the last of encodings
        raise place.error(f"is not whole XML ({error})", MEASURE_AGAIN) from None
    return record_of(place, Source.CATCH2, context, rows, _of_catch2)


_Element = ElementTree.Element


def _benchmarks(
    whole: Place, content: bytes, context: dict[str, str]
) -> Iterator[tuple[Place, str, _Element]]:
    """Yield the benchmarks, named by test case and sections, and fill the `context`."""
    path: list[str] = []
    for event, element in ElementTree.iterparse(io.BytesIO(content), ("start", "end")):
        name = element.get("name", "")
        if element.tag in ("TestCase", "Section"):
            path = [*path, name] if event == "start" else path[:-1]
        elif event == "start" and element.tag in ("Catch2TestRun", "Catch"):
            context["executable"] = name
            context["library_version"] = element.get("catch2-version", "")
        elif event == "end" and element.tag == "BenchmarkResults":
            full = "/".join([*path, name])
            yield Place(whole.path, quoted(full)), full, element


def _of_catch2(place: Place, name: str, element: _Element) -> Row:
    if (failed := element.find("failed")) is not None:
        message = failed.get("message") or "it gave no message"
        return Row(name, {}, Clock.HOST, error=cut(message, MESSAGE_LIMIT))

    def number(tag: str) -> float:
        within = element.find(tag)
        text = element.get(tag) if within is None else within.get("value")
        return number_of(text, tag, place)

    typical = seconds(number("mean"), 1e-9, "mean", place)
    samples = int(number_or_zero(number("samples")))
    times = repetitions_of(typical, number_or_zero(number("standardDeviation")) * 1e-9, samples)
    iterations = samples * int(number_or_zero(number("iterations")))
    return Row(name, {place.path.name: times}, Clock.HOST, iterations=iterations)
