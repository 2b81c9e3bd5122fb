# SPDX-License-Identifier: Apache-2.0
"""Hold results to their reference, in device memory."""

from __future__ import annotations

from collections.abc import Sequence

from warpgauge.callables.arrays import ROUNDOFF, Array, Case, Comparable
from warpgauge.system.errors import UserError

Tolerance = tuple[float, float]  # absolute, relative
# Results are held to so many unit roundoffs of their type, of themselves and of their root mean
# square: a sum of either sign loses digits.
_ROUNDOFFS, _MOST_RELATIVE = 16, 2**-4


def tolerance_of(given: object) -> Tolerance | None:
    """Return what the user gave. Raises UserError if it is no pair of numbers."""
    match given:
        case None:
            return None
        case (int() | float() as absolute, int() | float() as relative):
            return absolute, relative
    raise UserError(f"tolerance is (absolute, relative), two numbers, and not {given!r}")


def usual_tolerance(framework: Comparable, type_: str, right: Array) -> Tolerance:
    """Return what rounding may do to results of a type that should be `right`, in double."""
    roundoff = ROUNDOFF.get(type_, 0.0)
    relative = max(min(_ROUNDOFFS * roundoff, _MOST_RELATIVE), 2 * roundoff)
    return (relative * framework.mean_square(right) ** 0.5 if relative else 0.0), relative


def require_right(
    case: Case,
    got: Sequence[tuple[Comparable, Array]],
    right: Sequence[tuple[Comparable, Array]],
    tolerance: Tolerance | None,
    slot: int,
) -> None:
    """Raise WrongResult, or UserError for other shapes, unless results are as near as asked for.

    Without a tolerance, for what rounding may do.
    """
    if len(right) != len(got):
        raise UserError(f"the callable has {len(got)} results, and the reference {len(right)}")
    for (framework, result), (own, expected) in zip(got, right, strict=True):
        if tuple(result.shape) != tuple(expected.shape):
            shapes = f"{tuple(result.shape)}, that of the reference {tuple(expected.shape)}"
            raise UserError(f"a result has the shape {shapes}")
        packed, doubles = framework.packed(result), own.double(expected)
        block, wanted = framework.block(packed), own.block(doubles)
        absolute, relative = tolerance or usual_tolerance(own, block.type, doubles)
        if block.type not in ROUNDOFF:  # perhaps one that the engine does not know
            packed = framework.double(packed)
            block = framework.block(packed)
        if block.elements != wanted.elements:
            raise UserError("one of a result and its reference is complex, the other real")
        at = block.address, block.elements, block.type, wanted.address
        case.compare(*at, absolute, relative, slot)
