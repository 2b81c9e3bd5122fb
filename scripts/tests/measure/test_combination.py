# SPDX-License-Identifier: Apache-2.0
"""A pair corrects what a baseline flagged, and nothing else; it never turns a fault into a pass."""

from __future__ import annotations

from dataclasses import replace

import pytest

from comparisons import record
from warpgauge.measure.ab_run import Looks
from warpgauge.measure.confirm import combined, flagged, unconfirmed, unscreened
from warpgauge.records.counters import Clock
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict import note as notes_of
from warpgauge.verdict.comparison import CHANGED, Comparison, Outcome, Verdict, exit_status
from warpgauge.verdict.note import Note, Rounds

SIBLINGS = Note(notes_of.SIBLINGS, "other GPUs")
SEEN = Note("no_gpu", "seen before")
COMMIT = "abcdef0123" * 4
RECORD = record(commit=COMMIT)


def comparison(*verdicts: Verdict, **outcomes: Outcome) -> Comparison:
    """Of verdicts, and of verdicts of these outcomes by name."""
    named = [Verdict(name, one, Clock.DEVICE) for name, one in outcomes.items()]
    return Comparison(RECORD, RECORD, (*verdicts, *named), notes=(SEEN,))


def settled(screened: Comparison, paired: Comparison) -> Comparison:
    return combined(screened, Looks(paired, Rounds(6)))


def acquitted(found: Comparison) -> str:
    """The names in the first note, on what is not caused by the code."""
    assert found.notes[0].kind == "not_the_code"
    return str(found.notes[0]).split(": ")[1].split(". ")[0]


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
    told = str(found.method)
    assert "3 of 6 benchmarks flagged" in told
    assert f"commit {COMMIT[:10]}: 6 pairs. Of these, 1 slower, 2 within tolerance." in told
    assert acquitted(found) == "c"
    assert found.notes[1:] == (SEEN,)


def test_what_a_policy_accepts_in_the_pair_is_a_change_of_the_code() -> None:
    screened = comparison(a=Outcome.REGRESSION, b=Outcome.IMPROVED)
    paired = comparison(a=Outcome.PASS, b=Outcome.PASS)
    accepted = replace(paired.verdicts[0], accepted="meant")
    paired = replace(paired, verdicts=(accepted, paired.verdicts[1]))
    found = settled(screened, paired)
    assert str(found.method).endswith(": 6 pairs. Of these, 1 within tolerance, 1 accepted.")
    assert acquitted(found) == "b"


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
        (None, "Measured again in pairs with its commit abcdef0123: 6 pairs. Of these, "
         "1 undecided, 1 could not be measured so."),
        ("Both are Debug builds.",
         "Not measured again in pairs with its commit: Both are Debug builds."),
    ],
)  # fmt: skip
def test_what_the_pair_lacks_or_refuses_stays(refusal: str | None, method: str) -> None:
    screened = comparison(a=Outcome.REGRESSION, b=Outcome.INCONCLUSIVE)
    left = Outcome.INVALID if refusal else Outcome.INCONCLUSIVE
    found = settled(screened, replace(comparison(b=left), refusal=refusal))
    assert outcomes(found) == outcomes(screened)
    assert exit_status(found) is ExitStatus.REGRESSION
    flags = "Screened against the baseline: 2 of 2 benchmarks flagged."
    assert str(found.method).startswith(f"{flags} {method}")


def test_what_would_decide_what_stays_open_is_named() -> None:
    remedy = "run scripts/bench --against COMMIT, or record"
    assert remedy in str(unconfirmed(comparison(a=Outcome.INCONCLUSIVE), "no commit").method)
    assert remedy not in str(unconfirmed(comparison(a=Outcome.REGRESSION), "no commit").method)
    elsewhere = replace(comparison(a=Outcome.INCONCLUSIVE), candidate=record(build_dir="b"))
    assert "run scripts/warpgauge ab, or record" in str(unconfirmed(elsewhere, "no commit").method)
    elsewhere = replace(comparison(a=Outcome.INCONCLUSIVE), candidate=record(manifest="k.toml"))
    remedy = "run scripts/bench FILE.toml --budget TIME, or record"
    assert remedy in str(unconfirmed(elsewhere, "no commit").method)


def test_the_hosts_controls_are_not_confirmed() -> None:
    control = Verdict("host/a", Outcome.INCONCLUSIVE, Clock.HOST, control=True)
    assert flagged(comparison(control)) == ()


def test_a_refused_comparison_has_nothing_to_confirm() -> None:
    screened = replace(comparison(b=Outcome.INCONCLUSIVE), refusal="Nothing in common.")
    assert flagged(screened) == ()
    assert unconfirmed(screened, "it does not build") is screened


@pytest.mark.parametrize(
    ("alone", "paired", "left"),
    [
        *((one, Outcome.PASS, Outcome.PASS) for one in (*CHANGED, Outcome.INCONCLUSIVE)),
        (Outcome.PASS, Outcome.REGRESSION, Outcome.REGRESSION),
        (Outcome.PASS, Outcome.INCONCLUSIVE, Outcome.INCONCLUSIVE),
        (Outcome.PASS, Outcome.INVALID, Outcome.INVALID),
        (Outcome.REGRESSION, Outcome.ERROR, Outcome.REGRESSION),
        (Outcome.PASS, Outcome.NEW, Outcome.PASS),
        (Outcome.MISSING, Outcome.MISSING, Outcome.MISSING),
        (Outcome.NEW, Outcome.REGRESSION, Outcome.NEW),
        (Outcome.INVALID, Outcome.PASS, Outcome.INVALID),
    ],
)
def test_pairs_from_the_start_judge_all_that_both_they_and_the_baseline_have(
    alone: Outcome, paired: Outcome, left: Outcome
) -> None:
    both = Looks(comparison(a=paired), Rounds(4))
    assert outcomes(unscreened(comparison(a=alone), both)) == {"a": left}


def test_what_the_baseline_says_beside_verdicts_stays() -> None:
    alone = comparison(a=Outcome.IMPROVED, b=Outcome.MISSING)
    alone = replace(alone, notes=(SIBLINGS, SEEN))
    found = unscreened(alone, Looks(replace(comparison(a=Outcome.PASS), notes=()), Rounds(4)))
    assert outcomes(found) == {"a": Outcome.PASS, "b": Outcome.MISSING}
    assert acquitted(found) == "a"
    assert found.notes[1:] == (SEEN,)
    assert found.method is not None
    assert found.method.kind == "unscreened"
    assert str(found.method).endswith(f"{COMMIT[:10]}: 4 pairs.")


def test_pairs_from_the_start_make_no_refused_comparison_a_pass() -> None:
    both = Looks(comparison(a=Outcome.PASS), Rounds(4))
    refused = replace(comparison(a=Outcome.INVALID), refusal="The baseline has extra work.")
    assert unscreened(refused, both) is refused
    refuses = replace(both, found=replace(both.found, refusal="Both are Debug builds."))
    found = unscreened(comparison(a=Outcome.INCONCLUSIVE), refuses)
    assert exit_status(found) is ExitStatus.NOT_MEASURED
    assert "in pairs with its commit: Both are Debug builds." in str(found.method)
