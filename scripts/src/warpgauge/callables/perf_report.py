# SPDX-License-Identifier: Apache-2.0
"""Tables and plots over sizes, as ``triton.testing.perf_report`` makes them."""

from __future__ import annotations

import csv
import importlib
import io
import math
import tempfile
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpgauge.callables.timing import Timing
from warpgauge.system.atomic import replace_all
from warpgauge.system.errors import UserError

Benchmark = Any  # triton.testing.Benchmark, or an object with its attributes
Benchmarks = Any  # one, or a list of them
Returned = Any  # by the function: a Timing, a number, (mean, low, high), or None for a gap
Frames = Any  # of pandas
Rows = list[tuple[list[Any], list[Returned]]]  # values of x_names, and a result for each line
Shown = tuple[str, dict[str, str]]  # a table, and the content of files by the end of their names


@dataclass(frozen=True)
class Mark:
    """A function that is measured over the sizes of Triton's `Benchmark`, or of several."""

    fn: Callable[..., Returned]
    benchmarks: Benchmarks

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str = "",
        return_df: bool = False,
        **more: object,
    ) -> Frames:
        """Measure and show. `save_path` gets a CSV and SVGs, named after each `plot_name`.

        `more` are arguments of the function. With `return_df` return a pandas.DataFrame, or one
        for each of several benchmarks; a `Timing` is in seconds there. Raises UserError.
        """
        try:
            pandas = importlib.import_module("pandas") if return_df else None
        except ImportError:
            raise UserError("return_df needs pandas: pip install pandas") from None
        is_one, frames = not isinstance(self.benchmarks, (list, tuple)), []
        for bench in [self.benchmarks] if is_one else self.benchmarks:
            rows = list(_measured(self.fn, bench, more))
            is_timed = any(isinstance(result, Timing) for _, results in rows for result in results)
            table, ends = (_timed if is_timed else _plain)(bench, rows)
            if print_data:
                print(table)
            if save_path or show_plots:
                folder = Path(save_path or tempfile.mkdtemp(prefix="warpgauge-")).resolve()
                folder.mkdir(parents=True, exist_ok=True)
                files = {folder / f"{bench.plot_name}{end}": text for end, text in ends.items()}
                replace_all(files)
                for path in files if show_plots else ():
                    if path.suffix == ".svg":
                        webbrowser.open(path.as_uri())
            if pandas is not None:
                numbers = [[*x, *(_numbers(y)[0] for y in results)] for x, results in rows]
                names = [*bench.x_names, *bench.line_names]
                frames.append(pandas.DataFrame(numbers, columns=names))
        return None if pandas is None else frames[0] if is_one else frames


def perf_report(benchmarks: Benchmarks) -> Callable[[Callable[..., Returned]], Mark]:
    """Mark a function that ``.run(print_data=True)`` measures over sizes.

    It gets the x values and the line's value by name. It returns a number, such as GB/s by
    ``warpgauge.do_bench``, alone or with its lowest and highest value; or what ``warpgauge.time``
    returns: then time, rate and ceiling are shown.
    """
    return lambda fn: Mark(fn, benchmarks)


def _measured(
    fn: Callable[..., Returned], bench: Benchmark, more: dict[str, object]
) -> Iterator[tuple[list[Any], list[Returned]]]:
    for x in bench.x_vals:
        values = [*x] if isinstance(x, (list, tuple)) else [x] * len(bench.x_names)
        if len(values) != len(bench.x_names):
            names = ", ".join(bench.x_names)
            raise UserError(f"{bench.plot_name}: {x} in x_vals is no value of {names}")
        named = {**dict(zip(bench.x_names, values, strict=True)), **bench.args, **more}
        yield values, [fn(**named, **{bench.line_arg: line}) for line in bench.line_vals]


def _numbers(result: Returned) -> tuple[float, float | None, float | None]:
    """Return a value and its interval; NaN for a gap."""
    if isinstance(result, Timing):
        return result.seconds, *result.interval
    value, low, high = result if isinstance(result, (list, tuple)) else (result, None, None)
    return math.nan if value is None else float(value), low, high


def _plain(bench: Benchmark, rows: Rows) -> Shown:
    """Show numbers of any unit; what the axes cannot have is a gap."""
    from warpgauge.reports.drawing import chart
    from warpgauge.reports.sweep import MARK

    above = 0.0 if bench.y_log else -math.inf
    curves: list[list[chart.Point | None]] = [[] for _ in bench.line_names]
    cells = [[*bench.x_names, *bench.line_names]]
    for x, results in rows:
        numbers = [_numbers(result) for result in results]
        cells.append([*map(str, x), *(f"{y:.6g}" for y, _, _ in numbers)])
        for curve, (y, *bounds) in zip(curves, numbers, strict=True):
            low, high = (end if end and above < end < math.inf else None for end in bounds)
            is_drawn = isinstance(x[0], (int, float)) and x[0] > 0 and above < y < math.inf
            curve.append(chart.Point(x[0], y, low, high, f"{x[0]}: {y:.6g}") if is_drawn else None)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines_of_table = ("  ".join(map(str.rjust, line, widths)) for line in cells)
    table = "\n".join([f"{bench.plot_name}:", *lines_of_table])
    content = io.StringIO()
    csv.writer(content, lineterminator="\n").writerows(cells)
    series = list(map(chart.Series, bench.line_names, curves, range(len(curves))))
    if not any(line.drawn for line in series):
        return table, {".csv": content.getvalue()}
    up = chart.Axis(bench.ylabel, is_logarithmic=bench.y_log)
    drawn = chart.drawn(series, bench.plot_name, bench.xlabel or bench.x_names[0], up)
    return table, {".csv": content.getvalue(), ".svg": chart.document(drawn, MARK)}


def _timed(bench: Benchmark, rows: Rows) -> Shown:
    """Show what `warpgauge.time` returned, over the first of `x_names`."""
    from warpgauge.records.counters import rates_of
    from warpgauge.records.model import Record, Session, Source
    from warpgauge.reports import sweep as reports
    from warpgauge.verdict.sweep import Measured, Sweep, Variant

    def swept(rates: Callable[[Mapping[str, float]], Mapping[str, float]]) -> Sweep:
        points: list[dict[Any, Measured]] = [{} for _ in bench.line_names]
        for x, results in rows:
            for of_line, its in zip(points, results, strict=True):
                if its is not None:
                    of_line[x[0]] = Measured(its.seconds, its.interval, rates(its.row.counters))
        record = Record(Path(bench.plot_name), Source.RUN, {"": Session("")}, {})
        axis = bench.xlabel or bench.x_names[0]
        return Sweep(record, axis, tuple(map(Variant, bench.line_names, points)))

    whole, times = swept(rates_of), swept(lambda counters: {})
    ends = {".csv": reports.csv_text(whole), ".svg": reports.svg(whole)}
    return reports.plain(whole), {**ends, "-time.svg": reports.svg(times)}
