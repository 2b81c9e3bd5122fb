# SPDX-License-Identifier: Apache-2.0
"""Lists a program's benchmarks, and what a program that uses warpgauge says of itself.

fixtures/README.md defines the description.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from warpgauge.system import process
from warpgauge.system.process import Ending
from warpgauge.system.text import inert

LISTING_DEADLINE_S = 60.0
PROTOCOL = 1  # of the driver and of the programs that it drives
BAD_USAGE, NOT_MEASURABLE = 2, 3  # exit statuses of a program

# What a program prints before and after is not part of it.
_DOCUMENT = re.compile(r"^\{$.*^\}$", re.MULTILINE | re.DOTALL)

_TOO_OLD = "was built with a warpgauge from before 0.2"
REBUILD = "rebuild it with this one"  # the remedy where there is a build to repeat


class Described(msgspec.Struct, frozen=True):
    name: str
    suite: str


class _Head(msgspec.Struct):
    """The part of a description that all protocols have."""

    warpgauge: str
    protocol: int


class _Whole(_Head):
    benchmarks: list[Described]


@dataclass(frozen=True)
class Description:
    """The benchmarks of both suites in order of registration, or why none can be driven."""

    benchmarks: Sequence[Described] = ()
    fault: str | None = None


@dataclass(frozen=True)
class Asked:
    """Asks one program, in this environment; each call has `arguments`."""

    path: Path
    scratch: Path
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] | None = None

    def list(self, *options: str) -> Ending:
        """Ask for the names of the benchmarks, one per line."""
        command = [str(self.path), "--benchmark_list_tests", *self.arguments, *options]
        return process.run(command, LISTING_DEADLINE_S, self.scratch, self.environment)

    def describe(self) -> tuple[Description | None, Ending]:
        """Return the description; None if the program does not use warpgauge, or fails.

        A program that ignores --describe lists its benchmarks instead, and measures nothing.
        """
        ending = self.list("--describe")
        found = _DOCUMENT.search(ending.stdout)
        document = found[0] if found else ending.stdout
        try:
            head = msgspec.json.decode(document, type=_Head)
            if head.protocol != PROTOCOL:
                made = f"was built with warpgauge {inert(head.warpgauge)}"
                why = f"{made}, which has protocol {head.protocol} and not {PROTOCOL}"
                return Description(fault=why), ending
            return Description(msgspec.json.decode(document, type=_Whole).benchmarks), ending
        except ValueError:
            is_old = ending.status == BAD_USAGE and self.list("--shuffle=0").status == 0
            return Description(fault=_TOO_OLD) if is_old else None, ending
