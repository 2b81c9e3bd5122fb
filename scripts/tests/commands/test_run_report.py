# SPDX-License-Identifier: Apache-2.0
"""The page beside a run file: nothing that befalls it befalls the run."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from comparisons import comparison, verdict
from warpgauge.commands.output import Conclusion, Formats
from warpgauge.verdict.comparison_settings import ComparisonSettings

FOUND = comparison([verdict("a/b")])


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("run.html", "Report: "),
        ("foreign.html", "cannot write"),
        ("missing/run.html", "cannot write"),
    ],
)
def test_what_cannot_be_written_is_told(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "foreign.html").write_text("mine")
    console = Console(file=io.StringIO(), width=400)
    Conclusion(
        console, ComparisonSettings(), Formats(), tmp_path / "baselines", tmp_path / name
    ).compared(FOUND)
    assert told in console.file.getvalue()  # type: ignore[attr-defined]
    assert (tmp_path / "foreign.html").read_text() == "mine"
    assert (tmp_path / "run.html").exists() is (told == "Report: ")
