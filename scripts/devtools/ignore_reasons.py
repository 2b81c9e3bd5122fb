# SPDX-License-Identifier: Apache-2.0
"""Every ignored finding gives a reason on its line: python -m devtools.ignore_reasons FILE..."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

# What follows is the reason.
_IGNORES = (
    re.compile(r"#\s*zizmor:\s*ignore\[[^]]*\]"),
    re.compile(r"#\s*shellcheck\b[^#]*\bdisable=[^\s#]+"),
)
# A line of zizmor's settings that takes something away: an item of an `ignore:`, or a whole rule.
_SETTING = re.compile(r"^\s*(?:-\s+[^#\s][^#]*|disable:\s*true\b)")
# A reason is words, and no mark.
_REASON = re.compile(r"\w+\W+\w+")


def main(paths: Sequence[str]) -> int:
    """Print a line for each ignore without a reason; 1 where there is one."""
    found = [line for path in paths for line in without_reason(Path(path))]
    print("\n".join(found))
    return bool(found)


def without_reason(path: Path) -> Iterator[str]:
    """``FILE:LINE: …`` for each."""
    patterns = (*_IGNORES, _SETTING) if path.stem == "zizmor" else _IGNORES
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for ignore in patterns:
            found = ignore.search(line)
            if found and not _REASON.search(line, found.end()):
                what = line[found.start() : found.end()].strip()
                yield f"{path}:{number}: {what!r} gives no reason; write it behind, on this line"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
