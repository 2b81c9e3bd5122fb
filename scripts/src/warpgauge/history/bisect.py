# SPDX-License-Identifier: Apache-2.0
"""Which commit to test next, and which one is to blame. Pure functions.

Commits are numbered from GOOD (0) to BAD. Commits with the same key have equal programs and share a
state. A commit equal to GOOD is good, so neither a revert in between nor what it reverts is blamed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import accumulate


class State(Enum):
    """The state of a commit for one benchmark."""

    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "unknown"  # it does not build or run, or is between good and bad


def suspects(keys: Sequence[str], states: Mapping[str, State]) -> list[int]:
    """The commits that may be to blame: one, once that is certain.

    These are the commits after the last known good one, up to the first known bad one after it,
    whose programs differ from the commit before. The states of both ends must be known.
    """
    good = max(i for i, key in enumerate(keys) if states.get(key) is State.GOOD)
    bad = next(i for i, key in enumerate(keys) if i > good and states.get(key) is State.BAD)
    return [i for i in range(good + 1, bad + 1) if keys[i] != keys[i - 1]]


def following(
    keys: Sequence[str], states: Mapping[str, State], weights: Sequence[float]
) -> int | None:
    """The commit to test next; None if no test can narrow the suspects.

    `weights` say how likely each commit is to blame. The commit that halves their sum best is next.
    """
    left = suspects(keys, states)
    before = [*accumulate(weights[i] for i in left)]  # sums, each including its commit
    untested = [at for at, i in enumerate(left[:-1]) if keys[i] not in states]
    if not untested:
        return None
    return left[min(untested, key=lambda at: abs(before[at] - before[-1] / 2))]


def most_steps(commits: int) -> int:
    """The most commits that may be measured; the error probability is divided among them.

    This is twice the number needed if each one gives an answer.
    """
    return 2 * (1 + math.ceil(math.log2(max(commits, 1))))
