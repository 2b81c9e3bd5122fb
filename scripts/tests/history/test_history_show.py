# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci history show: what the history holds, read from the clone alone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from builders import write
from hosted_repository import git
from warpgauge.commands.ci import history as history_command
from warpgauge.history import entry
from warpgauge.history.entry import Night
from warpgauge.system.errors import ExitStatus, UserError

FACTS = {"gpu_name": "NVIDIA Test", "gpu_uuid": "GPU-12345678-9", "driver_version": "580.1"}
NIGHT = json.loads(entry.line(Night("2026-11-01", "c" * 40, 1, FACTS, {"a/b": 1e-6}, {})))


@dataclass
class History:
    """A clone, in whose branch `main` the history lies."""

    root: Path
    capsys: pytest.CaptureFixture[str]

    def night(
        self,
        day: int,
        seconds: Mapping[str, float],
        unmeasured: Mapping[str, str] | None = None,
        **facts: str,
    ) -> None:
        told, reasons = {**FACTS, **facts}, dict(unmeasured or {})
        date = f"2026-11-{day:02}T01:00:00Z"
        night = Night(date, f"{day:02}" * 20, day, told, dict(seconds), reasons)
        self.text(f"2026-11-{day:02}-{day}", entry.line(night))

    def text(self, name: str, text: str) -> None:
        path = self.root / "nvidia-test" / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        git(self.root, "add", "--all")
        git(self.root, "commit", "--quiet", "--message", "a night")

    def show(self, *argv: str) -> str:
        assert history_command.main(["show", "--ref=main", *argv], self.root, {}) is ExitStatus.OK
        return self.capsys.readouterr().out

    def rows(self, *argv: str) -> list[list[str]]:
        return [re.split(r"\s{2,}", line.strip()) for line in self.show(*argv).splitlines()]


@pytest.fixture
def history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> History:
    monkeypatch.setenv("COLUMNS", "120")
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    one = {"runs_on": ["self-hosted", "x"], "minutes": 60}
    listed = [{"slug": "nvidia-test", "name": "NVIDIA Test", **one}]
    listed.append({"slug": "nvidia-other", "name": "NVIDIA Other", **one})
    write(tmp_path / ".github" / "gpus.json", {"gpus": listed})
    return History(tmp_path, capsys)


def test_the_newest_time_stands_beside_the_median_before(history: History) -> None:
    for day, time in enumerate((1e-6, 1.04e-6, 1.01e-6, 1.2e-6), start=1):
        history.night(day, {"a/b": time, "c/d": 2e-6})
    assert history.rows() == [
        ["NVIDIA Test · 4 nights, 2026-11-01 … 2026-11-04"],
        ["benchmark", "nights", "newest", "time", "change"],
        ["a/b", "4", "2026-11-04", "1.200 µs", "+18.8 %"],
        ["c/d", "4", "2026-11-04", "2.000 µs", "0.00 %"],
        ["change: beside the median of the nights before"],
    ]
    rows = history.rows("--nights=2")  # the last ones alone
    assert rows[0] == ["NVIDIA Test · 2 nights, 2026-11-03 … 2026-11-04"]
    assert rows[2] == ["a/b", "2", "2026-11-04", "1.200 µs", "+18.8 %"]


def test_of_a_single_benchmark_every_night_is_shown(history: History) -> None:
    history.night(1, {"a/b": 1e-6, "c/d": 1e-6})
    history.night(2, {"c/d": 1e-6}, {"a/b": "out of device memory"}, gpu_uuid="GPU-99999999-1")
    history.night(3, {"a/b": 1.1e-6, "c/d": 1e-6}, driver_version="590.2")
    assert history.rows("--filter=^a/b$")[2:-1] == [
        ["night", "commit", "GPU", "driver", "time", "change"],
        ["2026-11-01", "0101010101", "12345678", "580.1", "1.000 µs", "–"],
        ["2026-11-02", "0202020202", "99999999", "580.1", "–", "out of device memory"],
        ["2026-11-03", "0303030303", "12345678", "590.2", "1.100 µs", "+10.0 %"],
    ]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("--ref=origin/history", "git fetch origin history gets the history"),
        ("--ref=", "names no commit"),
        ("--ref=a\nb", "names no commit"),
        ("--ref=--help", "is no branch"),
        ("--filter=gemn", "no benchmark matches --filter 'gemn': did you mean"),
    ],
)
def test_what_is_not_there_is_told(history: History, asked: str, words: str) -> None:
    history.night(1, {"gemm/b": 1e-6})
    with pytest.raises(UserError, match=words):
        history.show(asked)


SECONDS = ({"a/b": -1.0}, {"a/b": "1"}, {"a/b": 1e308}, {"a/b": 1e-300}, {"": 1.0}, [1.0])
WRONG = [*({"seconds": seconds} for seconds in SECONDS), {"facts": {"gpu_name": 1}}, {"run": "1"},
         {"warpgauge_format": "history/2"}, {"unmeasured": None}, {"date": None}]  # fmt: skip


@pytest.mark.parametrize(
    "line", ["{", "[]", "1", "[" * 9999, *(json.dumps(NIGHT | one) for one in WRONG)]
)
def test_a_line_that_nobody_can_read_is_told_with_its_place(history: History, line: str) -> None:
    history.text("1", line)
    words = r"main, a line of nvidia-test: is no (JSON|history/1 .*); update"
    with pytest.raises(UserError, match=words):
        history.show()


def test_a_key_of_a_later_warpgauge_is_passed_over(history: History) -> None:
    history.text("1", json.dumps({**NIGHT, "later": [None]}))
    assert history.rows()[1] == ["a/b"]


def test_hostile_text_reaches_no_terminal(history: History) -> None:
    hostile = "\x1b[2J::error::x ##[group]"
    history.night(1, {f"a/{hostile}": 1e-6}, driver_version=hostile, gpu_uuid=hostile)
    shown = history.show()
    assert "\x1b" not in shown
    assert "##[" not in shown
