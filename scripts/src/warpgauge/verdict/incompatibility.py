# SPDX-License-Identifier: Apache-2.0
"""Why two sides, or one benchmark of theirs, must not be compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from warpgauge.verdict.override import Allowance, remedy


@dataclass(frozen=True)
class Objection:
    """A clause that says what is wrong, how its reason goes on, and what --allow calls it."""

    allowance: Allowance
    fact: str
    rest: str = ""


def standing(
    objections: Iterable[Objection], allow: Collection[Allowance]
) -> tuple[Objection, ...]:
    """Those that nobody allowed."""
    return tuple(one for one in objections if one.allowance not in allow)


def reason(objections: Collection[Objection]) -> str:
    """All of them in one line, which ends with how to compare all the same."""
    told = "; ".join(f"{one.fact}{one.rest}" for one in objections)
    return f"{told}; {remedy(one.allowance for one in objections)}"
