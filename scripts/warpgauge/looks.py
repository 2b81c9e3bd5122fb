# SPDX-License-Identifier: Apache-2.0
"""Two looks at sides in turns: a first at all of it, a second at what the first left undecided."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from warpgauge.comparison import Comparison
from warpgauge.controls import FAMILY as CONTROLS
from warpgauge.model import Clock
from warpgauge.paired import Run, Side, measure
from warpgauge.text import plural

# The rounds of both looks together, as a multiple of the first's: four times as many halve an
# interval (7 rounds become 28).
SECOND_LOOK = 4

Found = TypeVar("Found")


@dataclass(frozen=True)
class Looks(Generic[Found]):
    """What was found, and in how many looks: ``7 rounds``."""

    found: Found
    told: str


def take(
    sides: Mapping[str, Side],
    first: int,
    *,
    second_look: bool,
    run: Run,
    judge: Callable[[Mapping[str, Side]], Found],
    left: Callable[[Found], Sequence[str]],
    say: Callable[[str], None],
) -> Looks[Found]:
    """What `first` rounds of the sides show; after a second look at what they leave open.

    `judge` keeps and judges what all sides delivered so far, `left` names what that leaves
    undecided.
    """
    sides = measure(sides, None, range(1, first + 1), run)
    found = judge(sides)
    names = left(found)
    rounds, many = plural(first, "round"), plural(len(names), "undecided benchmark")
    if not names:
        return Looks(found, rounds)
    if not second_look:
        return Looks(found, f"{rounds}, and no second look at {many}")
    last = SECOND_LOOK * first
    say(f"Second look, at {many}: rounds {first + 1} to {last}")
    try:
        found = judge(measure(sides, names, range(first + 1, last + 1), run))
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
