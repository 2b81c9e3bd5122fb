# SPDX-License-Identifier: Apache-2.0
"""One command at a time on a folder; the next one waits, and is not kept waiting by the dead."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from rich.console import Console

import fake_binary
from builders import row, run, write
from clone import Repository
from warpgauge.baselines import store
from warpgauge.commands import measuring_command
from warpgauge.records.load import load
from warpgauge.system import atomic, locks
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import print_line
from warpgauge.system.locks import alone, alone_on, of_gpu

SOURCES = str(Path(__file__).parents[2] / "src")


def test_the_second_is_told_and_waits_for_the_first(tmp_path: Path) -> None:
    order: list[str] = []
    waits = threading.Event()

    def second() -> None:
        with alone(tmp_path, lambda _: waits.set()):
            order.append("second")

    other = threading.Thread(target=second)
    with alone(tmp_path, lambda _: order.append("the first waits")):
        other.start()
        assert waits.wait(600)
        order.append("first")
    other.join()
    assert order == ["first", "second"]


def test_other_folders_wait_for_nobody(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    with alone(tmp_path), alone(tmp_path / "inner", lambda _: pytest.fail("it waits")):
        pass


def test_commands_on_the_same_gpus_wait_and_none_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_GPUS", tmp_path)
    holding = set[str]()

    def measure(gpus: list[str]) -> None:
        for _ in range(200):
            with alone_on(gpus):
                assert holding.isdisjoint(gpus)
                holding.update(gpus)
                holding.difference_update(gpus)

    lists = [["GPU-1", "GPU-2"], ["GPU-2", "GPU-1"], ["GPU-3", "GPU-1", "GPU-2"], ["GPU-2"]]
    with ThreadPoolExecutor(len(lists)) as threads:
        for done in [threads.submit(measure, one) for one in lists]:
            done.result()


@pytest.fixture
def ends_when_waited_for(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Processes that hold a lock until a command says that it waits."""
    first = list[subprocess.Popen[bytes]]()

    def said(console: Console, line: str) -> None:
        print_line(console, line)
        if line.startswith("Waiting for another"):
            first.pop().communicate(b"")

    monkeypatch.setattr(measuring_command, "print_line", said)
    return first


def held_by(folder: Path, then: str = "sys.stdin.read()") -> subprocess.Popen[bytes]:
    """Another process, which holds `folder` and then does that."""
    program = (
        "import os, pathlib, sys; sys.path.insert(0, sys.argv[1])\n"
        "from warpgauge.system.locks import alone\n"
        f"with alone(pathlib.Path(sys.argv[2])): print('held', flush=True); {then}"
    )
    words = [sys.executable, "-c", program, SOURCES, str(folder)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def test_who_died_holds_nothing(tmp_path: Path) -> None:
    with held_by(tmp_path, "os.kill(os.getpid(), 9)") as died:
        died.communicate()
    assert died.returncode == -9
    with alone(tmp_path, lambda _: pytest.fail("it waits")):
        pass


def test_the_second_is_told_who_is_first_and_may_refuse_to_wait(tmp_path: Path) -> None:
    told: list[int | None] = []

    def refuse(holder: int | None) -> None:
        told.append(holder)
        raise UserError("it is busy")

    with held_by(tmp_path) as first:
        with pytest.raises(UserError, match="it is busy"), alone(tmp_path, refuse):
            pytest.fail("both hold it")
        first.communicate(b"")
    assert told == [first.pid]
    with alone(tmp_path, lambda _: pytest.fail("it waits")):
        pass


def test_a_link_in_place_of_a_gpus_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "gpu").symlink_to(tmp_path / "file")
    with pytest.raises(UserError, match="cannot be written"), alone(tmp_path / "gpu"):
        pytest.fail("it is held")


def test_two_that_add_a_session_at_once_both_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = {name: run([row("sync/idle")], gpu_uuid=name) for name in ("GPU-1", "GPU-2")}
    runs = [write(tmp_path / f"{name}.json", document) for name, document in documents.items()]
    both_have_read = threading.Barrier(2)

    def late(texts: dict[Path, str | None], changed: str) -> None:
        with pytest.raises(threading.BrokenBarrierError):
            both_have_read.wait(0.5)
        atomic.replace_all(texts, changed=changed)

    monkeypatch.setattr(store, "replace_all", late)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda path: store.record(path, tmp_path / "b"), runs))
    whole = load(tmp_path / "b" / "nvidia-test")
    assert {session.gpu_uuid for session in whole.sessions.values()} == documents.keys()


def test_a_bench_waits_for_another_of_its_tree(
    repository: Repository, ends_when_waited_for: list[subprocess.Popen[bytes]]
) -> None:
    with held_by(repository.root / "build") as other:
        ends_when_waited_for.append(other)
        assert repository.bench("--processes=3") is ExitStatus.NOT_MEASURED
    assert "Waiting for another command that measures in this tree (pid " in repository.output()[1]


def test_a_bench_waits_for_another_on_its_gpu(
    repository: Repository, ends_when_waited_for: list[subprocess.Popen[bytes]]
) -> None:
    with held_by(of_gpu(fake_binary.GPU["gpu_uuid"])) as other:
        ends_when_waited_for.append(other)
        repository.bench("--processes=3")
    assert "Waiting for another command that measures on this GPU (pid " in repository.output()[1]


def test_a_bench_waits_for_who_measures_in_its_tree_when_it_has_built(
    repository: Repository, nobody_waits: None
) -> None:
    with (
        alone(repository.root / "build" / "runs"),
        pytest.raises(UserError, match=r"another command that measures in this tree \(pid \d+\)"),
    ):
        repository.bench("--processes=3")
