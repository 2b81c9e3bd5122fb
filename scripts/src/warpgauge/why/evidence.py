# SPDX-License-Identifier: Apache-2.0
"""What is known of one side of a change, and what may be concluded from both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from warpgauge.why.calls import Calls
from warpgauge.why.machine_code import Kernel


@dataclass(frozen=True)
class Evidence:
    """One side, for one operation. What is None could not be had, which is no sign of anything.

    `seconds` is the time of an operation as the benchmark measures it, and `host_clock` whether by
    the host's clock. `resources` are the row's counters. `counters` are those of counters.py, over
    all kernels of an operation. `kernels` are the device's seconds in each by its name; `device`
    everything that the device did, by kind: kernels, memsets, and copies by their memory. `calls`
    are the host's. `code` is the machine code of its kernels.
    """

    seconds: float
    host_clock: bool = False
    resources: Mapping[str, float] = field(default_factory=dict)
    counters: Mapping[str, float] | None = None
    kernels: Mapping[str, float] | None = None
    device: Calls | None = None
    calls: Calls | None = None
    code: Mapping[str, Kernel] | None = None


@dataclass(frozen=True)
class Change:
    """One quantity on both sides."""

    words: str
    before: float
    after: float
    unit: str = ""


@dataclass(frozen=True)
class Cause:
    """What makes an operation slower. `share` is its part of the slowdown, None if unknown.

    `key` names it to programs.
    """

    key: str
    words: str
    changes: tuple[Change, ...]
    share: float | None = None


@dataclass(frozen=True)
class Explanation:
    """Causes, the largest share first; `unexplained` is the share that is left, None if unknown.

    `others` changed, too, but no time goes with them. `missing` says what could not be looked at, a
    sentence each.
    """

    slowdown: float
    causes: tuple[Cause, ...]
    unexplained: float | None
    others: tuple[Change, ...] = ()
    missing: tuple[str, ...] = ()
