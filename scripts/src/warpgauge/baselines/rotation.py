# SPDX-License-Identifier: Apache-2.0
"""Which sessions of a baseline give way when there are too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from warpgauge.records.model import Session
from warpgauge.records.sessions import newest_last

# Enough sessions to know how far one boot or GPU lies from the next; few enough to keep the files
# small and the accepted times from being those of last year's code.
SESSIONS_KEPT = 8


def surplus(
    sessions: Iterable[Session], keep: int = SESSIONS_KEPT, staying: str | None = None
) -> list[Session]:
    """Those to drop, in the order of dropping, so that at most `keep` are left.

    The oldest session of the GPU that has most goes first, for the verdict learns from different
    GPUs how those of one model differ; so the oldest of all goes only where each has as many. The
    session with the key `staying` stays.
    """
    left, dropped = newest_last(sessions), []
    while len(left) > keep:
        count = Counter(session.gpu_uuid for session in left)
        going = [session for session in left if session.key != staying]
        most = max(count[session.gpu_uuid] for session in going)
        dropped.append(next(s for s in going if count[s.gpu_uuid] == most))
        left.remove(dropped[-1])
    return dropped
