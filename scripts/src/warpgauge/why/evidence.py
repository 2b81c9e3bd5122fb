# SPDX-License-Identifier: Apache-2.0
"""The evidence on one side of a change, and the explanation that follows from both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from warpgauge.why.calls import Calls
from warpgauge.why.machine_code import Kernel


@dataclass(frozen=True)
class Evidence:
    """One side, for one operation. None means unknown.

    `seconds` is the time of an operation as the benchmark measures it, and `host_clock` whether by
    the host's clock. `resources` are the row's counters. `counters` are those of counters.py, over
    all kernels of an operation. `kernels` are the device's seconds in each by its name; `device`
    everything that the device did, by kind: kernels, memsets, and copies by their memory. `calls`
    are the host's. `code` is the machine code of its kernels, as far as they are in the program:
    `code_is_whole` where all are.
    """

    seconds: float
    host_clock: bool = False
    resources: Mapping[str, float] = field(default_factory=dict)
    counters: Mapping[str, float] | None = None
    kernels: Mapping[str, float] | None = None
    device: Calls | None = None
    calls: Calls | None = None
    code: Mapping[str, Kernel] | None = None
    code_is_whole: bool = False

    def as_json(self) -> object:
        """All of it, so that it can be judged again elsewhere: `msgspec.convert` reads it."""
        return msgspec.to_builtins(self, enc_hook=dict)  # of mappings that are read-only


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

    `others` changed, too, but explain no time. `missing` has a sentence for each source of evidence
    that was not available.
    """

    slowdown: float
    causes: tuple[Cause, ...]
    unexplained: float | None
    others: tuple[Change, ...] = ()
    missing: tuple[str, ...] = ()
