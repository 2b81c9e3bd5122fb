# SPDX-License-Identifier: Apache-2.0
"""warpgauge compare writes a page of one run or two, with the history of its rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from builders import Json, baseline, context, google, google_row, row, run, scaled, write
from history_clone import HistoryClone
from hosted_repository import git
from warpgauge.commands import compare
from warpgauge.history.lines import Ratio
from warpgauge.system.errors import ExitStatus, UserError

SAME = run([row("a/b"), row("a/c")])
SLOW = run([row("a/b", scaled(1.2)), row("a/c")])


@dataclass
class Tree:
    """A repository `root`, which is the working directory, and what is printed."""

    root: Path
    capsys: pytest.CaptureFixture[str]

    def baseline(self) -> None:
        times = {"2026-11-20-1": scaled(1.0), "2026-11-20-2": scaled(1.001)}
        rows = [row(name) | {"process_medians": times} for name in ("a/b", "a/c")]
        told: dict[str, Json] = {key: context(boot_id=key) for key in times}
        write(self.root / "baselines" / "nvidia-test" / "a.json", baseline(rows, told))

    def write(self, document: Json, name: str = "run.json") -> str:
        return str(write(self.root / name, document).relative_to(self.root))

    def page(self, *argv: str) -> str:
        """The text of the page."""
        compare.main([*argv, "--format=html=it.html"], self.root)
        return (self.root / "it.html").read_text(encoding="utf-8")


@pytest.fixture
def tree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Tree:
    monkeypatch.chdir(tmp_path)
    return Tree(tmp_path, capsys)


def headline(page: str) -> str:
    found = re.search(r"<h1>(.*?)</h1>", page, re.S)
    assert found
    return re.sub(r"<[^>]*>", "", found[1])


def test_a_run_alone_is_held_against_the_baseline_of_its_gpu(tree: Tree) -> None:
    tree.baseline()
    assert headline(tree.page(tree.write(SLOW))).startswith("FAIL 1 slower")


def test_one_side_of_pairs_alone_has_nothing_to_compare_with(tree: Tree) -> None:
    document = run([row("memcpy/a", process_rounds=[*range(1, 8)])], pair_id="p")
    assert headline(tree.page(tree.write(document))).startswith("NOT DECIDED")


def test_two_runs_are_base_and_candidate(tree: Tree) -> None:
    tree.baseline()  # of neither
    base, slow = tree.write(SAME, "old.json"), tree.write(SLOW, "new.json")
    page = tree.page(base, slow)
    assert headline(page).startswith("FAIL 1 slower")
    assert "1 faster" in headline(tree.page(slow, base))
    assert "2 within tolerance" in headline(tree.page(base, slow, "--min-effect=50"))


@pytest.mark.parametrize("document", [SAME, run([row("a/b")], gpu_name=""), google([])])
def test_without_a_baseline_the_times_stand_alone(tree: Tree, document: Json) -> None:
    rows = [google_row("a/b", time) for time in (10.0, 11.0)]
    page = tree.page(tree.write(document if document["benchmarks"] else google(rows)))
    assert "There is nothing to compare with" in page
    assert ">new</h3>" in page


def test_a_baseline_can_be_shown_by_itself(tree: Tree) -> None:
    tree.baseline()
    page = tree.page("baselines/nvidia-test")
    assert "There is nothing to compare with" in page


def test_the_history_adds_how_each_row_went(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "checkout").mkdir()
    history = HistoryClone(tmp_path / "checkout")
    for day in range(1, 8):
        ratios = {"a/b": Ratio(0.01 * day, 0.001, 4)} if day < 7 else None
        history.night(day, {"a/b": 1e-6, "z/z": 1e-6}, ratios=ratios)
    tree.baseline()
    name = tree.write(SLOW)
    assert "2026-11-07" not in tree.page(name)
    page = tree.page(name, "--history", "checkout")
    assert "2026-11-07" in page
    assert "in pairs +6.2 % beside bababababa" in page
    assert "in pairs +7" not in page
    assert "z/z" not in page  # it is none of the run's
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "fetch", "--quiet", "checkout", "main:history")
    assert tree.page(name, "--history", "history") == page
    history.text("bad", "{")
    same = tree.write(run([row("a/b")]), "same.json")
    argv = [same, same, "--history=checkout", "--format=html=it.html"]
    assert compare.main(argv, tmp_path) == ExitStatus.NOT_MEASURED
    assert "2026-11-07" not in (tmp_path / "it.html").read_text(encoding="utf-8")  # unchanged
    with pytest.raises(UserError, match="'nowhere' is not a branch of this clone"):
        compare.main([name, "--history=nowhere", "--format=html=x.html"], tmp_path)
    other = tree.write(run([row("a/b")], gpu_name="NVIDIA Other"), "other.json")
    with pytest.raises(UserError, match="no nights of 'nvidia-other'"):
        compare.main([other, "--history=history", "--format=html=x.html"], tmp_path)
    unnamed = tree.write(run([row("a/b")], gpu_name=""))
    with pytest.raises(UserError, match=r"run\.json names no GPU"):
        compare.main([unnamed, "--history=history", "--format=html=x.html"], tmp_path)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["run.json", "run.json", "run.json"], "unrecognized arguments: run.json"),
        (["-", "-"], "standard input"),
        (["run.json", "--history=x"], "add --format html=FILE"),
        (["run.json", "--history=x", "--format=json=html.json"], "add --format html=FILE"),
        (["run.json", "--filter=nosuch"], "no benchmark of either side matches"),
        ([], "name a run"),
        (["nowhere.json"], r"nowhere\.json"),
        (["foreign.json"], r"foreign\.json"),
        (["foreign.json", "run.json"], r"foreign\.json"),
        (["run.json", "--format=html=mine.html"], r"mine\.html: the file exists and is no page"),
        (["run.json", "--format=html=baselines/x.html"], "which only --record writes"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(
    tree: Tree, argv: list[str], told: str
) -> None:
    tree.baseline()
    tree.write(SAME)
    (tree.root / "foreign.json").write_bytes(b'{"context": "\xff')
    (tree.root / "mine.html").write_text("mine")
    before = sorted(tree.root.rglob("*"))
    with pytest.raises(UserError, match=told) as refused:
        compare.main(argv, tree.root)
    assert refused.value.status is ExitStatus.BAD_USAGE
    assert "\n" not in str(refused.value)
    assert sorted(tree.root.rglob("*")) == before
    assert (tree.root / "mine.html").read_text() == "mine"
