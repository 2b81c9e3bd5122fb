# SPDX-License-Identifier: Apache-2.0
"""A comparison as SARIF 2.1.0, which code scanning shows at the benchmark's source line.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import hashlib
import json

from warpgauge.reports import source_location
from warpgauge.reports.headline import headline, sentence
from warpgauge.reports.ranking import rank
from warpgauge.reports.source_location import SourcePlace, place
from warpgauge.system.environment import ROOT
from warpgauge.system.text import inert, plural
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

Json = dict[str, object]

# Where a benchmark of no known file is shown: a required pattern, a family that was removed, a
# plain file's. GitHub refuses the whole log for one result without a location.
_FAMILIES = "benchmarks/README.md"

# GitHub refuses a log of more.
_MOST_RESULTS = 25_000

# Level and meaning of each rule.
_RULES = {
    Outcome.REGRESSION: ("error", "The benchmark is slower than its baseline, or takes more."),
    Outcome.ERROR: ("error", "The benchmark failed on one side."),
    Outcome.MISSING: (
        "error",
        "The benchmark is in the baseline, or the base, and was not measured.",
    ),
    Outcome.INVALID: ("warning", "The benchmark must not be compared."),
    Outcome.INCONCLUSIVE: ("warning", "The noise is too large to tell."),
}
_INDEX = {outcome: index for index, outcome in enumerate(_RULES)}


def render(comparison: Comparison) -> str:
    """One result a benchmark that regressed or was not measured, the worst first. ASCII."""
    found = [one for one in sorted(comparison.verdicts, key=rank) if one.outcome in _RULES]
    run: Json = {
        "tool": {"driver": {"name": "warpgauge", "rules": [_rule(one) for one in _RULES]}},
        "automationDetails": {"id": "warpgauge/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(comparison, len(found) - _MOST_RESULTS)],
        "results": [_result(comparison, verdict) for verdict in found[:_MOST_RESULTS]],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _rule(outcome: Outcome) -> Json:
    level, meaning = _RULES[outcome]
    return {
        "id": outcome.value,
        "shortDescription": {"text": meaning},
        "help": {"text": f"{meaning} scripts/README.md, 'The words', tells more."},
        "defaultConfiguration": {"level": level},
    }


def _invocation(comparison: Comparison, left_out: int) -> Json:
    refused = comparison.refusal is not None
    told = [("error", str(headline(comparison)))] if refused else []
    if left_out > 0:
        told.append(("warning", f"{plural(left_out, 'result')} more than GitHub takes: left out."))
    told += [("note", note) for note in comparison.notes]
    return {
        "executionSuccessful": not refused,
        "exitCode": int(comparison.exit_status),
        "toolExecutionNotifications": [
            {"level": level, "message": _message(words)} for level, words in told
        ],
    }


def _result(comparison: Comparison, verdict: Verdict) -> Json:
    return {
        "ruleId": verdict.outcome.value,
        "ruleIndex": _INDEX[verdict.outcome],
        "level": _RULES[verdict.outcome][0],
        "message": _message(f"{verdict.name}: {sentence(verdict)}"),
        "locations": _locations(comparison, verdict),
        "partialFingerprints": _fingerprints(verdict.name),
    }


def _fingerprints(name: str) -> Json:
    """By name alone: a benchmark that moves in its file is the same.

    GitHub tells results apart by the second key only, and would otherwise take all instances of a
    benchmark, which share a line, for one.
    """
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return {"benchmarkName/v1": digest, "primaryLocationLineHash": f"{digest[:16]}:1"}


def _locations(comparison: Comparison, verdict: Verdict) -> list[Json]:
    """Without a line no region: line 1 would be a lie. Of another project no file is known."""
    name = {"fullyQualifiedName": inert(verdict.name), "kind": "function"}
    if source_location.is_other_project(comparison):
        return [{"logicalLocations": [name]}]
    where = place(ROOT, comparison, verdict) or SourcePlace(_FAMILIES, None)
    physical: Json = {"artifactLocation": {"uri": where.file, "uriBaseId": "%SRCROOT%"}}
    if where.line is not None:
        physical["region"] = {"startLine": where.line}
    return [{"physicalLocation": physical, "logicalLocations": [name]}]


def _message(text: str) -> Json:
    """Plain text: ``[a](b)`` in it would be a link (3.11.6), braces a placeholder (3.11.5)."""
    no_link = inert(text).replace("](", "] (")
    return {"text": no_link.replace("{", "{{").replace("}", "}}")}
