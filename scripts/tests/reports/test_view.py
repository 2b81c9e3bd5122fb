# SPDX-License-Identifier: Apache-2.0
"""The view: the first line of every format, the order and groups of rows, and the rule in words."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from comparisons import comparison, of_every_kind, proved, record, verdict
from warpgauge.records.counters import Clock
from warpgauge.records.model import Source
from warpgauge.records.row import ALSO_CHANGED, Moved, Why
from warpgauge.reports.formats.github import place
from warpgauge.reports.view import (
    View,
    headline,
    how_found,
    rank,
    rounded_up,
    rule,
    worst,
)
from warpgauge.system.text import plain
from warpgauge.verdict.comparison import (
    SAME_CODE,
    Change,
    Comparison,
    ContextDifference,
    Evidence,
    Outcome,
    ResourceChange,
    Verdict,
)

SLOWER = Outcome.REGRESSION
DRIVER = ContextDifference("driver_version", "575.1", "580.2")
CPU = ContextDifference("cpu_model", "one", "other")
COMMIT = ContextDifference("commit", "a" * 40, "b" * 40)
SPILLS = ResourceChange("local_bytes", "local bytes (spills)", "0", "96", worse=True)
REGISTERS = ResourceChange("registers", "registers", "124", "80", worse=False)


def test_every_outcome_is_counted() -> None:
    assert plain(headline(of_every_kind())) == (
        "2 slower, worst gemm/naive/n:64 +30.0 % · 1 faster · "
        "2 within tolerance (at most +0.30 %) · 1 undecided · "
        "1 not comparable · 1 failed · 1 missing · 1 accepted · 1 new · 1 skipped"
    )


def test_each_clock_has_its_largest_bound_but_not_in_a_plain_file() -> None:
    rows = [
        verdict("a/b", bound=0.002), verdict("a/c", bound=-0.1),
        verdict("b/c", bound=0.02, clock=Clock.HOST), verdict("b/d", accepted="known", bound=0.3),
    ]  # fmt: skip
    text = headline(comparison(rows))
    assert text == "3 within tolerance (at most +0.20 % device, +2.0 % host) · 1 accepted"
    plain_file = record(source=Source.GOOGLE_BENCHMARK)
    assert "(at most +2.0 %)" in headline(comparison(rows, base=plain_file, cand=plain_file))


def test_rows_with_a_tolerance_of_their_own_are_counted_beside_the_largest_bound() -> None:
    own = replace(verdict("b/a", bound=0.09), tolerance=0.1)
    usual = verdict("a/b", bound=-0.02)
    assert "2 within tolerance (at least 2.0 % faster; 1 with a tolerance of 10 %)" in headline(
        comparison([own, usual])
    )
    assert headline(comparison([own])) == "1 within tolerance (1 with a tolerance of 10 %)"
    (row,) = View(comparison([own])).rows
    assert row.details == ("tolerance 10 %",)


def test_the_cause_that_was_looked_for_comes_before_what_differs() -> None:
    moved = (Moved("Spills: 90 %", "sectors", "0", "9"), Moved("", "stores", "1", "8"))
    slower = verdict("a", SLOWER, 0.1, resources=[REGISTERS], why=Why("Spills.", moved))
    unknown = Why("Nothing explains it.", (Moved(ALSO_CHANGED, "blocks", "1", "2"),))
    rows = View(comparison([slower, replace(slower, name="b", why=unknown)])).every_row
    assert [[*map(plain, row.causes)] for row in rows] == [
        ["Spills: 90 %", "registers 124 → 80"],
        ["registers 124 → 80"],
    ]


def test_a_bound_is_rounded_up_and_none_is_beyond_all_reason() -> None:
    bounds = (0.01004, 0.0100, 0.00991, 0.0, -0.00999, 1.234, 20.0, math.inf)
    assert [rounded_up(bound) for bound in bounds] == [
        "+1.1 %", "+1.0 %", "+1.0 %", "0.00 %", "−0.90 %", "+124 %", *(["more than +999 %"] * 2),
    ]  # fmt: skip


def test_how_the_changes_were_found_names_each_kind_of_evidence() -> None:
    kinds = {kind: verdict(kind.value, SLOWER, 0.1, evidence=kind) for kind in Evidence}
    screened, paired, lock_step = (kinds[kind] for kind in [*Evidence][1:])
    assert how_found(comparison([lock_step, verdict("a")])) == "Confirmed in lock-step."
    assert how_found(comparison([paired])).startswith("Confirmed in alternating processes ")
    assert how_found(comparison([screened, paired, lock_step])).startswith(
        "1 confirmed in lock-step; 1 confirmed in alternating processes"
    )


def test_the_rule_tells_the_sizes_of_each_clock() -> None:
    host = verdict("b", clock=Clock.HOST, minimum_effect=0.2)
    rows = [verdict("a"), host, verdict("c", minimum_effect=0.03)]
    assert rule(comparison(rows)) == (
        "Slower or faster: p below 0.01 (over the whole suite) and at least 1 to 3 % of device "
        "time and 20 % of host time. Within tolerance: slower by at most 1 % of device time and "
        "3 % of host time, with 99 % confidence."
    )
    assert rule(comparison([])) == ""


def test_a_refusal_is_said_instead_but_hides_no_regression() -> None:
    assert plain(headline(comparison([], refusal="Other GPUs."))) == "Not compared: Other GPUs."
    found = headline(comparison([verdict("a", SLOWER, 0.1)], refusal="Other GPUs."))
    assert plain(found) == "1 slower: a +10.0 %"


def test_what_fails_on_its_resources_alone_comes_after_what_is_slower() -> None:
    gated = replace(verdict("b", SLOWER, 0.004), by_time=Outcome.PASS)
    found = comparison([gated, verdict("c", SLOWER, 0.002)])
    assert worst(found) is found.verdicts[1]
    assert [one.name for one in sorted(found.verdicts, key=rank)] == ["c", "b"]
    assert [row.size for row in View(found).rows] == ["+0.20 %", "by its resources"]


def test_energy_stands_beside_its_row_and_may_be_why_it_fails() -> None:
    more = Change(0.123, 0.118, 0.129)
    gated = replace(verdict("b", SLOWER), by_time=Outcome.PASS, fails_on_energy=True, energy=more)
    found = View(comparison([gated, replace(verdict("c"), energy=more), verdict("d")]))
    assert found.groups[0].title == "slower: energy +12.3 % (+11.8 … +12.9 %)"
    rows = found.rows
    assert [row.size for row in rows] == ["by its energy", "at most +0.20 %", "at most +0.20 %"]
    told = [any("energy" in words for words in row.details) for row in rows]
    assert told == [False, True, False]  # the group's title says it of the first


def test_changed_rows_are_grouped_by_cause_the_worst_first() -> None:
    rows = [
        verdict("a/1", SLOWER, 0.1, resources=[SPILLS]),
        verdict("a/2", SLOWER, 0.3),
        verdict("a/3", SLOWER, 0.2, resources=[SPILLS]),
        verdict("a/4", Outcome.IMPROVED, -0.9),
        verdict("a/5", Outcome.ERROR, reason="x"),
        verdict("a/6", Outcome.ERROR, reason="y"),
    ]
    groups = View(comparison(rows)).groups
    assert [(group.title, [row.name for row in group.rows]) for group in groups] == [
        ("slower, 2 rows: local bytes (spills) 0 → 96", ["a/3", "a/1"]),
        ("slower: no cause found", ["a/2"]),
        ("faster: no cause found", ["a/4"]),
        ("failed", ["a/5", "a/6"]),
    ]


def test_rows_with_one_proved_cause_are_a_group_named_by_it() -> None:
    threads, elements = proved("threads 128 → 512", "v.cuh:25"), proved("elements 8 → 4", share=0.3)
    spills = (Moved("Spills", "sectors", "0", "9"),)
    rows = [
        verdict("a/1", SLOWER, 0.1, why=Why("", (), (threads,))),
        verdict("a/2", SLOWER, 0.4),
        verdict("a/3", SLOWER, 0.2, resources=[SPILLS], why=Why("x", spills, (threads, elements))),
        verdict("a/4", SLOWER, 0.3, why=Why("Spills.", spills)),
        verdict("a/5", SLOWER, 0.05, why=Why("", (), (elements,))),
    ]
    view = View(comparison(rows))
    assert [(plain(group.title), [row.name for row in group.rows]) for group in view.groups] == [
        ("slower: Spills", ["a/4"]),
        ("slower, 2 rows: threads 128 → 512 (v.cuh:25)", ["a/3", "a/1"]),
        ("slower: elements 8 → 4 (a.cu:1)", ["a/5"]),
        ("slower: no cause found", ["a/2"]),
    ]
    assert view.decisive is not None
    assert view.decisive.name == "a/2"
    assert "; cause: threads" in view.every_row[0].sentence
    assert "likely cause: Spills" in view.every_row[3].sentence


def slower(evidence: Evidence = Evidence.SCREENED, clock: Clock = Clock.DEVICE) -> Verdict:
    return verdict("gemm/a", SLOWER, 0.3, evidence=evidence, clock=clock)


def cause(found: Verdict | Comparison, *differences: ContextDifference) -> str:
    if isinstance(found, Verdict):
        found = comparison([found], differences=differences)
    return plain(View(found).rows[0].cause)


def test_a_resource_that_differs_is_the_likely_cause_whatever_else_does() -> None:
    told = "local bytes (spills) 0 → 96"
    assert cause(replace(slower(), resources=(SPILLS,)), DRIVER) == told
    assert cause(verdict("a/b", accepted="known", resources=[SPILLS]), DRIVER) == told
    assert cause(verdict("a/b", resources=[SPILLS]), DRIVER) == ""  # nothing changed


def test_another_environment_may_be_the_cause_of_what_a_baseline_alone_shows() -> None:
    assert cause(slower(), COMMIT, DRIVER, CPU) == "perhaps driver 575.1 → 580.2"
    host = cause(slower(clock=Clock.HOST), DRIVER, CPU)
    assert host == "perhaps driver 575.1 → 580.2; perhaps cpu model one → other"


def test_the_environment_is_a_cause_only_where_it_differed_between_both_builds() -> None:
    confirmed = slower(Evidence.PAIRED)
    assert cause(confirmed, DRIVER) == ""
    base, cand = (record(f"{name}.json", pair_id="p", commit=name * 40) for name in "ac")
    pair = comparison([confirmed], differences=[DRIVER], base=base, cand=cand)
    assert cause(pair) == "perhaps driver 575.1 → 580.2"


def test_of_several_causes_the_one_that_tells_most_comes_first_and_same_code_last() -> None:
    row = replace(slower(), resources=(REGISTERS, SPILLS), same_machine_code=True)
    spills, registers = "local bytes (spills) 0 → 96", "registers 124 → 80"
    assert cause(row) == f"{spills}; {registers}; {SAME_CODE}"
    faster = replace(row, outcome=Outcome.IMPROVED, change=Change(-0.3, -0.31, -0.29))
    assert cause(faster) == f"{registers}; {spills}; {SAME_CODE}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for name in ("a.cpp", "both.cu", "both.cpp", "...cu"):
        (folder / name).touch()
    return tmp_path


@pytest.mark.parametrize("line", [0.0, -1.0, 1.5, float("nan"), 1e300])
def test_a_family_has_its_file_cuda_first_and_only_a_whole_number_is_a_line(
    root: Path, line: float
) -> None:
    found = [place(root, comparison([]), verdict("a/b", source_line=at)) for at in (12.0, line)]
    assert found == [{"file": "benchmarks/a.cpp", "line": 12}, {"file": "benchmarks/a.cpp"}]
    assert place(root, comparison([]), verdict("both/b")) == {"file": "benchmarks/both.cu"}


@pytest.mark.parametrize(
    "name",
    ["..", "../secret/x", "a\0/b", "a b/c", "", "a.cu", "x" * 4000, "nowhere/x", "^a/", "BM_plain"],
)
def test_a_name_of_no_file_has_no_place_and_none_leads_out_of_the_benchmarks(
    root: Path, name: str
) -> None:
    assert place(root, comparison([]), verdict(name)) == {}
