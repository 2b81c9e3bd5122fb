# SPDX-License-Identifier: Apache-2.0
"""A comparison as JUnit XML, the one report that every CI system reads.

REGRESSION is a <failure>. ERROR, MISSING, INVALID and INCONCLUSIVE are <error>s and not <skipped>:
what lacks the time that is expected is no pass, but GitLab, Jenkins and the reporters for GitHub
leave a job with skipped tests green. SKIPPED, of which no time is expected, is <skipped>. A refused
comparison is a further <error>, so that no report is empty.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from warpgauge.reports.format import Format
from warpgauge.reports.view import Row, View, headline
from warpgauge.system.text import inert, plain
from warpgauge.verdict.comparison import Comparison, Outcome

_NAME = "warpgauge"


def render(comparison: Comparison) -> str:
    """Return a suite per family with a case per benchmark; `time` is the candidate's, in seconds.

    ASCII, with character references; what XML 1.0 forbids is written as an escape (`text.inert`).
    """
    root = ElementTree.Element("testsuites", name=_NAME)
    families: dict[str, list[ElementTree.Element]] = {}
    if comparison.refusal is not None:
        case = ElementTree.Element("testcase", classname=_NAME, name="comparison")
        families[_NAME] = [_tell(case, "error", "REFUSED", plain(headline(comparison)))]
    for note in comparison.not_built:
        case = ElementTree.Element("testcase", classname=_NAME, name="programs")
        families.setdefault(_NAME, []).append(_tell(case, "error", "NOT BUILT", str(note)))
    for row in View(comparison).every_row:
        families.setdefault(row.verdict.family, []).append(_case(row))
    for family, cases in families.items():
        suite = ElementTree.SubElement(root, "testsuite", name=inert(family))
        suite.extend(cases)
        _count(suite)
    _count(root)
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, "us-ascii", xml_declaration=True)
    return written.decode("ascii") + "\n"


def _case(row: Row) -> ElementTree.Element:
    verdict = row.verdict
    names = {"classname": inert(verdict.family), "name": inert(verdict.name)}
    case = ElementTree.Element("testcase", names)
    if verdict.candidate_seconds is not None:
        case.set("time", f"{verdict.candidate_seconds:.12f}")
    if verdict.outcome is Outcome.REGRESSION or verdict.is_unmeasured:
        tag = "failure" if verdict.outcome is Outcome.REGRESSION else "error"
        _tell(case, tag, verdict.outcome.value, row.sentence)
    elif verdict.outcome is Outcome.SKIPPED:
        _tell(case, "skipped", verdict.outcome.value, row.sentence)
    elif verdict.outcome is Outcome.PASS:  # with the bound of the pass
        ElementTree.SubElement(case, "system-out").text = row.sentence
    return case


def _tell(case: ElementTree.Element, tag: str, type: str, words: str) -> ElementTree.Element:
    """Add an element with the words as attribute and as text, because systems show either."""
    ElementTree.SubElement(case, tag, type=type, message=words).text = f"{type}: {words}"
    return case


def _count(element: ElementTree.Element) -> None:
    tags = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for key, tag in tags.items():
        element.set(key, str(len(element.findall(f".//{tag}"))))


_OWN = re.compile(rb'<testsuites name="warpgauge"')
FORMAT = Format("junit", render, "JUnit XML of a comparison", _OWN)
