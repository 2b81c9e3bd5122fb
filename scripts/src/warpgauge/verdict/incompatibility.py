# SPDX-License-Identifier: Apache-2.0
"""What forbids comparing two sides: the GPU, the build, or what disturbed a row.

Each reason has a name, with which --allow waives it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from warpgauge.records.counters import (
    BEYOND_CEILING,
    HOST_NODES,
    L2_SET_ASIDE,
    OTHER_PROCESSES,
    SM_CLOCK,
    THROTTLED,
)
from warpgauge.records.model import PROGRAMS, Record, Session
from warpgauge.records.sessions import newest_last
from warpgauge.system.text import inert, plural, quantity, quoted

if TYPE_CHECKING:
    from warpgauge.records.row import Row

# Those of NVML's nvmlClocksEventReasons (nvml.h) that lower the clock of a busy GPU. The bit for
# hardware slowdown accompanies its cause and is named only if no cause is set.
_SLOWDOWN = 0x08
_REASONS = {
    0x02: "application clocks",
    0x04: "power cap",
    0x10: "sync boost",
    0x20: "temperature",
    0x40: "temperature, by hardware",
    0x80: "power brake",
}


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
    TIMING = ("timing", "one side was timed by the device's clock, the other by the host's")

    def __init__(self, word: str, although: str) -> None:
        self.word = word
        self.although = although


_BY_WORD = {one.word: one for one in Override}
_WORDS = ", ".join(_BY_WORD)


def add_argument(parser: argparse._ActionsContainer) -> None:
    """Add --allow to a command; its value is a list of overrides, by default empty."""
    parser.add_argument(
        "--allow",
        metavar="NAME",
        type=_named,
        action="append",
        default=[],
        help=f"compare despite NAME, one of {_WORDS}; repeatable",
    )


def _named(word: str) -> Override:
    if word in _BY_WORD:
        return _BY_WORD[word]
    raise argparse.ArgumentTypeError(f"{quoted(word)} is not an exception: give one of {_WORDS}")


@dataclass(frozen=True)
class Incompatibility:
    """A reason not to compare: the fact, the rest of the sentence, and its override.

    Instead of a rest, what invalidates a row's times and rates has a `remedy`.
    """

    override: Override
    fact: str
    rest: str = ""
    remedy: str = ""


def reason(incompatibilities: Collection[Incompatibility]) -> str:
    """Return all of them in one line, which ends with the options that allow the comparison."""
    facts = "; ".join(
        f"{one.fact}{f': {one.remedy}, then measure again' if one.remedy else one.rest}"
        for one in incompatibilities
    )
    overrides = {one.override for one in incompatibilities}
    options = " ".join(f"--allow {one.word}" for one in Override if one in overrides)
    return f"{facts}; {options} compares anyway"


def of_records(baseline: Record, candidate: Record) -> Collection[Incompatibility]:
    """Return what forbids comparing the whole records, one per override, waived or not."""
    first: dict[Override, Incompatibility] = {}
    for one in (*_other_gpu(baseline, candidate), *_unfit(baseline, candidate)):
        first.setdefault(one.override, one)
    return first.values()


def same_model(baseline: Record, candidate: Session) -> list[Session]:
    """Return the baseline's sessions on the candidate's GPU model.

    A plain file that does not name its GPU matches every session.
    """
    return [
        session
        for session in baseline.sessions.values()
        if session.gpu_name == candidate.gpu_name
        or (session.gpu_name is None and baseline.source.is_plain)
        or (candidate.gpu_name is None and "warpgauge_format" not in candidate.context)
    ]


def _other_gpu(baseline: Record, candidate: Record) -> Iterator[Incompatibility]:
    models = {inert(one.gpu_name or "no GPU") for one in baseline.sessions.values()}
    for session in candidate.sessions.values():
        if not same_model(baseline, session):
            yield Incompatibility(
                Override.GPU_MODEL,
                f"the candidate was measured on {inert(session.gpu_name or 'no GPU')} and the "
                f"baseline on {' and '.join(sorted(models))}",
                ", and times of different GPU models say nothing about the code",
            )


def _unfit(baseline: Record, candidate: Record) -> Iterator[Incompatibility]:
    for side, record in (("baseline", baseline), ("candidate", candidate)):
        for session in record.sessions.values():
            build = session.context.get("build_type")
            ours = not record.source.is_plain and PROGRAMS not in session.context
            if build == "Release" or (build is None and not ours):
                continue
            fact = f"the {side} is a build of type {quoted(build or '')}"
            if build is None:
                fact = f"the {side} does not say how it was built"
            yield Incompatibility(Override.BUILD_TYPE, fact, ", and only Release counts")
    for session in baseline.sessions.values():
        if work := session.context.get("inject"):
            fact = f"the baseline was measured with injected extra work ({inert(work)})"
            yield Incompatibility(Override.INJECTION, fact, "; record it again without")


# For each counter that reports a disturbance if above 0: the override, the fault and the remedy.
_SEEN: Mapping[str, tuple[Override, Callable[[float], str], str]] = {
    THROTTLED: (
        Override.THROTTLED,
        lambda _: "the SM clock was lowered",
        "let the GPU cool or lift the power limit",
    ),
    OTHER_PROCESSES: (
        Override.OTHER_PROCESSES,
        lambda count: f"{plural(int(count), 'other process', 'other processes')} used the GPU",
        "end other processes that use the GPU",
    ),
    L2_SET_ASIDE: (
        Override.L2_SET_ASIDE,
        lambda size: (
            f"{size / 2**20:.3g} MiB of the L2 were set aside for persisting accesses, so the L2 "
            "was not cold"
        ),
        "set cudaLimitPersistingL2CacheSize to 0 and use no access policy window",
    ),
    HOST_NODES: (
        Override.HOST_NODES,
        lambda count: (
            f"its captured graph holds {plural(int(count), 'host function')}, whose host time is "
            "not GPU time"
        ),
        "remove host functions from the captured work, or use the host's clock",
    ),
    BEYOND_CEILING: (
        Override.BEYOND_CEILING,
        lambda times: f"an operation claims {times:.3g} times the measured peak of this GPU",
        "correct the bytes and flops that it states, or check whether it skips work",
    ),
}


def disturbances(row: Row, sessions: Mapping[str, Session]) -> list[Incompatibility]:
    """Return what invalidates the times of `row`, measured in some of `sessions`."""
    if row.error is not None:
        return []
    found = []
    for counter, (override, fault_of, remedy) in _SEEN.items():
        if (value := row.counters.get(counter, 0.0)) > 0.0:
            fault = fault_of(value) + (_lowered(row, sessions) if counter == THROTTLED else "")
            found.append(Incompatibility(override, fault, remedy=remedy))
    return found


def disturbed(row: Row, sessions: Mapping[str, Session]) -> tuple[str, str] | None:
    """Return all faults of `row` in one clause, and their remedies; None without any."""
    found = disturbances(row, sessions)
    if not found:
        return None
    remedies = ", ".join(one.remedy for one in found)
    return " and ".join(one.fact for one in found), f"{remedies}, then measure again"


def _lowered(row: Row, sessions: Mapping[str, Session]) -> str:
    """Return `` to 1.620 GHz of 1.980 GHz in 7 of 7 processes (power cap)``, as far as known."""
    # A count of one may belong to a plain file, whose times are repetitions.
    count, total = int(row.counters[THROTTLED]), max(map(len, row.process_medians.values()))
    where = f" in {count} of {total} processes" if count > 1 else ""
    full = newest_of(row, sessions).sm_clock_target_hz
    return lowered_clock(row.counters, full, where)


def newest_of(row: Row, sessions: Mapping[str, Session]) -> Session:
    """Return the newest of the sessions in which a row was measured."""
    return newest_last(sessions[key] for key in row.process_medians)[-1]


def lowered_clock(counters: Mapping[str, float], full: float | None, where: str = "") -> str:
    """Describe the clock in `counters`, the `full` one, and the driver's reasons (NVML's mask)."""
    words = ""
    if SM_CLOCK in counters:
        words = f" to {quantity(counters[SM_CLOCK], 'Hz')}"
        words += f" of {quantity(full, 'Hz')}" if full else ""
    mask = int(counters.get("clock_event_reasons", 0.0))
    reasons = [why for bit, why in _REASONS.items() if mask & bit]
    reasons = reasons or (["hardware slowdown"] if mask & _SLOWDOWN else [])
    return words + where + (f" ({', '.join(reasons)})" if reasons else "")
