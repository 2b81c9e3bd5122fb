# SPDX-License-Identifier: Apache-2.0
"""The formats that a comparison can be written in, by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar

from warpgauge.reports import annotations as github
from warpgauge.reports import intervals, junit
from warpgauge.reports.markdown import report as markdown
from warpgauge.verdict.comparison import Comparison

Content = TypeVar("Content", str, bytes)


@dataclass(frozen=True)
class Format(Generic[Content]):
    """`render` makes the content; `own` finds itself in every such content, which is a `kind`."""

    name: str
    render: Callable[[Comparison], Content]
    kind: str
    own: re.Pattern[bytes]


# What names the formats need not import rich or msgspec: --help answers at once.
def _plain(comparison: Comparison) -> str:
    from warpgauge.reports.terminal import report

    return report.plain(comparison)


def _svg(comparison: Comparison) -> str:
    from warpgauge.reports.terminal import report

    return report.svg(comparison)


def _json(comparison: Comparison) -> str:
    from warpgauge.reports import json_output

    return json_output.render(comparison)


# What a terminal shows; on standard output with the terminal's own width and colours.
TERMINAL = Format(
    "terminal",
    _plain,
    "comparison in plain text",
    re.compile(rb"\A(?:\d+ regressions?, \d+ improvements?; |Not compared\.)"),
)

FORMATS: Mapping[str, Format[str]] = MappingProxyType(
    {
        one.name: one
        for one in (
            TERMINAL,
            Format(
                "markdown",
                markdown.render,
                "Markdown of a comparison",
                re.compile(re.escape(markdown.MARK.encode())),
            ),
            Format(
                "json",
                _json,
                "JSON of a comparison",
                re.compile(rb'"warpgauge_format"\s*:\s*"comparison/'),
            ),
            Format(
                "junit",
                junit.render,
                "JUnit XML of a comparison",
                re.compile(rb'<testsuites name="warpgauge"'),
            ),
            Format(
                "github",
                github.render,
                "list of GitHub annotations",
                re.compile(rb"\A::(?:error|warning|notice) "),
            ),
            Format("svg", _svg, "SVG", re.compile(rb"<svg\b")),
        )
    }
)

# The picture of the intervals, by the end of its file's name: only in a file, for it is for eyes.
INTERVALS = "intervals"
_OWN = re.compile(re.escape(intervals.MARK.encode()))
PICTURES: Mapping[str, Format[str] | Format[bytes]] = MappingProxyType(
    {
        ".svg": Format(INTERVALS, intervals.svg, "picture of intervals", _OWN),
        ".png": Format(INTERVALS, intervals.png, "picture of intervals", _OWN),
    }
)
