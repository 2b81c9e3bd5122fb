# SPDX-License-Identifier: Apache-2.0
"""The shell asks how a command line goes on, and gets the words; nothing is run or installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from forked import Forked
from warpgauge.commands import main
from warpgauge.system import environment


def completed(line: str, folder: Path, *, starter: str = "") -> list[str]:
    """What the shell gets for a command line of scripts/warpgauge, or of another starter."""
    file = folder / "completions"
    file.touch()

    def work() -> int:
        os.environ |= {
            "_ARGCOMPLETE": "1",
            "_ARGCOMPLETE_IFS": "\n",
            "_ARGCOMPLETE_STDOUT_FILENAME": str(file),
            "COMP_LINE": line,
            "COMP_POINT": str(len(line)),
        }
        return main.main([starter] if starter else [])

    Forked(work).communicate()
    return file.read_text().split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("warpgauge be", ["bench"]),
        ("warpgauge bench --fi", ["--filter"]),
        ("warpgauge bench --suite d", ["default"]),
        ("warpgauge baseline pr", ["prune"]),
        ("warpgauge ci ga", ["gate"]),
        ("warpgauge ci gate --out", ["--out-dir"]),
        ("warpgauge zzz --fi", []),
    ],
)
def test_commands_options_and_values_are_completed(
    tmp_path: Path, line: str, words: list[str]
) -> None:
    pytest.importorskip("argcomplete")
    assert completed(line, tmp_path) == words


def test_a_starter_completes_the_options_of_its_command(tmp_path: Path) -> None:
    pytest.importorskip("argcomplete")
    assert completed("scripts/bench --fi", tmp_path, starter="bench") == ["--filter"]


def test_without_the_library_nothing_is_completed_or_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "argcomplete", None)
    monkeypatch.setattr(environment, "ensure", lambda packages, *, make: None)
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    assert main.main(["bench"]) == 1
