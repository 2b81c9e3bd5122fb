# SPDX-License-Identifier: Apache-2.0
"""Whatever contexts say: what is forbidden is never a pass."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from warpgauge.records.model import Clock, Record, Row, Session, Source
from warpgauge.verdict.comparison import Outcome
from warpgauge.verdict.context import TOLD_KEYS, WIDENING_KEYS, refusal
from warpgauge.verdict.judge import judge
from warpgauge.verdict.override import Override
from warpgauge.verdict.pairing import pair

FINE = {"warpgauge_format": "run/1", "gpu_name": "NVIDIA Test", "build_type": "Release"}
STEADY = (0.999e-6, 1.0e-6, 1.0e-6, 1.0e-6, 1.001e-6)

TOLD = sorted({*TOLD_KEYS, *WIDENING_KEYS[Clock.HOST], "gpu_uuid", "boot_id"})
contexts = st.dictionaries(
    st.sampled_from([key for key in TOLD if key != "sm_clock_target_hz"]),
    st.sampled_from(["a", "b"]),
).map(lambda told: {**FINE, **told})
# What makes a comparison of a fine baseline and candidate a forbidden one: the side, a change of
# its context, its counters, its clock.
forbidden = st.sampled_from(
    [
        ("candidate", {"gpu_name": "NVIDIA Other"}, {}, Clock.DEVICE),
        ("baseline", {"gpu_name": ""}, {}, Clock.DEVICE),
        ("candidate", {"build_type": "Debug"}, {}, Clock.DEVICE),
        ("baseline", {"build_type": ""}, {}, Clock.HOST),
        ("baseline", {"inject": "a=1.05"}, {}, Clock.HOST),
        ("candidate", {"sm_clock_target_hz": "1755000000"}, {}, Clock.DEVICE),
        ("candidate", {}, {"throttled": 1.0}, Clock.HOST),
        ("baseline", {}, {"throttled": 7.0}, Clock.DEVICE),
        ("candidate", {}, {"other_processes": 1.0}, Clock.DEVICE),
        ("baseline", {}, {"other_processes": 3.0}, Clock.DEVICE),
        ("baseline", {}, {"host_clock": 1.0}, Clock.DEVICE),
    ]
)


def record(about: Mapping[str, str], clock: Clock, counters: dict[str, float]) -> Record:
    if counters.get("host_clock"):
        clock = Clock.HOST
    session = Session("s", {"sm_clock_target_hz": "1980000000", **about})
    row = Row("a/b", {"s": STEADY}, clock, counters)
    return Record(Path("x.json"), Source.RUN, {"s": session}, {"a/b": row})


@settings(max_examples=100, deadline=None)
@given(contexts, contexts, forbidden)
def test_nothing_forbidden_is_ever_a_pass(
    base: dict[str, str],
    cand: dict[str, str],
    fault: tuple[str, dict[str, str], dict[str, float], Clock],
) -> None:
    side, about, counters, clock = fault
    if side == "baseline":
        one, two = record({**base, **about}, clock, counters), record(cand, clock, {})
    else:
        one, two = record(base, clock, {}), record({**cand, **about}, clock, counters)
    (verdict,) = judge(one, two).verdicts
    assert verdict.outcome is Outcome.INVALID
    assert verdict.reason.rstrip(".").endswith("compares all the same")
    assert refusal(one, two, frozenset(Override)) is None
    assert len(pair(one, two, ["a/b"], frozenset(Override))[0]) == 1
