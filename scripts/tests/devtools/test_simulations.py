# SPDX-License-Identifier: Apache-2.0
"""scripts/devtools/simulate: which tables it makes, its data, and the page that shows them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from devtools.simulations import run
from devtools.simulations.run import DATA, PAGE, Tables, main, page
from devtools.simulations.table import Size, Table
from warpgauge.measure import self_check
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import UserError

MOST_WORDS = 7400  # of all pages


def drawn(size: Size) -> Sequence[float | str]:
    return [size.count(100, 10), float(size.source().integers(1000))]


def failing(size: Size) -> Sequence[float | str]:
    raise ValueError("no such noise")


HEADS = ("noise", "count", "drawn")
ALARMS = Table("pairs alarms", HEADS, {"normal": drawn, "t of 3": drawn})
POWER = Table("pairs power", HEADS, {"normal": drawn})
TEXT = "Before.\n<!-- table: pairs alarms -->\nAfter.\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the data of two tables."""
    monkeypatch.setattr(run, "all_tables", lambda: iter([ALARMS, POWER]))
    monkeypatch.setattr(run, "DATA", tmp_path / "statistics.json")
    return tmp_path


def test_the_page_shows_the_table_that_was_simulated(here: Path) -> None:
    assert main(["--seed=5"]) == 0
    data = json.loads((here / "statistics.json").read_text())
    assert data.keys() == {"pairs alarms", "pairs power"}
    alarms = data["pairs alarms"]
    assert (alarms["whole"], alarms["seed"], alarms["heads"]) == (False, 5, [*HEADS])
    (normal, other), value = alarms["rows"], float(Size(False, 5).source().integers(1000))
    assert (normal, other) == (["normal", 10, value], ["t of 3", 10, value])
    table = f"|noise|count|drawn|\n|---|---|---|\n|normal|10|{value:g}|\n|t of 3|10|{value:g}|"
    assert page(TEXT, data) == f"Before.\n{table}\nAfter.\n"


def test_tables_that_are_not_asked_for_stay_as_they_are(here: Path) -> None:
    main(["--seed=5"])
    main(["power", "--whole", "--seed=6"])
    data = json.loads((here / "statistics.json").read_text())
    made = {name: (table["whole"], table["seed"]) for name, table in data.items()}
    assert made == {"pairs alarms": (False, 5), "pairs power": (True, 6)}
    assert data["pairs power"]["rows"][0][1] == 100


def test_another_file_leaves_the_data_alone(here: Path) -> None:
    assert main(["alarms", "--out", str(here / "x.json")]) == 0
    assert json.loads((here / "x.json").read_text()).keys() == {"pairs alarms"}
    assert not (here / "statistics.json").exists()


def test_a_row_that_fails_is_named(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ill = Table("pairs alarms", HEADS, {"normal": drawn, "t of 3": failing})
    monkeypatch.setattr(run, "all_tables", lambda: iter([ill]))
    with pytest.raises(UserError, match=r"pairs alarms, t of 3: .*no such noise"):
        main([])
    assert not (here / "statistics.json").exists()


def test_a_table_that_nobody_makes_is_refused(here: Path) -> None:
    with pytest.raises(UserError, match="'pairs alarms', but neither"):
        page(TEXT, {})
    with pytest.raises(UserError, match="no table has a name that matches 'nothing'"):
        main(["nothing"])


def test_every_table_has_a_name_of_its_own_that_the_page_can_show() -> None:
    names = [table.name for table in run.all_tables()]
    assert len(names) == len(set(names))
    for name in names:
        shown = page(f"<!-- table: {name} -->", {name: {"heads": ["x"], "rows": []}})
        assert shown == "|x|\n|---|"


def checked_in() -> Tables:
    return json.loads(DATA.read_text()) if DATA.is_file() else {}


def test_the_self_checks_of_the_page_are_those_beside_the_baselines() -> None:
    _, rows = self_check.table(ROOT / "baselines")
    assert [*map(tuple, checked_in().get("self-check", {"rows": []})["rows"])] == rows


def test_the_pages_are_short_and_show_tables_that_exist_and_all_measured_ones() -> None:
    text = "".join(path.read_text() for path in PAGE.parent.glob("*.md"))
    measured = {path.stem for path in (ROOT / "docs" / "tables").glob("*.csv")}
    shown = {*re.findall(r"<!-- table: (.*?) -->", text)}
    assert measured <= shown <= measured | checked_in().keys() | {"overrides"}
    assert len(text.split()) <= MOST_WORDS


def test_the_worked_example_prints_what_the_page_says() -> None:
    code, printed = re.findall(r'-c "\n(.*?)"\n```\n\n```\n(.*?)```', PAGE.read_text(), re.DOTALL)[
        0
    ]
    run_it = [sys.executable, "-c", code]
    path = {"PYTHONPATH": str(ROOT / "scripts" / "src")}
    done = subprocess.run(run_it, env=path, capture_output=True, text=True, check=True)
    assert done.stdout == printed
