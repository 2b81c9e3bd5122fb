# SPDX-License-Identifier: Apache-2.0
"""What is said of another project's programs names no file, policy or baseline of this one's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from comparisons import comparison, record, verdict
from warpgauge.reports.annotations import render
from warpgauge.reports.markdown import report
from warpgauge.verdict.comparison import Comparison, Evidence, Outcome

METHOD = "Measured in turns, the programs in old and those in new: 7 rounds."


def measured(
    programs: Sequence[str] = ("old", "new"), outcome: Outcome = Outcome.REGRESSION
) -> Comparison:
    """A family that this project has, too, at a line that is none of its file's."""
    one = verdict("gemm/a", outcome, 0.3, evidence=Evidence.PAIRED, source_line=7.0)
    base, cand = (record(f"{one}.json", pair_id="p", programs=one) for one in programs)
    return replace(comparison([one], notes=["else"], base=base, cand=cand), method=METHOD)


def test_the_policy_is_the_one_that_the_command_names() -> None:
    text = report.render(measured())
    assert "for a time, the file that --policy names says so, in this pull request" in text
    assert "baselines/" not in text
    assert "scripts/warpgauge ab old new --filter" in text
    assert f"**How it was measured:** {METHOD}" in text
    assert text.count(METHOD) == 1


def test_no_annotation_stands_at_a_file_of_this_project() -> None:
    line = render(measured()).splitlines()[0]
    assert line.startswith("::error title=REGRESSION%3A gemm/a::")
    ours = comparison(measured().verdicts)
    assert "file=benchmarks/gemm.cu,line=7," in render(ours)
