# SPDX-License-Identifier: Apache-2.0
"""Why the times of a row are invalid: what the engine saw of the GPU or of the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from warpgauge.records.counters import (
    BEYOND_CEILING,
    GPUS_AT_ONCE,
    HOST_NODES,
    KERNELS,
    L2_SET_ASIDE,
    OTHER_PROCESSES,
    SM_CLOCK,
    THROTTLED,
)
from warpgauge.records.model import Clock, Record, Session
from warpgauge.records.sessions import newest_last
from warpgauge.system.text import plural, quantity
from warpgauge.verdict.override import Incompatibility, Override

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

_THEN = ", then measure again"


class Disturbance(NamedTuple):
    """A fault during the measurement, and what to do before measuring again."""

    fault: str
    remedy: str


def of(row: Row, sessions: Mapping[str, Session]) -> Disturbance | None:
    """Return what invalidates the times of `row`, measured in some of `sessions`, or None."""
    found = _all(row, sessions).values()
    if not found:
        return None
    remedies = ", ".join(one.remedy for one in found)
    return Disturbance(" and ".join(one.fault for one in found), f"{remedies}{_THEN}")


def incompatibilities(
    sides: Mapping[str, tuple[Record, Row | None]],
) -> tuple[Incompatibility, ...]:
    """Return what forbids comparing one benchmark; the keys of `sides` name the sides."""
    return tuple(
        Incompatibility(override, f"{side}: {one.fault}", f": {one.remedy}{_THEN}")
        for side, (record, row) in sides.items()
        if row is not None
        for override, one in _all(row, record.sessions).items()
    )


def _all(row: Row, sessions: Mapping[str, Session]) -> dict[Override, Disturbance]:
    """Return each disturbance by its override; remedies do not yet say to measure again."""
    if row.error is not None:
        return {}
    found: dict[Override, Disturbance] = {}
    at_once = max((_gpus_at_once(sessions[key]) for key in row.process_medians), default=1)
    # The host affects host times, and operations without kernels, which copy memory.
    shares_the_host = row.clock is Clock.HOST or row.counters.get(KERNELS) == 0.0
    if at_once > 1 and shares_the_host:
        fault = f"{at_once} GPUs were measured at once; they share CPU, host memory and bus"
        found[Override.PARALLEL] = Disturbance(fault, "omit --parallel")
    for counter, (override, fault_of, remedy) in _SEEN.items():
        if (value := row.counters.get(counter, 0.0)) > 0.0:
            details = _lowered(row, sessions) if counter == THROTTLED else ""
            found[override] = Disturbance(fault_of(value) + details, remedy)
    return found


def _gpus_at_once(session: Session) -> int:
    count = session.context.get(GPUS_AT_ONCE, "")
    return int(count) if count.isascii() and count.isdigit() and len(count) < 9 else 1


def _lowered(row: Row, sessions: Mapping[str, Session]) -> str:
    """Return `` to 1.620 GHz of 1.980 GHz in 7 of 7 processes (power cap)``, as far as known."""
    newest = newest_last(sessions[key] for key in row.process_medians)[-1]
    # A count of one may belong to a plain file, whose times are repetitions.
    count, total = int(row.counters[THROTTLED]), max(map(len, row.process_medians.values()))
    where = f" in {count} of {total} processes" if count > 1 else ""
    return lowered_clock(row.counters, newest.sm_clock_target_hz, where)


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

# The overrides for everything that invalidates the times of a row and its rates.
OVERRIDES = frozenset((Override.PARALLEL, *(override for override, _, _ in _SEEN.values())))
