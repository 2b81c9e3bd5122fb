# SPDX-License-Identifier: Apache-2.0
"""Of thousands of changed rows the worst are listed, and the rest counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from comparisons import comparison, verdict
from warpgauge.reports.terminal.report import plain
from warpgauge.system.text import percent
from warpgauge.verdict.comparison import Comparison, Outcome


def regressions(families: int, each: int) -> Comparison:
    """Each is slower than the one before, and beside it stands what is unchanged."""
    return comparison(
        [
            verdict(f"f{family}/{kind}:{i}", outcome, 0.01 * (family * each + i + 1) * bool(i % 2))
            for family in range(families)
            for i in range(each)
            for kind, outcome in [("x", Outcome.REGRESSION if i % 2 else Outcome.PASS)]
        ]
    )


@pytest.mark.parametrize(("families", "each"), [(1, 10_000), (40, 250), (5000, 2)])
def test_thousands_of_regressions_do_not_fill_the_screen_and_are_counted(
    families: int, each: int
) -> None:
    found = regressions(families, each)
    lines = plain(found).splitlines()
    assert len(lines) < 200
    assert sum(line.endswith("REGRESSION") for line in lines) == 50
    assert "… and 4950 more REGRESSION (--format json=FILE lists all)" in lines
    worst = [f"{percent(one.change.ratio)} " for one in found.verdicts[-99::2] if one.change]
    assert all(any(size in line for line in lines) for size in worst)
    if families > 50:
        left_out = "… and 4900 families more, 4900 unchanged (--format json=FILE lists all)"
        assert left_out in lines


def test_a_cap_of_one_outcome_hides_no_other() -> None:
    many = regressions(1, 10_000)
    others = [verdict("z/faster", Outcome.IMPROVED, -0.1), verdict("z/gone", Outcome.MISSING)]
    text = plain(replace(many, verdicts=(*many.verdicts, *others)))
    assert "  faster " in text
    assert "  gone " in text
