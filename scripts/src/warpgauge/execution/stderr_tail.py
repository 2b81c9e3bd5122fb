# SPDX-License-Identifier: Apache-2.0
"""What a benchmark program said last, which often is why it ended."""

from __future__ import annotations

import re
from collections.abc import Collection

from warpgauge.system.process import Ending
from warpgauge.system.text import cut, inert

_LINES = 3
_LONGEST_LINE = 200

# What Google Benchmark says before its first row, and the head of its table.
_PREAMBLE = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:]+[-+Z]|Running \S|Run on \(\d+ X |CPU Caches:$|  L\d \w+ \d+ KiB"
    r"|Load Average: |\*\*\*WARNING\*\*\* |-{20}|Benchmark +Time "
)


def described(ending: Ending, known: Collection[str], when: str = "") -> str:
    """One clause, as in `bench_gemm was killed by SIGSEGV: last words`; `when` stands between."""
    words = tail(ending, known)
    return ending.how + when + (f": {words}" if words else "")


def tail(ending: Ending, known: Collection[str]) -> str:
    """The last lines of its own, in one: on standard error rather than on standard output.

    `known` is how lines begin that tell nothing: with a key of the context, with the name of a
    benchmark that was measured.
    """
    for output in (ending.stderr, ending.stdout):
        lines: list[str] = []
        for line in reversed(output.splitlines()):
            if line.strip() and not _tells_nothing(line, known):
                own = line.strip().removeprefix(f"{ending.command[0]}: ")
                lines.append(inert(cut(own, _LONGEST_LINE)))
            if len(lines) == _LINES:
                break
        if lines:
            return " / ".join(reversed(lines))
    return ""


def _tells_nothing(line: str, known: Collection[str]) -> bool:
    first = line.split(maxsplit=1)[0]
    return _PREAMBLE.match(line) is not None or first.removesuffix(":") in known
