# SPDX-License-Identifier: Apache-2.0
"""The database of a history: always what the branch says, whatever became of the file."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from math import log, nan, pi, sqrt
from pathlib import Path

import numpy as np
import pytest

import long_history
from history_clone import BASE, GPU, HistoryClone
from hosted_repository import git
from warpgauge.history import database, lines
from warpgauge.history import series as history
from warpgauge.history.lines import Ratio
from warpgauge.history.series import Series
from warpgauge.records.model import Clock
from warpgauge.statistics import samples
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import UserError


class Clone(HistoryClone):
    @property
    def path(self) -> Path:
        return self.root / "build" / "history" / "nights.sqlite"

    def series(self, name: str = "a/b", ref: str = "main", gpu: str = GPU) -> Series:
        return database.ask(self.root, ref, lambda asked: history.series(asked, name, gpu))

    def days(self, name: str = "a/b", ref: str = "main") -> list[int]:
        def read(asked: sqlite3.Connection) -> list[int]:
            nights = history.nights_of(asked, GPU)
            return [int(nights[at].date[8:10]) for at in history.series(asked, name, GPU).nights]

        return database.ask(self.root, ref, read)

    def content(self) -> list[tuple[object, ...]]:
        """All that it says, without the numbers that are its own."""
        return database.ask(self.root, "main", _content)


def _content(asked: sqlite3.Connection) -> list[tuple[object, ...]]:
    return [
        (gpu, night.date, night.run, dict(night.facts), one.benchmark, one.log_seconds[at])
        for gpu in history.gpu_models(asked)
        for one in sorted(history.all_series(asked, gpu), key=lambda found: found.benchmark)
        for at, night in enumerate(history.nights_of(asked, gpu)[index] for index in one.nights)
    ]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_a_series_has_its_nights_by_date_with_their_errors(clone: Clone) -> None:
    clone.night(2, {"a/b": 2e-6}, sd=0.01, processes=3, driver_version="590.2")
    clone.night(1, {"a/b": 1e-6, "c/d": 5e-6}, sd=None, processes=1)
    clone.night(3, {"c/d": 5e-6})
    clone.night(4, {"a/b": 4e-6}, gpu_uuid="GPU-2", run=5)
    clone.night(4, {"a/b": 3e-6}, gpu_uuid="GPU-2", run=4)  # several runs a night
    found = clone.series()
    assert found.nights == (0, 1, 3, 4)
    assert found.log_seconds == pytest.approx([log(time) for time in (1e-6, 2e-6, 3e-6, 4e-6)])
    seven, three = (sd * sqrt(pi / (3 * count)) for sd, count in ((0.004, 7), (0.01, 3)))
    assert found.errors == pytest.approx([nan, three, seven, seven], nan_ok=True)
    assert clone.days() == [1, 2, 4, 4]
    assert clone.series("no/such").nights == ()
    assert clone.series(gpu="no-such").nights == ()


def test_a_ratio_stands_with_its_night_and_error(clone: Clone) -> None:
    clone.night(1, {"a/b": 1e-6}, ratios={"a/b": Ratio(0.02, 0.01, 4), "no/time": Ratio(1, 1, 4)})
    clone.night(2, {"a/b": 1e-6, "c/d": 1e-6}, ratios={"c/d": Ratio(-0.5, None, 1)})
    clone.night(3, {"a/b": 1e-6})
    of_four = 0.01 * sqrt(pi / 12)
    for name, ratios, errors in (
        ("a/b", [0.02, nan, nan], [of_four, nan, nan]),
        ("c/d", [-0.5], [nan]),
        ("no/time", [], []),
    ):
        found = clone.series(name)
        assert found.log_ratios == pytest.approx(ratios, nan_ok=True)
        assert found.ratio_errors == pytest.approx(errors, nan_ok=True)
    nights = database.ask(clone.root, "main", lambda asked: history.nights_of(asked, GPU))
    assert [night.base for night in nights] == [BASE, BASE, ""]


def test_a_clock_is_told_by_any_night(clone: Clone) -> None:
    clone.night(1, {"a/b": 1e-6})
    clone.night(2, {"c/d": 1e-6}, host=("c/d", "no/such"))
    known = {"a/b": Clock.DEVICE, "c/d": Clock.HOST}
    assert database.ask(clone.root, "main", history.clocks) == known
    clone.night(3, {"a/b": 1e-6, "c/d": 1e-6})
    assert database.ask(clone.root, "main", history.clocks) == known


def test_the_error_is_that_of_the_centre() -> None:
    random = np.random.default_rng(21)
    for processes in (1, 3, 5, 7, 15):
        centres = samples.centre(random.normal(0.0, 0.01, (100_000, processes)))
        error = history.standard_error(np.array([0.01]), np.array([float(processes)]))
        assert error[0] == pytest.approx(np.std(centres), rel=0.03)


def test_the_last_nights_are_the_newest_in_whatever_order_they_came(clone: Clone) -> None:
    for day in (3, 1, 4, 2):
        clone.night(day, {"a/b": day * 1e-6})
        clone.days()
    clone.night(5, {"c/d": 1e-6})

    def last(asked: sqlite3.Connection) -> list[tuple[str, list[float]]]:
        found = history.all_series(asked, GPU, last=3)
        return [(one.benchmark, np.exp(one.log_seconds).tolist()) for one in found]

    (one, times), (other, _) = database.ask(clone.root, "main", last)
    assert (one, other) == ("a/b", "c/d")
    assert times == pytest.approx([3e-6, 4e-6])


def test_a_new_commit_adds_its_lines_alone(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in (1, 2, 3):
        clone.night(day, {"a/b": day * 1e-6})
    clone.days()
    read: list[str] = []
    nights = lines.nights

    def counted(root: Path, wanted: object) -> object:
        files = list(wanted)  # type: ignore[call-overload]
        read.extend(file.path for file in files)
        return nights(root, files)

    monkeypatch.setattr(lines, "nights", counted)
    clone.night(4, {"a/b": 4e-6, "c/d": 1e-6})
    assert clone.days() == [1, 2, 3, 4]
    assert clone.days("c/d") == [4]
    assert read == [f"{GPU}/2026-11-04-4.jsonl"]
    clone.days()
    assert len(read) == 1


def test_what_was_replaced_or_removed_is_gone(clone: Clone) -> None:
    for day in (1, 2, 3, 4, 5):
        clone.night(day, {"a/b": day * 1e-6}, {"c/d": "no memory"})
    clone.days()
    clone.night(2, {"a/b": 9e-6, "e/f": 1e-6})  # another attempt of that run
    clone.remove("2026-11-04-4")
    assert np.exp(clone.series().log_seconds) == pytest.approx([1e-6, 9e-6, 3e-6, 5e-6])
    completed = clone.content()
    clone.path.unlink()
    assert clone.content() == completed


def test_another_ref_has_its_own_nights(clone: Clone) -> None:
    clone.night(1, {"a/b": 1e-6})
    git(clone.root, "branch", "old")
    clone.night(2, {"a/b": 2e-6})
    for _ in range(2):
        assert clone.days() == [1, 2]
        assert clone.days(ref="old") == [1]


def test_what_is_open_stays_what_it_was(clone: Clone) -> None:
    clone.night(1, {"a/b": 1e-6})
    git(clone.root, "branch", "old")
    clone.night(2, {"a/b": 2e-6})

    def read(asked: sqlite3.Connection) -> int:
        assert clone.days(ref="old") == [1]  # which takes the file's name
        return len(history.series(asked, "a/b", GPU).nights)

    assert database.ask(clone.root, "main", read) == 2


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def _overwritten(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)


def _foreign(path: Path) -> None:
    path.unlink()
    other = sqlite3.connect(path)
    other.executescript("CREATE TABLE source (sha TEXT); INSERT INTO source VALUES ('x')")
    other.close()


def _of_another_version(path: Path) -> None:
    other = sqlite3.connect(path)
    other.executescript("PRAGMA user_version = 999; DROP TABLE points")
    other.close()


def _without_points(path: Path) -> None:
    other = sqlite3.connect(path)
    other.executescript("DROP TABLE points")
    other.close()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


DAMAGES = [_truncated, _overwritten, _foreign, _of_another_version, _without_points, _empty,
           _dangling]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("later", [False, True])
def test_a_damaged_or_foreign_file_is_made_anew(
    clone: Clone, damage: Callable[[Path], None], later: bool
) -> None:
    for day in range(1, 5):
        clone.night(day, {f"{family}/b": day * 1e-6 for family in "abcdefgh"})
    before = clone.content()
    damage(clone.path)
    if later:  # so that it would only be completed
        clone.night(5, {"a/b": 5e-6})
        assert clone.days() == [1, 2, 3, 4, 5]
        assert clone.days("b/b") == [1, 2, 3, 4]
    else:
        assert clone.content() == before


def test_a_line_that_cannot_be_read_is_kept_in_mind_until_it_is_mended(clone: Clone) -> None:
    def told() -> list[str]:
        return [one.partition(":")[0] for one in database.ask(clone.root, "main", database.faults)]

    clone.night(1, {"a/b": 1e-6})
    assert told() == []
    clone.text("2", "{\n\n[]")
    clone.night(3, {"a/b": 1e-6})
    for _ in range(2):
        assert told() == [f"{GPU}/2.jsonl, line {number}" for number in (1, 3)]
        assert clone.days() == [1, 3]
    clone.night(4, {"a/b": 1e-6})  # completes the file
    assert len(told()) == 2
    clone.remove("2")
    assert told() == []


def test_what_a_killed_build_left_goes_with_the_next(clone: Clone) -> None:
    clone.path.parent.mkdir(parents=True)
    (clone.path.parent / "tmpx.new").write_bytes(b"half")
    clone.night(1, {"a/b": 1e-6})
    assert clone.days() == [1]
    assert [path.name for path in clone.path.parent.iterdir()] == [clone.path.name]


def test_links_and_other_files_of_the_branch_are_no_nights(clone: Clone) -> None:
    clone.night(1, {"a/b": 1e-6})
    (clone.root / GPU / "link.jsonl").symlink_to("2026-11-01-1.jsonl")
    (clone.root / GPU / "notes.txt").write_text("{")
    (clone.root / "top.jsonl").write_text("{")
    clone.commit()
    assert clone.days() == [1]


def test_a_lost_object_is_told(clone: Clone) -> None:
    clone.night(1, {"a/b": 1e-6})
    blob = git(clone.root, "rev-parse", f"main:{GPU}/2026-11-01-1.jsonl")
    (clone.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(UserError, match=f"lacks the git object {blob[:10]}"):
        clone.days()


def test_a_place_that_cannot_be_written_does_not_matter(clone: Clone) -> None:
    clone.night(1, {"a/b": 1e-6})
    (clone.root / "build").write_text("a file")
    assert clone.days() == [1]
    assert (clone.root / "build").read_text() == "a file"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every folder")
def test_a_read_only_folder_serves_what_it_has_and_more(clone: Clone) -> None:
    clone.night(1, {"a/b": 1e-6})
    clone.days()
    before = clone.path.read_bytes()
    clone.path.parent.chmod(0o555)
    try:
        assert clone.days() == [1]
        clone.night(2, {"a/b": 1e-6})
        assert clone.days() == [1, 2]
        assert clone.path.read_bytes() == before
    finally:
        clone.path.parent.chmod(0o755)


_READER = """
import sys
from pathlib import Path
from warpgauge.history import database, series
root = Path(sys.argv[1])
for _ in range(20):
    for ref, nights in (("main", 6), ("old", 5)):
        one = database.ask(root, ref, lambda asked: series.series(asked, "a/b", "nvidia-test"))
        assert len(one.nights) == nights, (ref, one)
"""


def test_readers_and_builders_at_the_same_time_each_get_their_own(clone: Clone) -> None:
    for day in range(1, 7):
        clone.night(day, {"a/b": day * 1e-6})
        if day == 5:
            git(clone.root, "branch", "old")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts" / "src")}
    command = [sys.executable, "-c", _READER, str(clone.root)]
    readers = [subprocess.Popen(command, env=environment) for _ in range(3)]
    assert [reader.wait(60) for reader in readers] == [0, 0, 0]


def test_a_long_history_is_read_by_one_range_of_keys(tmp_path: Path) -> None:
    long_history.write(tmp_path, range(40), gpus=3, rows=50)
    gpu, name = long_history.model(1), long_history.name(20)

    def read(asked: sqlite3.Connection) -> tuple[Series, int, list[Series]]:
        (plan,) = asked.execute(
            "EXPLAIN QUERY PLAN SELECT * FROM points WHERE gpu = 1 AND benchmark = 2"
        ).fetchall()
        assert "USING PRIMARY KEY (gpu=? AND benchmark=?)" in plan[-1]
        (count,) = asked.execute("SELECT count(*) FROM points").fetchone()
        return history.series(asked, name, gpu), count, list(history.all_series(asked, gpu))

    one, count, every = database.ask(tmp_path, long_history.BRANCH, read)
    assert (count, len(one.nights), len(every)) == (6000, 40, 50)
    same = next(series for series in every if series.benchmark == name)
    assert np.array_equal(same.log_seconds, one.log_seconds)
    assert same.nights == one.nights
