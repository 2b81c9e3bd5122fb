# SPDX-License-Identifier: Apache-2.0
"""The comparison that `warpgauge demo` shows, judged from the run files in `recorded`.

To record it anew (.github/examples/README.md says what was changed):
``warpgauge bench --against HEAD --out candidate.json``, and gzip both run files.
"""

from __future__ import annotations

import gzip
import tempfile
from dataclasses import replace
from pathlib import Path

from warpgauge.records import load
from warpgauge.records.model import Record
from warpgauge.records.sessions import BASE, CANDIDATE, newest
from warpgauge.system.text import foreign
from warpgauge.verdict import judge, policy
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.note import RECORDED, Note

_FOLDER = Path(__file__).with_suffix("")


def comparison() -> Comparison:
    """Return the recorded comparison, by the policy that was recorded with it."""
    rules = policy.load(_FOLDER / "policy.toml")
    with tempfile.TemporaryDirectory() as folder:
        base, candidate = (_record(side, Path(folder)) for side in (BASE, CANDIDATE))
        return judge.judge(base, candidate, ComparisonSettings(policy=rules))


def marked() -> Comparison:
    """Return the recorded comparison, with a note that says where and when it was recorded."""
    found = comparison()
    context = newest(found.candidate).context
    gpu, day = foreign(context["gpu_name"]), foreign(context["date"][:10])
    note = Note(RECORDED, f"Recorded on an {gpu} on {day}, not on your machine.")
    return replace(found, notes=(note, *found.notes))


def _record(side: str, folder: Path) -> Record:
    path = folder / f"{side}.json"
    path.write_bytes(gzip.decompress((_FOLDER / f"{path.name}.gz").read_bytes()))
    return replace(load.load(path), path=Path(path.name))
