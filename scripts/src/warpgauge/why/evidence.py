# SPDX-License-Identifier: Apache-2.0
"""The evidence on each side of a change, and the explanation that follows from both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from warpgauge.why.cupti import Calls
from warpgauge.why.machine_code import Kernel


@dataclass(frozen=True)
class Evidence:
    """One side's evidence for one operation. None means unknown.

    `seconds` is the time of an operation as the benchmark measures it; `host_clock` tells whether
    the host's clock took it. `resources` are the row's counters. `counters` are those of
    ncu.py, over all kernels of an operation. `kernels` are the device's seconds in each kernel
    by name. `device` is all work of the device by kind: kernels, memsets, and copies by their
    memory. `calls` are the host's. `code` is the machine code of its kernels found in the program;
    `code_is_whole` tells whether all were found.
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
        """Return all of it as JSON, which `msgspec.convert` reads for judging it elsewhere."""
        return msgspec.to_builtins(self, enc_hook=dict)  # for read-only mappings


@dataclass(frozen=True)
class Change:
    """One quantity on both sides."""

    words: str
    before: float
    after: float
    unit: str = ""


@dataclass(frozen=True)
class Cause:
    """A possible cause of a slower operation; `key` identifies it for programs.

    `seconds` is the part of the slowdown that it can explain, None if unknown; `share` what it does
    explain beside the others. `rank` 0 changes what runs and how it is launched, 1 how it works; 2
    is a consequence of these or has no other name. Time explained by a lower rank is not explained
    again.
    """

    key: str
    words: str
    changes: tuple[Change, ...]
    seconds: float | None = None
    rank: int = 1
    share: float | None = None


@dataclass(frozen=True)
class Explanation:
    """Causes, the largest share first; `unexplained` is the remaining share, None if unknown.

    `others` changed too, but explain no time. `missing` has a sentence for each unavailable source
    of evidence.
    """

    slowdown: float
    causes: tuple[Cause, ...] = ()
    unexplained: float | None = None
    others: tuple[Change, ...] = ()
    missing: tuple[str, ...] = ()
