# SPDX-License-Identifier: Apache-2.0
"""Looks at pairs: rounds continue until every row is decided or the schedule or budget ends.

Stopping as soon as a difference looks significant inflates false alarms. The schedule is therefore
fixed before the first round, and each look spends part of alpha (Lan and DeMets 1983, "Discrete
sequential boundaries for clinical trials"). The run files list the rounds of the looks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from warpgauge.measure.budget import Budget
from warpgauge.measure.paired import Run, Side, measure
from warpgauge.measure.plan import Lane
from warpgauge.measure.turn_result import TurnResult
from warpgauge.system import interrupts
from warpgauge.system.text import duration, plural
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.controls import is_control

Found = TypeVar("Found")


@dataclass(frozen=True)
class Looks(Generic[Found]):
    """The findings, and the numbers of rounds for the note on pairs.

    `stop` is an interrupt after the first look. The caller shows the findings, then raises it.
    """

    found: Found
    rounds: Mapping[str, int | float]
    stop: KeyboardInterrupt | None = None


def take(
    sides: Mapping[str, Side],
    rounds_of_looks: Sequence[int],
    *,
    run: Run,
    judge: Callable[[Mapping[str, Side], Sequence[int]], Found],
    open_rows: Callable[[Found], Collection[str]],
    say: Callable[[str], None],
    budget: Budget,
) -> Looks[Found]:
    """Measure the first look, then further looks at open benchmarks, and return the findings.

    `judge` writes and judges all results so far, given the rounds of the looks. `open_rows`
    returns the undecided benchmarks. The first look always runs all its rounds; a later one stops
    after the last round that fits the budget. If a further look is interrupted, the findings are
    those of the look before.
    """
    first, *further = rounds_of_looks
    sides = measure(sides, None, range(1, first + 1), run)
    budget.minimum_is_measured()
    looked, stop = [first], None
    found = judge(sides, looked)
    names = left = open_rows(found)

    def whole_rounds(lanes: Sequence[Lane], rounds: range) -> Iterator[TurnResult]:
        """Run as many whole rounds as the budget allows."""
        of_a_round = sum(one.runs for lane in lanes for one in lane.binaries)
        for count, outcome in enumerate(run(lanes, rounds), 1):
            yield outcome
            if count % of_a_round == 0 and not budget.fits(lanes):
                return

    for until in further:
        lanes = [side.only(left).lane() for side in sides.values()]
        if not left or not budget.fits(lanes):
            break
        time_left = "" if budget.given is None else f" ({duration(budget.left)} left)"
        last = looked[-1]
        open_now = plural(len(left), "open benchmark")
        say(f"Rounds {last + 1} to {until} of {open_now}{time_left}")
        try:
            sides = measure(sides, left, range(last + 1, until + 1), whole_rounds)
            delivered = (one.round for side in sides.values() for one in side.outcomes)
            measured = max(delivered, default=0)
            if measured == last:  # no program lists the open benchmarks
                break
            with interrupts.postponed():  # keep the run files and the judgement consistent
                looked.append(measured)
                found = judge(sides, looked)
                # Results of other benchmarks may reopen a decided one.
                left = open_rows(found)
        except KeyboardInterrupt as interrupt:
            counted = plural(looked[-1], "pair")
            say(f"Interrupted: the first {counted} count.")
            stop = interrupts.told(interrupt, f"in a further look: the run files hold {counted}")
            break
    rounds = {
        "pairs": looked[0],
        "interrupted": int(stop is not None),
        "budget_seconds": budget.given or 0.0,
    }
    if len(looked) > 1:
        rounds |= {"most_pairs": looked[-1], "open_benchmarks": len(names)}
        rounds["still_open"] = len(left)
    else:
        rounds["undecided"] = len(left)
    return Looks(found, rounds, stop)


def open_rows(found: Comparison) -> list[str]:
    """Return the undecided benchmarks, without the host's controls, which decide nothing."""
    undecided = (one for one in found.verdicts if one.outcome is Outcome.INCONCLUSIVE)
    return [one.name for one in undecided if not is_control(one)]
