# SPDX-License-Identifier: Apache-2.0
"""The repetitions that a report of aggregates alone stands for."""

from __future__ import annotations

import math
import statistics
import sys
from functools import lru_cache

# More say hardly more of how far they scatter, and a file may claim any number.
_MOST = 100

# A ratio of standard deviation to typical time beyond this says no more than that nothing is known.
_WIDEST = 1e6

# What a log may be so that its time can be held, with some room for rounding.
_SMALLEST, _LARGEST = math.log(sys.float_info.min) + 1.0, math.log(sys.float_info.max) - 1.0


def repetitions(typical: float, stddev: float, count: int) -> tuple[float, ...]:
    """So many times (seconds) of that median whose logs scatter as that standard deviation tells.

    At equal steps of probability of a log-normal distribution. Repetitions that nobody wrote down
    are as good a witness of the noise as those that were: without them a benchmark that repeats to
    30 % would be judged like one that repeats to the last digit.
    """
    if count < 2:
        return (typical,)
    ratio = min(stddev / typical, _WIDEST)
    scatter = math.sqrt(math.log1p(ratio**2))  # of a log-normal distribution's log
    logs = (math.log(typical) + scatter * score for score in _scores(min(count, _MOST)))
    return tuple(math.exp(min(max(log, _SMALLEST), _LARGEST)) for log in logs)


@lru_cache(maxsize=_MOST)
def _scores(count: int) -> tuple[float, ...]:
    """Normal scores, symmetric about 0, of a standard deviation of 1."""
    normal = statistics.NormalDist()
    scores = [normal.inv_cdf((index + 0.5) / count) for index in range(count)]
    even = [(one - other) / 2 for one, other in zip(scores, reversed(scores), strict=True)]
    sd = statistics.stdev(even, 0.0)
    return tuple(score / sd for score in even)
