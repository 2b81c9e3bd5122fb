# SPDX-License-Identifier: Apache-2.0
"""Where a benchmark is written: its family's file, or nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from comparisons import comparison, verdict
from warpgauge.reports.view import place


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for name in ("a.cpp", "both.cu", "both.cpp", "...cu"):
        (folder / name).touch()
    return tmp_path


@pytest.mark.parametrize("line", [0.0, -1.0, 1.5, float("nan"), 1e300])
def test_a_family_has_its_file_cuda_first_and_only_a_whole_number_is_a_line(
    root: Path, line: float
) -> None:
    found = [place(root, comparison([]), verdict("a/b", source_line=at)) for at in (12.0, line)]
    assert found == [{"file": "benchmarks/a.cpp", "line": 12}, {"file": "benchmarks/a.cpp"}]
    assert place(root, comparison([]), verdict("both/b")) == {"file": "benchmarks/both.cu"}


@pytest.mark.parametrize(
    "name",
    ["..", "../secret/x", "a\0/b", "a b/c", "", "a.cu", "x" * 4000, "nowhere/x", "^a/", "BM_plain"],
)
def test_a_name_of_no_file_has_no_place_and_none_leads_out_of_the_benchmarks(
    root: Path, name: str
) -> None:
    assert place(root, comparison([]), verdict(name)) == {}
