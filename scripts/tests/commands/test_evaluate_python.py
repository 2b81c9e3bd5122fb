# SPDX-License-Identifier: Apache-2.0
"""warpgauge evaluate of two files in Python: what it takes, and what it makes of the checker."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from test_evaluate import COUNTERS

import fake_binary
from warpgauge.callables.messages import Channel
from warpgauge.commands import evaluate
from warpgauge.measure import gpu_watch, python_file
from warpgauge.measure.measuring import Measuring
from warpgauge.system import process
from warpgauge.system.errors import ExitStatus, UserError

TIMES = {"kernel/n:8": 1000.0, "kernel/n:64": 4000.0}
FASTER = {name: time / 2 for name, time in TIMES.items()}


_CHECKER = evaluate._checker


@dataclass
class Files:
    """A folder with base.py and mine.py. The checker answers what `faults` says of a side."""

    root: Path
    capsys: pytest.CaptureFixture[str]
    times: dict[str, dict[str, float]] = field(
        default_factory=lambda: {"base": TIMES, "candidate": FASTER}
    )
    faults: dict[str, list[str]] = field(
        default_factory=lambda: {side: ["", ""] for side in ("base", "candidate")}
    )
    settings: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    refusal: str = ""

    def run(self, *argv: str) -> ExitStatus:
        return evaluate.main([*argv], self.root)

    def evaluated(self, *argv: str) -> tuple[ExitStatus, dict[str, Any]]:
        self.capsys.readouterr()
        status = self.run("base.py", "mine.py", *argv, "--format=json")
        return status, json.loads(self.capsys.readouterr().out)

    def write(self, program: Path, module: str, words: Sequence[str]) -> None:
        """In place of the program of a side: one that takes its times."""
        assert module == "side"
        name = words[1]
        counters = {"all": {"sm_clock_hz": 1.98e9, **COUNTERS}}
        fake_binary.make(program.parent, name, self.times[name], counters=counters)
        for end in ("", ".told"):
            shutil.move(f"{program.parent}/bench_{name}{end}", f"{program}{end}")

    def measuring(self) -> Any:  # noqa: ANN401 - as much of Measuring as the checker needs
        options = SimpleNamespace(device=None, timeout_s=60)
        return SimpleNamespace(scratch=self.root, options=options)

    @contextmanager
    def checker(self, _: Measuring) -> Iterator[Channel]:
        ours, theirs = map(Channel, socket.socketpair())
        thread = Thread(target=self._answer, args=(theirs,))
        thread.start()
        try:
            yield ours
        finally:
            ours.close()
            thread.join(60)

    def _answer(self, channel: Channel) -> None:
        try:
            self.settings, _ = channel.receive()
            answer = {"axes": {"n": [8, 64]}, "frameworks": ["numpy"]}
            channel.send({"fault": self.refusal} if self.refusal else answer)
            while True:
                side = channel.receive()[0]["side"]
                self.asked.append(side)
                channel.send({"faults": self.faults[side]})
        except EOFError:
            channel.close()


@pytest.fixture
def files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Files:
    monkeypatch.setenv("WARPGAUGE_COMMIT", "0123456789" * 4)
    monkeypatch.setenv("COLUMNS", "140")
    gpu = {fake_binary.GPU["gpu_uuid"]: fake_binary.GPU["gpu_name"]}
    monkeypatch.setattr(gpu_watch, "all_gpus", lambda: gpu)
    monkeypatch.setattr(process, "require_gpu", lambda: None)
    monkeypatch.chdir(tmp_path)
    made = Files(tmp_path, capsys)
    monkeypatch.setattr(evaluate, "_FOLDER", tmp_path / "build" / "python")
    monkeypatch.setattr(evaluate, "_checker", made.checker)
    monkeypatch.setattr(python_file, "write", made.write)
    for name in ("base.py", "mine.py", "inputs.py"):
        (tmp_path / name).touch()
    return made


def test_a_faster_function_is_told_at_each_point(files: Files) -> None:
    status, evaluated = files.evaluated()
    assert status is ExitStatus.OK
    assert [point["axes"] for point in evaluated["points"]] == [{"n": "8"}, {"n": "64"}]
    assert {point["verdict"]["outcome"] for point in evaluated["points"]} == {"IMPROVED"}
    assert (evaluated["base"], evaluated["candidate"]) == ("base.py", "mine.py")
    assert files.settings["base"] == files.settings["inputs"] == str(files.root / "base.py")
    assert files.settings["function"] == "kernel"
    assert set(files.asked) == {"base", "candidate"}
    files.times["candidate"] = {name: 2 * time for name, time in TIMES.items()}
    assert files.evaluated()[0] is ExitStatus.REGRESSION


@pytest.mark.parametrize("side", ["base", "candidate"])
def test_times_that_the_checker_does_not_confirm_are_errors(files: Files, side: str) -> None:
    files.faults[side][1] = "the checker did not see its results"
    status, evaluated = files.evaluated()
    assert status is ExitStatus.NOT_MEASURED
    assert [point["verdict"]["outcome"] for point in evaluated["points"]] == ["IMPROVED", "ERROR"]
    assert "did not see" in evaluated["points"][1]["verdict"]["reason"]
    assert evaluated["headline"].startswith("FAILED at 1 of 2 points")
    run = json.loads(next((files.root / "build" / "runs").glob("*.json")).read_text())
    assert len(run["benchmarks"]) >= 2


def test_functions_inputs_shapes_and_axes_reach_the_checker(files: Files) -> None:
    files.run("base.py:slow", "mine.py:quick", "--inputs=inputs.py", "--axis=n=8,64")
    assert files.settings["function"] == "slow"
    assert files.settings["inputs"] == str(files.root / "inputs.py")
    assert files.settings["axes"] == {"n": ["8", "64"]}
    files.run("base.py", "mine.py", "--inputs=4096x1024:bf16,1024", "--inputs=8")
    assert files.settings["shapes"] == ["4096x1024_bf16+1024", "8"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["base.py", "gone.py"], "'gone.py' is no file"),
        (["base.py", "mine.py:a-b"], "is not FILE.py:FUNCTION"),
        (["base.py", "gemm/cublas/f32"], "gemm/cublas/f32 is not a Python function"),
        (["gemm/cublas/f32", "gemm/tiled/f32", "--inputs=8"], "--inputs is for functions"),
        (["base.py", "mine.py", "--inputs=8:f8"], "neither a file"),
        (["base.py", "mine.py", "--inputs=0x4"], "neither a file"),
        (["base.py", "mine.py", "--inputs=gone.py"], "'gone.py' is no file"),
        (["base.py", "mine.py", "--inputs=8", "--inputs=inputs.py"], "takes one file"),
        (["base.py", "mine.py", "--inputs=8", "--axis=n=8"], "--axis gives values"),
    ],
)
def test_bad_usage_is_one_sentence(files: Files, argv: list[str], said: str) -> None:
    with pytest.raises(UserError, match=said) as refused:
        files.run(*argv)
    assert refused.value.status is ExitStatus.BAD_USAGE
    assert files.settings == {}


def test_what_the_checker_refuses_is_bad_usage(files: Files) -> None:
    files.refusal = "base.py has no function inputs"
    with pytest.raises(UserError, match="no function inputs") as refused:
        files.run("base.py", "mine.py")
    assert refused.value.status is ExitStatus.BAD_USAGE


def test_the_checker_is_a_process_that_the_files_are_imported_in(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(evaluate, "_FOLDER", files.root / "programs")
    names = {"base": "base.py", "function": "kernel", "inputs": "base.py"}
    settings = {"socket": str(files.root / "s"), "axes": {}, "shapes": []}
    settings |= {name: str(files.root / path) for name, path in names.items()} | {"function": "f"}
    (files.root / "base.py").write_text("print('said')\ndef f(x): pass\ndef inputs(): return 1")
    with _CHECKER(files.measuring()) as checker, pytest.raises(UserError, match="no array"):
        checker.ask(settings)
    (files.root / "base.py").write_text("import os\nos._exit(7)")
    with (
        pytest.raises(UserError, match="process that checks results ended") as ended,
        _CHECKER(files.measuring()) as checker,
    ):
        checker.ask(settings)
    assert ended.value.status is ExitStatus.NOT_MEASURED
