# SPDX-License-Identifier: Apache-2.0
"""Programs of nvbench, measured like those of Google Benchmark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import fake_nvbench
from two_folders import TwoFolders
from warpgauge.measure import nvbench_program
from warpgauge.system.errors import ExitStatus

NAMES = ["copy/T:I32/Elements:1024", "copy/T:I32/Elements:4096",
         "copy/T:F64/Elements:1024", "copy/T:F64/Elements:4096", "fails"]  # fmt: skip


def test_all_combinations_of_axes_are_listed_with_their_options() -> None:
    states = nvbench_program.states(fake_nvbench.listed(), 9)
    assert [*states] == NAMES
    assert states[NAMES[1]] == ("--benchmark=copy", "--axis=T=I32", "--axis=Elements[pow2]=12")
    assert states["fails"] == ("--benchmark=fails",)


@pytest.mark.parametrize("text", ["", "BM_copy\n", "usage: program\n* `x` : a\n  * `y`\n"])
def test_what_nvbench_did_not_list_has_no_states(text: str) -> None:
    assert nvbench_program.states(text, 9) == {}


def test_a_float_is_named_as_results_name_it() -> None:
    text = (
        "\n# Benchmarks\n\n## [0] `a` (1 configurations)\n* `P` : float64\n  * `0.5`\n  * `3e-4`\n"
    )
    assert [*nvbench_program.states(text, 9)] == ["a/P:0.5", "a/P:0.0003"]


@pytest.mark.parametrize("kind", ["int64 [pow2]", "float64"])
@pytest.mark.parametrize("value", ["x", "", "-1", "9" * 5000])
def test_a_value_that_is_no_number_is_shown_as_it_is(kind: str, value: str) -> None:
    text = f"\n# Benchmarks\n\n## [0] `a` (1 configurations)\n* `P` : {kind}\n  * `{value}`\n"
    ((name, options),) = nvbench_program.states(text, 9).items()
    assert name in (f"a/P:{value}", "a/P:inf")
    assert options[-1].endswith(f"={value}")


def test_no_more_states_are_made_than_asked_for() -> None:
    axes = "".join(f"* `{n}` : int64\n" + 10 * "  * `1`\n  * `2`\n" for n in "abcdefghijklm")
    text = f"\n# Benchmarks\n\n## [0] `a` (1 configurations)\n{axes}## [1] `b` (1)\n"
    assert len(nvbench_program.states(text, 9)) <= 9


def test_a_state_is_measured_by_itself(tmp_path: Path) -> None:
    program = copied(tmp_path / "bench")
    states = nvbench_program.states(fake_nvbench.listed(), 9)
    stand_in = nvbench_program.provide(tmp_path / "build", program, states)
    report = tmp_path / "report.json"
    words = [str(stand_in), f"--benchmark_out={report}", "--benchmark_filter=^(copy.*:4096|fails)$"]
    assert subprocess.run(words, check=False).returncode == 0
    rows = {row["name"]: row for row in json.loads(report.read_text())["benchmarks"]}
    assert [*rows] == [NAMES[1], NAMES[3], NAMES[4]]
    assert rows[NAMES[1]]["real_time"] == pytest.approx(4096, rel=0.01)
    assert rows[NAMES[1]]["sm_clock_hz"] == pytest.approx(1.9e9)  # so it is a device time
    assert "illegal memory access" in rows["fails"]["error_message"]


def test_two_builds_are_compared_in_turns(
    folders: TwoFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpgauge.measure.discovery.ROOT", folders.root)
    for side, factor in (("base", "1"), ("candidate", "1.2")):
        program = copied(folders.root / side / "bench")
        text = program.read_text().replace('os.environ.get("FACTOR", "1")', f'"{factor}"')
        program.write_text(text)
    status, outcomes = folders.outcomes("--filter=Elements:4096|fails")
    assert status is ExitStatus.REGRESSION
    assert outcomes == {NAMES[1]: "REGRESSION", NAMES[3]: "REGRESSION", "fails": "ERROR"}


def copied(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    body = Path(fake_nvbench.__file__).read_text().partition("\n")[2]
    path.write_text(f"#!{sys.executable} -IS\n{body}")  # starts faster without site
    path.chmod(0o755)
    return path
