# SPDX-License-Identifier: Apache-2.0
"""A pair corrects what a baseline flagged, and nothing else; it never turns a fault into a pass."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from comparisons import record
from warpgauge.measurement.combination import combined, flagged, unconfirmed
from warpgauge.measurement.two_stage import Looks
from warpgauge.records.model import Clock
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.comparison import Change, Comparison, Outcome, Verdict

ASKED = "9876543210" * 4


RECORD = record(commit="abcdef0123" * 4)


def comparison(*verdicts: Verdict, **outcomes: Outcome) -> Comparison:
    """Of verdicts, and of verdicts of these outcomes by name."""
    named = [Verdict(name, one, Clock.DEVICE) for name, one in outcomes.items()]
    return Comparison(RECORD, RECORD, (*verdicts, *named), notes=("seen before",))


def settled(
    screened: Comparison, paired: Comparison, also: Collection[str] = (), asked: str = ""
) -> Comparison:
    return combined(screened, Looks(paired, "7 rounds"), also, asked)


def outcomes(found: Comparison) -> dict[str, Outcome]:
    return {verdict.name: verdict.outcome for verdict in found.verdicts}


def test_only_what_is_flagged_is_replaced() -> None:
    usual = {"a": Outcome.REGRESSION, "b": Outcome.PASS}
    unmeasured = {"e": Outcome.ERROR, "f": Outcome.MISSING}
    screened = comparison(**usual, c=Outcome.IMPROVED, d=Outcome.INCONCLUSIVE, **unmeasured)
    assert [verdict.name for verdict in flagged(screened)] == ["a", "c", "d"]
    paired = comparison(d=Outcome.PASS, c=Outcome.PASS, b=Outcome.REGRESSION, a=Outcome.REGRESSION)
    found = settled(screened, paired)
    assert outcomes(found) == {**usual, "c": Outcome.PASS, "d": Outcome.PASS, **unmeasured}
    assert found.every_note == (
        "Screened against the baseline: 3 of 6 benchmarks were flagged. Measured again in pairs "
        "with its commit abcdef0123, 7 rounds: 1 slower, 2 unchanged.",
        "Not by the code: 'c' differs from what the baseline recorded, and not from its commit as "
        "it runs here now. Machine, driver or toolkit changed; --no-confirm lets the baseline "
        "decide.",
        "seen before",
    )


def test_what_a_policy_accepts_in_the_pair_is_a_change_of_the_code() -> None:
    screened = comparison(a=Outcome.REGRESSION, b=Outcome.IMPROVED)
    paired = comparison(a=Outcome.PASS, b=Outcome.PASS)
    accepted = replace(paired.verdicts[0], accepted="meant")
    paired = replace(paired, verdicts=(accepted, paired.verdicts[1]))
    first, second, *_ = settled(screened, paired).every_note
    assert first.endswith("7 rounds: 1 unchanged, 1 accepted.")
    assert second.startswith("Not by the code: 'b' differs")


@pytest.mark.parametrize(
    ("screened", "paired", "left"),
    [
        (Outcome.REGRESSION, Outcome.ERROR, Outcome.REGRESSION),
        (Outcome.REGRESSION, Outcome.INVALID, Outcome.REGRESSION),
        (Outcome.REGRESSION, Outcome.MISSING, Outcome.REGRESSION),
        (Outcome.REGRESSION, Outcome.NEW, Outcome.REGRESSION),
        (Outcome.REGRESSION, Outcome.INCONCLUSIVE, Outcome.INCONCLUSIVE),
        (Outcome.REGRESSION, Outcome.IMPROVED, Outcome.IMPROVED),
        (Outcome.IMPROVED, Outcome.ERROR, Outcome.ERROR),
        (Outcome.IMPROVED, Outcome.NEW, Outcome.IMPROVED),
        (Outcome.INCONCLUSIVE, Outcome.NEW, Outcome.INCONCLUSIVE),
        (Outcome.INCONCLUSIVE, Outcome.INVALID, Outcome.INVALID),
    ],
)
def test_what_a_pair_could_not_measure_acquits_nobody(
    screened: Outcome, paired: Outcome, left: Outcome
) -> None:
    found = settled(comparison(a=screened), comparison(a=paired))
    assert outcomes(found) == {"a": left}


@pytest.mark.parametrize(
    ("refusal", "method"),
    [
        (None, "Measured again in pairs with its commit abcdef0123, 7 rounds: 1 inconclusive, "
         "1 could not be measured so."),
        ("Both are Debug builds.", "Not measured again beside its commit: Both are Debug builds."),
    ],
)  # fmt: skip
def test_what_the_pair_lacks_or_refuses_stays(refusal: str | None, method: str) -> None:
    screened = comparison(a=Outcome.REGRESSION, b=Outcome.INCONCLUSIVE)
    left = Outcome.INVALID if refusal else Outcome.INCONCLUSIVE
    found = settled(screened, replace(comparison(b=left), refusal=refusal))
    assert outcomes(found) == outcomes(screened)
    assert found.exit_status is ExitStatus.REGRESSION
    flags = "Screened against the baseline: 2 of 2 benchmarks were flagged."
    assert found.method == f"{flags} {method}"


def test_another_base_than_the_baselines_own_is_told() -> None:
    screened = comparison(a=Outcome.IMPROVED, b=Outcome.NEW)
    paired = comparison(a=Outcome.PASS, b=Outcome.REGRESSION)
    found = settled(screened, paired, {"b"}, ASKED)
    assert outcomes(found) == {"a": Outcome.PASS, "b": Outcome.REGRESSION}
    assert found.every_note == (
        "Screened against the baseline: 1 of 1 benchmark was flagged, 1 is new to it. Measured "
        "again in pairs with commit 9876543210, 7 rounds: 1 slower, 1 unchanged.",
        "Not by this change: 'a' differs from what the baseline recorded, and not from commit "
        "9876543210 as it runs here now. The code before it, machine, driver or toolkit changed; a "
        "new session of the baseline takes that in.",
        "seen before",
    )
    assert found.beside == ASKED
    assert settled(screened, paired).beside == ""


@pytest.mark.parametrize(
    ("refusal", "why"),
    [("Both are Debug builds.", "Both are Debug builds"), (None, "the pair has no time of it")],
)
def test_what_is_new_and_no_pair_judged_is_no_pass(refusal: str | None, why: str) -> None:
    screened = comparison(a=Outcome.NEW, b=Outcome.PASS, c=Outcome.NEW)
    paired = replace(comparison(a=Outcome.NEW), refusal=refusal)
    found = settled(screened, paired, {"a"}, ASKED)
    # c is new to the base, too.
    assert outcomes(found) == {"a": Outcome.INVALID, "b": Outcome.PASS, "c": Outcome.NEW}
    reason = f"new to the baseline, and not measured beside commit 9876543210: {why}"
    assert found.verdicts[0].reason == reason
    assert found.exit_status is ExitStatus.NOT_MEASURED
    assert found.method.startswith(
        "Screened against the baseline: 0 of 1 benchmark was flagged, 1 is new to it. "
    )


def test_a_program_of_the_base_that_does_not_list_is_why_what_is_new_has_no_pair() -> None:
    screened = comparison(**{"a/new": Outcome.NEW})
    family = Verdict("a", Outcome.ERROR, Clock.DEVICE, reason="bench_a: no library")
    (found,) = settled(screened, comparison(family), {"a/new"}, ASKED).verdicts
    assert found.reason.endswith("beside commit 9876543210: bench_a: no library")


def test_a_refused_comparison_has_nothing_to_confirm() -> None:
    screened = replace(
        comparison(a=Outcome.NEW, b=Outcome.INCONCLUSIVE), refusal="Nothing in common."
    )
    assert flagged(screened) == ()
    assert unconfirmed(screened, "it does not build", ASKED, {"a"}) is screened


def changed(outcome: Outcome, ratio: float, **more: Any) -> Verdict:  # noqa: ANN401
    change = Change(ratio, ratio - 0.001, ratio + 0.001)
    about = {"change": change, "minimum_effect": 0.005, **more}
    return Verdict("a", outcome, Clock.DEVICE, **about)


def test_what_a_policy_expects_is_not_accepted_a_second_time() -> None:
    was = changed(Outcome.REGRESSION, 2.2, reason="expected at most 85 % (known)")
    now = changed(Outcome.PASS, 0.778, accepted="known, until 2999-01-31")
    screened, paired = comparison(was), comparison(now)
    found = settled(screened, paired, asked=ASKED)
    reason = (
        "expected at most 85 % (known); accepted beside commit 9876543210 (+77.8 %), not against "
        "the baseline (+220 %)"
    )
    assert found.verdicts == (replace(was, reason=reason),)
    assert found.method.endswith("7 rounds: 1 slower.")
    # The baseline's own commit was before any of it.
    assert settled(screened, paired).verdicts == (now,)


@pytest.mark.parametrize(
    ("ratio", "by_time", "left"),
    [
        (0.04, None, Outcome.PASS),  # under the minimum effect that a policy sets: no change
        (0.04, Outcome.PASS, Outcome.REGRESSION),  # what it takes is what is expected
        (0.06, None, Outcome.REGRESSION),
    ],
)
def test_only_an_expected_entry_can_be_used_up(
    ratio: float, by_time: Outcome | None, left: Outcome
) -> None:
    about = {"minimum_effect": 0.05, "accepted": "known", "by_time": by_time}
    was, now = changed(Outcome.REGRESSION, 0.5), changed(Outcome.PASS, ratio, **about)
    found = settled(comparison(was), comparison(now), asked=ASKED)
    assert outcomes(found) == {"a": left}


@pytest.mark.parametrize(
    ("seen", "low", "high", "left"),
    [
        (0.05, -0.03, 0.06, Outcome.INCONCLUSIVE),  # the pair has room for what was seen
        (0.05, -0.03, 0.04, Outcome.PASS),  # it rules that out
        (0.005, -0.001, 0.006, Outcome.PASS),  # and this is less than is to be found
        (-0.05, -0.06, 0.02, Outcome.INCONCLUSIVE),
    ],
)
def test_only_a_pair_that_rules_a_change_out_acquits_it(
    seen: float, low: float, high: float, left: Outcome
) -> None:
    outcome = Outcome.REGRESSION if seen > 0 else Outcome.IMPROVED
    now = changed(Outcome.PASS, 0.0, change=Change(0.0, low, high))
    found = settled(comparison(changed(outcome, seen)), comparison(now))
    assert outcomes(found) == {"a": left}
    if left is Outcome.INCONCLUSIVE:
        assert "which its commit beside it neither shows nor rules out" in found.verdicts[0].reason
        assert "7 rounds: 1 inconclusive." in found.method
