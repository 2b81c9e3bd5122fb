# SPDX-License-Identifier: Apache-2.0
"""A file whose summary of a benchmark is not that of its processes: judged by these, and told."""

from __future__ import annotations

from conftest import Loader

from builders import row, run
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.judge import judge

TIMES = [1000.0, 1001.0, 999.0, 1002.0, 998.0, 1000.5, 999.5]


def compared(loaded: Loader, real_time: float) -> Comparison:
    edited = [{**row(name, TIMES), "real_time": real_time} for name in ("a/b", "a/c")]
    return judge(loaded(run([row("a/b", TIMES), row("a/c", TIMES)])), loaded(run(edited)))


def test_a_time_that_was_edited_alone_is_no_change_and_never_passes_in_silence(
    loaded: Loader,
) -> None:
    found = compared(loaded, 1200.0)
    assert [one.outcome for one in found.verdicts] == [Outcome.PASS, Outcome.PASS]
    assert (
        "The candidate's real_time is not the median of its process_medians, as if the file had "
        "been edited, in a/b, and 1 more benchmark; only process_medians count."
    ) in found.notes


def test_rounding_is_no_edit(loaded: Loader) -> None:
    assert not any("edited" in note for note in compared(loaded, 1000.01).notes)
