# SPDX-License-Identifier: Apache-2.0
"""Which commit to test next, and which one is to blame. Pure.

Commits are numbered from GOOD, 0, to BAD. Those of one key have equal programs, and share a state:
what is equal to GOOD is good, so that a revert in between is not blamed, nor what it reverts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import accumulate


class State(Enum):
    """Of a commit, in the eyes of one benchmark."""

    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "unknown"  # it does not build, or does not run, or is neither


def suspects(keys: Sequence[str], states: Mapping[str, State]) -> list[int]:
    """The commits that may be to blame: one, once that is certain.

    They differ from the commit before, behind the last that is known to be good, up to the first
    that is known to be bad after that. Both ends are known.
    """
    good = max(i for i, key in enumerate(keys) if states.get(key) is State.GOOD)
    bad = next(i for i, key in enumerate(keys) if i > good and states.get(key) is State.BAD)
    return [i for i in range(good + 1, bad + 1) if keys[i] != keys[i - 1]]


def following(
    keys: Sequence[str], states: Mapping[str, State], weights: Sequence[float]
) -> int | None:
    """The commit to test next; None where no test tells more.

    `weights` say how likely each commit is to blame. The one that halves them best is next.
    """
    left = suspects(keys, states)
    before = [*accumulate(weights[i] for i in left)]  # up to each, and with it
    untested = [at for at, i in enumerate(left[:-1]) if keys[i] not in states]
    if not untested:
        return None
    return left[min(untested, key=lambda at: abs(before[at] - before[-1] / 2))]


def most_steps(commits: int) -> int:
    """How many commits may be measured, so that the chance to err is divided in advance.

    Twice as many as there are where each one tells.
    """
    return 2 * (1 + math.ceil(math.log2(max(commits, 1))))
