# SPDX-License-Identifier: Apache-2.0
"""A policy's larger minimum effect fails nobody, and is never the silent reason of a pass."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from conftest import Loader

from builders import noisy, row, run, scaled
from warpgauge.reports.markdown import report as markdown
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge
from warpgauge.verdict.policy import MinimumEffect, Policy

WHY = "noise; under baselines/policy.toml's minimum effect of 25 %"
NOTE = (
    "1 change is under baselines/policy.toml's minimum effect, and would be a regression without "
    "it: 'a/slower'."
)


def under(pattern: str, fraction: float = 0.25) -> ComparisonSettings:
    """A policy with this minimum effect."""
    effect = MinimumEffect(1, re.compile(pattern), fraction, "noise")
    policy = Policy(Path("/x/baselines/policy.toml"), minimum_effects=(effect,))
    return ComparisonSettings(policy=policy, today=date(2026, 11, 21))


def judged(
    loaded: Loader,
    *,
    factor: float = 1.1,
    pattern: str = "a/",
    fraction: float = 0.25,
    asked: float | None = None,
    resources_fail: bool = False,
) -> Comparison:
    """A suite with one row that is slower by `factor`, and takes more registers."""
    settings = replace(
        under(pattern, fraction), minimum_effect=asked, fail_on_resources=resources_fail
    )
    base = run([row("a/slower", registers=40), row("a/same")])
    cand = run([row("a/slower", scaled(factor), registers=72), row("a/same")])
    return judge(loaded(base), loaded(cand), settings)


def test_a_change_that_it_holds_back_passes_and_says_why(loaded: Loader) -> None:
    found = judged(loaded)
    slower, same = found.verdicts
    assert (slower.outcome, slower.accepted) == (Outcome.PASS, WHY)
    assert (same.outcome, same.accepted) == (Outcome.PASS, "")
    assert found.notes[0] == NOTE
    assert found.exit_status is ExitStatus.OK


@pytest.mark.parametrize(
    ("what", "changed"),
    [
        ("nothing changed", {"factor": 1.0}),
        ("it is faster", {"factor": 0.9}),
        ("it would be none by the usual rule either", {"factor": 1.004}),
        ("the entry asks for less than the rule", {"factor": 1.004, "fraction": 0.001}),
        ("another entry", {"pattern": "a/same"}),
        ("somebody asked for it now", {"asked": 0.25}),
    ],
)
def test_nothing_is_said_where_it_holds_nothing_back(
    loaded: Loader, what: str, changed: dict[str, float]
) -> None:
    found = judged(loaded, **changed)  # type: ignore[arg-type]
    assert not any(verdict.accepted for verdict in found.verdicts), what
    assert not any("minimum effect, and would" in note for note in found.notes)


def test_what_is_as_large_as_it_regresses(loaded: Loader) -> None:
    assert judged(loaded, factor=1.3).verdicts[0].outcome is Outcome.REGRESSION


def test_noise_is_no_change_that_is_held_back(loaded: Loader) -> None:
    base, cand = (loaded(run([row("a/b", noisy(seed, 0.03))])) for seed in (1, 2))
    (one,) = judge(base, cand, under("a")).verdicts
    assert (one.outcome, one.accepted) == (Outcome.PASS, "")


def test_what_the_hosts_controls_explain_would_have_been_no_regression(loaded: Loader) -> None:
    names = ("host/wake", "sync/idle")
    base, cand = (
        loaded(run([row(name, scaled(factor), host_clock=1.0) for name in names]))
        for factor in (1.0, 1.5)
    )
    found = judge(base, cand, under("sync", 0.6))
    assert [(one.outcome, one.accepted) for one in found.verdicts] == [(Outcome.PASS, "")] * 2


def test_a_row_that_fails_on_its_resources_tells_it_too(loaded: Loader) -> None:
    found = judged(loaded, resources_fail=True)
    assert found.verdicts[0].outcome is Outcome.REGRESSION
    assert found.verdicts[0].accepted == WHY
    assert found.notes[0] == NOTE
    assert "minimum effect of 25" in markdown.render(found).split("**Regressions**")[1]
