# SPDX-License-Identifier: Apache-2.0
"""Rows and verdicts by the family that they are shown under."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar


class _OfAFamily(Protocol):
    @property
    def family(self) -> str: ...


_T = TypeVar("_T", bound=_OfAFamily)


def by_family(everything: Iterable[_T]) -> dict[str, list[_T]]:
    """In the order in which families begin, and each in the order given."""
    families: dict[str, list[_T]] = {}
    for one in everything:
        families.setdefault(one.family, []).append(one)
    return families
