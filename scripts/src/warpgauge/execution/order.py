# SPDX-License-Identifier: Apache-2.0
"""In which order it runs: by the seed alone, and so that drift falls on all sides alike."""

from __future__ import annotations

import random

from warpgauge.execution.crash_recovery import Names
from warpgauge.execution.plan import Plan, Turn
from warpgauge.execution.shuffle import shuffled


def order(plan: Plan) -> list[list[Turn]]:
    """For each round its turns, families shuffled; the same seed gives the same order everywhere.

    The lanes' processes of a family follow each other directly, in odd rounds the first lane's
    first (A B, B A, A B, ...): what drifts in time then falls on both sides alike.
    """
    return [_turns(plan, number) for number in plan.rounds]


def _turns(plan: Plan, number: int) -> list[Turn]:
    lanes = plan.lanes if number % 2 else plan.lanes[::-1]
    turns: dict[str, list[Turn]] = {
        binary.family: [] for lane in plan.lanes for binary in lane.binaries if binary.fault is None
    }
    for lane in lanes:
        for binary in lane.binaries:
            if binary.fault is None:
                turns[binary.family].append(Turn(number, lane, binary))
    # By the number too: a round has the same order whichever round a run begins with.
    generator = random.Random(f"{plan.seed} {number}")
    families = generator.sample(list(turns), len(turns))
    return [turn for family in families for turn in turns[family]]


def sequence(plan: Plan, turn: Turn) -> Names:
    """A program's benchmarks in the order that it runs them in: shuffled, or else as it lists them.

    The lanes of a round have the same order.
    """
    names = turn.binary.names
    return shuffled(names, seed_of(plan, turn)) if is_shuffled(plan, turn) else names


def is_shuffled(plan: Plan, turn: Turn) -> bool:
    """Whether this family's programs can all be told an order.

    What runs before a benchmark moves some by a percent: one side alone in another order, and that
    would look like a change.
    """
    family = turn.binary.family
    return all(
        binary.shuffles
        for lane in plan.lanes
        for binary in lane.binaries
        if binary.family == family
    )


def seed_of(plan: Plan, turn: Turn) -> int:
    """Of the order within the programs in this round; it has 64 bits."""
    return (plan.seed << 16 | turn.round) & (1 << 64) - 1
