# SPDX-License-Identifier: Apache-2.0
"""A comparison as SARIF 2.1.0: what the standard and GitHub ask for is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from jsonschema import Draft202012Validator

from comparisons import comparison, of_every_kind, verdict, with_text
from hostile_text import HOSTILE
from warpgauge.reports.sarif import render
from warpgauge.reports.source_location import SourcePlace, place
from warpgauge.system.environment import ROOT
from warpgauge.verdict.comparison import Comparison, Outcome


def closed(required: list[str], **properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


# The standard's own schema is in no package, so the part of it that is used stands here, closed.
MESSAGE = closed(["text"], text={"type": "string"})
LEVEL = {"enum": ["error", "warning", "note"]}
INDEX = {"type": "integer", "minimum": 0}
LOCATION = closed(
    ["physicalLocation"],
    physicalLocation=closed(
        ["artifactLocation"],
        artifactLocation=closed(
            ["uri"],
            uri={"type": "string", "pattern": r"^benchmarks/([\w-]+\.(cu|cpp)|README\.md)$"},
            uriBaseId={"const": "%SRCROOT%"},
        ),
        region=closed(["startLine"], startLine={"type": "integer", "minimum": 1}),
    ),
    logicalLocations={
        "type": "array",
        "items": closed([], fullyQualifiedName={"type": "string"}, kind={"const": "function"}),
    },
)
RULE = closed(
    ["id"],
    id={"type": "string"},
    shortDescription=MESSAGE,
    help=MESSAGE,
    defaultConfiguration=closed([], level=LEVEL),
)
RESULT = closed(
    ["message", "ruleId", "ruleIndex", "level", "locations", "partialFingerprints"],
    message=MESSAGE,
    ruleId={"type": "string"},
    ruleIndex=INDEX,
    level=LEVEL,
    locations={"type": "array", "items": LOCATION, "minItems": 1},  # more than SARIF asks: GitHub
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
)
RUN = closed(
    ["tool", "results"],
    tool=closed(
        ["driver"],
        driver=closed(
            ["name"], name={"const": "warpgauge"}, rules={"type": "array", "items": RULE}
        ),
    ),
    automationDetails=closed([], id={"type": "string"}),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations={
        "type": "array",
        "items": closed(
            ["executionSuccessful"],
            executionSuccessful={"type": "boolean"},
            exitCode={"type": "integer"},
            toolExecutionNotifications={
                "type": "array",
                "items": closed(["message"], message=MESSAGE, level=LEVEL),
            },
        ),
    },
    results={"type": "array", "items": RESULT},
)
LOG = {
    **closed(
        ["version", "runs"],
        version={"const": "2.1.0"},
        runs={"type": "array", "items": RUN},
    ),
}
LOG["properties"]["$schema"] = {"type": "string", "format": "uri"}  # type: ignore[index]
VALIDATOR = Draft202012Validator(LOG)


def read(found: Comparison) -> Any:  # noqa: ANN401
    """The run, if the log is valid."""
    log = json.loads(render(found))
    VALIDATOR.validate(log)
    return log["runs"][0]


def test_each_row_that_is_no_pass_is_a_result_of_its_rule_the_worst_first() -> None:
    run = read(of_every_kind())
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    found = [(one["ruleId"], one["level"]) for one in run["results"]]
    assert found == [
        ("REGRESSION", "error"), ("REGRESSION", "error"), ("INCONCLUSIVE", "warning"),
        ("INVALID", "warning"), ("ERROR", "error"), ("MISSING", "error"),
    ]  # fmt: skip
    assert all(rules[one["ruleIndex"]] == one["ruleId"] for one in run["results"])
    assert run["results"][0]["message"]["text"].startswith("gemm/naive/n:64: +30.0 %")


def test_the_source_line_is_given_where_it_is_known_and_no_line_where_not() -> None:
    results = read(of_every_kind())["results"]
    physical = [one["locations"][0]["physicalLocation"] for one in results[:2]]
    assert physical[0]["region"] == {"startLine": 31}
    assert "region" not in physical[1]
    assert physical[1]["artifactLocation"]["uri"] == "benchmarks/gemm.cu"


@pytest.mark.parametrize("name", ["nowhere/x", "^gemm/", "BM_plain", "../../etc/passwd/x"])
def test_a_benchmark_of_no_known_file_is_shown_where_the_families_are_listed(name: str) -> None:
    (result,) = read(comparison([verdict(name, Outcome.MISSING)]))["results"]
    (location,) = result["locations"]
    file = location["physicalLocation"]["artifactLocation"]["uri"]
    assert (ROOT / file).is_file()
    assert location["logicalLocations"][0]["fullyQualifiedName"] == name


def test_more_results_than_github_takes_are_left_out_and_said_to_be() -> None:
    verdicts = [verdict(f"gemm/{i}", Outcome.ERROR) for i in range(25_000)]
    run = read(comparison([verdict("gemm/slow", Outcome.REGRESSION, 0.3), *verdicts]))
    assert len(run["results"]) == 25_000
    assert run["results"][0]["message"]["text"].startswith("gemm/slow")
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"] == "1 result more than GitHub takes: left out."


def test_a_fingerprint_is_of_the_name_alone() -> None:
    names = ("gemm/a", "gemm/b")
    first, second = (
        [
            one["partialFingerprints"]
            for one in read(
                comparison(
                    [verdict(name, Outcome.REGRESSION, r, source_line=line) for name in names]
                )
            )["results"]
        ]
        for r, line in ((0.1, 3.0), (0.9, 77.0))
    )
    assert first == second
    assert first[0]["primaryLocationLineHash"] != first[1]["primaryLocationLineHash"]


def test_a_refusal_is_an_unsuccessful_invocation_that_says_why() -> None:
    invocation = read(comparison([], refusal="Other GPUs."))["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert invocation["exitCode"] == 3
    assert invocation["toolExecutionNotifications"] == [
        {"level": "error", "message": {"text": "Not compared. Other GPUs."}}
    ]


@given(HOSTILE)
@example("[a](https://example.org) {0} {{")
@example("\x1b[2J\u202e\ud800")
def test_a_message_holds_no_link_no_placeholder_and_no_control(text: str) -> None:
    for one in read(with_text(text))["results"]:
        words = one["message"]["text"]
        assert words.isprintable()
        assert "](" not in words
        assert "{" not in words.replace("{{", "")


@pytest.mark.parametrize(
    ("line", "told"),
    [(12.0, 12), (0.0, None), (-1.0, None), (1.5, None), (float("nan"), None), (1e300, None)],
)
def test_only_a_whole_number_is_a_line(tmp_path: Path, line: float, told: int | None) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "a.cpp").touch()
    found = place(tmp_path, comparison([]), verdict("a/b", source_line=line))
    assert found == SourcePlace("benchmarks/a.cpp", told)


def test_a_cuda_file_goes_before_a_cpp_file(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    for suffix in ("cu", "cpp"):
        (tmp_path / "benchmarks" / f"a.{suffix}").touch()
    assert place(tmp_path, comparison([]), verdict("a/b")) == SourcePlace("benchmarks/a.cu", None)


@pytest.mark.parametrize("name", ["..", "../secret/x", "a\0/b", "a b/c", "", "a.cu", "x" * 4000])
def test_a_name_never_leads_out_of_the_benchmarks(tmp_path: Path, name: str) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "...cu").touch()
    assert place(tmp_path, comparison([]), verdict(name)) is None
