# SPDX-License-Identifier: Apache-2.0
"""Which C++ sources a change concerns: those that it touches, and those that include one."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

_INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)
# What concerns every source.
_SETTINGS = (".clang-tidy", "CMakeLists.txt", "requirements.lock")


def affected(root: Path, sources: Sequence[str]) -> list[str]:
    """Those of `sources` that differ from the default branch, or else from the commit before.

    And those that include what does. All where git cannot tell, or the check's settings differ.
    """
    changed = _changed(root)
    if changed is None or any(Path(name).name in _SETTINGS for name in changed):
        return list(sources)
    files = {root / name for name in changed}
    return [source for source in sources if not files.isdisjoint(_with_headers(root, source))]


def _changed(root: Path) -> list[str] | None:
    """Paths from the top, files that git does not know included; None without a base."""
    bases = (_git(root, "merge-base", "HEAD", ref) for ref in ("origin/HEAD", "main"))
    base = next(filter(None, bases), None)
    untracked = _git(root, "ls-files", "--others", "--exclude-standard")
    tracked = base and _git(root, "diff", "--name-only", base)
    if not tracked and not untracked and base and base == _git(root, "rev-parse", "HEAD"):
        tracked = _git(root, "diff", "--name-only", "HEAD~1")
    if tracked is None or untracked is None:
        return None
    return [*tracked.splitlines(), *untracked.splitlines()]


def _git(root: Path, *arguments: str) -> str | None:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _with_headers(root: Path, source: str) -> set[Path]:
    """`source` and every header of the project that it leads to."""
    found: set[Path] = set()
    open_files = {Path(source)}
    while open_files:
        file = open_files.pop()
        found.add(file)
        for name in _INCLUDE.findall(file.read_text(encoding="utf-8")):
            own = root / "fixtures" / name.removeprefix("warpgauge/")
            places = (own if name.startswith("warpgauge/") else root / name, file.parent / name)
            open_files.update([place for place in places if place.is_file()][:1])
        open_files -= found
    return found
