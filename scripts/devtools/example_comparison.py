# SPDX-License-Identifier: Apache-2.0
"""The comparisons of .github/examples in all formats, and the one that `warpgauge demo` shows.

Their run files were not kept. From scripts/, ``PYTHONPATH=src ../.venv/bin/python -m
devtools.example_comparison`` makes all files anew, after a change of a format.
"""

from __future__ import annotations

import gzip

from warpgauge.reports import recorded
from warpgauge.reports.formats import json as comparison_json
from warpgauge.reports.formats import markdown
from warpgauge.system.environment import ROOT

EXAMPLES = ROOT / ".github" / "examples"
# The comparisons by the names of the files that are made of them.
FILES = {
    "improvement": EXAMPLES / "improvement.json",
    "inconclusive": EXAMPLES / "inconclusive.json",
    "regression": recorded.FILE,
}


def make() -> None:
    """Write each comparison in its file's format, and as a comment."""
    for name, path in FILES.items():
        found = recorded.load(path)
        text = comparison_json.render(found).encode()
        path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
        (EXAMPLES / f"{name}.md").write_text(markdown.render(found), encoding="utf-8")


if __name__ == "__main__":
    make()
