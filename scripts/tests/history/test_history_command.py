# SPDX-License-Identifier: Apache-2.0
"""warpgauge history: what the history holds, read from the clone alone."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from history_clone import BASE, FACTS, HistoryClone
from warpgauge.commands import history as history_command
from warpgauge.history import lines
from warpgauge.history.lines import Night, Point, Ratio
from warpgauge.system.errors import ExitStatus, UserError

POINT = Point(1e-6, 0.01, 7)
NIGHT = json.loads(lines.line(Night("2026-11-01", "c" * 40, 1, FACTS, {"a/b": POINT}, {})))


class History(HistoryClone):
    capsys: pytest.CaptureFixture[str]

    faults: Sequence[str] = ()  # what was last told on standard error

    def ask(self, command: str, *argv: str, status: ExitStatus = ExitStatus.OK) -> str:
        assert history_command.main([command, *argv], self.root) is status
        shown = self.capsys.readouterr()
        self.faults = shown.err.splitlines()
        return shown.out

    def rows(self, command: str, *argv: str) -> list[list[str]]:
        shown = self.ask(command, *argv)
        return [re.split(r"\s{2,}", line.strip()) for line in shown.splitlines()]


@pytest.fixture
def history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> History:
    monkeypatch.setenv("COLUMNS", "120")
    made = History(tmp_path)
    made.capsys = capsys
    return made


def test_the_newest_time_stands_beside_the_median_before(history: History) -> None:
    for day, time in enumerate((1e-6, 1.04e-6, 1.01e-6, 1.2e-6), start=1):
        history.night(day, {"a/b": time, "c/d": 2e-6})
    assert history.rows("show")[:-1] == [
        ["NVIDIA Test · 4 nights, 2026-11-01 … 2026-11-04"],
        ["benchmark", "nights", "newest", "time", "change"],
        ["a/b", "4", "2026-11-04", "1.200 µs", "+18.8 %"],
        ["c/d", "4", "2026-11-04", "2.000 µs", "0.00 %"],
    ]
    rows = history.rows("show", "--filter=a")
    assert rows[2:-1] == [["a/b", "4", "2026-11-04", "1.200 µs", "+18.8 %"]]


def test_of_a_series_every_night_is_shown(history: History) -> None:
    history.night(1, {"a/b": 1e-6, "c/d": 1e-6})
    history.night(2, {"c/d": 1e-6}, {"a/b": "out of device memory"}, gpu_uuid="GPU-99999999-1")
    history.night(3, {"a/b": 1.1e-6, "c/d": 1e-6}, driver_version="590.2", sd=None, processes=1)
    history.night(4, {"c/d": 1e-6})
    told = [
        ["night", "commit", "GPU", "driver", "time", "error", "change"],
        ["2026-11-01", "0101010101", "12345678", "580.1", "1.000 µs", "±0.15 %", "–"],
        ["2026-11-02", "0202020202", "99999999", "580.1", "–", "–", "out of device memory"],
        ["2026-11-03", "0303030303", "12345678", "590.2", "1.100 µs", "–", "+10.0 %"],
        ["2026-11-04", "0404040404", "12345678", "580.1", "–", "–", "not in the suite"],
    ]
    assert history.rows("series", "a/b")[1:7] == [["a/b"], *told]


def test_a_change_is_that_of_the_ratios_where_nights_have_the_same_base(history: History) -> None:
    history.night(1, {"a/b": 2e-6}, ratios={"a/b": Ratio(0.0, 0.02, 4)})
    history.night(2, {"a/b": 1e-6})
    history.night(3, {"a/b": 3e-6}, ratios={"a/b": Ratio(0.1, 0.02, 4)})
    rows = history.rows("series", "a/b")
    assert rows[2][5:] == ["error", "in pairs", "change"]
    base = "bababababa"
    assert [row[6:] for row in rows[3:6]] == [
        [f"0.00 % ±1.02 % of {base}", "–"],
        ["–", "−50.0 %"],
        [f"+10.5 % ±1.02 % of {base}", "+10.5 %"],
    ]
    assert history.rows("show")[2][-1] == "+10.5 %"


def test_texts_of_a_megabyte_are_cut(history: History) -> None:
    long = "\u202e" * 1_000_000
    history.night(1, {"a/b": 1e-6}, gpu_name=long, driver_version=long)
    history.night(2, {}, {"a/b": long}, gpu_name=long)
    for argv in (("show",), ("series", "a/b"), ("changes",)):
        assert len(history.ask(*argv)) < 10_000


def test_each_gpu_model_has_a_table_and_one_can_be_asked_for(history: History) -> None:
    history.night(1, {"a/b": 1e-6})
    history.night(1, {"a/b": 3e-6, "e/f": 1e-6}, gpu="nvidia-other", gpu_name="NVIDIA Other")
    for argv in (("show",), ("series", "a/b")):
        titles = [row[0] for row in history.rows(*argv) if "·" in row[0]]
        assert [title.partition(" ·")[0] for title in titles] == ["NVIDIA Other", "NVIDIA Test"]
    assert [row[0] for row in history.rows("show", "--gpu=nvidia-test")[2:-1]] == ["a/b"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("serie", "gemm/b"), "there is no command 'serie': did you mean 'series'"),
        (("series",), "takes the name of a benchmark"),
        (("series", "gemm/b", "--filter=gemm"), "takes the name of a benchmark"),
        (("show", "gemm/b"), "the others --filter"),
        (("show", "--filter=gemn"), "no benchmark matches --filter 'gemn': did you mean"),
        (("show", "--gpu=nvidia-tset"), "'nvidia-tset': did you mean 'nvidia-test'"),
        (("series", "gemm/c"), "no benchmark 'gemm/c': did you mean 'gemm/b'"),
    ],
)
def test_what_is_not_there_is_told(history: History, argv: tuple[str, ...], words: str) -> None:
    history.night(1, {"gemm/b": 1e-6})
    with pytest.raises(UserError, match=words):
        history.ask(*argv)


def test_a_clone_without_the_branch_is_told_how_to_get_it(history: History) -> None:
    with pytest.raises(UserError, match=r"'origin/history' .* git fetch origin history"):
        history.ask("show")


def test_options_stand_before_or_behind_the_command(history: History) -> None:
    history.night(1, {"a/b": 1e-6, "c/d": 1e-6})
    before = history_command.main(["--filter=^a", "show"], history.root)
    shown = history.capsys.readouterr().out
    assert before is ExitStatus.OK
    assert shown == history.ask("show", "--filter=^a")
    assert "c/d" not in shown


def test_a_branch_without_a_night_is_told(history: History) -> None:
    history.commit()
    with pytest.raises(UserError, match="no night"):
        history.ask("show")


POINTS = ({"a/b": 1e-6}, {"a/b": []}, {"a/b": ["1", None, 7]}, {"": [1.0, None, 0]}, [1.0],
          *({"a/b": [time, 0.1, 7]} for time in (-1.0, 1e308, 1e-300)),
          *({"a/b": [1e-6, *rest]} for rest in ((-0.1, 7), (0.1, -1), (0.1, 1.5))))  # fmt: skip
RATIOS = ({"a/b": 0.1}, {"a/b": [0.1, 0.1, 0]}, {"a/b": [99.0, 0.1, 4]}, {"a/b": [0.1, -1.0, 4]},
          {"a/b": ["1", None, 4]}, {"": [0.1, 0.1, 4]}, [0.1], None)  # fmt: skip
WRONG = [*({"benchmarks": points} for points in POINTS), *({"ratios": one} for one in RATIOS),
         {"base": None}, {"facts": {"gpu_name": 1}}, {"run": "1"},
         {"run": 2**64}, {"warpgauge_format": "history/9"}, {"warpgauge_format": "history/1"},
         {"unmeasured": None}, {"date": None}]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        *("{", "[]", "1", "[" * 9999, '{"later":' + "[" * 99999, '{"date": "\\ud800"}'),
        *(json.dumps(NIGHT | one) for one in WRONG),
    ],
)
def test_a_line_that_nobody_can_read_is_told_with_its_place(history: History, line: str) -> None:
    history.text("1", f"{json.dumps(NIGHT)}\n{line}\n")
    assert "1 night, 2026-11-01" in history.ask("show", status=ExitStatus.NOT_MEASURED)
    *fault, count = history.faults
    where = r"nvidia-test/1.jsonl, line 2: .*(JSON|history/4 .*); update"
    assert re.match(where, " ".join(fault))
    assert count == "1 line of the history left out"


def test_a_history_of_bad_lines_alone_has_no_night_and_names_them(history: History) -> None:
    history.text("1", "{")
    with pytest.raises(UserError, match="no night"):
        history.ask("show")
    assert "nvidia-test/1.jsonl, line 1: " in history.capsys.readouterr().err


def test_a_key_of_a_later_warpgauge_is_passed_over(history: History) -> None:
    history.text("1", json.dumps({**NIGHT, "later": [None]}))
    assert history.rows("show")[2][0] == "a/b"


def test_hostile_text_reaches_no_terminal(history: History) -> None:
    hostile = "\x1b[2J::error::x ##[group]"
    name = f"a/{hostile}"
    history.night(1, {name: 1e-6}, driver_version=hostile, gpu_uuid=hostile)
    history.night(2, {}, {name: hostile}, gpu_name=hostile)
    for argv in (("show",), ("series", name), ("export",)):
        shown = history.ask(*argv)
        assert "a/" in shown
        assert "\x1b" not in shown
        assert "##[" not in shown


def test_no_name_in_an_export_is_a_formula_of_a_spreadsheet(history: History) -> None:
    history.night(1, {"=cmd|x": 1e-6})
    [row] = csv.DictReader(io.StringIO(history.ask("export")))
    assert row["benchmark"] == "'=cmd|x"


def test_an_export_holds_every_time_with_its_night(history: History) -> None:
    ratio = {"c/d": Ratio(0.25, 0.5, 4)}
    history.night(1, {"a/b": 1e-6, "c/d": 2e-6}, ratios=ratio)
    history.night(2, {"c/d": 3e-6}, {"a/b": "x"}, sd=None, processes=1, driver_version="590.2")
    history.night(2, {"e/f": 4e-6}, gpu="nvidia-other", run=9)

    def rows(*argv: str) -> list[dict[str, str]]:
        return [*csv.DictReader(io.StringIO(history.ask("export", *argv)))]

    found = rows()
    shown = ("gpu", "benchmark", "date", "run", "seconds", "log_sd", "processes", "driver_version")
    days = [f"2026-11-0{day}T01:00:00Z" for day in (1, 2)]
    assert [tuple(row[key] for key in shown) for row in found] == [
        ("nvidia-other", "e/f", days[1], "9", "4e-06", "0.004", "7", "580.1"),
        ("nvidia-test", "a/b", days[0], "1", "1e-06", "0.004", "7", "580.1"),
        ("nvidia-test", "c/d", days[0], "1", "2e-06", "0.004", "7", "580.1"),
        ("nvidia-test", "c/d", days[1], "2", "3e-06", "", "1", "590.2"),
    ]
    of_pairs = ("base", "log_ratio", "log_ratio_sd", "pairs")
    assert [tuple(row[key] for key in of_pairs) for row in found] == [
        *([("", "", "", "")] * 2), (BASE, "0.25", "0.5", "4"), ("", "", "", "")
    ]  # fmt: skip
    assert (found[0]["commit"], found[0]["boot_id"]) == ("02" * 20, "")
    assert len(rows("--filter=^c/", "--gpu=nvidia-test")) == 2


def steps() -> Iterator[tuple[dict[str, float], dict[str, str]]]:
    """60 nights: at night 20 the code slows `a/x` down, at night 40 a driver speeds `c/x` up."""
    random = np.random.default_rng(21)
    for night in range(60):
        factors = {"a/x": 1.05 if night >= 20 else 1.0, "b/x": 1.0, "c/x": 1.0}
        if night >= 40:
            factors["c/x"] = 0.9
        times = {name: 1e-6 * by * random.normal(1.0, 0.001) for name, by in factors.items()}
        yield times, {"driver_version": "590.2"} if night >= 40 else {}


def test_changes_are_told_with_their_night_and_cause(history: History) -> None:
    history.nights(steps())
    rows = history.rows("changes")
    assert [row[0] for row in rows[2:4]] == ["a/x", "c/x"]
    since, commits, others, change, cause = rows[2][1:]
    assert (since, others, cause) == ("2026-01-21", "0", "code")
    assert commits == "1919191919…2020202020"
    assert change.startswith("+5.")
    assert rows[3][1] == "2026-02-10"
    assert rows[3][-1] == "driver_version"
    assert rows[3][-2].startswith("−9.") or rows[3][-2].startswith("−10.")
    assert history.rows("changes", "--filter=^b/")[1] == ["0 changes"]


def slow() -> Iterator[tuple[dict[str, float], dict[str, str]]]:
    """120 nights: `a/x` takes longer by 3 % a year, `b/x` comes and goes, `c/x` does neither."""
    random = np.random.default_rng(23)
    for night in range(120):
        logs = {"a/x": 0.03 * night / 365, "b/x": 0.01 * math.sin(night / 10), "c/x": 0.0}
        yield {name: 1e-6 * math.exp(log + random.normal(0.0, 0.0005))
               for name, log in logs.items()}, {}  # fmt: skip


def test_a_drift_and_a_season_are_named_and_are_no_changes(history: History) -> None:
    history.nights(slow())
    rows = history.rows("changes")
    assert rows[1] == ["0 changes"]
    drift, season = rows[3:5]
    assert drift[0] == "a/x"
    assert re.fullmatch(r"drifting \+(2\.[89]|3\.[012])\d* % a year", drift[1])
    assert season[0] == "b/x"
    assert re.fullmatch(r"season of ±(0\.9|1\.[01]) %", season[1])
    assert len(rows) == 6


def short(
    count: int, first: int, factor: float
) -> Iterator[tuple[dict[str, float], dict[str, str]]]:
    """So many nights; from `first` on `a/x` takes `factor` times as long."""
    random = np.random.default_rng(22)
    for night in range(count):
        factors = {"a/x": factor if night >= first else 1.0, "b/x": 1.0}
        yield {name: 1e-6 * by * random.normal(1.0, 0.002) for name, by in factors.items()}, {}


@pytest.mark.parametrize(
    ("count", "first", "factor", "commits"),
    [(20, 17, 1.5, "1616161616…1717171717"), (16, 12, 1.1, "1111111111…1212121212")],
)
def test_a_large_change_in_few_nights_is_told(
    history: History, count: int, first: int, factor: float, commits: str
) -> None:
    history.nights(short(count, first, factor))
    told = history.rows("changes")
    assert told[2][:3:2] == ["a/x", commits]


@pytest.mark.parametrize(("count", "few"), [(1, True), (9, True), (10, False), (20, False)])
def test_too_few_nights_to_find_changes_in_are_told(
    history: History, count: int, few: bool
) -> None:
    history.nights(short(count, count, 1.0))
    told = history.rows("changes")
    assert told[1] == ["0 changes"]
    assert len(told[2:]) == few
    assert all("10 nights" in row[0] for row in told[2:])


def test_a_change_that_a_policy_expects_has_its_reason_as_the_cause(history: History) -> None:
    history.nights(steps())
    path = history.root / "baselines" / "policy.toml"
    path.parent.mkdir()
    path.write_text(
        '[[expected]]\npattern = "^a/"\nslower_by_at_most_percent = 10\n'
        'reason = "Rounds as IEEE 754 does."\nexpires = 2100-01-01\n'
    )
    assert history.rows("changes", "--filter=^a/")[2][-1] == "Rounds as IEEE 754 does."
