# SPDX-License-Identifier: Apache-2.0
"""Two looks at pairs: a first at all of it, a second at what the first left undecided."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from warpgauge.measurement.paired import Run, Side, measure
from warpgauge.system import interrupts
from warpgauge.system.text import plural
from warpgauge.verdict.comparison import Comparison, Verdict
from warpgauge.verdict.controls import is_control

# The rounds of both looks together, as a multiple of the first's. Twelve times (84 rounds) find 5 %
# in 98 of 100 benchmarks whose processes scatter by 6 %; four times halve an interval.
FEWEST, MOST = 2, 12

Found = TypeVar("Found")


@dataclass(frozen=True)
class Looks(Generic[Found]):
    """What was found, and in how many looks: ``7 rounds``.

    `stop` is the interrupt that came in or after the second, to be raised when that is shown.
    """

    found: Found
    told: str
    stop: KeyboardInterrupt | None = None


def take(
    sides: Mapping[str, Side],
    first: int,
    *,
    second_look: bool,
    run: Run,
    judge: Callable[[Mapping[str, Side]], Found],
    left: Callable[[Found], Sequence[Verdict]],
    say: Callable[[str], None],
    most: int = MOST,
) -> Looks[Found]:
    """What `first` rounds of the sides show; after a second look at what they leave open.

    `judge` keeps and judges what all sides delivered so far, `left` tells what that leaves
    undecided. The second look has as many rounds as that needs, up to `most` times `first`; where
    it is interrupted the first is what was found.
    """
    measured = measure(sides, None, range(1, first + 1), run)
    found = judge(measured)
    open_ = left(found)
    names = list(dict.fromkeys(one.name for one in open_))
    rounds, many = plural(first, "round"), plural(len(names), "undecided benchmark")
    first_alone = f"{rounds}, and no second look at {many}" if names else rounds
    if not names or not second_look:
        return Looks(found, first_alone)
    last = rounds_needed(open_, first, most)
    say(f"Second look, at {many}: rounds {first + 1} to {last}")
    try:
        again = measure(measured, names, range(first + 1, last + 1), run)
    except KeyboardInterrupt as stop:
        say("Interrupted in the second look: the first one counts.")
        early = interrupts.told(stop, "in the second look: the run files hold the first")
        return Looks(found, first_alone, early)
    late = None
    try:
        with interrupts.postponed():  # what is judged is what the run files hold
            found = judge(again)
    except KeyboardInterrupt as stop:
        late = interrupts.told(stop, "after the second look: the run files hold it")
    return Looks(found, f"{rounds}, and {last} in a second look at {many}", late)


def rounds_needed(open_: Iterable[Verdict], first: int, most: int = MOST) -> int:
    """How many rounds should show in each what is to be found, by the scatter of the `first`.

    Standard errors fall with the root of the rounds: Stein 1945, "A two-sample test for a linear
    hypothesis whose power is independent of the variance".
    """
    ratios = [
        one.detectable / one.sought
        for one in open_
        if one.detectable is not None and one.sought is not None
    ]
    times = max(ratios, default=0.0) ** 2
    return math.ceil(first * min(max(times, FEWEST), most))


def undecided(found: Comparison) -> list[Verdict]:
    """What deserves a second look; the host's controls judge nobody, and get none."""
    return [one for one in found.verdicts if one.undecided and not is_control(one)]
