#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare two benchmark results: compare.py BASELINE CANDIDATE (--help tells more).

This file holds nothing that an old Python cannot parse, so that it can say what it needs.
"""

import sys
from pathlib import Path

if sys.version_info < (3, 10):  # noqa: UP036
    sys.stderr.write(
        "compare.py: this is Python %d.%d; run it with Python 3.10 or newer.\n"  # noqa: UP031
        % sys.version_info[:2]
    )
    sys.exit(2)

sys.path.insert(0, str(Path(__file__).resolve().parent / "src"))

try:
    from warpgauge.commands.main import main
except Exception as fault:  # 1, which Python would end with, means a regression
    try:
        sys.stderr.write("compare.py: warpgauge cannot be imported (%s)\n" % fault)  # noqa: UP031
    finally:
        sys.exit(2)

if __name__ == "__main__":
    sys.exit(main(["compare", *sys.argv[1:]]))
