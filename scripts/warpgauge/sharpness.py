# SPDX-License-Identifier: Apache-2.0
"""How small a change a comparison would have found: what its passes are worth."""

from __future__ import annotations

import math
from collections.abc import Iterable

from warpgauge.comparison import Verdict
from warpgauge.controls import FAMILY as CONTROLS
from warpgauge.text import inert, percent

# The share of benchmarks that the sentence speaks of, beside half of them and the worst.
_MOST = 0.9


def sentence(verdicts: Iterable[Verdict]) -> str:
    """One sentence on the changes that are found nine times in ten; empty where none was sought."""
    found = {
        verdict.name: verdict.detectable
        for verdict in verdicts
        if verdict.detectable is not None and verdict.family != CONTROLS
    }
    if not found:
        return ""
    if len(found) == 1:
        return f"A change of {_size(max(found.values()))} would be found nine times in ten."
    sizes = sorted(found.values())
    half, most = (sizes[math.ceil(share * len(sizes)) - 1] for share in (0.5, _MOST))
    widest = max(found, key=found.__getitem__)
    return (
        f"A change of {_size(half)} would be found in half of the {len(sizes)} benchmarks, of "
        f"{_size(most)} in nine of ten, and in {inert(widest)} only one of {_size(found[widest])}."
    )


def _size(fraction: float) -> str:
    return percent(fraction, sign=False)
