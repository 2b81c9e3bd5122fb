# SPDX-License-Identifier: Apache-2.0
"""How many benchmarks look changed while a run goes on: a hint for whoever waits, no verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warpgauge.execution.turn_result import Outcome as Delivered
from warpgauge.system.errors import UserError
from warpgauge.verdict.comparison import Comparison, Outcome

# Of what whole rounds delivered; None where that cannot be judged.
Preview = Callable[[Sequence[Delivered]], int | None]

# Fewer show too little of how far processes scatter to be worth a word.
FEWEST_ROUNDS = 3


def changed(judge: Callable[[], Comparison]) -> int | None:
    """How many `judge` calls changed. What it cannot judge now the end of the run will tell."""
    try:
        return judge().count(Outcome.REGRESSION, Outcome.IMPROVED)
    except UserError:
        return None


def in_words(count: int | None) -> str:
    """``preview: 2 look changed``; nothing where there is none."""
    if count is None:
        return ""
    return f"preview: {count} {'looks' if count == 1 else 'look'} changed"
