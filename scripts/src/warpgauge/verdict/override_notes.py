# SPDX-License-Identifier: Apache-2.0
"""What each --allow did, one sentence each: an exception is never silent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from warpgauge.records.model import Record
from warpgauge.system.text import inert, plural
from warpgauge.verdict import context
from warpgauge.verdict.override import Allowance
from warpgauge.verdict.pairing import waived


def of(
    baseline: Record, candidate: Record, names: Iterable[str], allow: Collection[Allowance]
) -> tuple[str, ...]:
    """The notes of `allow`, for a comparison of `names` that was not refused as a whole."""
    if not allow:
        return ()
    whole = {one.allowance: one.fact for one in context.objections(baseline, candidate)}
    rows = waived(baseline, candidate, names, allow)
    notes = []
    for one in Allowance:
        if one not in allow:
            continue
        what = whole.get(one) or _named(rows.get(one, ()))
        although = f"compared although {one.although}: {what}" if what else "it was not needed"
        notes.append(f"--allow {one.word}: {although}.")
    return tuple(notes)


def _named(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f", and {plural(len(names) - 1, 'more benchmark')}" if len(names) > 1 else ""
    return f"{inert(names[0])}{more}"
