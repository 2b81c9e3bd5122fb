# SPDX-License-Identifier: Apache-2.0
"""A comment takes no longer than its parts, however many of each a comparison has."""

from __future__ import annotations

from unittest import mock

from comparisons import comparison, verdict
from warpgauge.reports import likely_cause
from warpgauge.reports.markdown import report
from warpgauge.verdict.comparison import ContextDifference, Outcome


def test_what_is_the_same_for_all_rows_is_looked_for_once() -> None:
    """A stranger's comparison may have many of both."""
    difference = ContextDifference("driver_version", "1", "2")
    for rows in (2, 50):
        verdicts = [verdict(f"a/{n}", Outcome.REGRESSION, 0.1) for n in range(rows)]
        found = comparison(verdicts, notes=["a note"] * rows, differences=[difference] * 3)
        with (
            mock.patch.object(report, "how_measured", return_value="") as measured,
            mock.patch.object(likely_cause, "_environment", return_value="driver") as around,
            mock.patch.object(likely_cause, "are_paired", return_value=False) as paired,
        ):
            assert "perhaps driver" in report.render(found)
        assert measured.call_count <= 2
        assert around.call_count <= 2
        assert paired.call_count == 1
