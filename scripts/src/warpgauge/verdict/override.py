# SPDX-License-Identifier: Apache-2.0
"""What forbids comparing two sides, and the exceptions that --allow names."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum

from warpgauge.system.text import quoted


class Override(Enum):
    """What forbids a comparison: its name for --allow, and the clause after "although"."""

    GPU_MODEL = ("gpu-model", "the GPU models differ")
    BUILD_TYPE = ("build-type", "a side is not a Release build")
    INJECTION = ("injection", "extra work was injected into the baseline")
    SM_CLOCK = ("sm-clock", "device times were taken at different SM clocks")
    THROTTLED = ("throttled", "the SM clock was lowered")
    OTHER_PROCESSES = ("other-processes", "others used the GPU")
    L2_SET_ASIDE = ("l2-set-aside", "part of the L2 was set aside for persisting accesses")
    HOST_NODES = ("host-nodes", "host functions ran in work that was timed on the device")
    BEYOND_CEILING = ("beyond-ceiling", "it claims more than the measured peak of the GPU")
    PARALLEL = ("parallel", "other GPUs of the machine were measured at the same time")
    TIMING = ("timing", "one side was timed by the device's clock, the other by the host's")

    def __init__(self, word: str, although: str) -> None:
        self.word = word
        self.although = although


def add_argument(parser: argparse._ActionsContainer) -> None:
    """Add --allow to a command; its value is a list of overrides, by default empty."""
    words = ", ".join(one.word for one in Override)
    parser.add_argument(
        "--allow",
        metavar="NAME",
        type=_named,
        action="append",
        default=[],
        help=f"compare despite NAME, one of {words}; repeatable",
    )


def _named(word: str) -> Override:
    for one in Override:
        if one.word == word:
            return one
    words = ", ".join(one.word for one in Override)
    raise argparse.ArgumentTypeError(f"{quoted(word)} is not an exception: give one of {words}")


@dataclass(frozen=True)
class Incompatibility:
    """A reason not to compare: the fact, the rest of the sentence, and its override."""

    override: Override
    fact: str
    rest: str = ""


def unwaived(
    incompatibilities: Iterable[Incompatibility], allow: Collection[Override]
) -> tuple[Incompatibility, ...]:
    """Return the incompatibilities that are not allowed."""
    return tuple(one for one in incompatibilities if one.override not in allow)


def reason(incompatibilities: Collection[Incompatibility]) -> str:
    """Return all of them in one line, which ends with the options that allow the comparison."""
    facts = "; ".join(f"{one.fact}{one.rest}" for one in incompatibilities)
    overrides = {one.override for one in incompatibilities}
    options = " ".join(f"--allow {one.word}" for one in Override if one in overrides)
    return f"{facts}; {options} compares anyway"
