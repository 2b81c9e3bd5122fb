# SPDX-License-Identifier: Apache-2.0
"""A case of a kernel plan: one kernel at one point of its axes, fully evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Extent = tuple[int, int, int]


@dataclass(frozen=True)
class Elements:
    """The file and offset, in bytes, of the elements in a .npy file."""

    path: Path
    offset: int

    def __str__(self) -> str:
        return f"{self.path} {self.offset}"


@dataclass(frozen=True)
class Buffer:
    """A buffer of `count` elements.

    `values` are given ones, `distribution` is that of seeded ones, in the syntax of the plan.
    """

    role: str  # one of kernel.ROLES
    name: str
    type: str
    count: int
    values: Elements | None = None
    distribution: str = ""

    def __str__(self) -> str:
        given = f" {self.values or self.distribution}".rstrip()
        return f"{self.role} {self.name} {self.type} {self.count}{given}"


@dataclass(frozen=True)
class Launch:
    """A kernel and how it is launched."""

    image: str  # cubin, fatbin, ptx or source
    path: Path
    options: tuple[str, ...]
    symbol: str
    grid: Extent
    block: Extent
    shared_bytes: int
    cluster: Extent | None
    programmatic: bool
    arguments: tuple[str, ...]  # in the syntax of the plan

    def lines(self) -> Iterator[str]:
        yield "kernel"
        yield f"image {self.image} {self.path}"
        yield from (f"option {option}" for option in self.options)
        yield f"symbol {self.symbol}"
        yield f"grid {_extent(self.grid)}"
        yield f"block {_extent(self.block)}"
        yield f"shared {self.shared_bytes}"
        if self.cluster is not None:
            yield f"cluster {_extent(self.cluster)}"
        if self.programmatic:
            yield "programmatic"
        yield from (f"argument {argument}" for argument in self.arguments)


@dataclass(frozen=True)
class Verification:
    """How an output is verified: against given values, or against the reference's output."""

    output: str
    relative: float
    absolute: float
    expected: Elements | None = None

    def __str__(self) -> str:
        by = f"npy {self.expected}" if self.expected else "reference"
        return f"{self.output} {by} {self.relative:.17g} {self.absolute:.17g}"


@dataclass(frozen=True)
class Case:
    """One benchmark."""

    name: str
    bytes: int | None
    flops: int | None
    buffers: tuple[Buffer, ...]
    launch: Launch
    verifications: tuple[Verification, ...]
    reference: Launch | None = None

    @property
    def kernel(self) -> str:
        """The kernel's name in the manifest."""
        return self.name.split("/")[1]

    @property
    def files(self) -> list[Path]:
        """All files that the case reads."""
        launches = [self.launch] if self.reference is None else [self.launch, self.reference]
        given = [one.values for one in self.buffers]
        given += [one.expected for one in self.verifications]
        return [*(one.path for one in launches), *(one.path for one in given if one is not None)]

    def lines(self) -> Iterator[str]:
        yield f"case {self.name}"
        if self.bytes is not None:
            yield f"bytes {self.bytes}"
        if self.flops is not None:
            yield f"flops {self.flops}"
        yield from (f"buffer {buffer}" for buffer in self.buffers)
        yield from self.launch.lines()
        yield from (f"verify {one}" for one in self.verifications)
        if self.reference is not None:
            yield from self.reference.lines()


def _extent(sizes: Extent) -> str:
    return " ".join(map(str, sizes))
