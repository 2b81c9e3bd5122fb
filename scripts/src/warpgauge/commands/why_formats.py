# SPDX-License-Identifier: Apache-2.0
"""The formats of warpgauge why, by name."""

from __future__ import annotations

import re
from collections.abc import Mapping

from warpgauge.reports.formats import TERMINAL, Format, format_of
from warpgauge.why import reason

_TITLE = reason.TITLE.encode()
_TEXTS = (
    format_of(TERMINAL.name, reason.plain, "reasons in plain text", rb"\A" + _TITLE),
    format_of("markdown", reason.markdown, "Markdown of reasons", rb"\A### " + _TITLE),
    format_of(
        "json",
        reason.document,
        "JSON of reasons",
        rb'"format"\s*:\s*"' + re.escape(reason.FORMAT.encode()),
    ),
)
FORMATS: Mapping[str, Format[str]] = {one.name: one for one in _TEXTS}
