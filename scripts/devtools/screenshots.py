# SPDX-License-Identifier: Apache-2.0
"""The pictures of the report in README.md, of the example of a regression, made by Chromium.

By hand, from scripts/, after the page has changed: `../.venv/bin/python -m devtools.screenshots`
with PYTHONPATH=src. Needs the package chromium.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from warpgauge.reports import recorded
from warpgauge.reports.formats import html as page
from warpgauge.system.environment import ROOT

WIDTH, HEIGHT = 1280, 800
MOST_BYTES = 150_000
# Of prefers-color-scheme, and what Blink calls it.
SCHEMES = {"light": 1, "dark": 0}


def make(folder: Path) -> list[Path]:
    """Write ``report-light.png`` and ``report-dark.png`` into `folder`; their paths."""
    text = page.render(recorded.comparison())
    made = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        file = Path(scratch, "report.html")
        file.write_text(text, encoding="utf-8")
        for scheme, number in SCHEMES.items():
            path = folder / f"report-{scheme}.png"
            line = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
            line += ["--no-first-run", "--disable-dev-shm-usage", "--disable-background-networking"]
            line += [f"--user-data-dir={scratch}/{scheme}", f"--window-size={WIDTH},{HEIGHT}"]
            line += [f"--blink-settings=preferredColorScheme={number}"]
            line += [f"--screenshot={path.absolute()}", file.as_uri()]
            subprocess.run(line, capture_output=True, timeout=60.0, check=True)
            if path.stat().st_size > MOST_BYTES:
                raise SystemExit(f"{path} is larger than {MOST_BYTES:,} bytes: lower HEIGHT")
            made.append(path)
    return made


if __name__ == "__main__":
    for picture in make(Path(sys.argv[1]) if sys.argv[1:] else ROOT / ".github"):
        print(picture)
