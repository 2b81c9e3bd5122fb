# SPDX-License-Identifier: Apache-2.0
"""scripts/compare.py as its users run it: arguments, output, exit status."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import Mock

import pytest

from builders import STEADY, Json, failed, google, google_row, row, run, scaled, write
from forked import Forked
from warpgauge.commands.compare import parse
from warpgauge.commands.main import main as warpgauge
from warpgauge.records.sessions import FEWEST_OF_A_PASS
from warpgauge.system.errors import UserError

SCRIPT = Path(__file__).parents[2] / "compare.py"
SAME = run([row("a/b"), row("a/c")])


def main(argv: Sequence[str]) -> int:
    return warpgauge(["compare", *argv])


def command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    def work() -> int:
        os.environ |= {"COLUMNS": "100", **environment}
        return main(list(map(str, arguments)))

    running = Forked(work)
    out, err = running.communicate(60)
    assert running.returncode is not None
    return subprocess.CompletedProcess([], running.returncode, out, err)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write(tmp_path / "base.json", SAME)


def candidate(tmp_path: Path, document: Json) -> Path:
    return write(tmp_path / "cand.json", document)


STATUS = {
    "identical": (SAME, 0, "PASS 2 within tolerance (at most +"),
    "faster": (run([row("a/b", scaled(0.5)), row("a/c")]), 0, "1 faster"),
    "slower": (
        run([row("a/b", scaled(1.05)), row("a/c")]),
        1,
        "FAIL 1 slower: a/b +5.0 % · 1",
    ),
    "slower and failed": (run([row("a/b", scaled(3)), failed("a/c")]), 1, "1 failed"),
    "failed": (run([row("a/b"), failed("a/c")]), 3, "%) · 1 failed"),
    "vanished": (run([row("a/b")]), 3, "1 missing"),
    "other gpu": (run([row("a/b"), row("a/c")], gpu_name="X"), 3, "Not compared: "),
    "nothing in common": (run([row("z")]), 3, "no benchmark in common"),
}


def test_a_pair_from_elsewhere_need_not_have_what_this_tree_requires(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = []
    rounds = [*range(1, FEWEST_OF_A_PASS + 1)]
    for name, times in (("base.json", [1.0] * 8), ("cand.json", [1.0, 1.001, 1.001, 1.0] * 2)):
        document = run([row("a/b", times, process_rounds=rounds)], pair_id="p")
        pair.append(str(write(tmp_path / name, document)))
    assert main(pair) == 0
    assert "1 within tolerance (at most +" in capsys.readouterr().out


@pytest.mark.parametrize("case", STATUS)
def test_the_exit_status_says_what_the_first_line_says(
    base: Path, tmp_path: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document, status, words = STATUS[case]
    assert main([str(base), str(candidate(tmp_path, document))]) == status
    assert words in " ".join(capsys.readouterr().out.split())


def test_a_bad_file_is_one_sentence_and_status_2(base: Path, tmp_path: Path) -> None:
    path = candidate(tmp_path, run([row("a/b", real_time=float("nan"))]))
    done = command(base, path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"compare: {path}, row 1 ('a/b'): 'real_time' is NaN; measure it again\n"
    )


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("--min-effect=0", "argument --min-effect: "),
        ("--min-effect=nan", "argument --min-effect: "),
        ("--filter=(", "the filter '(' is not a valid regular expression"),
        ("--filter=nosuch", "no benchmark of either side matches --filter 'nosuch'\n"),
    ],
)
def test_bad_usage_is_one_sentence_and_status_2(
    base: Path, argument: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(base), str(base), argument]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"compare: {said}")


def test_options_reach_the_rule(base: Path, tmp_path: Path) -> None:
    slower = str(candidate(tmp_path, run([row("a/b", scaled(1.05)), row("a/c")])))
    assert main([str(base), slower, "--min-effect=10"]) == 0
    assert main([str(base), slower, "--filter=-a/b"]) == 0


def test_colour_is_given_and_withheld_as_the_environment_says(base: Path) -> None:
    assert "\x1b[" in command(base, base, FORCE_COLOR="1").stdout
    assert "\x1b[" not in command(base, base).stdout


def test_a_reader_that_leaves_early_changes_nothing(base: Path, tmp_path: Path) -> None:
    slower = candidate(tmp_path, run([row("a/b", scaled(3)), row("a/c")]))
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, str(SCRIPT), str(base), str(slower)]
    with os.fdopen(writer, "w") as gone:
        done = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (1, b"")


def judging_ends_in(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpgauge.commands.compare.judge", Mock(side_effect=error))


def test_an_interrupt_leaves_no_traceback(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judging_ends_in(KeyboardInterrupt(), monkeypatch)
    assert main([str(base), str(base)]) == 130


def test_a_fault_of_its_own_is_told_in_full_and_is_no_regression(
    base: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judging_ends_in(RuntimeError("never thought of"), monkeypatch)
    assert main([str(base), str(base)]) == 2
    told = capsys.readouterr().err
    assert "never thought of" in told
    assert told.endswith("compare: this is a bug in warpgauge: please report it\n")


def test_the_first_screen_ends_with_what_to_do_and_verbose_shows_the_rule(
    tmp_path: Path, base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slower = candidate(tmp_path, run([row("a/b", scaled(1.05)), row("a/c")]))
    rule = "Slower or faster: p below"
    for options, shown in (([], False), (["--verbose"], True)):
        assert main([str(base), str(slower), *options]) == 1
        out = capsys.readouterr().out
        assert out.endswith("--record\n")
        assert (rule in out, "--format terminal=FILE has the decision rule" in out) == (
            shown,
            not shown,
        )


def test_the_script_runs_from_any_folder(base: Path, tmp_path: Path) -> None:
    assert os.access(SCRIPT, os.X_OK)
    program = [sys.executable, str(SCRIPT), str(base), str(base)]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0


def test_an_old_python_can_parse_the_script_and_is_told() -> None:
    source = SCRIPT.read_text()
    ast.parse(source, feature_version=(3, 4))
    assert "from __future__" not in source
    told = "import sys; sys.version_info = (3, 6); exec(open(sys.argv[1]).read())"
    command = [sys.executable, "-c", told, str(SCRIPT)]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 2
    assert done.stderr == "compare.py: this is Python 3.6; run it with Python 3.10 or newer.\n"


def test_one_file_alone_is_compared_with_nothing(base: Path) -> None:
    said = command(base)
    assert (said.returncode, said.stderr) == (3, "")  # it has no baseline
    assert "a/b" in said.stdout


def processes(folder: Path, factor: float, count: int = 7) -> list[str]:
    """Plain files of a process each."""
    return [
        str(write(folder / f"{index}.json", google([google_row("a/b", factor * time)])))
        for index, time in enumerate(STEADY[:count])
    ]


def test_files_of_both_sides_are_named_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = processes(tmp_path / "old", 100.0), processes(tmp_path / "new", 110.0, 5)
    assert main(["--processes", *old, "--", *new]) == 1
    apart = capsys.readouterr().out
    assert "Google Benchmark JSON of 7 processes" in apart
    assert "Google Benchmark JSON of 5 processes" in apart
    assert main(["--processes", *old, old[0], "--", *new]) == 2
    before = Path(new[-1]).read_bytes()
    assert main([f"--format=markdown={new[-1]}", "--processes", *old, "--", *new]) == 2
    assert Path(new[-1]).read_bytes() == before


def test_two_formats_need_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    processes(tmp_path / "old", 100.0)
    old, out = str(tmp_path / "old"), tmp_path / "out"
    assert main([old, old, f"--format=markdown={out}", f"--format=json={out}"]) == 2
    assert "one file" in capsys.readouterr().err
    assert not out.exists()


def test_a_folder_a_side_holds_its_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    processes(tmp_path / "old", 100.0)
    processes(tmp_path / "new", 110.0, 5)
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    assert main([old, new]) == 1
    apart = capsys.readouterr().out
    assert "Google Benchmark JSON of 7 processes" in apart
    assert "Google Benchmark JSON of 5 processes" in apart
    assert main(["--format=json", "--min-effect", "7", old, old]) == 0
    assert '"minimum_effect": 0.07' in capsys.readouterr().out


def test_single_plain_files_are_inconclusive_unless_their_scatter_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (old,), (new,) = processes(tmp_path / "old", 100.0, 1), processes(tmp_path / "new", 100.2, 1)
    assert main([old, new]) == 3
    assert "/warpgauge compare old-results new-results" in " ".join(capsys.readouterr().out.split())
    assert main([old, new, "--process-scatter", "1"]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--processes", "a"], "--processes comes last, and names all files: "),
        (["--processes", "a", "--"], "--processes comes last"),
        (["--processes", "--", "b"], "--processes comes last"),
        (["--processes", "a", "--", "b", "--filter=x"], "--processes comes last"),
        (["x", "y", "--processes=a"], "--processes comes last"),
        (["x", "--processes", "a", "--", "b"], "--processes comes last"),
        (["--process-scatter=0", "a", "b"], "argument --process-scatter: "),
        ([], "name a run"),
        (["", "b"], "argument BASELINE: '' does not name"),
        (["a", ""], "argument CANDIDATE: '' does not name"),
    ],
)
def test_a_command_line_without_a_meaning_is_one_sentence(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith(f"compare: {words}")


def test_no_result_is_written_over_a_process(tmp_path: Path) -> None:
    *_, last = processes(tmp_path / "new", 110.0)
    processes(tmp_path / "old", 100.0)
    before = Path(last).read_bytes()
    assert main([f"--format=markdown={last}", str(tmp_path / "old"), str(tmp_path / "new")]) == 2
    assert Path(last).read_bytes() == before


@pytest.fixture
def sides(tmp_path: Path) -> list[str]:
    """A benchmark that became slower."""
    base = write(tmp_path / "base.json", run([row("a/b")]))
    return [str(base), str(write(tmp_path / "cand.json", run([row("a/b", scaled(1.5))])))]


def piped(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize("at", [0, 1])
def test_one_side_can_come_from_standard_input(
    sides: list[str], monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    piped(monkeypatch, Path(sides[at]).read_bytes())
    assert main([*sides[:at], "-", *sides[at + 1 :]]) == 1


def test_it_can_be_a_pipe(sides: list[str]) -> None:
    command, content = [sys.executable, str(SCRIPT), sides[0], "-"], Path(sides[1]).read_bytes()
    done = subprocess.run(command, input=content, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, b"")


def test_standard_input_is_one_result() -> None:
    with pytest.raises(UserError, match="standard input"):
        parse(["-", "-"])


def test_what_stands_there_is_checked_as_a_file_is(
    sides: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    piped(monkeypatch, b"")
    assert main([sides[0], "-"]) == 2
    assert "/dev/stdin: is empty" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", None)
    assert main([sides[0], "-"]) == 2
    assert "/dev/stdin: " in capsys.readouterr().err


def test_a_row_of_google_benchmark_that_cannot_be_read_leaves_the_others_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = [google_row("a/b", 100.0), google_row("a/c", 200.0)]
    old = write(tmp_path / "old.json", google([*good, google_row("a/zero", 5.0)]))
    new = write(tmp_path / "new.json", google([*good, google_row("a/zero", 0.0)]))
    quiet = ["--process-scatter=0.1"]
    assert main([str(old), str(new), *quiet]) == 3
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("NOT DECIDED 2 within tolerance")
    assert "'real_time' is 0; a time must be positive" in shown
    assert main([str(old), str(new), *quiet, "--filter=-zero"]) == 0
