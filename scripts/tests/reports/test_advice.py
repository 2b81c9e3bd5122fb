# SPDX-License-Identifier: Apache-2.0
"""The next step after a comparison: commands that can be pasted, and a policy entry."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from comparisons import comparison, record, verdict
from warpgauge.records.counters import Clock
from warpgauge.records.model import Source
from warpgauge.reports.advice import first_steps, next_step, policy_entry
from warpgauge.reports.formats import markdown
from warpgauge.reports.formats.github import render as annotated
from warpgauge.reports.markdown_text import code
from warpgauge.system import environment
from warpgauge.system.errors import UserError
from warpgauge.verdict import policy
from warpgauge.verdict.comparison import (
    Comparison,
    ContextDifference,
    Evidence,
    Outcome,
    Verdict,
)
from warpgauge.verdict.note import Note


def slower(
    evidence: Evidence = Evidence.SCREENED, clock: Clock = Clock.DEVICE, **counters: float
) -> Verdict:
    made = verdict("gemm/a", Outcome.REGRESSION, 0.3, evidence=evidence, clock=clock)
    return replace(made, counters=counters, baseline_counters=counters)


def pair_of(row: Verdict, *differences: ContextDifference) -> Comparison:
    sides = (record(f"{commit}.json", pair_id="p", commit=commit * 40) for commit in "ac")
    return comparison([row], differences=differences, base=next(sides), cand=next(sides))


def test_a_pair_is_measured_beside_its_own_base() -> None:
    (step,) = next_step(pair_of(replace(slower(Evidence.PAIRED), by_time=Outcome.PASS)))
    assert step.command == "scripts/bench --against aaaaaaaaaa --filter '^gemm/a$'"


def test_a_slower_row_of_a_pair_is_looked_into_beside_its_base() -> None:
    found = pair_of(slower(Evidence.PAIRED))
    (step,) = next_step(found)
    assert step.command == "scripts/warpgauge explain gemm/a --against aaaaaaaaaa"
    of_file = replace(found, candidate=record("c.json", pair_id="p", file="mine.py"))
    (step,) = next_step(of_file)
    assert step.command == "scripts/warpgauge explain mine.py gemm/a --against aaaaaaaaaa"


@pytest.mark.parametrize(
    ("where", "record_it", "compare_it"),
    [
        ({}, "warpgauge bench --record", "warpgauge bench --against main"),
        (
            {"build_dir": "out"},
            "warpgauge bench --build-dir out --record",
            "warpgauge ab BASE_FOLDER CANDIDATE_FOLDER",
        ),
        (
            {"manifest": "k.toml"},
            "warpgauge bench k.toml --record",
            "warpgauge evaluate BASE CANDIDATE",
        ),
        (
            {"file": "mine.py"},
            "warpgauge bench mine.py --record",
            "warpgauge bench mine.py --against main",
        ),
    ],
)
def test_a_run_without_a_baseline_has_a_command_to_record_and_one_to_compare(
    monkeypatch: pytest.MonkeyPatch, where: dict[str, str], record_it: str, compare_it: str
) -> None:
    monkeypatch.setattr(environment, "CLONE", None)
    steps = first_steps(record("run.json", Source.RUN, **where))
    assert [step.command for step in steps] == [record_it, compare_it]


def test_the_worst_row_has_a_command_and_an_entry_of_a_policy(tmp_path: Path) -> None:
    rows = [verdict(f"a/b{n}", Outcome.REGRESSION, 0.101) for n in range(7)]
    text = markdown.render(comparison(rows))
    commands = re.findall("```sh\n(.*)\n```\n", text)
    assert commands == ["scripts/bench --filter '^a/b0$'", "scripts/bench --record"]
    entry = text[text.index("```toml\n") + 8 : text.rindex("```")]
    file = tmp_path / "policy.toml"
    file.write_text(entry)
    with pytest.raises(UserError):  # it waits for a date
        policy.load(file)
    file.write_text(entry.replace("expires = ...", "expires = 2027-01-31"))
    expected = policy.load(file).expected[0]
    assert expected.pattern.pattern == "^a/b0$"
    assert expected.fraction == pytest.approx(0.11)


def left(count: int, evidence: Evidence) -> list[Verdict]:
    made = [verdict(f"a/b{n}", Outcome.INCONCLUSIVE, evidence=evidence) for n in range(count)]
    return [*made, verdict("a/unchanged")]


def test_what_a_baseline_leaves_inconclusive_is_bounded_beside_its_commit() -> None:
    base = record("baselines/x", Source.BASELINE, commit="a" * 40)
    screened, paired = (left(2, kind) for kind in (Evidence.SCREENED, Evidence.LOCK_STEP))
    (step,) = next_step(comparison(screened, base=base))
    assert step.command == "scripts/bench --against aaaaaaaaaa --filter '^a/b0$|^a/b1$'"
    assert f"To bound them: `{step.command}`." in markdown.render(comparison(screened, base=base))
    # What pairs could not bound needs more of them; what was in none, pairs.
    assert "more pairs" in str(next_step(comparison(paired, base=base))[0])
    (both,) = next_step(comparison([*screened, replace(paired[0], name="a/c")], base=base))
    assert both == step
    (many,) = next_step(comparison(left(60, Evidence.SCREENED), base=base))
    assert many.command == "scripts/bench --against aaaaaaaaaa"
    elsewhere = record(build_dir="out")
    (other,) = next_step(comparison(screened, base=base, cand=elsewhere))
    assert other.command.startswith("scripts/warpgauge ab BASE_FOLDER CANDIDATE_FOLDER --filter")
    elsewhere = record(manifest="k.toml")
    (other,) = next_step(comparison(screened, base=base, cand=elsewhere))
    bench = "scripts/bench k.toml --budget 5m --filter"
    assert other.command.startswith(bench)


def test_a_pair_is_bounded_beside_its_own_base() -> None:
    (step,) = next_step(pair_of(left(1, Evidence.LOCK_STEP)[0]))
    assert step.command == "scripts/bench --against aaaaaaaaaa --filter '^a/b0$'"


@pytest.mark.parametrize("name", ["a/$(rm -rf ~)", "a/b'; x", 'a/"', "a/b\n", "a b", "a/.*"])
def test_a_name_that_means_more_than_itself_is_in_nothing_to_be_pasted(name: str) -> None:
    found = comparison([verdict(name, Outcome.REGRESSION, 0.1)])
    assert [step.command for step in next_step(found)] == [
        "scripts/bench",
        "scripts/bench --record",
    ]
    assert policy_entry(found, found.verdicts[0]) == ""


def test_an_entry_that_expects_slower_times_is_no_advice_on_energy() -> None:
    found = comparison([verdict("a/b", Outcome.REGRESSION, 0.1)])
    assert "[[expected]]" in policy_entry(found, found.verdicts[0])
    more = replace(found.verdicts[0], fails_on_energy=True)
    assert policy_entry(found, more) == ""
    (step,) = next_step(comparison([more]))
    assert step.command == "scripts/bench --energy --no-confirm --filter '^a/b$'"


def test_of_another_projects_programs_no_file_or_policy_of_this_one_is_named() -> None:
    """A family that this project has, too, at a line that is none of its file's."""
    row = slower(Evidence.PAIRED, source_line=7.0)
    sides = [
        record(f"{name}.json", pair_id="p", programs=name, commit="") for name in ("old", "new")
    ]
    method = Note(
        "paired_folders", "Measured in pairs, programs in old against those in new: 7 pairs."
    )
    found = comparison(
        [row], notes=[Note("stale", "The baseline is old.")], base=sides[0], cand=sides[1]
    )
    found = replace(found, method=method)
    text = markdown.render(found)
    assert "to the project's policy file in this pull request" in text
    assert "baselines/" not in text
    assert "/warpgauge ab old new --filter" in text
    assert text.count(f"\n- {method.words(code)}\n") == 1
    assert annotated(found).startswith("::error title=slower%3A gemm/a::")
    assert "file=benchmarks/gemm.cu,line=7," in annotated(comparison([row]))
