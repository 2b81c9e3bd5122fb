# SPDX-License-Identifier: Apache-2.0
"""A comparison as JUnit XML, the one report that every CI system reads.

REGRESSION is a <failure>. ERROR, MISSING, INVALID and INCONCLUSIVE are <error>s and not <skipped>:
what lacks the time that is expected is no pass, but GitLab, Jenkins and the reporters for GitHub
leave a job with skipped tests green. SKIPPED, of which no time is expected, is <skipped>. A refused
comparison is a further <error>, so that no report is empty.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from warpgauge.records.model import by_family
from warpgauge.reports import pages
from warpgauge.reports.format import Format
from warpgauge.reports.view import Row, View, headline
from warpgauge.system.text import inert, plain
from warpgauge.verdict.comparison import Comparison, Outcome

_NAME = "warpgauge"
_TAGS = {Outcome.REGRESSION: "failure", Outcome.SKIPPED: "skipped", Outcome.PASS: "system-out"}


class _Case(NamedTuple):
    """A <testcase> of a family with one element in it, unless `tag` is empty."""

    family: str
    name: str
    tag: str
    type: str
    words: str
    seconds: float | None = None


def render(comparison: Comparison) -> str:
    """Return a suite per family with a case per benchmark; `time` is the candidate's, in seconds.

    ASCII, with character references; what XML 1.0 forbids is written as an escape (`text.inert`).
    """
    cases = []
    if comparison.refusal is not None:
        words = plain(headline(comparison))
        cases = [_Case(_NAME, "comparison", "error", "REFUSED", words)]
    cases += [
        _Case(_NAME, "programs", "error", "NOT BUILT", str(note)) for note in comparison.not_built
    ]
    cases += map(_case, View(comparison).every_row)
    text = pages.element("junit.xml", {"cases": cases, "families": by_family(cases)})
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def _case(row: Row) -> _Case:
    verdict = row.verdict
    tag = "error" if verdict.is_unmeasured else _TAGS.get(verdict.outcome, "")
    # A pass has its bound as output.
    type = "" if verdict.outcome is Outcome.PASS else verdict.outcome.value
    names = inert(row.family), inert(row.name)
    return _Case(*names, tag, type if tag else "", row.sentence, verdict.candidate_seconds)


_OWN = re.compile(rb'<testsuites name="warpgauge"')
FORMAT = Format("junit", render, "JUnit XML of a comparison", _OWN)
