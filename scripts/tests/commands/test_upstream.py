# SPDX-License-Identifier: Apache-2.0
"""The command lines of Google Benchmark's compare: what its users type, and what they get."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from builders import Json, google, google_row, row, run, write
from warpgauge.commands.main import main as warpgauge
from warpgauge.system.errors import ExitStatus

ZERO_AND_ONE = {"Zero": 10.0, "Zero/4": 40.0, "P/Zero": 20.0, "One": 5.0, "One/4": 20.0, "Two": 1.0}
HALVED = {"[Zero vs. One]": (10e-9, 5e-9), "[Zero vs. One]/4": (40e-9, 20e-9)}


def compare(words: Sequence[str]) -> int:
    return warpgauge(["compare", *words])


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def file(name: str, times: dict[str, float], factor: float = 1.0) -> str:
    rows = [google_row(benchmark, factor * time) for benchmark, time in times.items()]
    return str(write(Path(name), google(rows)))


def program(name: str, times: dict[str, float], status: int = 0) -> str:
    """A program that writes these times, and the words of each call to NAME.log."""
    document = json.dumps(google([google_row(*both) for both in times.items()]))
    path = Path(name)
    path.write_text(
        f'#!/bin/sh\necho "$@" >> {name}.log\necho it said why >&2\n'
        "for word; do case $word in --benchmark_out=*) out=${word#*=};; esac; done\n"
        f"printf %s {shlex.quote(document)} > $out\nexit {status}\n"
    )
    path.chmod(0o755)
    return f"./{name}"


def calls(name: str) -> list[list[str]]:
    lines = Path(f"{name}.log").read_text().splitlines()
    own = [
        [word for word in line.split() if not word.startswith("--benchmark_out")] for line in lines
    ]
    assert all("--benchmark_out_format=json" in line for line in lines)
    return own


def compared(argv: Sequence[str], status: ExitStatus | None = None) -> dict[str, Json]:
    """The rows of the comparison by name, as -d writes them."""
    ended = compare([*argv[:1], "-d", "out.json", *argv[1:]])
    assert ended in (0, 1, 3) if status is None else ended == status
    verdicts: list[Json] = json.loads(Path("out.json").read_text())["verdicts"]
    return {str(verdict["name"]): verdict for verdict in verdicts}


def times(rows: dict[str, Json]) -> dict[str, tuple[object, object]]:
    return {name: (row["baseline_seconds"], row["candidate_seconds"]) for name, row in rows.items()}


def test_two_files_are_compared_as_without_the_mode(capsys: pytest.CaptureFixture[str]) -> None:
    old, new = file("old.json", ZERO_AND_ONE), file("new.json", ZERO_AND_ONE, 3.0)
    shown = []
    for words in (
        [old, new],
        ["benchmarks", old, new],
        ["-a", "--no-color", "benchmarks", old, new],
    ):
        assert compare(words) == 1
        shown.append(capsys.readouterr())
    assert shown[0] == shown[1] == shown[2]


@pytest.mark.parametrize("mode", ["filters all.json Zero One",
                                  "benchmarksfiltered all.json Zero all.json One"])  # fmt: skip
def test_two_filters_make_common_names(mode: str) -> None:
    file("all.json", ZERO_AND_ONE)
    rows = compared(mode.split())
    assert set(rows) == {*HALVED, "P/[Zero vs. One]"}
    found = times(rows)
    assert {name: found[name] for name in HALVED} == {
        name: pytest.approx(pair) for name, pair in HALVED.items()
    }
    assert rows["P/[Zero vs. One]"]["outcome"] == "MISSING"


def test_names_that_a_filter_makes_equal_are_errors_of_their_own() -> None:
    file("all.json", {"a1": 1.0, "a2": 2.0, "a1/x": 1.0, "b": 1.0, "b/x": 1.0})
    rows = compared(["filters", "all.json", "a.", "b"])
    verdicts = {name: row["outcome"] for name, row in rows.items()}
    assert verdicts == {"[a. vs. b]": "ERROR", "[a. vs. b]/x": "INCONCLUSIVE"}


def test_the_filter_for_programs_selects_rows_of_files(capsys: pytest.CaptureFixture[str]) -> None:
    old, new = file("old.json", ZERO_AND_ONE), file("new.json", ZERO_AND_ONE)
    words = ["benchmarks", old, new, "--benchmark_filter=^Z", "--benchmark_repetitions=3"]
    assert set(compared(words)) == {"Zero", "Zero/4"}


def test_two_programs_run_in_turns_and_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    old, new = program("old", {"a": 10.0}), program("new", {"a": 30.0})
    rows = compared(["benchmarks", old, new, "--benchmark_repetitions=2", "--", "--own"])
    assert times(rows) == {"a": (pytest.approx(10e-9), pytest.approx(30e-9))}
    assert rows["a"]["processes"] == [3, 3]
    assert calls("old") == calls("new") == [["--benchmark_repetitions=2", "--own"]] * 3
    assert "Running old and new in 3 processes a side, in turns" in capsys.readouterr().err


def test_a_program_may_stand_against_a_file_or_against_itself() -> None:
    rows = compared(["benchmarks", file("old.json", {"a": 10.0}), program("new", {"a": 30.0})])
    assert times(rows) == {"a": (pytest.approx(10e-9), pytest.approx(30e-9))}
    rows = compared(["filters", program("both", {"x": 10.0, "y": 30.0}), "x", "y"])
    assert times(rows) == {"[x vs. y]": (pytest.approx(10e-9), pytest.approx(30e-9))}
    assert calls("both") == [["--benchmark_filter=x"], ["--benchmark_filter=y"]] * 3


def test_a_file_or_folder_of_a_modes_name_is_still_one() -> None:
    file("benchmarks/1.json", {"a": 1.0})
    file("filters", {"a": 1.0})
    assert compare(["benchmarks", "filters", "--process-scatter=0.1"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("filters a.json x", "filters needs A REGEX REGEX"),
        ("benchmarksfiltered a.json x a.json", "benchmarksfiltered needs A REGEX B REGEX"),
        ("filters a.json ( x", "is not a valid regular expression"),
        ("filters a.json nosuch a", "a.json: no benchmark matches 'nosuch'"),
        ("filters run.json a a", "run.json: is a run file"),
        ("a.json a.json a.json", "unrecognized arguments: a.json"),
        ("a.json a.json --benchmark_filter=a", "unrecognized arguments: --benchmark_filter=a"),
        ("benchmarks ./fails a.json", "fails: fails exited with status 7: it said why"),
        ("benchmarks ./silent a.json", "silent: wrote no result"),
        ("benchmarks a.json a.json -d a.json", "a.json"),
    ],
)
def test_bad_usage_is_one_sentence(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file("a.json", {"a": 1.0})
    write(Path("run.json"), run([row("a")]))
    program("fails", {"a": 1.0}, status=7)
    Path("silent").write_text("#!/bin/sh\n")
    Path("silent").chmod(0o755)
    assert compare(words.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err.splitlines()[-1]


def test_the_changes_are_those_that_upstream_prints() -> None:
    """As in its tools/gbench/Inputs/test1_run1.json: rows without run_type, in several units."""
    expected = [
        ("same", (10.0, "ns"), (10.0, "ns"), 0.0),
        ("twice as fast", (50.0, "ns"), (25.0, "ns"), -0.5),
        ("1 % slower", (100.0, "ns"), (101.0, "ns"), 0.01),
        ("100 times slower", (100.0, "ns"), (10_000.0, "ns"), 99.0),
        ("a tenth of a second", (0.4, "s"), (0.04, "s"), -0.9),
        ("of another unit", (1.0, "us"), (1.0, "ms"), 999.0),
    ]
    sides = {
        "old.json": [row[:2] for row in expected],
        "new.json": [row[0:3:2] for row in expected],
    }
    for path, rows in sides.items():
        plain: list[Json] = [
            {"name": name, "real_time": time, "cpu_time": time, "time_unit": unit, "iterations": 10}
            for name, (time, unit) in rows
        ]
        write(Path(path), google(plain))
    found = compared(["benchmarks", "old.json", "new.json"])
    changes = {name: row["change"]["ratio"] for name, row in found.items()}  # type: ignore[index]
    assert changes == {name: pytest.approx(change) for name, _, _, change in expected}
