# SPDX-License-Identifier: Apache-2.0
"""The comparisons of .github/examples in all formats, and the one that `warpgauge demo` shows.

Their run files were not kept. From scripts/, ``PYTHONPATH=src ../.venv/bin/python -m
devtools.example_comparison`` makes all files anew, after a change of a format.
"""

from __future__ import annotations

import gzip

from warpgauge.reports import recorded
from warpgauge.reports.drawing import picture
from warpgauge.reports.formats import intervals, markdown
from warpgauge.reports.formats import json as comparison_json
from warpgauge.system.environment import ROOT

EXAMPLES = ROOT / ".github" / "examples"
# The comparisons by the names of the files that are made of them.
FILES = {
    "improvement": EXAMPLES / "improvement.json",
    "inconclusive": EXAMPLES / "inconclusive.json",
    "regression": recorded.FILE,
}


def make() -> None:
    """Write each comparison in its file's format, as a comment and as a picture."""
    for name, path in FILES.items():
        found = recorded.load(path)
        text = comparison_json.render(found).encode()
        path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
        drawn = picture.document(intervals.drawn(found), intervals.MARK)
        for ending, shown in {"md": markdown.render(found), "svg": drawn}.items():
            (EXAMPLES / f"{name}.{ending}").write_text(shown, encoding="utf-8")


if __name__ == "__main__":
    make()
