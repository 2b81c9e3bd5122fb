# SPDX-License-Identifier: Apache-2.0
"""A command's status is its own: 1 is a verdict, and nothing else ends with it by accident."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from warpgauge.system import entry_point
from warpgauge.system.errors import ExitStatus, UserError

SCRIPTS = Path(__file__).parents[2]

_DRIVER = """
import sys
sys.path.insert(0, sys.argv[1])
from warpgauge.system import entry_point
from warpgauge.system.errors import UserError
def work():
    exec(sys.argv[2])
    return int(sys.argv[3])
sys.exit(entry_point.run("x", work))
"""


@pytest.fixture(autouse=True)
def buffered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


def ran(work: str, status: int = 0, shell: str = "") -> subprocess.CompletedProcess[str]:
    """A command that does `work` and means to end with `status`, redirected as a shell does it."""
    words = [sys.executable, "-c", _DRIVER, str(SCRIPTS / "src"), work, str(status)]
    if shell:
        words = ["sh", "-c", f'exec "$@" {shell}', "sh", *words]
    return subprocess.run(words, capture_output=True, text=True, check=False)


REMARK = "print('a remark', file=sys.stderr, flush=True)"


@pytest.mark.parametrize("redirected", ["2>/dev/full", "2>&-"])
@pytest.mark.parametrize(
    ("work", "status", "end"),
    [
        (REMARK, 0, 0),
        (REMARK, 3, 3),
        ("raise UserError('bad usage')", 0, 2),
        ("raise KeyboardInterrupt", 0, 130),
        ("1 / 0", 0, 2),
    ],
)
def test_a_standard_error_that_cannot_be_written_changes_no_status(
    redirected: str, work: str, status: int, end: int
) -> None:
    assert ran(work, status, redirected).returncode == end


@pytest.mark.parametrize(("status", "end"), [(0, 2), (3, 2), (1, 1)])
def test_what_was_printed_and_is_lost_is_told(status: int, end: int) -> None:
    done = ran("print('a matrix')", status, ">/dev/full")
    assert done.returncode == end
    assert done.stderr == "x: standard output cannot be written (No space left on device)\n"


LEAVES = "import os; reader, writer = os.pipe(); os.close(reader); os.dup2(writer, 1); print('x')"


@pytest.mark.parametrize(
    ("work", "shell"),
    [
        *((work, ">&-") for work in ("print('x')", "raise SystemExit(0)", "sys.stdout.flush()")),
        (LEAVES, ""),
    ],
)
def test_a_closed_standard_output_and_a_reader_that_left_are_no_fault(
    work: str, shell: str
) -> None:
    done = ran(work, shell=shell)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("fault", "status", "sentence"),
    [
        (OSError(28, "No space left", "/full/log"), 2, "/full/log: No space left"),
        (UserError("it regressed", ExitStatus.REGRESSION), 1, "it regressed"),
    ],
)
def test_a_fault_is_one_sentence_and_has_its_own_status(
    capsys: pytest.CaptureFixture[str], fault: Exception, status: int, sentence: str
) -> None:
    def work() -> int:
        raise fault

    assert entry_point.run("x", work) == status
    assert capsys.readouterr().err == f"x: {sentence}\n"


def test_a_terminal_of_no_columns_is_one_of_unknown_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    shown = "from warpgauge.system.layout import Output; Output().print('all of it')"
    assert ran(shown).stdout == "all of it\n"


@pytest.mark.parametrize("starter", ["bench", "compare.py", "test"])
def test_an_import_that_fails_is_no_regression(starter: str, tmp_path: Path) -> None:
    alone = tmp_path / starter
    alone.write_bytes((SCRIPTS / starter).read_bytes())
    words = [sys.executable, str(alone), "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    full = subprocess.run(["sh", "-c", 'exec "$@" 2>/dev/full', "sh", *words], check=False)
    assert full.returncode not in (0, ExitStatus.REGRESSION)
    assert done.returncode == ExitStatus.BAD_USAGE
    assert done.stderr.startswith(f"{starter}: warpgauge cannot be imported (No module named")
    assert done.stderr.count("\n") == 1


def test_the_tests_are_found_without_the_folder_of_the_script_on_the_path() -> None:
    environ = {**os.environ, "PYTHONSAFEPATH": "1"}
    words = [sys.executable, str(SCRIPTS / "test"), "--help"]
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
