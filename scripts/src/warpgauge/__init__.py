# SPDX-License-Identifier: Apache-2.0
"""warpgauge: run GPU benchmarks in fresh processes, keep baselines, and judge what got slower."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warpgauge.callables.perf_report import perf_report as perf_report
    from warpgauge.callables.program import benchmark as benchmark
    from warpgauge.callables.timing import Timing as Timing
    from warpgauge.callables.timing import do_bench as do_bench
    from warpgauge.callables.timing import time as time

__version__ = "0.2.0"  # read by CMake and by the build of the wheel, too

# What measures callables of Python, and its module: imported at the first use.
_CALLABLES = {
    **{"benchmark": "program", "perf_report": "perf_report"},
    **{"do_bench": "timing", "time": "timing", "Timing": "timing"},
}


def __getattr__(name: str) -> object:
    if name not in _CALLABLES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"warpgauge.callables.{_CALLABLES[name]}"), name)
