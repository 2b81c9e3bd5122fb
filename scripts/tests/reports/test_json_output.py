# SPDX-License-Identifier: Apache-2.0
"""The JSON of a comparison: complete, finite, and as its schema says."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from jsonschema import Draft202012Validator

from comparisons import comparison, of_every_kind, verdict, with_text
from hostile_text import HOSTILE
from warpgauge.reports.formats import json as json_format
from warpgauge.reports.formats.json import render
from warpgauge.system import contract
from warpgauge.verdict.comparison import Change, Comparison, Outcome

SCHEMA = contract.schema(json_format.Comparison)
VALIDATOR = Draft202012Validator(SCHEMA)


def read(found: Comparison) -> Any:  # noqa: ANN401
    """The document, if the schema allows it."""
    document = json.loads(render(found), parse_constant=pytest.fail)
    VALIDATOR.validate(document)
    return document


def test_the_schema_is_one_and_describes_each_type() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert all("description" in one for one in SCHEMA["$defs"].values() if "properties" in one)


def test_it_holds_every_verdict_with_its_numbers() -> None:
    document = read(of_every_kind())
    assert document["counts"]["REGRESSION"] == 2
    assert document["exit_status"] == 1
    naive = document["verdicts"][1]
    assert document["worst"] == naive["name"]
    assert naive["change"]["ratio"] == pytest.approx(0.3)
    assert naive["baseline_seconds"] == 1e-5
    assert naive["resources"][0] == {
        "key": "registers", "words": "registers", "before": "40", "after": "72", "worse": True,
    }  # fmt: skip
    assert naive["counters"]["limit_fraction"] == 0.42
    outcomes = [one["outcome"] for one in document["verdicts"]]
    assert outcomes == [one.outcome.value for one in of_every_kind().verdicts]


def test_numbers_that_are_not_finite_are_null() -> None:
    odd = verdict("a", Outcome.PASS, some=math.nan, other=math.inf)
    odd = replace(odd, change=Change(math.inf, -math.inf, math.nan), p=math.nan)
    found = read(comparison([odd]))["verdicts"][0]
    assert found["change"] == {"ratio": None, "low": None, "high": None}
    assert (found["p"], found["counters"]) == (None, {"some": None, "other": None})


@given(HOSTILE)
@example("\ud800")
@example("##[add-mask]x\x1b[2J\u202e")
def test_text_is_kept_and_does_nothing_to_a_terminal(text: str) -> None:
    written = render(with_text(text))
    assert written.isascii()
    assert written.replace("\n", "").isprintable()
    assert "##[" not in written
    document = json.loads(written)
    assert document["verdicts"][0]["reason"] == text
