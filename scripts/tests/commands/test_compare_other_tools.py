# SPDX-License-Identifier: Apache-2.0
"""warpgauge compare of other tools' files, with what nvbench's own compare script gets wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import other_tools as tools
from builders import noisy, write
from other_tools import Tree
from warpgauge.commands.main import main as warpgauge

Output = pytest.CaptureFixture[str]


def compared(folder: Path, old: object, new: object, *options: str) -> int:
    """The exit status of the comparison of two documents, or of two lists, a file a process."""
    sides = []
    for name, side in (("old", old), ("new", new)):
        path = folder / f"{name}.json" if isinstance(side, dict) else folder / name
        for index, document in enumerate(side if isinstance(side, list) else ()):
            write(path / f"{index}.json", document)
        sides.append(str(write(path, side) if isinstance(side, dict) else path))
    return warpgauge(["compare", *options, *sides])


def of(*seconds: float, noise: float = 1e-4, more: Sequence[Tree] = ()) -> Tree:
    """A process of nvbench: a state for each time."""
    states = [tools.state(time, noise, 500, n=index) for index, time in enumerate(seconds)]
    return tools.nvbench({"copy": [*states, *more]})


def processes(seed: int, factor: float = 1.0) -> list[Tree]:
    return [of(1e-4 * time) for time in noisy(seed, 0.002, factor)]


def test_the_noise_within_a_process_flags_no_change_between_two(
    tmp_path: Path, capsys: Output
) -> None:
    # 1.5 %, a hundred times the noise that nvbench states, as between two processes of one code.
    assert compared(tmp_path, of(1e-4), of(1.015e-4)) == 3
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("NOT DECIDED 1 undecided")
    assert "1 process a side, whose scatter is assumed; slower within these two" in shown


def test_the_exit_status_is_no_number_of_differences(tmp_path: Path, capsys: Output) -> None:
    times = [1e-4 * (1 + index) for index in range(3)]
    assert compared(tmp_path, of(*times), of(*[3 * time for time in times])) == 1
    assert capsys.readouterr().out.startswith("FAIL  3 slower")


def test_a_benchmark_that_vanished_is_missing(tmp_path: Path, capsys: Output) -> None:
    old, new = of(1e-4, 1e-3), of(1e-4)
    assert compared(tmp_path, old, new, "--process-scatter=0.01") == 3
    assert "1 missing" in capsys.readouterr().out


def test_a_state_that_failed_is_neither_zero_nor_a_pass(tmp_path: Path, capsys: Output) -> None:
    failed = tools.skipped("Unexpected error: an illegal address", n=1)
    assert compared(tmp_path, of(1e-4, 1e-3), of(1e-4, more=[failed]), "--process-scatter=.01") == 3
    assert "1 failed" in capsys.readouterr().out
    unfit = tools.skipped("not a conversion", n=1)
    both = of(1e-4, more=[unfit])
    assert compared(tmp_path, both, both, "--process-scatter=0.01") == 0


def test_several_files_a_side_show_what_changed_and_bound_what_did_not(
    tmp_path: Path, capsys: Output
) -> None:
    assert compared(tmp_path / "same", processes(1), processes(2)) == 0
    assert "PASS  1 within tolerance" in capsys.readouterr().out
    assert compared(tmp_path / "slower", processes(1), processes(2, 1.1)) == 1
    assert "nvbench JSON of 7 processes" in " ".join(capsys.readouterr().out.split())


def test_times_of_two_gpu_models_or_of_two_clocks_are_not_compared(
    tmp_path: Path, capsys: Output
) -> None:
    other = tools.nvbench({"copy": [tools.state(1.0, n=0)]}, ["NVIDIA A100"])
    assert compared(tmp_path, of(1.0), other) == 3
    assert "different GPU models" in " ".join(capsys.readouterr().out.split())
    host = tools.state(1.0, n=0)
    host["summaries"] = [tools.value("nv/cpu_only/time/cpu/mean", 1.0)]
    assert compared(tmp_path, of(1.0), tools.nvbench({"copy": [host]})) == 3
    assert "timed by the host clock" in " ".join(capsys.readouterr().out.split())


def test_runs_of_hyperfine_in_one_file_are_evidence_between_processes(
    tmp_path: Path, capsys: Output
) -> None:
    old, new = ({"./sort": noisy(seed, 0.005)} for seed in (1, 2))
    assert compared(tmp_path, tools.hyperfine(old), tools.hyperfine(new)) == 0
    slower = {"./sort": noisy(2, 0.005, 1.1)}
    capsys.readouterr()
    assert compared(tmp_path, tools.hyperfine(old), tools.hyperfine(slower)) == 1
    assert "several processes of each side" in " ".join(capsys.readouterr().out.split())


def test_two_commands_of_one_hyperfine_file_are_compared(tmp_path: Path, capsys: Output) -> None:
    times = {"./old": noisy(1, 0.005), "./new": noisy(2, 0.005, 1.2)}
    path = str(write(tmp_path / "x.json", tools.hyperfine(times)))
    assert warpgauge(["compare", "filters", path, "./old", "./new"]) == 1


def test_a_single_file_is_listed_and_not_compared_with_our_baseline(
    tmp_path: Path, capsys: Output
) -> None:
    path = str(write(tmp_path / "x.json", of(1e-4)))
    assert warpgauge(["compare", path, "--format=json"]) == 3
    report = json.loads(capsys.readouterr().out)
    assert (report["counts"]["NEW"], report["baseline"]["sessions"]) == (1, [])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("name,min,max\n", "CSV"), ('{"meta": {"version": {"nvbench": {}}}}', "version")],
)
def test_what_cannot_be_read_is_status_2(
    tmp_path: Path, capsys: Output, text: str, sentence: str
) -> None:
    path = tmp_path / "x"
    path.write_text(text, encoding="utf-8")
    assert warpgauge(["compare", str(path), str(path)]) == 2
    assert sentence in capsys.readouterr().err
