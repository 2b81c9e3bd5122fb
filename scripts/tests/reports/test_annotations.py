# SPDX-License-Identifier: Apache-2.0
"""A comparison as GitHub workflow commands: one line each, ten of a kind, nothing smuggled in."""

from __future__ import annotations

import re

from hypothesis import example, given

from comparisons import comparison, of_every_kind, verdict, with_text
from hostile_text import HOSTILE
from warpgauge.reports.formats.github import render
from warpgauge.verdict.comparison import Outcome

COMMAND = re.compile(r"::(error|warning|notice) ((?:[a-z]+=[^,:]*,?)+)::(.*)")


def test_the_worst_comes_first_with_file_line_and_title_and_of_what_passes_the_accepted() -> None:
    lines = render(of_every_kind()).splitlines()
    assert lines[0].startswith(
        "::error file=benchmarks/gemm.cu,line=31,title=slower%3A gemm/naive/n%3A64::+30.0 %25 "
    )
    assert lines[0].endswith("likely cause: Registers are spilled; registers 40 → 72")
    kinds = [line.split(" ")[0].strip(":") for line in lines]
    assert kinds == ["error"] * 4 + ["warning"] * 2 + ["notice"] * 2
    assert "title=accepted%3A launch/empty::" in lines[-1]


def test_without_a_line_only_the_file_is_named_and_without_a_file_none() -> None:
    slower = [verdict(f"{family}/x", Outcome.REGRESSION, 0.1) for family in ("gemm", "other")]
    lines = render(comparison(slower)).splitlines()
    assert lines[0].startswith("::error file=benchmarks/gemm.cu,title=")
    assert lines[1].startswith("::error title=slower%3A other/x::")


def test_ten_of_a_kind_are_shown_and_the_last_counts_the_others() -> None:
    ten = [verdict(f"a/{i}", Outcome.REGRESSION, 0.01 * i) for i in range(1, 11)]
    assert len(render(comparison(ten)).splitlines()) == 10
    more = [*ten, verdict("a/b", Outcome.ERROR), verdict("a/c", Outcome.MISSING)]
    lines = render(comparison(more)).splitlines()
    assert len(lines) == 10
    assert "slower%3A a/10::" in lines[0]
    assert lines[-1].startswith("::error title=warpgauge::and 3 more")


@given(HOSTILE)
@example("a,line=1::b\r\n::set-output name=x::y")
@example("%0A::error::x")
@example("##[add-mask]x")
def test_foreign_text_adds_no_command_and_no_property(text: str) -> None:
    written = render(with_text(text))
    assert "##[" not in written
    lines = written.split("\n")[:-1]
    assert len(lines) == 8 + bool(text)  # skipped rows, and a policy's reason
    for line in lines:
        match = COMMAND.fullmatch(line)
        assert match is not None
        assert re.fullmatch(r"(file=benchmarks/[\w-]+\.(cu|cpp),)?title=[^,:]*", match[2])
        assert line.isprintable()
