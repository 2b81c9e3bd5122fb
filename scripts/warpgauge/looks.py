# SPDX-License-Identifier: Apache-2.0
"""Two looks at a pair: a first at all of it, a second at what the first could not decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from warpgauge.comparison import Comparison
from warpgauge.controls import FAMILY as CONTROLS
from warpgauge.model import Clock
from warpgauge.paired import Run, Side, measure
from warpgauge.text import plural

# The rounds of both looks together, as a multiple of the first's: four times as many halve an
# interval (7 rounds become 28).
SECOND_LOOK = 4


@dataclass(frozen=True)
class Looks:
    """What was found, and in how many looks: ``7 rounds``."""

    found: Comparison
    told: str


# Keeps what both sides delivered so far, and judges it.
Judge = Callable[[Side, Side], Comparison]


def compare(
    base: Side,
    candidate: Side,
    first: int,
    *,
    second_look: bool,
    run: Run,
    judge: Judge,
    say: Callable[[str], None],
) -> Looks:
    """What `first` rounds of both sides show; after a second look at what they leave open."""
    sides = measure(base, candidate, None, range(1, first + 1), run)
    found = judge(*sides)
    open_ = undecided(found)
    rounds, many = plural(first, "round"), plural(len(open_), "undecided benchmark")
    if not open_:
        return Looks(found, rounds)
    if not second_look:
        return Looks(found, f"{rounds}, and no second look at {many}")
    last = SECOND_LOOK * first
    say(f"Second look, at {many}: rounds {first + 1} to {last}")
    try:
        found = judge(*measure(*sides, open_, range(first + 1, last + 1), run))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("in the second look: the run files hold the first") from None
    return Looks(found, f"{rounds}, and {last} in a second look at {many}")


def undecided(found: Comparison) -> list[str]:
    """What deserves a second look; the host's controls judge nobody, and get none."""
    return [
        one.name
        for one in found.verdicts
        if one.undecided and not (one.family == CONTROLS and one.clock is Clock.HOST)
    ]
