# SPDX-License-Identifier: Apache-2.0
"""A comparison as JUnit XML: nothing unmeasured passes, and nothing foreign breaks the XML."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from hypothesis import example, given

from comparisons import comparison, of_every_kind, verdict, with_text
from hostile_text import HOSTILE
from warpgauge.records.benchmark_filter import NOT_BUILT
from warpgauge.reports.formats.junit import render
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.note import Note


def parsed(found: Comparison) -> ElementTree.Element:
    return ElementTree.fromstring(render(found))


def test_programs_that_were_not_built_are_an_error() -> None:
    note = Note(NOT_BUILT, "Not built: gemm (3 benchmarks).")
    root = parsed(comparison([verdict("sync/a", Outcome.PASS)], notes=[note]))
    assert root.get("errors") == "1"


def test_families_are_suites_and_what_regressed_or_was_not_measured_is_no_pass() -> None:
    root = parsed(of_every_kind())
    assert [suite.get("name") for suite in root] == ["gemm", "memcpy", "sync", "launch"]
    case = root.find(".//testcase[@name='gemm/naive/n:64']")
    assert case is not None
    assert case.get("classname") == "gemm"
    assert float(case.get("time", "")) == 1.3e-5
    assert {one.get("type") for one in root.iter("failure")} == {"REGRESSION"}
    errors = {one.get("type") for one in root.iter("error")}
    assert errors == {"ERROR", "MISSING", "INVALID", "INCONCLUSIVE"}
    assert root.attrib == {
        "name": "warpgauge", "tests": "12", "failures": "2", "errors": "4", "skipped": "1",
    }  # fmt: skip
    told = root.findtext(".//testcase[@name='launch/one']/system-out", "")
    assert told.startswith("within tolerance, at most +0.30 %; +0.10 % ")
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("message") == (
        "+30.0 % (95 % interval +29.9 … +30.1), 10.00 µs → 13.00 µs; 42 % of the limit; "
        "likely cause: Registers are spilled; registers 40 → 72"
    )
    assert failure.text == f"REGRESSION: {failure.get('message')}"


def test_a_refusal_is_an_error_even_where_no_benchmark_was_asked_for() -> None:
    root = parsed(comparison([], refusal="Nothing in common."))
    assert root.get("errors") == "1"
    (error,) = root.iter("error")
    assert error.get("message") == "Not compared: Nothing in common."


@given(HOSTILE)
@example("\x00\x0b\x1b\ufffe\ud800]]>&<a b='c'>")
def test_foreign_text_is_text(text: str) -> None:
    written = render(with_text(text))
    root = ElementTree.fromstring(written)
    assert written.isascii()
    assert {one.tag for one in root.iter()} - {"system-out"} == {
        "testsuites", "testsuite", "testcase", "failure", "error", "skipped",
    }  # fmt: skip
    assert root.get("tests") == str(len(with_text(text).verdicts))
    assert all(value.isprintable() for one in root.iter() for value in one.attrib.values())
    assert all((one.text or "").strip("\n ").isprintable() for one in root.iter())
