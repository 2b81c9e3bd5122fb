# SPDX-License-Identifier: Apache-2.0
"""The order in which a program runs its benchmarks under --shuffle (fixtures/program/suite.cpp).

It is computed here too, so that a crash can be attributed to the benchmark that was running.
"""

from __future__ import annotations

from collections.abc import Iterable

_64_BITS = (1 << 64) - 1


def shuffled(names: Iterable[str], seed: int) -> tuple[str, ...]:
    """Return `names` in the programs' order; `seed` has at most 64 bits."""
    return tuple(sorted(names, key=lambda name: _key(seed, name)))


def _key(seed: int, name: str) -> int:
    """Hash the name with FNV-1a, then mix in the seed with SplitMix64's finaliser."""
    mixed = 0xCBF29CE484222325
    for byte in name.encode():
        mixed = (mixed ^ byte) * 0x100000001B3 & _64_BITS
    mixed ^= seed * 0x9E3779B97F4A7C15 & _64_BITS
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & _64_BITS
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & _64_BITS
    return mixed ^ (mixed >> 31)
