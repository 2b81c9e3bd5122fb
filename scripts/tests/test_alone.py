# SPDX-License-Identifier: Apache-2.0
"""One command at a time on a folder; the next one waits, and is not kept waiting by the dead."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from builders import row, run, write
from clone import Repository
from warpgauge import alone as module
from warpgauge import baseline, files
from warpgauge.alone import alone
from warpgauge.errors import ExitStatus
from warpgauge.load import load


def test_the_second_is_told_and_waits_for_the_first(tmp_path: Path) -> None:
    order: list[str] = []
    waits = threading.Event()

    def second() -> None:
        with alone(tmp_path, waits.set):
            order.append("second")

    other = threading.Thread(target=second)
    with alone(tmp_path, lambda: order.append("the first waits")):
        other.start()
        assert waits.wait(10)
        order.append("first")
    other.join(10)
    assert order == ["first", "second"]


def test_other_folders_wait_for_nobody(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    with alone(tmp_path), alone(tmp_path / "inner", lambda: pytest.fail("it waits")):
        pass


def test_who_died_holds_nothing(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, sys; sys.path.insert(0, sys.argv[1]); from warpgauge.alone import "
        "alone\nwith alone(pathlib.Path(sys.argv[2])): os.kill(os.getpid(), 9)"
    )
    scripts = str(Path(module.__file__).parents[1])
    died = subprocess.run([sys.executable, "-c", program, scripts, str(tmp_path)], check=False)
    assert died.returncode == -9
    with alone(tmp_path, lambda: pytest.fail("it waits")):
        pass


def test_two_that_add_a_session_at_once_both_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [
        write(tmp_path / f"{n}.json", run([row("sync/idle")], gpu_uuid=f"GPU-{n}")) for n in (1, 2)
    ]
    both_have_read = threading.Barrier(2)

    def late(texts: dict[Path, str | None]) -> None:
        with pytest.raises(threading.BrokenBarrierError):
            both_have_read.wait(0.5)
        files.replace_all(texts)

    monkeypatch.setattr(baseline, "replace_all", late)
    adding = [threading.Thread(target=baseline.record, args=(one, tmp_path / "b")) for one in runs]
    for one in adding:
        one.start()
    for one in adding:
        one.join(20)
    whole = load(tmp_path / "b" / "nvidia-test")
    assert {session.gpu_uuid for session in whole.sessions.values()} == {"GPU-1", "GPU-2"}


def test_a_bench_waits_for_another_of_its_tree(repository: Repository) -> None:
    held, ends = threading.Event(), threading.Event()

    def another() -> None:
        with alone(repository.root / "build"):
            held.set()
            ends.wait(10)

    other = threading.Thread(target=another)
    other.start()
    assert held.wait(10)
    threading.Timer(0.5, ends.set).start()
    assert repository.bench("--quick") is ExitStatus.NOT_MEASURED
    assert ends.is_set()
    assert "Waiting for another scripts/bench of this tree to end" in repository.output()[1]
