# SPDX-License-Identifier: Apache-2.0
"""What is forbidden or disturbed is never judged, and says how to compare all the same."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import cast

import pytest
from conftest import Loader
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import Json, baseline, context, failed, google, google_row, row, run, scaled
from warpgauge.records.counters import Clock
from warpgauge.records.model import Record
from warpgauge.system.errors import ExitStatus
from warpgauge.system.text import foreign
from warpgauge.verdict import incompatibility
from warpgauge.verdict.comparability import TOLD_KEYS, WIDENING_KEYS, Comparability
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict, exit_status
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.incompatibility import Override
from warpgauge.verdict.judge import judge
from warpgauge.verdict.note import Note
from warpgauge.verdict.pairing import Pairing, pair

ROWS = [row("a/b"), row("a/c")]
HIGH, LOW = {"sm_clock_target_hz": "1980000000"}, {"sm_clock_target_hz": "1755000000"}


def rows(**keys: float) -> Json:
    return run([row("a/b", **keys), row("a/c", **keys)])


# Sides that one allowance forbids, as a whole or row by row.
WHOLE: dict[Override, tuple[Json, Json]] = {
    Override.GPU_MODEL: (run(ROWS), run(ROWS, gpu_name="NVIDIA Other", gpu_uuid="GPU-2")),
    Override.BUILD_TYPE: (run(ROWS), run(ROWS, build_type="Debug")),
    Override.INJECTION: (run(ROWS, inject="a=1.05"), run(ROWS)),
}
BY_ROW: dict[Override, tuple[Json, Json]] = {
    Override.SM_CLOCK: (run(ROWS, **HIGH), run(ROWS, **LOW)),
    Override.THROTTLED: (rows(), rows(throttled=7.0)),
    Override.OTHER_PROCESSES: (rows(other_processes=1.0), rows()),
    Override.L2_SET_ASIDE: (rows(), rows(l2_set_aside=1.0)),
    Override.HOST_NODES: (rows(host_nodes=1.0), rows()),
    Override.BEYOND_CEILING: (rows(), rows(beyond_ceiling=1.1)),
    Override.TIMING: (rows(), rows(host_clock=1.0)),
}
ALL = {**WHOLE, **BY_ROW}


def paired(
    base: Record, cand: Record, allow: Collection[Override]
) -> tuple[list[Pairing], list[str]]:
    pairings, unpaired, _ = pair(base, cand, list(cand.rows), allow)
    assert {verdict.outcome for verdict in unpaired} <= {Outcome.INVALID}
    return pairings, [verdict.reason for verdict in unpaired]


def notes(base: Record, cand: Record, allow: Collection[Override]) -> list[Note]:
    found = judge(base, cand, ComparisonSettings(allow=frozenset(allow))).notes
    return [note for note in found if note.kind in ("overridden", "override_unused")]


def refusal(base: Record, cand: Record, allow: Collection[Override] = ()) -> str | None:
    return judge(base, cand, ComparisonSettings(allow=frozenset(allow))).refusal


def unused(one: Override) -> Note:
    return Note("override_unused", f"{foreign(f'--allow {one.word}')} was not needed.")


@pytest.mark.parametrize("one", WHOLE)
def test_a_refusal_ends_with_what_allows_it(loaded: Loader, one: Override) -> None:
    base, cand = map(loaded, WHOLE[one])
    told = refusal(base, cand)
    assert told is not None
    assert told.endswith(f"; --allow {one.word} compares anyway.")
    assert refusal(base, cand, frozenset(Override) - {one}) == told
    assert refusal(base, cand, {one}) is None


@pytest.mark.parametrize("one", BY_ROW)
def test_a_row_that_is_invalid_says_what_allows_it(loaded: Loader, one: Override) -> None:
    base, cand = map(loaded, BY_ROW[one])
    pairings, reasons = paired(base, cand, frozenset(Override) - {one})
    assert not pairings
    assert len(reasons) == len(ROWS)
    assert reasons[0].endswith(f"; --allow {one.word} compares anyway")


@pytest.mark.parametrize("one", Override)
def test_what_is_allowed_is_compared_and_told(loaded: Loader, one: Override) -> None:
    base, cand = map(loaded, ALL[one])
    pairings, reasons = paired(base, cand, {one})
    assert len(pairings) == len(ROWS)
    assert not reasons
    (note,) = notes(base, cand, {one})
    assert str(note).startswith(f"--allow {one.word}: compared although {one.although}: ")


TOLD = {*TOLD_KEYS, *WIDENING_KEYS[Clock.HOST], "gpu_uuid", "boot_id"} - {"sm_clock_target_hz"}
contexts = st.dictionaries(st.sampled_from(sorted(TOLD)), st.sampled_from(["a", "b"]))


@settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.sampled_from(Override), contexts, contexts)
def test_nothing_forbidden_is_ever_a_pass_whatever_else_differs(
    loaded: Loader, one: Override, before: Json, after: Json
) -> None:
    base, cand = (
        loaded({**file, "context": {**cast("Json", file["context"]), **keys}})
        for file, keys in zip(ALL[one], (before, after), strict=True)
    )
    assert {verdict.outcome for verdict in judge(base, cand).verdicts} == {Outcome.INVALID}
    assert refusal(base, cand, {one}) is None
    assert len(paired(base, cand, {one})[0]) == len(ROWS)


def test_exceptions_that_nothing_needed_are_told(loaded: Loader) -> None:
    base, cand = loaded(run(ROWS)), loaded(run(ROWS))
    told = notes(base, cand, frozenset(Override))
    assert told == [unused(one) for one in Override]
    assert notes(base, loaded(run(ROWS, gpu_name="NVIDIA Other")), frozenset()) == []


def test_a_row_that_another_fault_still_forbids_was_not_compared(loaded: Loader) -> None:
    bad = loaded(run([row("a/b", throttled=7.0, other_processes=2.0)]))
    base, allow = loaded(run([row("a/b")])), {Override.THROTTLED}
    pairings, (reason,) = paired(base, bad, allow)
    assert not pairings
    assert reason == (
        "candidate: 2 other processes used the GPU: end other processes that use the GPU, then "
        "measure again; --allow other-processes compares anyway"
    )
    assert notes(base, bad, allow) == [unused(Override.THROTTLED)]
    new = loaded(run([row("a/b"), row("a/n", throttled=7.0)]))
    _, (verdict,), _ = pair(base, new, list(new.rows), allow)
    assert verdict.outcome is Outcome.NEW


def test_every_fault_of_a_whole_side_is_told_at_once(loaded: Loader) -> None:
    base = loaded(run(ROWS, inject="a=1.05", build_type="Debug"))
    told = refusal(base, loaded(run(ROWS)))
    assert told is not None
    assert told.startswith("The baseline is a build of type 'Debug', and only Release counts; ")
    assert told.endswith("; --allow build-type --allow injection compares anyway.")


def sessions(**clocks: str) -> Json:
    """A baseline with a session a clock, at 1.98 GHz and at another one."""
    about = {
        key: context(boot_id=key, sm_clock_target_hz=hz, gpu_name=f"NVIDIA {key}")
        for key, hz in clocks.items()
    }
    return baseline([row("a/b", process_medians={key: [1.0, 1.0] for key in clocks})], about)


def test_sessions_that_nothing_forbids_come_before_what_is_allowed(loaded: Loader) -> None:
    base = loaded(sessions(Test="1980000000", Other="1755000000"))
    cand = loaded(run([row("a/b")], sm_clock_target_hz="1980000000"))
    allow = {Override.GPU_MODEL, Override.SM_CLOCK}
    (one,), _ = paired(base, cand, allow)
    assert [session.key for session in one.references] == ["Test"]
    assert all(note.kind == "override_unused" for note in notes(base, cand, allow))


MODEL, CLOCK = Override.GPU_MODEL, Override.SM_CLOCK


@pytest.mark.parametrize(
    ("hz", "allow", "reason"),
    [
        ("1980000000", (),
         "the baseline has it only from other GPU models; --allow gpu-model compares anyway"),
        ("1755000000", (MODEL,), "; --allow sm-clock compares anyway"),
        ("1980000000", (MODEL,), None),
        ("1755000000", (MODEL, CLOCK), None),
    ],
)  # fmt: skip
def test_a_row_from_other_models_only_needs_its_own_exceptions(
    loaded: Loader, hz: str, allow: Collection[Override], reason: str | None
) -> None:
    file = sessions(Other=hz)
    about = {"Other": context(gpu_name="NVIDIA Other", gpu_uuid="GPU-2", sm_clock_target_hz=hz)}
    file["sessions"] = {**about, "Test": context()}
    pairings, reasons = paired(loaded(file), loaded(run([row("a/b")], **HIGH)), allow)
    assert [one.endswith(reason or "") for one in reasons] == [True] * (reason is not None)
    assert [one.comparability for one in pairings] == [Comparability.OTHER_MODEL] * (reason is None)


def test_a_plain_file_stays_of_unknown_kin_whatever_is_allowed(loaded: Loader) -> None:
    plain = loaded(google([google_row("a/b", 1.0)], gpu_name="NVIDIA Other"))
    (one,), _ = paired(loaded(run([row("a/b")])), plain, {Override.GPU_MODEL})
    assert one.comparability is Comparability.UNKNOWN


@pytest.mark.parametrize("word", ["", "gpu", "GPU_MODEL", "all", "gpu-model,timing", "\x1b[31m"])
def test_the_command_line_takes_several_words_and_names_the_known_ones_for_another(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    incompatibility.add_argument(parser)
    assert parser.parse_args([]).allow == []
    two = parser.parse_args(["--allow", "gpu-model", "--allow", "timing"]).allow
    assert two == [Override.GPU_MODEL, Override.TIMING]
    with pytest.raises(SystemExit) as caught:
        parser.parse_args(["--allow", word])
    assert caught.value.code == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert all(one.word in message for one in Override)
    assert "\x1b" not in message


SLOW: Json = {"throttled": 7.0, "sm_clock_hz": 1.62e9, "clock_event_reasons": 4.0}
FOREIGN: Json = {"other_processes": 2.0}
CLEAN: Json = {"other_processes": 0.0, "sm_clock_hz": 1.98e9, "clock_event_reasons": 1.0}
L2, HOST, BEYOND = {"l2_set_aside": 33554432.0}, {"host_nodes": 2.0}, {"beyond_ceiling": 1.6}


def only(comparison: Comparison) -> Verdict:
    (verdict,) = comparison.verdicts
    if verdict.outcome is Outcome.INVALID:
        assert exit_status(comparison) is ExitStatus.NOT_MEASURED
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
         "--allow throttled compares anyway"),
        (FOREIGN, {"throttled": 1.0},
         "candidate: the SM clock was lowered: let the GPU cool or lift the power limit, then "
         "measure again; baseline: 2 other processes used the GPU: end other processes that use "
         "the GPU, then measure again; --allow throttled --allow other-processes compares anyway"),
        ({}, L2, "candidate: 32 MiB of the L2 were set aside for persisting accesses, so the L2 "
         "was not cold: set cudaLimitPersistingL2CacheSize to 0"),
        ({}, HOST, "candidate: its captured graph holds 2 host functions, whose host time is "
         "not GPU time: remove host functions"),
        ({}, BEYOND, "candidate: an operation claims 1.6 times the measured peak of this "
         "GPU: correct the bytes and flops"),
    ],
)  # fmt: skip
def test_each_disturbed_side_says_what_a_person_understands(
    loaded: Loader, base: Json, cand: Json, reason: str
) -> None:
    sides = loaded(run([row("a/b", **base)])), loaded(run([row("a/b", **cand)], **HIGH))
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
    comparison = judge(loaded(run(base)), loaded(run(cand, **HIGH)))
    assert " ".join(one.outcome.value for one in comparison.verdicts) == outcomes
    if "INVALID" in outcomes:
        assert exit_status(comparison) is ExitStatus.NOT_MEASURED


def test_a_plain_file_of_a_benchmark_binary_is_held_to_it_too(loaded: Loader) -> None:
    rows = [google_row("a/b", 1.0), google_row("a/b", 1.0, throttled=1.0)]
    verdict = only(judge(loaded(google(rows[:1])), loaded(google(rows, **HIGH))))
    assert verdict.outcome is Outcome.INVALID
    assert "processes" not in verdict.reason


@pytest.mark.parametrize(
    ("hz", "outcome"),
    [
        *((hz, Outcome.PASS) for hz in "1980000000.0 1971000000 1989000000 nan 0 x".split()),
        ("", Outcome.PASS),
        ("1755000000", Outcome.INVALID),
        ("1965000000", Outcome.INVALID),  # one step of the clock
    ],
)
def test_device_times_at_another_sm_clock_are_not_comparable_and_those_of_the_host_are(
    loaded: Loader, hz: str, outcome: Outcome
) -> None:
    rows = [row("a/b"), row("a/c", host_clock=1.0)]
    full, other = (loaded(run(rows, sm_clock_target_hz=clock)) for clock in ("1980000000", hz))
    for sides in ((full, other), (other, full)):
        assert [found.outcome for found in judge(*sides).verdicts] == [outcome, Outcome.PASS]


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
    assert verdict.reason == (
        "measured at an SM clock of 1.000 GHz, in the baseline of 1.500 GHz and 1.980 GHz; "
        "--allow sm-clock compares anyway"
    )
