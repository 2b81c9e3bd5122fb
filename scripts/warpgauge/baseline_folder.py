# SPDX-License-Identifier: Apache-2.0
"""A baseline as its files hold it: each file's own sessions, and its rows as they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from warpgauge.document import Object, read, rows_of
from warpgauge.errors import UserError
from warpgauge.load import json_files, load, load_document
from warpgauge.model import Record, Session, Source
from warpgauge.text import inert

_REMEDY = {
    Source.RUN: "scripts/baseline add-session makes it a session of one",
    Source.GOOGLE_BENCHMARK: "measure with scripts/baseline record",
}


@dataclass(frozen=True)
class FamilyFile:
    """One file: what it tells, and its rows by name as the JSON objects that they are."""

    path: Path
    record: Record
    rows: Mapping[str, Object]


@dataclass(frozen=True)
class Folder:
    """All files of one GPU model's baseline, and what they tell together."""

    path: Path
    whole: Record
    files: tuple[FamilyFile, ...]

    def session(self, family: str, key: str) -> Session:
        """A session as the file of a family tells it; as all do together where it does not."""
        for file in self.files:
            if file.path.stem == family and key in file.record.sessions:
                return file.record.sessions[key]
        return self.whole.sessions[key]

    @property
    def gpu_names(self) -> tuple[str, ...]:
        """The GPU models that its sessions name: one, where all is well."""
        names = {session.gpu_name for session in self.whole.sessions.values()}
        return tuple(sorted(name for name in names if name))


def open_folder(path: Path) -> Folder:
    """The baseline in a folder, or in one file of it. Raises UserError."""
    files = tuple(_family_file(file) for file in json_files(path))
    return Folder(path, load(path), files)


def _family_file(path: Path) -> FamilyFile:
    document = read(path)
    record = load_document(document)
    if record.source is not Source.BASELINE:
        raise UserError(
            inert(f"{path} is no baseline but a {record.source.value}; {_REMEDY[record.source]}")
        )
    return FamilyFile(path, record, {str(row["name"]): row for _, row in rows_of(document)})
