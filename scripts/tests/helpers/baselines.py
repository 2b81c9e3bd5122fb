# SPDX-License-Identifier: Apache-2.0
"""A root with baselines, and scripts/warpgauge baseline run in it on a day of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from builders import STEADY, Json, baseline, row, run, scaled, write
from warpgauge.baselines.store import record
from warpgauge.commands import baseline as baseline_command
from warpgauge.records.load import load
from warpgauge.records.sessions import only_session
from warpgauge.system.errors import ExitStatus

NOW = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
NAMES = ("memcpy/a", "memcpy/b", "sync/c")


@dataclass
class Baselines:
    """`folder` is that of the GPU model that the builders' runs are of."""

    root: Path
    capsys: pytest.CaptureFixture[str]

    @property
    def folder(self) -> Path:
        return self.root / "baselines" / "nvidia-test"

    def run_file(self, day: int, factor: float = 1.0, **keys: str) -> Path:
        """A run file of one day in November, on a boot of its own."""
        told = {"date": f"2026-11-{day:02}T10:00:00+00:00", "boot_id": f"boot-{day}", **keys}
        rows = [row(name, scaled(factor)) for name in NAMES]
        return write(self.root / "run.json", run(rows, **told))

    def session(self, day: int, factor: float = 1.0, **keys: str) -> str:
        """Record such a run; the key of its session."""
        path = self.run_file(day, factor, **keys)
        record(path, self.root / "baselines")
        return only_session(load(path)).key

    def row(self, name: str, /, **times: Sequence[float]) -> Json:
        """A baseline's row with its times by session."""
        return row(name, process_medians={key: list(one) for key, one in times.items()})

    def written(
        self, family: str, rows: Sequence[Json], sessions: Mapping[str, Mapping[str, str]]
    ) -> Path:
        """A file of the baseline, whatever it says."""
        told = {key: dict[str, object](context) for key, context in sessions.items()}
        return write(self.folder / f"{family}.json", baseline(rows, told))

    def edit(self, family: str, before: str, after: str) -> None:
        path = self.folder / f"{family}.json"
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))

    def command(self, *argv: str) -> ExitStatus:
        return baseline_command.main(argv, self.root, NOW)

    def output(self) -> str:
        return self.capsys.readouterr().out

    def flat(self) -> str:
        return " ".join(self.output().split())

    def contents(self) -> dict[str, bytes]:
        """Every file there, hidden ones too."""
        files = [path for path in (self.root / "baselines").rglob("*") if path.is_file()]
        return {str(path.relative_to(self.root)): path.read_bytes() for path in files}

    def document(self, family: str) -> Any:  # noqa: ANN401
        return json.loads((self.folder / f"{family}.json").read_text())

    def names(self, family: str) -> list[str]:
        return [row["name"] for row in self.document(family)["benchmarks"]]

    def days(self, family: str) -> list[str]:
        return [key[8:10] for key in self.document(family)["sessions"]]


__all__ = ["NAMES", "NOW", "STEADY", "Baselines"]
