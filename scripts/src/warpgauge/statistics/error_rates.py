# SPDX-License-Identifier: Apache-2.0
"""How often a verdict may err. Standard library only, for every command line tells of these."""

from __future__ import annotations

# Chance that a run of unchanged code shows even one false alarm by chance alone, whatever the
# number of benchmarks. The minimum effect removes nearly all that are left.
ALPHA = 0.01

# Share of intervals that hold the true change, for the intervals that are shown.
CONFIDENCE = 0.95

# "The smallest change that could have been seen" is the one found nine times in ten.
POWER = 0.9

# The noise floor lies this many standard errors from zero: chance alone goes there once in 370
# times, and what lies nearer is not called a change however many others are.
FLOOR_ERRORS = 3.0
