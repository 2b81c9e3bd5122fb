# SPDX-License-Identifier: Apache-2.0
"""What a benchmark's replay time is worth: how far it lies from what CUPTI saw of the same work.

CUPTI disturbs what it watches, and only ever adds to it: its instrumentation makes a kernel of many
short blocks slower, by up to 10 %, which its busy time holds and a replay without it does not; and
it makes the way from one kernel to the next longer, which its busy time does not hold and a replay
with it does. What a replay time is wrong by is therefore at least its difference without CUPTI and
at most its difference with CUPTI.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from warpgauge.system.errors import ExitStatus

# What a replay time may differ by, whichever is more: a share of CUPTI's, and a time for each
# kernel of the operation, since a replay also has to go from one kernel to the next.
ALLOWED_RATIO = 0.02
ALLOWED_NS_PER_KERNEL = 60.0


class Truth(Enum):
    """Whether the two clocks agree."""

    WITHIN = "within"
    DISTURBED = "DISTURBED"  # CUPTI adds more than is allowed: it can tell neither
    OUTSIDE = "OUTSIDE"
    ERROR = "ERROR"


@dataclass(frozen=True)
class Finding:
    """One benchmark, times an operation; only `name` and `error` count where there is an error."""

    name: str
    error: str | None = None
    kernels: int = 0
    process_medians: Sequence[float] = ()  # ns, of the processes without CUPTI
    replay_ns: float = 0.0  # the median of these
    traced_ns: float = 0.0  # the replay time in the process with CUPTI
    busy_ns: float = 0.0  # by CUPTI
    regions: int = 0  # that CUPTI's is the median of

    @property
    def differences_ns(self) -> tuple[float, float]:
        """From CUPTI's busy time: without CUPTI, and in the process with it."""
        return self.replay_ns - self.busy_ns, self.traced_ns - self.busy_ns

    @property
    def difference_ns(self) -> float:
        """The nearer one."""
        return min(self.differences_ns, key=abs)

    @property
    def ratio(self) -> float:
        return self.difference_ns / self.busy_ns

    @property
    def allowed_ns(self) -> float:
        """A copy or a memset counts as a kernel where there is none."""
        return max(ALLOWED_RATIO * self.busy_ns, ALLOWED_NS_PER_KERNEL * max(1, self.kernels))

    @property
    def truth(self) -> Truth:
        if self.error is not None:
            return Truth.ERROR
        least, most = self.differences_ns
        # Asked this way round so that NaN is outside.
        if not (least <= self.allowed_ns and most >= -self.allowed_ns):
            return Truth.OUTSIDE
        near = least >= -self.allowed_ns or most <= self.allowed_ns
        return Truth.WITHIN if near else Truth.DISTURBED

    def as_json(self) -> dict[str, object]:
        if self.error is not None:
            return {"name": self.name, "error_occurred": True, "error_message": self.error}
        return {
            "name": self.name,
            "kernels": self.kernels,
            "replay_ns": self.replay_ns,
            "process_medians_ns": list(self.process_medians),
            "traced_ns": self.traced_ns,
            "busy_ns": self.busy_ns,
            "regions": self.regions,
            "difference_ns": self.difference_ns,
            "allowed_ns": self.allowed_ns,
            "verdict": self.truth.value,
        }


def status(findings: Sequence[Finding]) -> ExitStatus:
    """A proven difference outranks what could not be measured; neither is a pass."""
    truths = {finding.truth for finding in findings}
    if Truth.OUTSIDE in truths:
        return ExitStatus.OUTSIDE
    return ExitStatus.OK if truths == {Truth.WITHIN} else ExitStatus.NOT_MEASURED
