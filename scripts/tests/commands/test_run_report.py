# SPDX-License-Identifier: Apache-2.0
"""The page beside a run file: nothing that befalls it befalls the run."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pytest
from rich.console import Console

from comparisons import comparison, verdict
from warpgauge.commands.show_results import RunReport
from warpgauge.verdict.comparison import Comparison, Outcome

SOUND = comparison([verdict("a/b")])
BROKEN = comparison([verdict("a/b", Outcome.REGRESSION, math.nan)])


@pytest.mark.parametrize(
    ("found", "name", "told"),
    [
        (SOUND, "run.html", "Report: "),
        (SOUND, "foreign.html", "cannot write"),
        (SOUND, "missing/run.html", "cannot write"),
        (BROKEN, "run.html", "not written: "),
    ],
)
def test_what_cannot_be_written_is_told(
    tmp_path: Path, found: Comparison, name: str, told: str
) -> None:
    (tmp_path / "foreign.html").write_text("mine")
    console = Console(file=io.StringIO(), width=400)
    report = RunReport(tmp_path / name, tmp_path / "baselines", console)
    report.write(found)
    report.tell()
    assert told in console.file.getvalue()  # type: ignore[attr-defined]
    assert (tmp_path / "foreign.html").read_text() == "mine"
    assert (tmp_path / "run.html").exists() is (told == "Report: ")
