# SPDX-License-Identifier: Apache-2.0
"""The formats that a comparison can be written in, by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from warpgauge.reports import annotations as github
from warpgauge.reports import comparison_json, junit
from warpgauge.reports.drawing import intervals
from warpgauge.reports.html import page
from warpgauge.reports.markdown import report as markdown
from warpgauge.reports.terminal import report as terminal

Content = TypeVar("Content", str, bytes)


@dataclass(frozen=True)
class Format(Generic[Content]):
    """`render` makes the content; `own` matches in every such content, which is a `kind`.

    It renders a comparison, or the object that other tables of formats are for.
    """

    name: str
    render: Callable[[Any], Content]
    kind: str
    own: re.Pattern[bytes]


def format_of(
    name: str, render: Callable[[Any], Content], kind: str, own: bytes
) -> Format[Content]:
    return Format(name, render, kind, re.compile(own))


# The terminal's format; standard output uses the terminal's own width and colours.
_VERDICT_LINE = rb"\A(?:PASS|FAIL|NOT DECIDED)  "
TERMINAL = format_of("terminal", terminal.plain, "comparison in plain text", _VERDICT_LINE)

_MARKDOWN = re.escape(markdown.MARK.encode())
_JSON = rb'"warpgauge_format"\s*:\s*"comparison/'
_GITHUB = rb"\A::(?:error|warning|notice) "
_SVG = rb"\A\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*)?<svg\b"  # at the start: pages hold pictures
_HTML = rb'<meta name="generator" content="warpgauge comparison">'
_TEXTS = (
    TERMINAL,
    format_of("markdown", markdown.render, "Markdown of a comparison", _MARKDOWN),
    format_of("json", comparison_json.render, "JSON of a comparison", _JSON),
    format_of("junit", junit.render, "JUnit XML of a comparison", rb'<testsuites name="warpgauge"'),
    format_of("github", github.render, "list of GitHub annotations", _GITHUB),
    format_of("svg", terminal.svg, "SVG", _SVG),
    format_of("html", page.render, "page of a comparison", _HTML),
)
FORMATS: Mapping[str, Format[str]] = {one.name: one for one in _TEXTS}

# The picture of the intervals, by its file's suffix; it is written to files only.
INTERVALS = "intervals"
_OWN = re.escape(intervals.MARK.encode())
PICTURES: Mapping[str, Format[str] | Format[bytes]] = {
    ".svg": format_of(INTERVALS, intervals.svg, "picture of intervals", _OWN),
    ".png": format_of(INTERVALS, intervals.png, "picture of intervals", _OWN),
}
