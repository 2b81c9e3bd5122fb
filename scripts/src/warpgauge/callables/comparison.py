# SPDX-License-Identifier: Apache-2.0
"""Hold a result to its reference, in device memory."""

from __future__ import annotations

from warpgauge.callables.arrays import ROUNDOFF, Array, Case, Comparable
from warpgauge.system.errors import UserError

Tolerance = tuple[float, float]  # absolute, relative
# Results are held to so many unit roundoffs of their type, of themselves and of their root mean
# square: a sum of either sign loses digits.
_ROUNDOFFS, _MOST_RELATIVE = 16, 2**-4


def usual_tolerance(framework: Comparable, type_: str, right: Array) -> Tolerance:
    """Return what rounding may do to results of a type that should be `right`, in double."""
    roundoff = ROUNDOFF.get(type_, 0.0)
    relative = max(min(_ROUNDOFFS * roundoff, _MOST_RELATIVE), 2 * roundoff)
    return (relative * framework.mean_square(right) ** 0.5 if relative else 0.0), relative


def compare(
    case: Case,
    framework: Comparable,
    result: Array,
    expected: Array,
    tolerance: Tolerance | None,
    slot: int,
) -> None:
    """Raise WrongResult, or UserError for another shape, unless `result` is as near as asked for.

    Without a tolerance, for what rounding may do.
    """
    if tuple(result.shape) != tuple(expected.shape):
        shapes = f"{tuple(result.shape)}, that of the reference {tuple(expected.shape)}"
        raise UserError(f"a result has the shape {shapes}")
    packed, doubles = framework.packed(result), framework.double(expected)
    block, right = framework.block(packed), framework.block(doubles)
    if block.elements != right.elements:  # of a type that the engine does not know
        packed = framework.double(packed)
        block = framework.block(packed)
    absolute, relative = tolerance or usual_tolerance(framework, block.type, doubles)
    case.compare(block.address, block.elements, block.type, right.address, absolute, relative, slot)
