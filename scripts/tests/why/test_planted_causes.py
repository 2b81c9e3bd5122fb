# SPDX-License-Identifier: Apache-2.0
"""`warpgauge explain` of the twenty planted causes, where there is a GPU and a build with tests.

At least 18 are named first, and what is not is unknown.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from warpgauge.system.environment import ROOT
from warpgauge.system.process import nvidia_smi

FOLDER = ROOT / "build" / "ci" / "fixtures" / "testing" / "planted_causes"
_FEWEST = 18


pytestmark = [
    pytest.mark.skipif(not nvidia_smi("-L"), reason="there is no GPU"),
    pytest.mark.skipif(
        not (FOLDER / "after" / "bench_planted").exists(),
        reason="the planted causes are not built: cmake --build --preset ci",
    ),
]


def first_cause(name: str, folder: Path) -> tuple[str, str]:
    """The key of the cause that is named first, or "", and the paragraph."""
    path = folder / "why.json"
    command = [sys.executable, f"{ROOT}/scripts/warpgauge", "explain", name]
    sides = [f"--build-dir={FOLDER / 'after'}", f"--against={FOLDER / 'before'}"]
    done = subprocess.run(
        [*command, *sides, f"--format=json={path}"], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    (told,) = json.loads(path.read_text())["benchmarks"]
    return next((cause["key"] for cause in told["causes"]), ""), told["paragraph"]


def test_causes_are_named_first_or_unknown(tmp_path: Path) -> None:
    listing = [str(FOLDER / "after" / "bench_planted"), "--benchmark_list_tests"]
    names = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split()
    assert len(names) == 20
    found = {name.partition("/")[2]: first_cause(name, tmp_path) for name in names}
    for planted, (key, paragraph) in found.items():
        print(f"{planted}: {key or 'unknown'}: {paragraph}")
    wrong = {planted: key for planted, (key, _) in found.items() if key not in (planted, "")}
    assert wrong == {}
    assert sum(key == planted for planted, (key, _) in found.items()) >= _FEWEST
