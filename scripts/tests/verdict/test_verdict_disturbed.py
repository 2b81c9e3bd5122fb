# SPDX-License-Identifier: Apache-2.0
"""A lowered SM clock, others on the GPU, another SM clock: no verdict, on whichever side it was."""

from __future__ import annotations

import pytest
from conftest import Loader

from builders import Json, baseline, context, failed, google, google_row, row, run, scaled
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.judge import judge

SLOW: Json = {"throttled": 7.0, "sm_clock_hz": 1.62e9, "clock_event_reasons": 4.0}
FOREIGN: Json = {"other_processes": 2.0}
CLEAN: Json = {"other_processes": 0.0, "sm_clock_hz": 1.98e9, "clock_event_reasons": 1.0}
L2: Json = {"l2_set_aside": 33554432.0}
HOST: Json = {"host_nodes": 2.0}
BEYOND: Json = {"beyond_ceiling": 1.6}
TARGET = {"sm_clock_target_hz": "1980000000"}


def only(comparison: Comparison) -> Verdict:
    (verdict,) = comparison.verdicts
    if verdict.outcome is Outcome.INVALID:
        assert comparison.exit_status is ExitStatus.NOT_MEASURED
    return verdict


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("bad", [SLOW, FOREIGN, L2, HOST, BEYOND])
@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_a_disturbed_row_is_never_judged(
    loaded: Loader, factor: float, bad: Json, side: str
) -> None:
    keys = {"baseline": CLEAN, "candidate": CLEAN, side: bad}
    base = loaded(run([row("a/b", **keys["baseline"])]))
    cand = loaded(run([row("a/b", scaled(factor), **keys["candidate"])]))
    verdict = only(judge(base, cand))
    assert (verdict.outcome, verdict.counters) == (Outcome.INVALID, {})
    assert verdict.reason.startswith(f"{side}: ")


@pytest.mark.parametrize(
    ("base", "cand", "reason"),
    [
        ({}, SLOW,
         "candidate: the SM clock was lowered to 1.620 GHz of 1.980 GHz in 7 of 7 processes "
         "(power cap): let the GPU cool or lift the power limit, then measure again; "
         "--allow throttled compares all the same"),
        (FOREIGN, {"throttled": 1.0},
         "candidate: the SM clock was lowered: let the GPU cool or lift the power limit, then "
         "measure again; baseline: 2 other processes used the GPU: end what else uses the GPU, "
         "then measure again; --allow throttled --allow other-processes compares all the same"),
        ({}, L2, "candidate: 32 MiB of the L2 were set aside for persisting accesses, so that it "
         "was not cold: set cudaLimitPersistingL2CacheSize to 0"),
        ({}, HOST, "candidate: its captured graph holds 2 host functions, which take the host's "
         "time and not the GPU's: take host functions out"),
        ({}, BEYOND, "candidate: an operation claims 1.6 times what this GPU was measured to "
         "reach: correct the bytes and flops"),
    ],
)  # fmt: skip
def test_each_disturbed_side_says_what_a_person_understands(
    loaded: Loader, base: Json, cand: Json, reason: str
) -> None:
    sides = loaded(run([row("a/b", **base)])), loaded(run([row("a/b", **cand)], **TARGET))
    assert only(judge(*sides)).reason.startswith(reason)


@pytest.mark.parametrize(
    ("mask", "words"),
    [(0x20, "(temperature)"), (0x48, "(temperature, by hardware)"), (0x08, "(hardware slowdown)"),
     (0x84, "(power cap, power brake)"), (0x01, "lowered:"), (2.0**63, "lowered:")],
)  # fmt: skip
def test_the_gpus_own_reasons_are_named(loaded: Loader, mask: float, words: str) -> None:
    cand = loaded(run([row("a/b", throttled=1.0, clock_event_reasons=float(mask))]))
    assert words in only(judge(loaded(run([row("a/b")])), cand)).reason


UNREADABLE: Json = dict.fromkeys([*SLOW, *FOREIGN], float("nan"))
CONTROLLED = [row("a/b", host_clock=1.0), row("host/x", host_clock=1.0)]


@pytest.mark.parametrize(
    ("base", "cand", "outcomes"),
    [
        ([row("a/b")], [row("a/b"), row("a/c", **SLOW)], "PASS INVALID"),  # and not new
        ([row("a/b", **SLOW), row("a/c", **SLOW)], [{**failed("a/b"), **SLOW}], "ERROR MISSING"),
        ([row("a/b")], [row("a/b", **CLEAN)], "PASS"),
        ([row("a/b")], [row("a/b", scaled(2.0), **UNREADABLE)], "REGRESSION"),
        # A disturbed control says nothing of the host.
        (CONTROLLED, [CONTROLLED[0], row("host/x", scaled(3.0), host_clock=1.0, **FOREIGN)],
         "PASS INVALID"),
    ],
)  # fmt: skip
def test_a_disturbance_is_told_of_times_alone(
    loaded: Loader, base: list[Json], cand: list[Json], outcomes: str
) -> None:
    comparison = judge(loaded(run(base)), loaded(run(cand, **TARGET)))
    assert " ".join(one.outcome.value for one in comparison.verdicts) == outcomes
    if "INVALID" in outcomes:
        assert comparison.exit_status is ExitStatus.NOT_MEASURED


def test_a_plain_file_of_a_benchmark_binary_is_held_to_it_too(loaded: Loader) -> None:
    plain = google([google_row("a/b", 1.0), google_row("a/b", 1.0, throttled=1.0)], **TARGET)
    verdict = only(judge(loaded(google([google_row("a/b", 1.0)])), loaded(plain)))
    assert verdict.outcome is Outcome.INVALID
    assert "processes" not in verdict.reason


def clocks(loaded: Loader, base: str, cand: str, **keys: object) -> Verdict:
    """A row whose sides were measured at these targets of the SM clock."""
    rows = [row("a/b", **keys)]
    before, after = (loaded(run(rows, sm_clock_target_hz=hz)) for hz in (base, cand))
    return only(judge(before, after))


@pytest.mark.parametrize(
    ("cand", "keys", "outcome"),
    [
        *((cand, {}, Outcome.PASS)
          for cand in ("1980000000.0", "1971000000", "1989000000", "", "nan", "0", "x")),
        ("1755000000", {}, Outcome.INVALID),
        ("1965000000", {}, Outcome.INVALID),  # one step of the clock
        ("1755000000", {"host_clock": 1.0}, Outcome.PASS),
    ],
)  # fmt: skip
def test_device_times_at_another_sm_clock_are_not_comparable(
    loaded: Loader, cand: str, keys: dict[str, float], outcome: Outcome
) -> None:
    assert clocks(loaded, "1980000000", cand, **keys).outcome is outcome
    assert clocks(loaded, cand, "1980000000", **keys).outcome is outcome


def test_each_clock_is_asked_for_its_own_in_one_comparison(loaded: Loader) -> None:
    rows = [row("a/b"), row("a/c", host_clock=1.0), row("a/d")]
    sides = [loaded(run(rows, sm_clock_target_hz=hz)) for hz in ("1980000000", "1755000000")]
    found = judge(sides[0], sides[1]).verdicts
    assert [one.outcome for one in found] == [Outcome.INVALID, Outcome.PASS, Outcome.INVALID]
    assert found[0].reason == (
        "measured at an SM clock of 1.755 GHz, in the baseline of 1.980 GHz; "
        "--allow sm-clock compares all the same"
    )


def test_sessions_at_the_same_sm_clock_are_used_and_the_others_not(loaded: Loader) -> None:
    medians = {"high": scaled(1.0), "low": scaled(1.5)}
    about = {
        "high": context(sm_clock_target_hz="1980000000"),
        "low": context(boot_id="boot-2", sm_clock_target_hz="1500000000"),
    }
    base = loaded(baseline([row("a/b", process_medians=medians)], about))
    for hz, outcome in (("1500000000", Outcome.PASS), ("1980000000", Outcome.REGRESSION)):
        cand = loaded(run([row("a/b", scaled(1.5))], sm_clock_target_hz=hz))
        assert only(judge(base, cand)).outcome is outcome
    verdict = only(judge(base, loaded(run([row("a/b")], sm_clock_target_hz="1000000000"))))
    assert "in the baseline of 1.500 GHz and 1.980 GHz; " in verdict.reason
