# SPDX-License-Identifier: Apache-2.0
"""A policy accepts what it says, until the day it says, and tells what it no longer does."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from conftest import Loader

from builders import noisy, row, run, scaled
from warpgauge.records.counters import Clock
from warpgauge.reports.formats import markdown
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert
from warpgauge.verdict.comparison import (
    Change,
    Comparison,
    Outcome,
    ResourceChange,
    Verdict,
    exit_status,
)
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge
from warpgauge.verdict.note import ENTRY_UNUSED, HELD_BACK, Note
from warpgauge.verdict.policy import (
    Energy,
    Entry,
    Expected,
    MinimumEffect,
    Policy,
    Required,
    Tolerance,
    apply,
)

TODAY = date(2027, 1, 1)
LATER = TODAY + timedelta(days=100)
PATH = Path("/x/baselines/policy.toml")
MORE_REGISTERS = ResourceChange("registers", "registers", "40", "72", worse=True)


def expected(
    pattern: str, *, most: float = 0.05, expires: date = LATER, resources: bool = False,
    number: int = 1,
) -> Expected:  # fmt: skip
    return Expected(number, re.compile(pattern), "the bounds check", 100 * most, expires, resources)


def effect(pattern: str, fraction: float = 0.25, number: int = 1) -> MinimumEffect:
    return MinimumEffect(number, re.compile(pattern), "noise", 100 * fraction)


def tolerance(pattern: str, fraction: float = 0.25) -> Tolerance:
    return Tolerance(1, re.compile(pattern), "nobody waits", 100 * fraction)


def energy(pattern: str, fraction: float = 0.1) -> Energy:
    return Energy(1, re.compile(pattern), "the racks are at their limit", 100 * fraction)


def required(pattern: str, reason: str = "") -> Required:
    return Required(1, re.compile(pattern), reason)


def policy(*entries: Entry) -> Policy:
    return Policy(
        PATH,
        tuple(one for one in entries if isinstance(one, MinimumEffect)),
        tuple(one for one in entries if isinstance(one, Required)),
        tuple(one for one in entries if isinstance(one, Expected)),
        tuple(one for one in entries if isinstance(one, Tolerance)),
        energies=tuple(one for one in entries if isinstance(one, Energy)),
    )


def verdict(
    name: str, outcome: Outcome, ratio: float | None = None, *resources: ResourceChange,
    reason: str = "",
) -> Verdict:  # fmt: skip
    change = None if ratio is None else Change(ratio, ratio - 0.001, ratio + 0.001)
    return Verdict(
        name, outcome, Clock.DEVICE, change=change, bound=ratio, resources=resources, reason=reason
    )


@pytest.mark.parametrize("make", [effect, tolerance, required, expected, energy])
def test_a_pattern_that_would_take_years_is_refused(
    make: Callable[[str], Entry], loaded: Loader
) -> None:
    entry, side = make("((a|a)+)+!"), loaded(run([row("a" * 40)]))
    fault = f"policy.toml, {entry.kind} entry 1: 'pattern' takes too long"
    with pytest.raises(UserError, match=fault):
        judge(side, side, ComparisonSettings(policy=policy(entry), today=TODAY))


def test_a_policy_that_expects_changes_is_not_judged_without_the_day() -> None:
    with pytest.raises(ValueError, match="needs the day"):
        ComparisonSettings(policy=policy(expected("gemm")))


def applied(
    entry: Entry,
    *verdicts: Verdict,
    today: date = TODAY,
    fail: bool = False,
) -> tuple[tuple[Verdict, ...], tuple[Note, ...]]:
    rules = replace(policy(entry), fail_on_resources=fail)
    return apply(rules, verdicts, lambda _: True, today)


SLOWER = verdict("gemm/tiled/n:1", Outcome.REGRESSION, 0.04)


@pytest.mark.parametrize(
    ("ratio", "most", "accepted"),
    [
        (0.04, 0.05, True),
        (0.05, 0.05, True),
        (0.04, 0.03, False),
        *((no_number, 0.03, False) for no_number in (None, float("nan"), float("inf"))),
    ],
)
def test_a_change_as_expected_passes_and_says_why_and_how_long_and_beyond_that_regresses(
    ratio: float | None, most: float, accepted: bool
) -> None:
    slower = verdict("gemm/tiled/n:1", Outcome.REGRESSION, ratio, reason="confirmed")
    (one,), notes = applied(expected("^gemm/tiled/", most=most), slower)
    assert notes == ()  # a regression needed it, whether or not it sufficed
    if accepted:
        assert (one.outcome, one.accepted) == (Outcome.PASS, "the bounds check, until 2027-04-11")
    else:
        assert one.outcome is Outcome.REGRESSION
        assert one.reason == "confirmed; expected at most 3 % (the bounds check)"


def test_what_is_expected_passes_only_if_it_is_bounded_by_what_is_expected() -> None:
    (one,), _ = applied(expected("gemm"), replace(SLOWER, bound=0.05, tolerance=0.01))
    assert (one.outcome, one.bound, one.tolerance) == (Outcome.PASS, 0.05, 0.05)
    for bound in (0.06, None, float("nan")):
        (one,), notes = applied(expected("gemm"), replace(SLOWER, bound=bound, tolerance=0.01))
        assert (one.outcome, one.accepted, one.tolerance) == (Outcome.INCONCLUSIVE, "", 0.05)
        assert one.reason == "expected at most 5 % (the bounds check)"
        assert notes == ()


def test_an_entry_that_an_undecided_benchmark_may_need_is_not_unused() -> None:
    assert applied(expected("gemm"), verdict("gemm/a", Outcome.INCONCLUSIVE, 0.04))[1] == ()


def test_only_regressions_that_an_entry_is_about_are_accepted() -> None:
    others = [one for one in Outcome if one is not Outcome.REGRESSION]
    verdicts = [verdict(f"gemm/{one.value}", one, 0.01) for one in others]
    verdicts.append(verdict("sync/a", Outcome.REGRESSION, 0.01))
    assert applied(expected("^gemm/"), *verdicts)[0] == tuple(verdicts)


def test_of_several_entries_the_last_unexpired_one_counts() -> None:
    entries = (
        expected("gemm", most=0.10),
        expected("tiled", most=0.02, number=2),
        expected("n:1", most=0.50, number=3, expires=TODAY - timedelta(days=1)),
    )
    (one,), notes = apply(policy(*entries), [SLOWER], lambda _: True, TODAY)
    assert one.reason == "expected at most 2 % (the bounds check)"
    assert [note.kind == ENTRY_UNUSED for note in notes] == [True, False]


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        (expected("gemm"), ENTRY_UNUSED),
        (expected("gmem"), "entry_unmatched"),
        (effect("gemm"), None),
        (tolerance("gemm"), None),
        (tolerance("gmem"), "entry_unmatched"),
        (effect("gone\x1b", number=2), "entry_unmatched"),
    ],
)
def test_an_entry_that_nothing_needed_is_told(
    entry: Expected | MinimumEffect, kind: str | None
) -> None:
    notes = applied(entry, verdict("gemm/a", Outcome.PASS, 0.0))[1]
    assert [note.kind for note in notes] == [one for one in (kind,) if one]
    where = f"baselines/policy.toml, {entry.kind} entry {entry.number} "
    where += f"({inert(entry.pattern.pattern)}) "
    assert all(str(note).startswith(where) for note in notes)


@pytest.mark.parametrize(
    ("days", "told"),
    [
        (-1, ("entry_expired", "expired on 2026-12-31")),
        (0, ("entry_expires", "in 0 days, on 2027-01-01")),
        (1, ("entry_expires", "in 1 day, on 2027-01-02")),
        (14, ("entry_expires", "in 14 days, on 2027-01-15")),
        (15, None),
    ],
)
def test_an_entry_holds_through_its_last_day_and_is_told_when_it_soon_expires(
    days: int, told: tuple[str, str] | None
) -> None:
    entry = expected("gemm", expires=TODAY + timedelta(days=days))
    (one,), notes = applied(entry, SLOWER)
    assert one == SLOWER if days < 0 else one.outcome is Outcome.PASS
    assert [note.kind for note in notes] == ([told[0]] if told else [])
    assert all(told[1] in str(note) for note in notes if told)


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
    (one,) = applied(expected("gemm", resources=resources), slower, fail=fail)[0]
    assert one.outcome is outcome
    if outcome is Outcome.REGRESSION:
        assert "the bounds check" in one.reason


@pytest.mark.parametrize("by_time", [Outcome.PASS, Outcome.INCONCLUSIVE])
def test_accepted_resources_leave_what_the_time_says(by_time: Outcome) -> None:
    failing = verdict("gemm", Outcome.REGRESSION, 0.0, MORE_REGISTERS, reason="on its resources")
    gated = replace(failing, by_time=by_time)
    (one,) = applied(expected("gemm", resources=True), gated, fail=True)[0]
    assert one.outcome is by_time
    if by_time is Outcome.PASS:
        assert (one.reason, one.causes) == ("", ("registers 40 → 72",))
    else:
        assert not one.accepted
        assert "the bounds check" in one.reason


MORE_ENERGY = Change(0.15, 0.12, 0.18)


@pytest.mark.parametrize("by_time", [Outcome.PASS, Outcome.INCONCLUSIVE, Outcome.IMPROVED])
@pytest.mark.parametrize(
    ("entries", "change", "fails"),
    [
        ([energy("gemm")], MORE_ENERGY, True),
        ([energy("gemm", 0.12)], MORE_ENERGY, False),  # may be within
        ([energy("gemm"), energy("tiled", 0.2)], MORE_ENERGY, False),  # the last one counts
        ([energy("sync")], MORE_ENERGY, False),
        ([energy("gemm")], Change(-0.15, -0.18, -0.12), False),
        ([energy("gemm")], None, False),
        ([], MORE_ENERGY, False),
    ],
)
def test_more_energy_than_the_policy_allows_fails(
    by_time: Outcome, entries: Sequence[Energy], change: Change | None, fails: bool
) -> None:
    same = replace(verdict("gemm/tiled", by_time, 0.0), energy=change)
    (one,), _ = apply(policy(*entries), [same], lambda _: True, TODAY)
    if not fails:
        assert one == same
        return
    assert (one.outcome, one.by_time, one.fails_on_energy) == (Outcome.REGRESSION, by_time, True)
    assert "at most 10 % more (the racks are at their limit)" in one.reason


def test_two_runs_that_measured_energy_are_judged_by_it(loaded: Loader) -> None:
    before, after = (
        loaded(run([row("gemm/a", energy_joules=energy, energy_error_joules=0.01)]))
        for energy in (1.0, 1.2)
    )
    rules = ComparisonSettings(policy=policy(energy("gemm")), today=TODAY)
    found = judge(before, after, rules)
    assert exit_status(found) is ExitStatus.REGRESSION
    assert "energy +20.0" in markdown.render(found)
    assert exit_status(judge(after, before, rules)) is ExitStatus.OK


def test_an_expected_slowdown_expects_no_energy() -> None:
    slower = replace(SLOWER, energy=MORE_ENERGY)
    (one,), _ = apply(policy(expected("gemm"), energy("gemm")), [slower], lambda _: True, TODAY)
    assert (one.outcome, one.by_time) == (Outcome.REGRESSION, Outcome.PASS)


def test_what_was_not_asked_for_is_neither_missing_nor_unused() -> None:
    entries = policy(required("^gemm/"), expected("gemm"), effect("x"))
    assert apply(entries, [], lambda _: False, TODAY) == ((), ())


NEEDED = required("^gemm/", "the ceiling of all others")


@pytest.mark.parametrize("outcome", Outcome)
def test_what_is_required_must_have_been_measured(outcome: Outcome) -> None:
    verdicts = applied(NEEDED, verdict("gemm/a", outcome))[0]
    lacking = (Outcome.MISSING, Outcome.ERROR, Outcome.INVALID, Outcome.SKIPPED)
    measured = outcome not in lacking
    assert len(verdicts) == (1 if measured else 2)
    if not measured:
        reason = "required by baselines/policy.toml: the ceiling of all others"
        lost = verdict("^gemm/", Outcome.MISSING, reason=reason)
        assert verdicts[1] == replace(lost, required=True)
        enough = (verdict("gemm/a", outcome), verdict("gemm/b", Outcome.NEW))
        assert applied(NEEDED, *enough)[0] == enough


def test_a_required_name_has_one_verdict_in_its_own_place() -> None:
    lost = verdict("sync/a", Outcome.MISSING, reason="missing from the candidate")
    other = verdict("sync/b", Outcome.PASS)
    first, second = applied(required("sync/a"), lost, other)[0]
    assert first.reason == (
        "missing from the candidate; required by baselines/policy.toml: no benchmark that "
        "matches was measured"
    )
    assert second == other


def test_a_required_name_that_was_skipped_is_missing() -> None:
    skipped = verdict("sync/a", Outcome.SKIPPED, reason="needs 2 GPUs")
    (one,) = applied(required("sync/a"), skipped)[0]
    assert one.outcome is Outcome.MISSING
    assert one.required
    assert "needs 2 GPUs" in one.reason


WHY = "noise; under baselines/policy.toml's minimum effect of 25 %"


def under(pattern: str, fraction: float = 0.25) -> ComparisonSettings:
    """A policy with this minimum effect."""
    return ComparisonSettings(policy=policy(effect(pattern, fraction)), today=TODAY)


def judged(
    loaded: Loader, settings: ComparisonSettings | None = None, factor: float = 1.1
) -> Comparison:
    """A suite with one row that is slower by `factor`, and takes more registers."""
    base = run([row("a/slower", registers=40), row("a/same")])
    cand = run([row("a/slower", scaled(factor), registers=72), row("a/same")])
    return judge(loaded(base), loaded(cand), settings or under("a/"))


def test_a_tolerance_passes_what_is_bounded_by_it_and_hides_no_regression(loaded: Loader) -> None:
    base, noise, slower = (
        loaded(run([row("a/b", noisy(seed, sd, factor))]))
        for seed, sd, factor in ((1, 0.02, 1.0), (2, 0.02, 1.0), (3, 0.001, 1.2))
    )
    settings = ComparisonSettings(policy=policy(tolerance("a/")))
    for cand, without, with_it in (
        (noise, Outcome.INCONCLUSIVE, Outcome.PASS),
        (slower, Outcome.REGRESSION, Outcome.REGRESSION),
    ):
        assert judge(base, cand).verdicts[0].outcome is without
        found = judge(base, cand, settings).verdicts[0]
        assert (found.outcome, found.tolerance, found.accepted) == (with_it, 0.25, "")


@pytest.mark.parametrize("gated", [False, True])
def test_a_change_that_it_holds_back_says_why_and_regresses_by_its_resources_alone(
    loaded: Loader, gated: bool
) -> None:
    settings = under("a/")
    assert settings.policy is not None
    rules = replace(settings.policy, fail_on_resources=gated)
    found = judged(loaded, replace(settings, policy=rules))
    slower, same = found.verdicts
    assert slower.outcome is (Outcome.REGRESSION if gated else Outcome.PASS)
    assert slower.accepted == WHY
    assert (same.outcome, same.accepted) == (Outcome.PASS, "")
    assert found.notes[0].kind == HELD_BACK
    assert str(found.notes[0]).endswith("minimum effect of baselines/policy.toml: a/slower.")
    assert exit_status(found) is (ExitStatus.REGRESSION if gated else ExitStatus.OK)
    if gated:
        assert "minimum effect of 25" in markdown.render(found).splitlines()[0]


@pytest.mark.parametrize(
    ("settings", "factor", "regresses"),
    [
        (under("a/"), 1.0, False),
        (under("a/"), 0.9, False),
        (under("a/"), 1.004, False),  # it would be none by the usual rule either
        (under("a/"), 1.3, True),
        (under("a/", 0.001), 1.004, True),  # the entry asks for less than the rule
        (under("a/same"), 1.1, True),
        (replace(under("a/"), minimum_effect=0.25), 1.1, False),  # somebody asked for it now
    ],
)
def test_nothing_is_said_where_it_holds_nothing_back(
    loaded: Loader, settings: ComparisonSettings, factor: float, regresses: bool
) -> None:
    found = judged(loaded, settings, factor)
    assert not any(verdict.accepted for verdict in found.verdicts)
    assert not any(note.kind == HELD_BACK for note in found.notes)
    assert (found.verdicts[0].outcome is Outcome.REGRESSION) is regresses


def test_neither_noise_nor_what_the_hosts_controls_explain_is_held_back(loaded: Loader) -> None:
    base, cand = (loaded(run([row("a/b", noisy(seed, 0.03))])) for seed in (1, 2))
    noise = judge(base, cand, under("a")).verdicts
    names = ("host/wake", "sync/idle")
    base, cand = (
        loaded(run([row(name, scaled(factor), host_clock=1.0) for name in names]))
        for factor in (1.0, 1.5)
    )
    explained = judge(base, cand, under("sync", 0.6)).verdicts
    for one in (*noise, *explained):
        assert (one.outcome, one.accepted) == (Outcome.PASS, "")
