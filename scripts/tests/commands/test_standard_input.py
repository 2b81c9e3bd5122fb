# SPDX-License-Identifier: Apache-2.0
"""`-` stands for standard input where compare reads one result."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from builders import row, run, scaled, write
from warpgauge.commands.compare import main, parse
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import UserError


@pytest.fixture
def sides(tmp_path: Path) -> list[str]:
    """A benchmark that became slower."""
    base = write(tmp_path / "base.json", run([row("a/b")]))
    return [str(base), str(write(tmp_path / "cand.json", run([row("a/b", scaled(1.5))])))]


def piped(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize("at", [0, 1])
def test_one_side_can_come_from_standard_input(
    sides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    piped(monkeypatch, Path(sides[at]).read_bytes())
    assert main([*sides[:at], "-", *sides[at + 1 :]], tmp_path) == 1


def test_it_can_be_a_pipe(sides: list[str]) -> None:
    script = ROOT / "scripts" / "compare.py"
    done = subprocess.run(
        [sys.executable, str(script), sides[0], "-"],
        input=Path(sides[1]).read_bytes(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_comparison_can_come_from_standard_input(
    sides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told.json"
    main([*sides, f"--format=json={told}"], tmp_path)
    piped(monkeypatch, told.read_bytes())
    assert main(["-"], tmp_path) == 1


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["-", "-"], "standard input can be read once"),
        (["--processes", "-", "--", "a.json"], "--processes takes files"),
        (["--processes", "a.json", "--", "-"], "--processes takes files"),
    ],
)
def test_standard_input_is_one_result(argv: list[str], said: str) -> None:
    with pytest.raises(UserError, match=said):
        parse(argv)


def test_what_stands_there_is_checked_as_a_file_is(
    sides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, b"")
    with pytest.raises(UserError, match="/dev/stdin: is empty"):
        main([sides[0], "-"], tmp_path)


def test_a_closed_standard_input_is_a_sentence(
    sides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UserError, match="/dev/stdin: "):
        main([sides[0], "-"], tmp_path)
