# SPDX-License-Identifier: Apache-2.0
"""Every way a child process can end is survived and told."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from warpgauge import process


def python(code: str) -> list[str]:
    return [sys.executable, "-IS", "-c", code]


def test_a_good_end_keeps_what_was_said(tmp_path: Path) -> None:
    ending = process.run(["/bin/sh", "-c", "echo out; echo err >&2"], 10, tmp_path)
    assert (ending.status, ending.stdout, ending.stderr) == (0, "out\n", "err\n")
    assert ending.last_words == "err"


def test_google_benchmarks_variables_do_not_reach_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHMARK_FILTER", "nothing")
    ending = process.run(["/bin/sh", "-c", "echo ${BENCHMARK_FILTER:-none}"], 10, tmp_path)
    assert ending.stdout == "none\n"


def test_a_status_is_told_with_the_last_words(tmp_path: Path) -> None:
    ending = process.run(["/bin/sh", "-c", "echo a; echo b; exit 4"], 10, tmp_path)
    assert ending.description == "sh exited with status 4: b"


def test_the_programs_own_name_is_not_repeated(tmp_path: Path) -> None:
    ending = process.run(["/bin/sh", "-c", "echo /bin/sh: no such device >&2; exit 2"], 9, tmp_path)
    assert ending.last_words == "no such device"


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL"])
def test_a_signal_is_named(tmp_path: Path, name: str) -> None:
    code = f"import os, signal; os.kill(os.getpid(), signal.{name})"
    assert process.run(python(code), 10, tmp_path).description.endswith(f"was killed by {name}")


def test_a_program_that_is_not_there_ends_with_127(tmp_path: Path) -> None:
    ending = process.run([str(tmp_path / "bench_gone")], 10, tmp_path)
    assert ending.description == "bench_gone exited with status 127: No such file or directory"


def test_a_hang_is_ended_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.2)
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    pid_file = tmp_path / "child"
    command = f"{sys.executable} -IS -c '{deaf}' & echo $! >{pid_file}; echo stuck >&2; wait"
    began = time.monotonic()
    ending = process.run(["/bin/sh", "-c", command], 0.4, tmp_path)
    assert time.monotonic() - began < 5
    assert ending.description == "sh did not finish within 0.4 s and was ended: stuck"
    for _ in range(50):
        if not _runs(int(pid_file.read_text())):
            break
        time.sleep(0.05)
    else:
        pytest.fail("the child outlived its group")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
