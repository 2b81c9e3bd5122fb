# SPDX-License-Identifier: Apache-2.0
"""What a comment says of why a benchmark changed, how sure that is, and how to see it again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from comparisons import comparison, record, verdict
from warpgauge.records.model import Clock
from warpgauge.reports.advice import again
from warpgauge.reports.markdown.rows import confidence, likely_causes
from warpgauge.system.errors import UserError
from warpgauge.verdict import policy
from warpgauge.verdict.comparison import (
    Comparison,
    ContextDifference,
    Evidence,
    Outcome,
    ResourceChange,
    Verdict,
)

DRIVER = ContextDifference("driver_version", "575.1", "580.2")
CPU = ContextDifference("cpu_model", "one", "other")
COMMIT = ContextDifference("commit", "a" * 40, "b" * 40)
SPILLS = ResourceChange("local_bytes", "local bytes (spills)", "0", "96", worse=True)


def slower(
    evidence: Evidence = Evidence.SCREENED, clock: Clock = Clock.DEVICE, **counters: float
) -> Verdict:
    made = verdict("a/b", Outcome.REGRESSION, 0.1, evidence=evidence, clock=clock)
    return replace(made, counters=counters, baseline_counters=counters)


def cause(one: Verdict, *differences: ContextDifference, found: Comparison | None = None) -> str:
    return likely_causes(found or comparison([one], differences=differences))(one)


def test_a_resource_that_differs_is_the_likely_cause_whatever_else_does() -> None:
    one = replace(slower(registers=40.0), resources=(SPILLS,))
    assert cause(one, DRIVER) == "local bytes (spills) 0 → 96"


def test_what_both_sides_tell_and_tell_alike_is_named_as_unchanged() -> None:
    same = slower(registers=40.0, blocks_per_sm=3.0, kernels=1.0, limit_fraction=0.5)
    assert cause(same) == "none seen: registers, occupancy, kernels unchanged"
    one = replace(slower(kernels=1.0), counters={"kernels": 1.0, "registers": 40.0})
    assert cause(one) == "none seen: kernels unchanged"
    assert cause(slower()) == ""


def test_another_environment_may_be_the_cause_of_what_a_baseline_alone_shows() -> None:
    assert cause(slower(), COMMIT, DRIVER, CPU) == "perhaps driver 575.1 → 580.2"
    host = cause(slower(clock=Clock.HOST), DRIVER, CPU)
    assert host == "perhaps driver 575.1 → 580.2 and CPU one → other"
    flags = ContextDifference("flags", "-O2 " * 10, "-O3 " * 10)
    one = cause(slower(kernels=1.0), flags, DRIVER, ContextDifference("ecc", "0", "1"))
    assert one == (
        "none seen: kernels unchanged; perhaps compiler flags changed, driver 575.1 → 580.2 "
        "and 1 more"
    )


def test_the_environment_is_no_cause_where_both_builds_ran_in_it() -> None:
    assert cause(slower(Evidence.PAIRED), DRIVER) == ""


def test_what_differs_between_the_sides_of_a_pair_may_be() -> None:
    nvcc = ContextDifference("nvcc_version", "12.5", "13.0")
    one = slower(Evidence.PAIRED)
    pair = comparison([one], differences=[nvcc], base=record(pair_id="p"), cand=record(pair_id="p"))
    assert cause(one, found=pair) == "perhaps nvcc 12.5 → 13.0"


def test_what_did_not_change_has_no_cause_but_what_a_policy_accepts_may() -> None:
    passed = verdict("a/b", resources=[SPILLS])
    assert cause(passed, DRIVER) == ""
    accepted = verdict("a/b", accepted="known", resources=[SPILLS])
    assert cause(accepted, DRIVER) == "local bytes (spills) 0 → 96"


@pytest.mark.parametrize(
    ("p", "words"), [(0.5, "p = 0.5"), (0.00149, "p = 0.0015"), (0.00099, "p < 0.001")]
)
def test_how_sure_says_how_it_was_found_and_by_what_chance(p: float, words: str) -> None:
    assert confidence(replace(slower(), p=p)) == ["screened only", words]
    paired = replace(slower(Evidence.PAIRED), p=p, processes=(14, 14))
    assert confidence(paired) == ["confirmed in turns", "14 rounds", words]


def test_each_changed_row_has_a_command_and_the_worst_an_entry_of_a_policy(tmp_path: Path) -> None:
    rows = [verdict(f"a/b{n}", Outcome.REGRESSION, 0.101) for n in range(7)]
    text = again(comparison(rows), rows)
    commands = text[text.index("```sh\n") : text.index("\n```\n")].splitlines()[1:]
    assert commands == [f"scripts/bench --filter '^a/b{n}$'" for n in range(5)]
    entry = text[text.index("```toml\n") + 8 : text.rindex("```")]
    file = tmp_path / "policy.toml"
    file.write_text(entry)
    with pytest.raises(UserError):  # it waits for a date
        policy.load(file)
    file.write_text(entry.replace("expires = ...", "expires = 2027-01-31"))
    expected = policy.load(file).expected[0]
    assert expected.pattern.pattern == "^a/b0$"
    assert expected.fraction == pytest.approx(0.11)


@pytest.mark.parametrize("name", ["a/$(rm -rf ~)", "a/b'; x", 'a/"', "a/b\n", "a b", "a/.*"])
def test_a_name_that_means_more_than_itself_is_in_nothing_to_be_pasted(name: str) -> None:
    rows = [verdict(name, Outcome.REGRESSION, 0.1)]
    assert again(comparison(rows), rows).startswith("```sh\nscripts/bench\n```\n")
    assert "toml" not in again(comparison(rows), rows)
