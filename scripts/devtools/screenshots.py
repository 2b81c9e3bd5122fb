# SPDX-License-Identifier: Apache-2.0
"""The pictures of the report in README.md, of the recorded comparison, made by Chromium.

By hand, from scripts/, after the page has changed: `../.venv/bin/python -m devtools.screenshots`
with PYTHONPATH=src. Needs the package chromium. Each picture states the page that it shows.
"""

from __future__ import annotations

import hashlib
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from warpgauge.reports import recorded
from warpgauge.reports.formats import html as page
from warpgauge.system.environment import ROOT

WIDTH, HEIGHT = 1280, 800
MOST_BYTES = 150_000
# Of prefers-color-scheme, and what Blink calls it.
SCHEMES = {"light": 1, "dark": 0}
_HEADER_BYTES = 33  # of a PNG file: its signature, and the chunk IHDR


def mark(text: str) -> bytes:
    """Return the chunk of a PNG file that names the page with this text."""
    chunk = b"tEXtPage\0" + hashlib.sha256(text.encode()).hexdigest().encode()
    return struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))


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
            drawn = path.read_bytes()
            path.write_bytes(drawn[:_HEADER_BYTES] + mark(text) + drawn[_HEADER_BYTES:])
            if path.stat().st_size > MOST_BYTES:
                raise SystemExit(f"{path} is larger than {MOST_BYTES:,} bytes: lower HEIGHT")
            made.append(path)
    return made


if __name__ == "__main__":
    for picture in make(Path(sys.argv[1]) if sys.argv[1:] else ROOT / ".github"):
        print(picture)
