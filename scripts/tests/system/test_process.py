# SPDX-License-Identifier: Apache-2.0
"""Every way a child process can end is survived and reported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from clocks import Clock, wait_until
from forked import runs
from warpgauge.system import process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.process import Ending


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.2)


@pytest.fixture
def expires(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """From the call on, deadlines expire when a file is there, and not before."""

    def when(file: Path) -> None:
        monkeypatch.setattr(process, "time", Clock(file.exists).module)

    return when


def python(code: str) -> list[str]:
    return [sys.executable, "-IS", "-c", code]


def shell(folder: Path, script: str, deadline_s: float = 600.0) -> Ending:
    return process.run(["/bin/sh", "-c", script], deadline_s, folder)


def test_a_good_end_keeps_what_was_said_and_google_benchmarks_variables_are_kept_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHMARK_FILTER", "nothing")
    ending = shell(tmp_path, "echo ${BENCHMARK_FILTER:-none}; echo err >&2")
    assert (ending.status, ending.stdout, ending.stderr) == (0, "none\n", "err\n")


def test_a_signal_is_named_and_a_program_that_is_not_there_ends_with_127(tmp_path: Path) -> None:
    for number, shown in (
        (signal.SIGSEGV, "SIGSEGV"),
        (signal.SIGKILL, "SIGKILL, e.g. because memory ran out"),
        (37, "signal 37"),
    ):
        assert shell(tmp_path, f"kill -{number} $$").how == f"sh was killed by {shown}"
    ending = process.run([str(tmp_path / "bench_gone")], 10, tmp_path)
    assert ending.how == "bench_gone exited with status 127"
    assert ending.stderr == "No such file or directory"


DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def test_a_hang_is_ended_with_its_children(tmp_path: Path, expires: Callable[[Path], None]) -> None:
    pid_file = tmp_path / "child"
    expires(tmp_path / "hangs")
    command = f"{sys.executable} -IS -c '{DEAF}' & echo $! >{pid_file}; echo stuck >&2; "
    ending = shell(tmp_path, f"{command} >{tmp_path}/hangs; wait", 0.4)
    assert ending.how == "sh did not finish within 0.4 s and was killed"
    assert ending.stderr == "stuck\n"
    wait_until(lambda: not runs(int(pid_file.read_text())))


def test_children_of_its_group_are_ended_with_a_program_and_no_other_process(
    tmp_path: Path,
) -> None:
    other, pid = subprocess.Popen(["/bin/sleep", "600"]), tmp_path / "pid"
    ending = shell(tmp_path, f"sleep 600 & echo $! >{pid}")
    assert ending.how == "sh exited with status 0"
    wait_until(lambda: not runs(int(pid.read_text())))
    assert runs(other.pid)
    other.kill()
    other.wait()


def test_an_interrupt_ends_the_process(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"

    def interrupt() -> None:
        wait_until(lambda: pid_file.exists() and pid_file.read_text().strip())
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        shell(tmp_path, f"echo $$ >{pid_file}; exec sleep 600")
    other.join()
    assert not runs(int(pid_file.read_text()))


def test_a_deadline_begins_anew_with_every_row_that_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row comes 0.4 s after the one before, and none after the sixth."""
    into, seen = tmp_path / "rows", tmp_path / "seen"
    hangs = Clock((tmp_path / "hangs").exists)

    def now() -> float:
        return hangs() + 0.4 * (into.read_text().count("row") if into.exists() else 0)

    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=now))
    wait = f"while ! [ -e {seen}$i ]; do sleep 0.01; done"
    command = f"for i in 1 2 3 4 5 6; do echo row; {wait}; done; >{tmp_path}/hangs"
    count = iter(range(1, 7))
    ending = process.run(
        ["/bin/sh", "-c", f"{command}; exec sleep 600"], 0.5, tmp_path, into=into,
        grown=lambda: Path(f"{seen}{next(count)}").touch(),
    )  # fmt: skip
    assert ending.how == "sh wrote nothing for 0.5 s and was killed"
    assert into.read_text().count("row") == 6


def test_only_the_end_of_a_flood_is_read_and_an_endless_one_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_KEPT_OUTPUT", 1000)
    assert shell(tmp_path, "yes | head -c 1000000; echo end").stdout == ("y\n" * 498) + "end\n"
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(process, "_MOST_OUTPUT", 1 << 20)
    ending = process.run(["/usr/bin/yes"], 600, tmp_path)
    assert ending.how == "yes wrote more than 1 MiB of output and was killed"


@pytest.mark.parametrize(
    "run",
    [
        "process.run(words, 600, log.parent, into=log, grown=show)",
        "process.tee(words, log, {})",
    ],
)
def test_a_program_does_not_outlive_a_runner_that_is_killed(tmp_path: Path, run: str) -> None:
    code = (
        "import pathlib, sys; sys.path.insert(0, sys.argv[1]); log = pathlib.Path(sys.argv[2])\n"
        "from warpgauge.system import process\n"
        "show = lambda: print(log.read_text(), flush=True)\n"
        f"words = ['/bin/sh', '-c', 'echo $$; exec sleep 600']; {run}"
    )
    sources = str(Path(process.__file__).parents[2])
    words = [sys.executable, "-c", code, sources, str(tmp_path / "log")]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as runner:
        assert runner.stdout is not None
        pid = int(runner.stdout.readline())
        runner.kill()
    wait_until(lambda: not runs(pid))


def test_nothing_of_ours_runs_between_fork_and_exec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside threads it could wait for ever for a lock that one of them held."""
    usual, calls = subprocess.Popen, []

    def popen(*arguments: object, **options: object) -> object:
        calls.append(options.get("preexec_fn"))
        return usual(*arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", popen)
    assert process.run(["true"], 600.0, tmp_path).status == 0
    assert process.tee(["true"], tmp_path / "log", {}) == 0
    assert len(calls) >= 2
    assert set(calls) == {None}


def test_a_log_that_cannot_be_written_is_a_sentence_and_nothing_is_started(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="gone/log: No such file or directory") as caught:
        process.tee(["touch", str(tmp_path / "started")], tmp_path / "gone" / "log", {})
    assert caught.value.status is ExitStatus.BAD_USAGE
    assert not (tmp_path / "started").exists()


def test_what_an_interrupted_program_still_writes_is_shown_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(process, "GRACE_S", 600.0)
    log = tmp_path / "log"

    def interrupt() -> None:
        wait_until(lambda: log.exists() and log.read_text())
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    words = "trap 'echo to be resumed >&2; exit 3' TERM; echo begun; while :; do :; done"
    with pytest.raises(KeyboardInterrupt):
        process.tee(["/bin/sh", "-c", words], log, {})
    other.join()
    assert capsys.readouterr().out == log.read_text() == "begun\nto be resumed\n"
