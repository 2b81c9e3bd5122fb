# SPDX-License-Identifier: Apache-2.0
"""What a comment says of why a benchmark changed, how sure that is, and how to see it again."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

from comparisons import comparison, note_of, record, verdict
from hostile_text import RENDERER
from warpgauge.records.model import Clock, Source
from warpgauge.reports.advice import again, next_step
from warpgauge.reports.annotations import render as annotated
from warpgauge.reports.markdown import report as markdown
from warpgauge.reports.markdown.reasons import in_cell, in_full, reasons_of
from warpgauge.reports.markdown.tables import confidence
from warpgauge.reports.markdown.text import code
from warpgauge.system.errors import UserError
from warpgauge.verdict import policy
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
from warpgauge.verdict.note import Kind, Note

DRIVER = ContextDifference("driver_version", "575.1", "580.2")
CPU = ContextDifference("cpu_model", "one", "other")
COMMIT = ContextDifference("commit", "a" * 40, "b" * 40)
SPILLS = ResourceChange("local_bytes", "local bytes (spills)", "0", "96", worse=True)


def slower(
    evidence: Evidence = Evidence.SCREENED, clock: Clock = Clock.DEVICE, **counters: float
) -> Verdict:
    made = verdict("gemm/a", Outcome.REGRESSION, 0.3, evidence=evidence, clock=clock)
    return replace(made, counters=counters, baseline_counters=counters)


def pair_of(row: Verdict, *differences: ContextDifference) -> Comparison:
    sides = (record(f"{commit}.json", pair_id="p", commit=commit * 40) for commit in "ac")
    return comparison([row], differences=differences, base=next(sides), cand=next(sides))


def cause(row: Verdict, *differences: ContextDifference) -> str:
    """As a reader sees it who looks at nothing else."""
    return plain(in_full(row, reasons_of(comparison([row], differences=differences))))


def plain(markdown: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", RENDERER.renderInline(markdown))).replace(
        "\xa0", " "
    )


def test_a_resource_that_differs_is_the_likely_cause_whatever_else_does() -> None:
    told = "local bytes (spills) 0 → 96"
    assert cause(replace(slower(registers=40.0), resources=(SPILLS,)), DRIVER) == told
    assert cause(verdict("a/b", accepted="known", resources=[SPILLS]), DRIVER) == f"known; {told}"
    assert cause(verdict("a/b", resources=[SPILLS]), DRIVER) == ""  # nothing changed


def test_what_both_sides_tell_and_tell_alike_is_named_as_unchanged() -> None:
    same = slower(registers=40.0, blocks_per_sm=3.0, kernels=1.0, limit_fraction=0.5)
    assert cause(same) == "none seen (same resources)"
    one = replace(slower(kernels=1.0), counters={"kernels": 1.0, "registers": 40.0})
    assert cause(one) == "none seen (same kernels)"
    assert cause(slower()) == ""


def test_another_environment_may_be_the_cause_of_what_a_baseline_alone_shows() -> None:
    assert cause(slower(), COMMIT, DRIVER, CPU) == "perhaps driver 575.1 → 580.2"
    host = cause(slower(clock=Clock.HOST), DRIVER, CPU)
    assert host == "perhaps driver 575.1 → 580.2; perhaps CPU one → other"
    flags = ContextDifference("flags", "-O2" * 10, "-O3" * 10)
    one = cause(slower(kernels=1.0), flags, DRIVER, ContextDifference("ecc", "0", "1"))
    assert one == (
        f"perhaps compiler flags {flags.baseline} → {flags.candidate}; "
        "perhaps driver 575.1 → 580.2; perhaps ECC 0 → 1; same kernels"
    )
    row = slower(kernels=1.0)
    reasons = reasons_of(comparison([row], differences=[flags, DRIVER]))
    assert plain(in_cell(row, reasons)) == "perhaps compiler flags changed; and 2 more"


def test_the_environment_is_a_cause_only_where_it_differed_between_both_builds() -> None:
    confirmed = slower(Evidence.PAIRED)
    assert cause(confirmed, DRIVER) == ""
    paired = in_full(confirmed, reasons_of(pair_of(confirmed, DRIVER)))
    assert plain(paired) == "perhaps driver 575.1 → 580.2"


def test_of_several_causes_the_one_that_tells_most_comes_first_and_the_rest_is_counted() -> None:
    registers = ResourceChange("registers", "registers", "124", "80", worse=False)
    blocks = ResourceChange("blocks_per_sm", "blocks per SM", "2", "3", worse=False)
    row = replace(slower(), resources=(registers, blocks, SPILLS))
    reasons = reasons_of(comparison([row]))
    assert plain(in_cell(row, reasons)) == "local bytes (spills) 0 → 96; and 2 more"
    assert in_full(row, reasons) == (
        "local bytes (spills) 0 → 96; registers 124 → 80; blocks per SM 2 → 3"
    )
    faster = replace(row, outcome=Outcome.IMPROVED, change=Change(-0.3, -0.31, -0.29))
    assert in_cell(faster, reasons).startswith("registers 124 → 80")


def test_the_same_machine_code_is_told_after_what_differs() -> None:
    row = replace(slower(), same_machine_code=True)
    assert plain(in_full(row, reasons_of(comparison([row])))) == SAME_CODE
    assert plain(in_cell(row, reasons_of(comparison([row])))) == "the same machine code"
    spilled = replace(row, resources=(SPILLS,))
    told = in_full(spilled, reasons_of(comparison([spilled])))
    assert plain(told) == f"local bytes (spills) 0 → 96; {SAME_CODE}"


def test_kernels_of_long_names_have_changed_and_other_words_of_a_file_are_quoted() -> None:
    kernel = ResourceChange("kernel", "kernel", "gemm_a" * 9, "gemm_b" * 9, worse=True)
    forged = ResourceChange("registers", "faster than ever", "not", "slow", worse=True)
    other = ResourceChange("other", "faster", "than", "ever", worse=True)
    row = replace(slower(), resources=(kernel, forged, other), reason="all is well")
    reasons = reasons_of(comparison([row]))
    assert plain(in_cell(row, reasons)) == "kernel changed; and 3 more"
    told = re.sub(r"`[^`]*`|<wbr>", "", in_full(row, reasons))
    assert told == "kernel ; registers ; ; "


@pytest.mark.parametrize(
    ("p", "words"), [(0.5, "p = 0.5"), (0.00149, "p = 0.0015"), (0.00099, "p < 0.001")]
)
def test_how_sure_says_how_it_was_found_and_by_what_chance(p: float, words: str) -> None:
    assert confidence(replace(slower(), p=p)) == ["screened only", words]
    paired = replace(slower(Evidence.PAIRED), p=p, processes=(14, 14))
    assert confidence(paired) == ["in pairs, 14 rounds", words]
    in_turns = replace(paired, evidence=Evidence.LOCK_STEP)
    assert confidence(in_turns) == ["in lock-step, 14 pairs", words]


def commands(found: Comparison) -> list[str]:
    return again(found, found.verdicts).split("```")[1].splitlines()[1:]


def test_a_pair_is_measured_beside_its_own_base() -> None:
    told = ["scripts/bench --against aaaaaaaaaa --filter '^gemm/a$'"]
    assert commands(pair_of(slower(Evidence.PAIRED))) == told


def test_each_changed_row_has_a_command_and_the_worst_an_entry_of_a_policy(tmp_path: Path) -> None:
    rows = [verdict(f"a/b{n}", Outcome.REGRESSION, 0.101) for n in range(7)]
    text = again(comparison(rows), rows)
    shown = text[text.index("```sh\n") : text.index("\n```\n")].splitlines()[1:]
    assert shown == [f"scripts/bench --filter '^a/b{n}$'" for n in range(5)]
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
    told = re.sub("`<wbr>`", "", markdown.render(comparison(screened, base=base)))
    assert f"To bound them: `{step.command}`." in told
    # What pairs could not bound needs more of them; what was in none, pairs.
    assert "more pairs" in str(next_step(comparison(paired, base=base))[0])
    (both,) = next_step(comparison([*screened, replace(paired[0], name="a/c")], base=base))
    assert both == step
    (many,) = next_step(comparison(left(60, Evidence.SCREENED), base=base))
    assert many.command == "scripts/bench --against aaaaaaaaaa"
    elsewhere = record(build_dir="out", baselines="there")
    (other,) = next_step(comparison(screened, base=base, cand=elsewhere))
    assert other.command.startswith("scripts/warpgauge ab BASE_FOLDER CANDIDATE_FOLDER --filter")
    elsewhere = record(manifest="k.toml", baselines="there")
    (other,) = next_step(comparison(screened, base=base, cand=elsewhere))
    bench = "scripts/bench --kernels k.toml --baselines there --budget 5m --filter"
    assert other.command.startswith(bench)


def test_a_pair_is_bounded_beside_its_own_base() -> None:
    (step,) = next_step(pair_of(left(1, Evidence.LOCK_STEP)[0]))
    assert step.command == "scripts/bench --against aaaaaaaaaa --filter '^a/b0$'"


@pytest.mark.parametrize("name", ["a/$(rm -rf ~)", "a/b'; x", 'a/"', "a/b\n", "a b", "a/.*"])
def test_a_name_that_means_more_than_itself_is_in_nothing_to_be_pasted(name: str) -> None:
    rows = [verdict(name, Outcome.REGRESSION, 0.1)]
    assert again(comparison(rows), rows).startswith("```sh\nscripts/bench\n```\n")
    assert "toml" not in again(comparison(rows), rows)


def test_of_another_projects_programs_no_file_or_policy_of_this_one_is_named() -> None:
    """A family that this project has, too, at a line that is none of its file's."""
    row = slower(Evidence.PAIRED, source_line=7.0)
    sides = [
        record(f"{name}.json", pair_id="p", programs=name, commit="") for name in ("old", "new")
    ]
    method = Note(Kind.PAIRED_FOLDERS, base="old", candidate="new", pairs=7)
    found = comparison([row], notes=[note_of(Kind.STALE)], base=sides[0], cand=sides[1])
    found = replace(found, method=method)
    text = markdown.render(found)
    assert "to the project's policy file in this pull request" in text
    assert "baselines/" not in text
    assert "scripts/warpgauge ab old new --filter" in text
    assert text.count(f"**How it was measured:** {method.words(code)}") == 1
    assert annotated(found).startswith("::error title=REGRESSION%3A gemm/a::")
    assert "file=benchmarks/gemm.cu,line=7," in annotated(comparison([row]))
