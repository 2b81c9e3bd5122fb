# SPDX-License-Identifier: Apache-2.0
"""The signature of Triton's timer: ``triton.testing.do_bench = warpgauge.do_bench``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, median
from typing import Any

import numpy as np

from warpgauge.callables import arrays, timing
from warpgauge.system.errors import UserError

_MODES: dict[str, Callable[[list[float]], float | list[float]]] = {
    **{"mean": fmean, "median": median, "min": min, "max": max, "all": list}
}


def do_bench(
    fn: Callable[[], object],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> float | list[float]:
    """Return the device time of a call in milliseconds: one number, or the quantiles of the calls.

    The L2 is evicted before each call, and the time of the events around it is subtracted. The
    engine decides how many calls it needs, so `warmup` and `rep` change nothing. Nothing is
    verified: ``warpgauge.time`` does that.
    """
    if return_mode not in _MODES:
        raise UserError(f"return_mode is one of {', '.join(_MODES)}, not {return_mode!r}")
    frameworks, samples = arrays.present(), list[float]()

    def call(slot: int, stream: int) -> timing.Issued:
        for tensor in grad_to_none or ():
            tensor.grad = None
        fn()
        return None, []

    def how(case: timing.Case) -> None:
        with arrays.on_stream(case.stream, frameworks):
            for _ in range(timing.WARM_UPS):
                call(0, case.stream)
            case.operation(call, 1)
            case.check(lambda slot: None)
            case.device_calls()
            samples.extend(1e3 * seconds for seconds in case.samples())

    timing.measured(arrays.device(frameworks), "do_bench", how)
    if quantiles is None:
        return _MODES[return_mode](samples)
    found = [float(value) for value in np.quantile(samples, quantiles)]
    return found[0] if len(found) == 1 else found
