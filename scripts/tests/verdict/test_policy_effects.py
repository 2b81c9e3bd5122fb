# SPDX-License-Identifier: Apache-2.0
"""A policy accepts what it says, until the day it says, and tells what it no longer does."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from conftest import Loader

from builders import row, run
from warpgauge.records.model import Clock
from warpgauge.system.errors import UserError
from warpgauge.verdict.comparison import Change, Outcome, ResourceChange, Verdict
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge
from warpgauge.verdict.policy import Expected, MinimumEffect, Policy, Required
from warpgauge.verdict.policy_effects import PolicyOutcome, apply

TODAY = date(2027, 1, 1)
LATER = TODAY + timedelta(days=100)
PATH = Path("/x/baselines/policy.toml")
MORE_REGISTERS = ResourceChange("registers", "registers", "40", "72", worse=True)


def expected(
    pattern: str, *, most: float = 0.05, expires: date = LATER, resources: bool = False,
    number: int = 1,
) -> Expected:  # fmt: skip
    return Expected(number, re.compile(pattern), most, "the bounds check", expires, resources)


def policy(*entries: Expected | Required | MinimumEffect) -> Policy:
    return Policy(
        PATH,
        tuple(one for one in entries if isinstance(one, MinimumEffect)),
        tuple(one for one in entries if isinstance(one, Required)),
        tuple(one for one in entries if isinstance(one, Expected)),
    )


def verdict(
    name: str, outcome: Outcome, ratio: float | None = None, *resources: ResourceChange,
    reason: str = "",
) -> Verdict:  # fmt: skip
    change = None if ratio is None else Change(ratio, ratio - 0.001, ratio + 0.001)
    return Verdict(name, outcome, Clock.DEVICE, change=change, resources=resources, reason=reason)


@pytest.mark.parametrize("kind", ["minimum_effect", "required", "expected"])
def test_a_pattern_that_would_take_years_is_refused(kind: str, loaded: Loader) -> None:
    endless = "((a|a)+)+!"
    entries: dict[str, Expected | Required | MinimumEffect] = {
        "minimum_effect": MinimumEffect(1, re.compile(endless), 0.05, "noise"),
        "required": Required(1, re.compile(endless), ""),
        "expected": expected(endless),
    }
    settings = ComparisonSettings(policy=policy(entries[kind]), today=TODAY)
    side = loaded(run([row("a" * 40)]))
    with pytest.raises(UserError, match=f"policy.toml, {kind} entry 1: 'pattern' takes too long"):
        judge(side, side, settings)


def test_a_policy_that_expects_changes_is_not_judged_without_the_day() -> None:
    with pytest.raises(ValueError, match="needs the day"):
        ComparisonSettings(policy=policy(expected("gemm")))


def everything(pattern: str) -> bool:
    return True


def nothing(pattern: str) -> bool:
    return False


def applied(entry: Expected, one: Verdict, *, resources_fail: bool = False) -> PolicyOutcome:
    return apply(policy(entry), [one], everything, TODAY, resources_fail=resources_fail)


SLOWER = verdict("gemm/tiled/n:1", Outcome.REGRESSION, 0.04)


def test_an_expected_change_passes_and_says_why_and_how_long() -> None:
    outcome = applied(expected("^gemm/tiled/"), SLOWER)
    (one,) = outcome.verdicts
    assert one.outcome is Outcome.PASS
    assert one.accepted == "the bounds check, until 2027-04-11"
    assert one.change == SLOWER.change
    assert outcome.notes == ()


def test_a_change_beyond_what_is_expected_stays_a_regression() -> None:
    outcome = applied(expected("gemm", most=0.03), SLOWER)
    (one,) = outcome.verdicts
    assert one.outcome is Outcome.REGRESSION
    assert one.reason == "expected at most 3 % (the bounds check)"
    assert not one.accepted
    assert outcome.notes == ()  # it was needed, and did not suffice


def test_a_reason_that_is_there_already_is_kept() -> None:
    slower = verdict("gemm/a", Outcome.REGRESSION, 0.1, reason="confirmed")
    (one,) = applied(expected("gemm"), slower).verdicts
    assert one.reason == "confirmed; expected at most 5 % (the bounds check)"


@pytest.mark.parametrize("ratio", [0.05, None, float("nan"), float("inf")])
def test_the_very_change_that_is_expected_passes_and_none_that_is_no_number(
    ratio: float | None,
) -> None:
    (one,) = applied(expected("gemm"), verdict("gemm/a", Outcome.REGRESSION, ratio)).verdicts
    assert one.outcome is (Outcome.PASS if ratio == 0.05 else Outcome.REGRESSION)


def test_what_no_entry_is_about_is_left_alone() -> None:
    slower = verdict("sync/a", Outcome.REGRESSION, 0.01)
    assert applied(expected("^gemm/"), slower).verdicts == (slower,)


@pytest.mark.parametrize("outcome", [one for one in Outcome if one is not Outcome.REGRESSION])
def test_only_regressions_are_accepted(outcome: Outcome) -> None:
    one = verdict("gemm/a", outcome, 0.01)
    assert applied(expected("gemm"), one).verdicts == (one,)


def test_an_entry_holds_through_its_last_day_and_not_a_day_longer() -> None:
    entry = expected("gemm", expires=TODAY)
    assert applied(entry, SLOWER).verdicts[0].outcome is Outcome.PASS
    after = apply(policy(entry), [SLOWER], everything, TODAY + timedelta(days=1))
    assert after.verdicts == (SLOWER,)
    assert after.notes == (
        "baselines/policy.toml, expected entry 1 ('gemm') expired on 2027-01-01 and accepts "
        "nothing: remove it or renew it.",
    )


def test_of_several_entries_the_last_unexpired_one_counts() -> None:
    entries = (
        expected("gemm", most=0.10),
        expected("tiled", most=0.02, number=2),
        expected("n:1", most=0.50, number=3, expires=TODAY - timedelta(days=1)),
    )
    outcome = apply(policy(*entries), [SLOWER], everything, TODAY)
    assert outcome.verdicts[0].reason == "expected at most 2 % (the bounds check)"
    assert ["unused" in note for note in outcome.notes] == [True, False]


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("gemm", "is unused, for no regression needed it: remove it if that stays so."),
        ("gmem", "matches no benchmark: correct or remove it."),
    ],
)
def test_an_entry_that_no_regression_needed_is_told(pattern: str, why: str) -> None:
    outcome = applied(expected(pattern), verdict("gemm/a", Outcome.PASS, 0.0))
    assert outcome.notes == (f"baselines/policy.toml, expected entry 1 ('{pattern}') {why}",)


@pytest.mark.parametrize(
    ("days", "told"), [(0, "today"), (1, "in 1 day"), (14, "in 14 days"), (15, None)]
)
def test_an_entry_that_soon_expires_is_told(days: int, told: str | None) -> None:
    entry = expected("gemm", expires=TODAY + timedelta(days=days))
    notes = applied(entry, SLOWER).notes
    assert [f"expires {told}, on {entry.expires}" in note for note in notes] == [True] * bool(told)


@pytest.mark.parametrize(
    ("change", "resources", "fail", "outcome"),
    [
        (MORE_REGISTERS, False, True, Outcome.REGRESSION),
        (MORE_REGISTERS, True, True, Outcome.PASS),
        (MORE_REGISTERS, False, False, Outcome.PASS),  # they fail nobody
        (replace(MORE_REGISTERS, worse=False), False, True, Outcome.PASS),
    ],
)
def test_other_resources_are_expected_only_where_the_entry_says_so(
    change: ResourceChange, resources: bool, fail: bool, outcome: Outcome
) -> None:
    slower = verdict("gemm/a", Outcome.REGRESSION, 0.04, change)
    (one,) = applied(expected("gemm", resources=resources), slower, resources_fail=fail).verdicts
    assert one.outcome is outcome
    if outcome is Outcome.REGRESSION:
        assert one.reason == "the time is expected (the bounds check), what it takes is not"


def test_resources_that_are_expected_make_no_pass_of_a_time_that_nobody_knows() -> None:
    unknown = replace(
        verdict("gemm", Outcome.REGRESSION, 0.01, MORE_REGISTERS), by_time=Outcome.INCONCLUSIVE
    )
    (one,) = applied(expected("gemm", resources=True), unknown, resources_fail=True).verdicts
    assert one.outcome is Outcome.INCONCLUSIVE
    assert not one.accepted
    assert "the bounds check" in one.reason


def test_accepted_resources_are_told_and_fail_on_nothing() -> None:
    gated = replace(
        verdict("gemm/a", Outcome.REGRESSION, 0.0, MORE_REGISTERS, reason="fails on its resources"),
        by_time=Outcome.PASS,
    )
    (one,) = applied(expected("gemm", resources=True), gated, resources_fail=True).verdicts
    assert one.outcome is Outcome.PASS
    assert not one.reason
    assert one.causes == ("registers 40 → 72",)


NEEDED = Required(1, re.compile("^gemm/"), "the ceiling of all others")


@pytest.mark.parametrize("outcome", Outcome)
def test_what_is_required_must_have_been_measured(outcome: Outcome) -> None:
    verdicts = apply(policy(NEEDED), [verdict("gemm/a", outcome)], everything, TODAY).verdicts
    measured = outcome not in (Outcome.MISSING, Outcome.ERROR, Outcome.INVALID)
    assert len(verdicts) == (1 if measured else 2)
    if not measured:
        assert verdicts[1].name == "^gemm/"
        assert verdicts[1].outcome is Outcome.MISSING
        assert verdicts[1].reason == (
            "required by baselines/policy.toml: the ceiling of all others"
        )


def test_one_measured_benchmark_is_enough() -> None:
    verdicts = [verdict("gemm/a", Outcome.ERROR), verdict("gemm/b", Outcome.NEW)]
    assert apply(policy(NEEDED), verdicts, everything, TODAY).verdicts == tuple(verdicts)


def test_a_requirement_without_a_reason_says_what_it_lacks() -> None:
    outcome = apply(policy(Required(1, re.compile("^x/"), "")), [], everything, TODAY)
    assert outcome.verdicts[0].reason == (
        "required by baselines/policy.toml: no benchmark that matches was measured"
    )


def test_a_required_name_has_one_verdict_in_its_own_place() -> None:
    need = policy(Required(1, re.compile("sync/a"), ""))
    lost = verdict("sync/a", Outcome.MISSING, reason="the candidate does not have it")
    other = verdict("sync/b", Outcome.PASS)
    first, second = apply(need, [lost, other], everything, TODAY).verdicts
    assert first.reason.startswith("the candidate does not have it; required by ")
    assert second == other


def test_what_was_not_asked_for_is_neither_missing_nor_unused() -> None:
    effect = MinimumEffect(1, re.compile("x"), 0.25, "noise")
    entries = policy(NEEDED, expected("gemm"), effect)
    assert apply(entries, [], nothing, TODAY) == PolicyOutcome(())


def test_a_minimum_effect_for_nothing_is_told() -> None:
    effects = [
        MinimumEffect(1, re.compile("gemm"), 0.25, "noise"),
        MinimumEffect(2, re.compile("gone\x1b"), 0.25, "noise"),
    ]
    outcome = apply(policy(*effects), [SLOWER], everything, TODAY)
    assert outcome.notes == (
        "baselines/policy.toml, minimum_effect entry 2 ('gone\\x1b') matches no benchmark: correct "
        "or remove it.",
    )
