# SPDX-License-Identifier: Apache-2.0
"""Which commit the programs in build/release were built from: they do not know it themselves.

scripts/bench notes it beside them after each build, and --no-build reads it: the tree may be at
another commit by then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from warpgauge.execution import manifest
from warpgauge.files.atomic import replace_all
from warpgauge.system.git import short
from warpgauge.system.text import inert

_FILE = "built-from.json"
_KEYS = ("commit", "dirty")


def forget(root: Path) -> None:
    """Before a build: one that breaks off leaves programs of two commits."""
    _path(root).unlink(missing_ok=True)


def keep(root: Path, source: Mapping[str, str]) -> None:
    """After a build of `source`, as `machine_context.source` tells it. Raises UserError."""
    replace_all({_path(root): json.dumps({key: source[key] for key in _KEYS}) + "\n"})


def known(root: Path) -> dict[str, str] | None:
    """What was kept; None where nothing was, or somebody built a program since."""
    path = _path(root)
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        since = path.stat().st_mtime_ns
        programs = manifest.read(_folder(root)).programs
        newer = any(one.path.stat().st_mtime_ns > since for one in programs)
    except (OSError, ValueError):
        return None
    if newer or not isinstance(told, dict) or not all(isinstance(told.get(k), str) for k in _KEYS):
        return None
    return {key: told[key] for key in _KEYS}


def note(programs: Mapping[str, str] | None, tree: Mapping[str, str]) -> str:
    """What a user of --no-build must know; empty where the programs are this tree's."""
    if programs is None:
        return (
            "--no-build: nothing tells which commit the programs were built from; this tree's is "
            "taken to be it. Without --no-build they are built anew."
        )
    if programs == tree:
        return ""
    return (
        f"--no-build: the programs were built from {_said(programs)}, and this tree is at "
        f"{_said(tree)}. What is measured goes by the programs; without --no-build they are built "
        "anew."
    )


def _said(source: Mapping[str, str]) -> str:
    commit = f"commit {inert(short(source['commit']))}" if source["commit"] else "an unknown commit"
    return commit + (" with changes" if source["dirty"] == "true" else "")


def _folder(root: Path) -> Path:
    return root / "build" / "release"


def _path(root: Path) -> Path:
    return _folder(root) / _FILE
