# SPDX-License-Identifier: Apache-2.0
"""Any command, measured like a program of Google Benchmark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from warpgauge.measure import any_command
from warpgauge.measure.any_command import measured
from warpgauge.system.errors import UserError

NUMBER = r"took ([-\d.,]+)"


@pytest.mark.parametrize(
    ("printed", "seconds"),
    [
        ("took 2.5", 2.5),
        ("took 2.5 ms", 0.0025),
        ("took 2.5us.", 2.5e-6),
        ("took 1,500 ns", 1.5e-6),
        ("took 500 tokens/s", 0.002),
        ("took 2 minutes", 120.0),
        ("requests/sec took 500", 0.002),
        ("took 500 of 700", 500.0),
        ("took 12 steps", 12.0),
        ("took 500 tokens/sec", 0.002),
        ("took 500 tokens per second", 0.002),
        ("took 500 fps", 0.002),
        ("took 2 TB/s", 0.5),
        ("took 2000 GB/s.", 0.5),
        ("took 2 TFLOPS", 0.5),
    ],
)
def test_a_number_counts_by_its_unit(printed: str, seconds: float) -> None:
    assert measured(f"echo '{printed}'", NUMBER, "/") == {"command": pytest.approx(seconds)}


def test_two_groups_name_the_rows() -> None:
    times = measured(r"printf 'a: 1 ms\nb: 2 ms\n'", r"^(\w+): (\d+)", "/")
    assert times == {"a": pytest.approx(0.001), "b": pytest.approx(0.002)}


def test_without_a_pattern_the_whole_command_is_timed() -> None:
    assert measured("true", "", "/")["command"] > 0


def test_a_name_is_one_line() -> None:
    assert measured("printf 'a\\nb 1'", r"(a\s+b) (\d)", "/") == {"a b": 1.0}


def test_a_name_that_is_not_printed_is_that_of_the_command() -> None:
    assert measured("echo : 1 s", r"(\w+)?: (\d+)", "/") == {"command": 1.0}


def test_what_a_pattern_says_of_a_numbers_neighbours_counts() -> None:
    assert measured("echo a,1,500", r"a,(\d+),", "/") == {"command": 1.0}


@pytest.mark.parametrize(
    ("command", "pattern", "why"),
    [
        ("echo took 9.8e-4 s", NUMBER, "part of a number"),
        ("echo took 1.5", r"took (\d+)", "part of a number"),
        ("echo 12.5 ms", r"(\d+) ms", "part of a number"),
        ("echo -5 ms", r"(\d+)", "part of a number"),
        ("echo took 1,5 s", NUMBER, "not a number"),
        ("echo took 1e-320 B/s", r"took (\S+)", "not above 0"),
        ("echo lost; exit 3", NUMBER, "status 3"),
        ("echo took long", NUMBER, "prints nothing"),
        ("echo took 0", NUMBER, "not above 0"),
        ("echo took .", NUMBER, "not a number"),
        ("echo a 1 a 2", r"(\w) (\d)", "several times"),
        ("./absent-program", "", "status 127"),
    ],
)
def test_what_cannot_be_measured_is_a_failure(command: str, pattern: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        measured(command, pattern, "/")


def test_its_program_lists_selects_and_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "numbers").write_text("a: 1 ms\nb: 2 ms\n")
    asked = tmp_path / "build", "cat numbers", r"(\w): (\d)", 60.0, tmp_path
    folder = any_command.provide(*asked)
    (program,) = folder.iterdir()

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, *options], cwd="/", capture_output=True, text=True)

    assert run("--benchmark_list_tests").stdout == "a\nb\n"
    assert run("--describe").returncode == 1
    (tmp_path / "numbers").write_text("b: 3 ms\n")  # it prints less than it did
    report = tmp_path / "report.json"
    assert run(f"--benchmark_out={report}", "--benchmark_filter=^(a|b)$").returncode == 0
    first, second = json.loads(report.read_text())["benchmarks"]
    assert first["error_occurred"]
    assert second["real_time"] == pytest.approx(3e6)
    assert any_command.provide(*asked) == folder


def test_the_results_that_a_command_writes_are_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "hyperfine.json"

    def write(*commands: str) -> None:
        results = [{"command": name, "times": [0.25, 0.5, 0.75]} for name in commands]
        file.write_text(json.dumps({"results": results}))

    write("a", "b")
    command = 'cp hyperfine.json "$WARPGAUGE_RESULTS"'
    assert measured(command, "", str(tmp_path)) == {"a": 0.5, "b": 0.5}
    assert measured(f"{command}; echo took 1", NUMBER, str(tmp_path)) == {"command": 1.0}
    folder = any_command.provide(tmp_path / "build", command, "", 60.0, tmp_path)
    write("a")
    report = tmp_path / "report.json"
    subprocess.run([folder / any_command.WHOLE, f"--benchmark_out={report}"], check=True)
    first, second = json.loads(report.read_text())["benchmarks"]
    assert first["real_time"] == pytest.approx(5e8)
    assert second["error_occurred"]
    file.write_text("{")
    with pytest.raises(UserError):
        measured(command, "", str(tmp_path))


def test_a_command_that_hangs_or_prints_without_end_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="did not finish"):
        any_command.provide(tmp_path, "sleep 60 | cat", "", 0.1, tmp_path)
    monkeypatch.setattr(any_command, "_MOST_OUTPUT", 1 << 10)
    with pytest.raises(UserError, match="prints more than"):
        measured("yes", NUMBER, "/")


def test_its_interpreter_may_lie_in_a_folder_with_spaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "it's a folder" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    folder = any_command.provide(tmp_path / "build", "true", "", 60.0, tmp_path)
    words = [str(folder / any_command.WHOLE), "--benchmark_list_tests"]
    assert subprocess.run(words, capture_output=True, text=True).stdout == "command\n"


def test_programs_get_a_variable_and_keep_their_options(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    program = folder / "bench it"
    program.write_text('#!/bin/sh\necho "$PLACE" "$@"\n')
    program.chmod(0o755)
    made = any_command.with_variable(tmp_path, folder, [program], "PLACE", "a\n'b' $c \udcff")
    assert [path.name for path in made.iterdir()] == ["bench it"]
    done = subprocess.run([made / "bench it", "x y"], capture_output=True)
    assert done.stdout == b"a\n'b' $c \xff x y\n"
