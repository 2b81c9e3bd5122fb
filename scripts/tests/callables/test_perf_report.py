# SPDX-License-Identifier: Apache-2.0
"""Functions that are marked as for Triton: what they are called with, shown and written."""

from __future__ import annotations

import csv
import sys
import webbrowser
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import warpgauge
from warpgauge.callables import perf_report
from warpgauge.callables.perf_report import Returned
from warpgauge.callables.timing import Timing
from warpgauge.records.counters import Clock
from warpgauge.records.row import Row
from warpgauge.system.errors import UserError

NAMESPACE = "{http://www.w3.org/2000/svg}"


def benchmark(**changes: Any) -> SimpleNamespace:  # noqa: ANN401 - attributes of Triton's class
    usual: dict[str, Any] = {
        "x_names": ["n"], "x_vals": [128, 1024], "line_arg": "provider",
        "line_vals": ["torch", "triton"], "line_names": ["Torch, eager", "Triton"],
        "plot_name": "softmax", "args": {"m": 4096}, "xlabel": "", "ylabel": "GB/s",
        "x_log": False, "y_log": False, "styles": None,
    }  # fmt: skip
    return SimpleNamespace(**{**usual, **changes})


def rate(n: int, provider: str, m: int) -> Returned:
    value = n * m * (2.0 if provider == "triton" else 1.0)
    return (value, 0.9 * value, 1.1 * value) if provider == "triton" else value


def timing(seconds: float, **counters: float) -> Timing:
    made = Row("softmax", {"": (seconds,)}, Clock.DEVICE, counters)
    return Timing("softmax", seconds, (0.9 * seconds, 1.1 * seconds), None, "", True, made)


def words(path: Path) -> list[str]:
    """The texts of a picture, its tooltips included."""
    parts = ElementTree.fromstring(path.read_text()).iter()
    return [part.text for part in parts if part.text and part.tag != f"{NAMESPACE}style"]


def rows(path: Path) -> list[list[str]]:
    return list(csv.reader(path.read_text().splitlines()))


def test_a_function_gets_its_sizes_its_line_and_its_arguments() -> None:
    calls = []

    def measure(**named: object) -> float:
        calls.append(named)
        return 1.0

    bench = benchmark(x_names=["n", "k"], x_vals=[8, (16, 32)], line_vals=["torch"])
    bench.line_names = ["Torch"]
    warpgauge.perf_report(bench)(measure).run(causal=True)
    common = {"provider": "torch", "m": 4096, "causal": True}
    assert calls == [{"n": 8, "k": 8, **common}, {"n": 16, "k": 32, **common}]


def test_numbers_are_printed_and_written_as_table_and_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mark = perf_report.perf_report(benchmark())(rate)
    assert mark.run(print_data=True, save_path=str(tmp_path / "new")) is None
    shown = capsys.readouterr().out.splitlines()
    assert [line.split() for line in shown[2:]] == [
        ["128", "524288", "1.04858e+06"],
        ["1024", "4.1943e+06", "8.38861e+06"],
    ]
    assert rows(tmp_path / "new" / "softmax.csv")[:2] == [
        ["n", "Torch, eager", "Triton"],
        ["128", "524288", "1.04858e+06"],
    ]
    texts = words(tmp_path / "new" / "softmax.svg")
    assert {"softmax", "n", "GB/s", "Torch, eager", "Triton"} <= {*texts}


@pytest.mark.parametrize("y_log", [False, True])
def test_what_a_picture_cannot_show_is_a_gap_in_it(tmp_path: Path, y_log: bool) -> None:
    values = {64: None, 128: 0.0, 256: (2.0, 0.0, float("nan")), 0: 3.0, 512: float("inf")}
    bench = benchmark(x_vals=list(values), y_log=y_log)
    mark = perf_report.perf_report([bench])(lambda n, **_: values[n])
    mark.run(save_path=str(tmp_path))
    assert [line[1] for line in rows(tmp_path / "softmax.csv")[1:]] == "nan 0 2 3 inf".split()
    drawn = words(tmp_path / "softmax.svg")
    assert ("128: 0" in drawn) is not y_log
    assert "256: 2" in drawn
    assert not {"64: nan", "0: 3", "512: inf"} & {*drawn}


def test_sizes_that_are_no_numbers_have_a_table_alone(tmp_path: Path) -> None:
    perf_report.perf_report(benchmark(x_vals=["fp16", "bf16"]))(lambda **_: 1.0).run(
        save_path=str(tmp_path)
    )
    assert [path.name for path in tmp_path.iterdir()] == ["softmax.csv"]


def test_of_a_timing_time_rate_and_ceiling_are_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(n: int, provider: str, m: int) -> Timing | None:
        if (n, provider) == (1024, "torch"):
            return None
        return timing(n * 1e-8, bytes_per_second=1e12, limit_fraction=0.5)

    perf_report.perf_report(benchmark())(measure).run(print_data=True, save_path=str(tmp_path))
    shown = capsys.readouterr().out
    assert "1.280 µs  1000 GB/s" in shown
    cells = rows(tmp_path / "softmax.csv")
    assert [line[:2] for line in cells[1:]] == [
        ["Torch, eager", "128"], ["Triton", "128"], ["Triton", "1024"],
    ]  # fmt: skip
    assert "roofline" in words(tmp_path / "softmax.svg")
    assert "roofline" not in words(tmp_path / "softmax-time.svg")


def test_plots_are_shown_by_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = list[str]()
    monkeypatch.setattr(webbrowser, "open", opened.append)
    perf_report.perf_report(benchmark())(rate).run(show_plots=True)
    (address,) = opened
    assert Path(address.removeprefix("file://")).name == "softmax.svg"


def test_data_frames_are_made_by_pandas_if_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = SimpleNamespace(DataFrame=lambda numbers, columns: (columns, numbers))
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    header = ["n", "Torch, eager", "Triton"]
    frame = header, [[128, 524288.0, 1048576.0], [1024, 4194304.0, 8388608.0]]
    assert perf_report.perf_report(benchmark())(rate).run(return_df=True) == frame
    assert perf_report.perf_report([benchmark()])(rate).run(return_df=True) == [frame]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match="pip install pandas"):
        perf_report.perf_report(benchmark())(rate).run(return_df=True)


def test_a_size_without_a_value_for_each_name_is_refused() -> None:
    with pytest.raises(UserError, match=r"\(1, 2\) in x_vals is no value of n"):
        perf_report.perf_report(benchmark(x_vals=[(1, 2)]))(rate).run()
