# SPDX-License-Identifier: Apache-2.0
"""Where a benchmark is written: its family's file, or nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from comparisons import comparison, verdict
from warpgauge.reports.provenance import SourcePlace, place
from warpgauge.system.environment import ROOT


@pytest.mark.parametrize(
    ("line", "told"),
    [(12.0, 12), (0.0, None), (-1.0, None), (1.5, None), (float("nan"), None), (1e300, None)],
)
def test_only_a_whole_number_is_a_line(tmp_path: Path, line: float, told: int | None) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "a.cpp").touch()
    found = place(tmp_path, comparison([]), verdict("a/b", source_line=line))
    assert found == SourcePlace("benchmarks/a.cpp", told)


def test_a_cuda_file_goes_before_a_cpp_file(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    for suffix in ("cu", "cpp"):
        (tmp_path / "benchmarks" / f"a.{suffix}").touch()
    assert place(tmp_path, comparison([]), verdict("a/b")) == SourcePlace("benchmarks/a.cu", None)


@pytest.mark.parametrize("name", ["..", "../secret/x", "a\0/b", "a b/c", "", "a.cu", "x" * 4000])
def test_a_name_never_leads_out_of_the_benchmarks(tmp_path: Path, name: str) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "...cu").touch()
    assert place(tmp_path, comparison([]), verdict(name)) is None


@pytest.mark.parametrize("name", ["nowhere/x", "^gemm/", "BM_plain", "../../etc/passwd/x"])
def test_a_name_of_no_file_has_no_place(name: str) -> None:
    assert place(ROOT, comparison([]), verdict(name)) is None
