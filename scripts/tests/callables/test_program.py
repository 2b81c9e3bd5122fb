# SPDX-License-Identifier: Apache-2.0
"""What a benchmark's body of a Python file raises: the engine gets it, and the user its place."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import fake_engine
from warpgauge.callables import program, timing
from warpgauge.system.errors import ExitStatus, UserError

BODY = """\
import warpgauge
from warpgauge.callables import timing


def fails(x):
    raise ValueError("no such shape")


@warpgauge.benchmark("made/up")
def body():
    STATEMENT
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Run a file whose only body is a statement."""
    bodies = list[Callable[[object], None]]()
    engine = SimpleNamespace(
        **vars(fake_engine.module()), register=lambda name, axes, body, *at: bodies.append(body)
    )
    monkeypatch.setattr(timing, "engine_module", lambda: engine)
    installed = tmp_path / "site-packages" / "framework.py"
    installed.parent.mkdir()
    installed.write_text("def call(fn):\n    fn(0)\n")
    monkeypatch.syspath_prepend(str(installed.parent))

    def ran(statement: str) -> None:
        path = tmp_path / "bench_x.py"
        path.write_text(BODY.replace("STATEMENT", statement))
        engine.run_program = lambda words: bodies[-1](fake_engine.Case())
        program.main([str(path)])

    return ran


def test_the_traceback_holds_the_frames_of_the_user_alone(
    run: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="no such shape"):
        run("import framework; framework.call(fails)")
    shown = capsys.readouterr().err
    places = [line.split(", ")[0].split("/")[-1] for line in shown.splitlines() if "File" in line]
    assert places == ['bench_x.py"', 'bench_x.py"']
    assert shown.splitlines()[-1] == "ValueError: no such shape"


def test_a_file_that_cannot_be_run_ends_with_2_and_its_own_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # What it sets is of a process of its own.
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "bench_x.py"
    path.write_text("import nowhere_to_be_found")
    assert program.run([str(path)], program.main) == ExitStatus.BAD_USAGE
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "File" in line] == [f'  File "{path}", line 1, in <module>']
    assert lines[-1] == "ModuleNotFoundError: No module named 'nowhere_to_be_found'"


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (
            "import warpgauge.system.errors as errors; raise errors.UserError('a sentence')",
            UserError,
        ),
        ("raise timing.engine_module().WrongResult('wrong')", fake_engine.WrongResult),
    ],
)
def test_what_is_a_sentence_has_no_traceback(
    raised: str, kind: type[Exception], run: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    with pytest.raises(kind):
        run(raised)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("traced", [False, True])
def test_a_driven_program_ends_at_once_unless_its_end_writes_a_trace(
    traced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = list[int]()
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(atexit, "_run_exitfuncs", lambda: None)
    monkeypatch.setattr(sys, "pycache_prefix", "set")
    if traced:
        monkeypatch.setenv("CUDA_INJECTION64_PATH", "/lib/trace.so")
    before = signal.getsignal(signal.SIGINT)
    try:
        assert program.run(["--driven=3"], lambda words: 1) == 1
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended == ([] if traced else [1])


def test_what_a_file_configures_first_is_not_imported_before_it(tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text("import torch\nos.environ['JAX_ENABLE_X64'] = '1'\nimport jax.numpy as jnp\n")
    assert program.large_imports(file) == ["torch"]
    file.write_text("import torch\nimport jax.numpy as jnp\n")
    assert program.large_imports(file) == ["torch", "jax.numpy"]


def test_packages_are_imported_before_the_driver_lets_it_load_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ill_package.py").write_text("raise OSError('a library is missing')")
    monkeypatch.syspath_prepend(str(tmp_path))
    driver, own = socket.socketpair()
    with driver, own:
        driver.sendall(b"load\nopen\nmeasure a\n")
        packages = ["no_such_package", "ill_package"]
        with program.loading([f"--driven={own.fileno()}"], packages) as is_driven:
            assert is_driven
            assert driver.recv(100) == b"loading\n"
        assert own.recv(100) == b"measure a\n"


@pytest.mark.parametrize("lines", [b"", b"load\n"])
def test_a_program_that_lost_its_driver_ends_before_it_opens_a_device(lines: bytes) -> None:
    driver, own = socket.socketpair()
    with own:
        driver.sendall(lines)
        driver.shutdown(socket.SHUT_WR)
        with driver, pytest.raises(SystemExit), program.loading([f"--driven={own.fileno()}"], []):
            assert lines
