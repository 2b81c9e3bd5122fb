# SPDX-License-Identifier: Apache-2.0
"""Rows that a machine cannot run, and those of the full suite: verdicts, notes, what comes next."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from conftest import Loader

from builders import Json, baseline, context, failed, google, google_row, row, run, scaled
from warpgauge.reports.advice import next_step
from warpgauge.reports.formats.terminal import render
from warpgauge.system import layout
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.comparison import Comparison, Outcome, exit_status
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge
from warpgauge.verdict.note import SKIPPED
from warpgauge.verdict.policy import Expected, Policy, Required

QUIET = ComparisonSettings(process_scatter=1e-4)
SKIP = {**failed("a/skip", "needs another GPU"), "skipped": 1.0}


SAYS_SKIPPED = failed("a/skip", "skipped: needs another GPU")
STEADY = row("a/b")
IN_ROUNDS = row("a/b", [1.0] * 8, process_rounds=[*range(1, 9)])
NEARLY = row("a/b", [1.0, 1.001, 1.001, 1.0] * 2, process_rounds=[*range(1, 9)])
IN_TURNS = {"pair_id": "1"}
FULL: Json = {"full_suite": 1.0}


def steps(found: Comparison) -> str:
    return " ".join(map(str, next_step(found)))


def recorded(*names: str, **keys: object) -> Json:
    rows = [
        row(name, process_medians={"s": [1.0] * 7}, **(keys if name == "a/skip" else {}))
        for name in names
    ]
    return baseline(rows, {"s": context()})


SKIPPED_BY_GOOGLE = google_row("a/skip", 0.0, skipped=True, skip_message="no")
PLAIN = google([google_row("a/b", 1000.0), SKIPPED_BY_GOOGLE])


@pytest.mark.parametrize(
    ("base", "candidate", "outcome"),
    [
        (recorded("a/b"), run([STEADY, SKIP]), Outcome.SKIPPED),
        (recorded("a/b", "a/skip"), run([STEADY, SKIP]), Outcome.MISSING),
        (run([STEADY, SKIP]), run([STEADY, SKIP]), Outcome.SKIPPED),
        (run([IN_ROUNDS, SKIP], pair_side="base", **IN_TURNS),
         run([NEARLY, SKIP], pair_side="candidate", **IN_TURNS), Outcome.SKIPPED),
        (run([STEADY]), run([STEADY, SKIP]), Outcome.SKIPPED),
        (run([STEADY, SKIP]), run([STEADY]), Outcome.SKIPPED),
        (run([STEADY, row("a/skip")]), run([STEADY, SKIP]), Outcome.MISSING),
        (run([STEADY, failed("a/skip")]), run([STEADY, SKIP]), Outcome.ERROR),
        (run([STEADY, SKIP]), run([STEADY, failed("a/skip")]), Outcome.ERROR),
        (run([STEADY, SKIP]), run([STEADY, row("a/skip")]), Outcome.NEW),
        # The field decides, and no message.
        (recorded("a/b"), run([STEADY, SAYS_SKIPPED]), Outcome.ERROR),
        (run([STEADY, SKIP]), run([STEADY, SAYS_SKIPPED]), Outcome.ERROR),
        (recorded("a/b"), run([STEADY, SKIPPED_BY_GOOGLE]), Outcome.SKIPPED),
        (PLAIN, PLAIN, Outcome.SKIPPED),
        (google([google_row("a/b", 1000.0)]), PLAIN, Outcome.SKIPPED),
        (PLAIN, google([google_row("a/b", 1000.0), google_row("a/skip", 9.0)]), Outcome.NEW),
        (google([google_row("a/b", 1000.0), google_row("a/skip", 9.0)]), PLAIN, Outcome.MISSING),
    ],
)  # fmt: skip
def test_a_skip_is_no_error_and_silent_nowhere(
    loaded: Loader, base: Json, candidate: Json, outcome: Outcome
) -> None:
    found = judge(loaded(base), loaded(candidate), QUIET)
    outcomes = {one.name: one.outcome for one in found.verdicts}
    assert outcomes == {"a/b": Outcome.PASS, "a/skip": outcome}
    assert any(note.kind == SKIPPED for note in found.notes) is (outcome is Outcome.SKIPPED)
    passes = outcome in (Outcome.SKIPPED, Outcome.NEW)
    assert exit_status(found) is (ExitStatus.OK if passes else ExitStatus.NOT_MEASURED)


def test_skips_are_told_once_a_reason(loaded: Loader) -> None:
    def skip(name: str, reason: str) -> Json:
        return {**failed(name, reason), "skipped": 1.0}

    skips = [skip("p/a", "needs 2 GPUs"), skip("p/b", "no room"), skip("q/c", "needs 2 GPUs")]
    found = judge(loaded(recorded("a/b")), loaded(run([STEADY, *skips])))
    notes = [str(note) for note in found.notes if note.kind == SKIPPED]
    assert notes == [
        "2 benchmarks skipped: needs 2 GPUs.",
        "1 benchmark skipped: no room.",
    ]
    shown = layout.plain(lambda console: render(found, console))
    assert shown.count("needs 2 GPUs") == shown.count("no room") == 1


def test_nothing_but_skips_is_no_comparison(loaded: Loader) -> None:
    both = loaded(run([SKIP]))
    assert exit_status(judge(both, both)) is ExitStatus.NOT_MEASURED


def test_a_policy_requires_a_time_of_what_was_skipped(loaded: Loader) -> None:
    settings = ComparisonSettings(policy=policy("a/skip"), today=date(2027, 1, 1))
    found = judge(loaded(recorded("a/b")), loaded(run([STEADY, SKIP])), settings)
    assert exit_status(found) is ExitStatus.NOT_MEASURED
    assert found.count(Outcome.MISSING) == 1


@pytest.mark.parametrize(
    ("names", "rows", "filter", "step"),
    [
        # A skip is told where it was asked for, and nothing is advised.
        (["a/b"], [SKIP, STEADY], "a/b", None),
        (["a/b"], [SKIP, STEADY], "a/", None),
        # What the machine could run comes first, unless the comparison leaves it out.
        (["a/b", "a/c", "a/skip"], [SKIP, failed("a/c"), STEADY], None, "--filter '^a/c$'"),
        (["a/b", "a/c", "a/skip"], [SKIP, failed("a/c"), STEADY], "a/b", None),
        (["a/b", "a/c", "a/skip"], [SKIP, row("a/c"), STEADY], None, None),
    ],
)
def test_the_failure_to_see_again_is_one_that_the_machine_could_run(
    loaded: Loader, names: list[str], rows: list[Json], filter: str | None, step: str | None
) -> None:
    sides = loaded(recorded(*names)), loaded(run(rows))
    found = judge(*sides, ComparisonSettings(filter=filter))
    noted = any(note.kind == SKIPPED for note in found.notes)
    assert noted is (filter == "a/")
    assert step in steps(found) if step else "failure" not in steps(found)


def test_what_a_full_suite_measured_is_seen_again_in_it(loaded: Loader) -> None:
    base, candidate = (
        loaded(run([STEADY, row("a/big", scaled(by), **FULL)], suite="full")) for by in (1, 2)
    )
    assert "scripts/bench --suite full --filter '^a/big$'." in steps(judge(base, candidate))
    candidate = loaded(run([STEADY, failed("a/skip")], suite="full"))
    for names in (("a/b", "a/skip"), ("a/b",)):
        step = steps(judge(loaded(recorded(*names)), candidate))
        assert "scripts/bench --suite full --filter '^a/skip$'." in step


def policy(pattern: str) -> Policy:
    expression, later = re.compile(pattern), date(2028, 1, 1)
    return Policy(
        Path("/x/baselines/policy.toml"),
        (),
        (Required(1, expression, ""),),
        (Expected(1, expression, "the bounds check", 5, later, False),),
    )


@pytest.mark.parametrize(
    ("pattern", "suite", "missing", "unused"),
    [
        ("a/skip", {}, False, False),  # of the full suite alone
        ("a/skip", {"suite": "full"}, True, True),
        ("a/", {}, False, True),
        ("nothing", {}, True, True),
    ],
)
def test_a_policy_asks_nothing_of_what_the_suite_left_out(
    loaded: Loader, pattern: str, suite: dict[str, str], missing: bool, unused: bool
) -> None:
    base = loaded(recorded("a/b", "a/skip", **FULL))
    settings = ComparisonSettings(policy=policy(pattern), today=date(2027, 1, 1))
    found = judge(base, loaded(run([STEADY], **suite)), settings)
    assert (exit_status(found) is ExitStatus.NOT_MEASURED) is missing
    assert any("expected entry 1" in str(note) for note in found.notes) is unused


@pytest.mark.parametrize(
    ("pattern", "missing", "unused"), [("nothing", False, False), ("a/", False, True)]
)
def test_a_policy_asks_nothing_of_what_does_not_run_on_several_gpus(
    loaded: Loader, pattern: str, missing: bool, unused: bool
) -> None:
    two = "NVIDIA H200 x2"
    keys = {"gpu_uuid": "GPU-1,GPU-2", "gpu_name": two}
    rows = [row("a/b", process_medians={"s": [1.0] * 7})]
    settings = ComparisonSettings(policy=policy(pattern), today=date(2027, 1, 1))
    base = loaded(baseline(rows, {"s": context(**keys)}, two))
    found = judge(base, loaded(run([STEADY], **keys)), settings)
    assert (exit_status(found) is ExitStatus.NOT_MEASURED) is missing
    assert any("expected entry 1" in str(note) for note in found.notes) is unused
