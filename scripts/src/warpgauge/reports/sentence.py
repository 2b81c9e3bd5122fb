# SPDX-License-Identifier: Apache-2.0
"""One verdict in plain words, for formats that have a line of text a benchmark."""

from __future__ import annotations

from warpgauge.system.text import (
    LONGEST_TEXT,
    cut,
    duration,
    inert,
    of_limit,
    percent,
    percent_number,
)
from warpgauge.verdict.comparison import Verdict


def sentence(verdict: Verdict) -> str:
    """What was found and why, without the name, inert: ``+5.0 % (95 % interval …), 60 µs → …``."""
    parts = [inert(words) for words in (verdict.reason, _times(verdict)) if words]
    limit = of_limit(verdict.counters.get("limit_fraction"))
    if limit and verdict.change is not None:
        parts.append(f"{limit} of the limit")
    if verdict.causes:
        parts.append(f"likely cause: {inert('; '.join(verdict.causes))}")
    if verdict.accepted:
        parts.append(f"accepted: {inert(verdict.accepted)}")
    return cut("; ".join(parts), LONGEST_TEXT) or verdict.outcome.value


def _times(verdict: Verdict) -> str:
    before, after, change = verdict.baseline_seconds, verdict.candidate_seconds, verdict.change
    if before is None or after is None or change is None:
        return ""
    interval = f"{percent_number(change.low)} … {percent_number(change.high)}"
    return (
        f"{percent(change.ratio)} (95 % interval {interval}), "
        f"{duration(before)} → {duration(after)}"
    )
