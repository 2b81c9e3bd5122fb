# SPDX-License-Identifier: Apache-2.0
"""Nights and tables of a history, for tests of its changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warpgauge.history.lines import Night, Times
from warpgauge.statistics.log_ratios import Array


def of_commit(commit: str, facts: dict[str, str], base: str = "") -> Night:
    """A night whose number and date do not matter."""
    return Night("", commit, 0, facts, {}, {}, (), base)


def times(
    nights: Sequence[Night],
    names: Sequence[str],
    host: bool,
    log_seconds: Array,
    errors: Array,
    *ratios: Array,
) -> Times:
    """With log ratios and their errors, or without any."""
    none = np.full_like(log_seconds, np.nan)
    of_host = np.full(len(names), host)
    return Times(nights, names, of_host, log_seconds, errors, *(ratios or (none, none)))
