# SPDX-License-Identifier: Apache-2.0
"""What a benchmark's replay time is worth: how far it lies from what CUPTI saw of the same work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from warpgauge.errors import ExitStatus

# What a replay time may differ by, whichever is more: a share of CUPTI's, and a time for each
# kernel of the operation, since a replay also has to go from one kernel to the next.
ALLOWED_RATIO = 0.02
ALLOWED_NS_PER_KERNEL = 60.0


class Truth(Enum):
    """Whether the two clocks agree."""

    WITHIN = "within"
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
    busy_ns: float = 0.0  # by CUPTI
    regions: int = 0  # that CUPTI's is the median of

    @property
    def difference_ns(self) -> float:
        return self.replay_ns - self.busy_ns

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
        # Asked this way round so that NaN is outside.
        return Truth.WITHIN if abs(self.difference_ns) <= self.allowed_ns else Truth.OUTSIDE

    def as_json(self) -> dict[str, object]:
        if self.error is not None:
            return {"name": self.name, "error_occurred": True, "error_message": self.error}
        return {
            "name": self.name,
            "kernels": self.kernels,
            "replay_ns": self.replay_ns,
            "process_medians_ns": list(self.process_medians),
            "busy_ns": self.busy_ns,
            "regions": self.regions,
            "difference_ns": self.difference_ns,
            "allowed_ns": self.allowed_ns,
            "within": self.truth is Truth.WITHIN,
        }


def status(findings: Sequence[Finding]) -> ExitStatus:
    """A proven difference outranks what could not be measured; neither is a pass."""
    truths = {finding.truth for finding in findings}
    if Truth.OUTSIDE in truths:
        return ExitStatus.OUTSIDE
    return ExitStatus.OK if truths == {Truth.WITHIN} else ExitStatus.NOT_MEASURED
