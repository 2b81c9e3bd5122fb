# SPDX-License-Identifier: Apache-2.0
"""Which baselines a user means: by a GPU's name, by a path, or all."""

from __future__ import annotations

from pathlib import Path

from warpgauge.baselines.store import slug
from warpgauge.records.load import holds_results
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert, quoted


def chosen(baselines: Path, asked: str | None) -> list[Path]:
    """The folders of `baselines` that are meant, or a path elsewhere. Raises UserError.

    `asked` is a path to a baseline, to one file of it or to a folder of several, or the name of a
    GPU model or of its folder; without it all are meant.
    """
    if asked is None:
        there = folders(baselines)
        if not there:
            raise UserError(
                f"{baselines} holds no baseline; measure one with scripts/baseline record"
            )
        return there
    path = Path(asked)
    if asked and _exists(path):
        several = [] if holds_results(path) else folders(path)
        return several or [path]
    there = folders(baselines)
    meant = [folder for folder in there if folder.name == _slug(asked)]
    if not meant:
        names = ", ".join(folder.name for folder in there) or "none"
        raise UserError(
            inert(f"{quoted(asked)} is neither a path nor a GPU in {baselines}; there is {names}")
        )
    return meant


def _slug(asked: str) -> str | None:
    try:
        return slug(asked)
    except UserError:
        return None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long for a name, or with a NUL in it
        return False


def folders(path: Path) -> list[Path]:
    """The baselines in `path`, which may not be there."""
    try:
        return sorted(entry for entry in path.iterdir() if holds_results(entry))
    except OSError:
        return []
