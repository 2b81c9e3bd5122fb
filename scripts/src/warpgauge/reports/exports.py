# SPDX-License-Identifier: Apache-2.0
"""The files that a candidate's times can be written to for other tools, by the tool's name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from warpgauge.reports import export_google, export_openmetrics
from warpgauge.system.text import named
from warpgauge.verdict.comparison import Comparison, Verdict

# Of Bencher's benchmark names, in bytes (its BenchmarkName).
_LONGEST_OF_BENCHER = 1024
# Bencher reads a time as a decimal of 28 digits; these leave seven of them.
_SHORTEST_NS, _LONGEST_NS = 1e-20, 1e28


@dataclass(frozen=True)
class Export:
    """`text` writes a comparison whose candidate has all times; `unfit` says why one is left out.

    `own` finds itself in every such text, which is a `kind`.
    """

    name: str
    text: Callable[[Comparison], str]
    unfit: Callable[[Verdict], str]
    kind: str
    own: re.Pattern[bytes]

    def render(self, comparison: Comparison) -> str:
        """What can be written of it; nothing where that is no benchmark at all."""
        kept = tuple(verdict for verdict in comparison.verdicts if not self.unfit(verdict))
        return self.text(replace(comparison, verdicts=kept)) if kept else ""

    def left_out(self, comparison: Comparison) -> str:
        """Which benchmarks `render` leaves out, and why, in words; empty where it has them all."""
        found: dict[str, list[str]] = {}
        for verdict in comparison.verdicts:
            if reason := self.unfit(verdict):
                found.setdefault(reason, []).append(verdict.name)
        told = "; ".join(f"{named(names)}: {reason}" for reason, names in found.items())
        return told if comparison.verdicts else "there is no benchmark"


def _unfit(verdict: Verdict) -> str:
    if verdict.candidate_seconds is None:
        return verdict.outcome.value
    ns = verdict.candidate_seconds * export_google.NS
    return "" if 0.0 < ns < math.inf else "no time that can be written"


def _unfit_for_bencher(verdict: Verdict) -> str:
    if reason := _unfit(verdict):
        return reason
    if len(verdict.name.encode()) > _LONGEST_OF_BENCHER:
        return f"its name has more than the {_LONGEST_OF_BENCHER} bytes that Bencher reads"
    ns = export_google.NS * (verdict.candidate_seconds or 0.0)
    return "" if _SHORTEST_NS < ns < _LONGEST_NS else "no time that Bencher reads"


def _google(name: str, unfit: Callable[[Verdict], str]) -> Export:
    """What reads Google Benchmark's JSON."""
    own = re.compile(rf'"{export_google.MARK}"\s*:\s*"{name}"'.encode())
    text = partial(export_google.render, reader=name)
    return Export(name, text, unfit, f"export for {name}", own)


_METRICS = re.compile(rb"\A# (?:HELP|TYPE) warpgauge_")
_EXPORTS = (
    _google("github-action-benchmark", _unfit),
    _google("bencher", _unfit_for_bencher),
    Export(
        "openmetrics", export_openmetrics.render, _unfit, "OpenMetrics text of warpgauge", _METRICS
    ),
)
EXPORTS: Mapping[str, Export] = {one.name: one for one in _EXPORTS}
