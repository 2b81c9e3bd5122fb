# SPDX-License-Identifier: Apache-2.0
"""A filter means to Python what it means to the benchmarks, or is refused."""

from __future__ import annotations

import warnings

import pytest
from conftest import Loader

from builders import row, run
from warpgauge.records.benchmark_filter import (
    Request,
    found,
    hint,
    matches,
    require_match,
    require_portable,
)
from warpgauge.system.errors import ExitStatus, UserError
from work import calls


@pytest.mark.parametrize("own", ["", "all"])
@pytest.mark.parametrize("asked", [None, "", "all"])
def test_all_and_nothing_filter_nothing(loaded: Loader, own: str, asked: str | None) -> None:
    request = Request(asked, loaded(run([row("a/b")], filter=own)))
    assert request.covered(["other/vanished"]) == ["other/vanished"]
    assert request.filters == ""


def test_a_leading_minus_and_all_mean_something_to_a_filter_only() -> None:
    assert not matches("-a/", "a/b")
    assert matches("-a/", "b")
    assert not found("--inject", "-a", "a/b")
    assert not found("--inject", "all", "a/b")
    assert found("--inject", "^a", "a/b")


AMBIGUOUS = r"[[:alpha:]] [^[:digit:]x] [[.a.]] [[=a=]] n:\d+ \bgemm [\.] (?i)gemm a+?c a*+"


@pytest.mark.parametrize("expression", AMBIGUOUS.split())
def test_what_python_and_the_benchmarks_read_differently_is_refused(expression: str) -> None:
    with pytest.raises(UserError, match="means different things to Python and to the benchmarks"):
        require_portable("--inject", expression)


ORDINARY = r"^gemm/tiled/f32/n:1024$ ^a$|^host/ n:[0-9]+ a\.b (a|b){2} [^/]+"


@pytest.mark.parametrize("expression", ORDINARY.split())
def test_ordinary_expressions_are_let_through(expression: str) -> None:
    require_portable("--filter", expression)


def test_no_warning_of_pythons_reaches_the_user() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for expression in ("[[:alpha:]]", "[[a]x", "[+--]", "[a&&b]", "[a||b]"):
            matches(expression, "a")


@pytest.mark.parametrize("filter", [None, "", "all", "^a/", "c", "-b", "-nothing"])
def test_a_filter_that_either_side_knows_is_let_through(loaded: Loader, filter: str | None) -> None:
    require_match(filter, loaded(run([row("a/b")])), loaded(run([row("a/c")])))


@pytest.mark.parametrize(
    ("filter", "end"), [("nothing", "'nothing'"), ("-.", "'-.'"), ("gemn", "'gemm'?")]
)
def test_a_filter_that_neither_side_knows_is_refused(loaded: Loader, filter: str, end: str) -> None:
    sides = loaded(run([row("gemm/b")])), loaded(run([row("gemm/c")]))
    with pytest.raises(UserError, match="no benchmark of either side matches --filter") as caught:
        require_match(filter, *sides)
    assert str(caught.value).endswith(end)
    assert caught.value.status is ExitStatus.BAD_USAGE


def test_a_filter_of_a_run_that_would_take_years_is_refused(loaded: Loader) -> None:
    request = Request(None, loaded(run([row("a/b")], filter="((a|a)+)+!")))
    with pytest.raises(UserError, match="the filter of its run, or --filter, takes too long"):
        request.covered(["a" * 40])


def test_a_filter_of_the_command_that_would_take_years_is_refused(loaded: Loader) -> None:
    side = loaded(run([row("a" * 40)]))
    with pytest.raises(UserError, match=r"--filter '\(\(.*\)\+!' takes too long; simplify it"):
        require_match("((a|a)+)+!", side, side)


def test_a_filter_of_a_run_that_is_none_names_the_file(loaded: Loader) -> None:
    with pytest.raises(UserError, match=r"0\.json: the filter of its run, '\(' is not a valid"):
        Request(None, loaded(run([row("a/b")], filter="(")))


def test_the_filter_of_the_run_itself_has_matched(loaded: Loader) -> None:
    own = "[[:alpha:]]/b$"  # an old run's, which Python reads differently
    require_match(own, loaded(run([row("a/b")])), loaded(run([row("a/b")], filter=own)))


def test_what_a_base_measured_under_the_same_filter_was_asked_for(loaded: Loader) -> None:
    base = loaded(run([row("broken"), row("a/b")], filter="^a"))
    candidate = loaded(run([row("a/b")], filter="^a"))
    assert Request(None, candidate, base).covered(["broken", "a/b"]) == ["broken", "a/b"]
    other = loaded(run([row("broken"), row("a/b")]))
    assert Request(None, candidate, other).covered(["broken", "a/b"]) == ["a/b"]


NAMES = ["gemm/cublas/f32/n:1024", "gemm/tiled/f32/n:256", "memcpy/h2d_pinned/bytes:4096"]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("gemn", ": did you mean 'gemm'?"),
        ("^memcopy/", ": did you mean 'memcpy'?"),
        ("gemm/tilde/f32/n:256", ": did you mean 'gemm/tiled/f32/n:256'?"),
        *((far, "") for far in ("softmax", "gemm/a", "-.*", "", "x" * 10_000)),
    ],
)
def test_a_slip_of_the_pen_is_answered_with_the_nearest_name(asked: str, told: str) -> None:
    assert hint(asked, NAMES) == told


def test_a_hint_is_inert() -> None:
    assert hint("gemm\x1b[2", ["gemm\x1b[2J/a"]).isprintable()


def test_ten_times_as_many_names_are_ten_times_the_work_of_a_hint() -> None:
    def of(count: int) -> int:
        names = [f"family_{index}/variant_{index}/n:{index}" for index in range(count)]
        return calls(lambda: hint("memcopy/h2d", names))

    assert of(2000) < 12 * of(200)
