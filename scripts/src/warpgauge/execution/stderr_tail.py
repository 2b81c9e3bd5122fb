# SPDX-License-Identifier: Apache-2.0
"""What a benchmark program said last, which often is why it ended."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import islice

from warpgauge.system.process import Ending
from warpgauge.system.text import cut, inert

_LINES = 3
_LONGEST_LINE = 200

# What Google Benchmark says before its first row, and the head of its table.
_PREAMBLE = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:]+[-+Z]|Running \S|Run on \(\d+ X |CPU Caches:$|  L\d \w+ \d+ KiB"
    r"|Load Average: |\*\*\*WARNING\*\*\* |-{20}|Benchmark +Time "
)


def described(ending: Ending, known: Collection[str] = (), when: str = "") -> str:
    """One clause, as in `bench_gemm was killed by SIGSEGV: last words`; `when` stands between."""
    words = tail(ending, known)
    return ending.how + when + (f": {words}" if words else "")


def tail(ending: Ending, known: Collection[str] = ()) -> str:
    """The last lines of its own, in one: of standard error, or else of standard output.

    Lines that begin with one of `known` tell nothing: keys of the context, measured benchmarks.
    """

    def tells(line: str) -> bool:
        first, *_ = line.split(maxsplit=1) or [""]
        return bool(first) and not _PREAMBLE.match(line) and first.removesuffix(":") not in known

    for output in (ending.stderr, ending.stdout):
        last = [*islice(filter(tells, reversed(output.splitlines())), _LINES)]
        if last:
            own = (line.strip().removeprefix(f"{ending.command[0]}: ") for line in reversed(last))
            return " / ".join(inert(cut(line, _LONGEST_LINE)) for line in own)
    return ""
