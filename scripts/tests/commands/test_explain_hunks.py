# SPDX-License-Identifier: Apache-2.0
"""The lines that cost time, in runs and by explain: a clone with times that follow from lines."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import fake_binary
from clone import GitRepository, empty_clone
from warpgauge import why
from warpgauge.commands import explain, measuring_command
from warpgauge.commands.measuring_command import MeasuringCommand
from warpgauge.history import bisect, hunks
from warpgauge.history.bisect import CommitPairs, Seen
from warpgauge.measure import cubins, manifest
from warpgauge.measure.build import PRESETS
from warpgauge.records import load
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.why.reason import Reason

BUSY, IDLE = "sync/busy", "sync/idle"
TIMES = {BUSY: 50_000.0, IDLE: 10_000.0}
_ERROR = 0.002  # of a change, where nothing is run
_COMMENT = re.compile(r"\s*//.*")
# Names that are new in several functions would make these one group.
_KNOWN = "int cost, both, either, flag, sync, busy, idle, x, y;\n"


def function(name: str, body: str = "return 0;") -> str:
    return f"int {name}() {{\n  {body}\n}}\n\n"


@dataclass
class Tree(GitRepository):
    """A line ``cost("row", 1.1)`` makes a row slower, ``both("row", x, y, 1.1)`` with both x and y.

    Code of ``uses(x)`` builds only where ``defines(x)`` is.
    """

    built_trees: list[str] = field(default_factory=list)
    settings: list[Sequence[str]] = field(default_factory=list)  # of each build
    times: dict[str, dict[str, float]] = field(default_factory=dict)  # by commit

    def sources(self, **changed: str) -> None:
        """12 functions f0 to f11 in two files; some have another body."""
        for number, path in enumerate(("kernels/a.cuh", "kernels/b.cuh")):
            (self.root / path).parent.mkdir(exist_ok=True)
            names = [f"f{6 * number + one}" for one in range(6)]
            text = "".join(function(name, changed.get(name, "return 0;")) for name in names)
            (self.root / path).write_text(_KNOWN + text)

    def file(self, path: str, content: str | bytes) -> None:
        to = self.root / path
        to.parent.mkdir(exist_ok=True, parents=True)
        to.write_bytes(content if isinstance(content, bytes) else content.encode())

    def save(self) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "a commit")
        return self.git("rev-parse", "HEAD")

    def build(self, root: Path, preset: str, say: Callable[[str], None], *rest: Any) -> None:  # noqa: ANN401
        settings: Sequence[str] = rest[0] if rest else ()
        paths = [path for path in sorted(root.rglob("*.cu*")) if "build" not in path.parts[-3:]]
        paths = [path for path in paths if root / "build" not in path.parents]
        content = "".join(path.read_bytes().decode(errors="replace") for path in paths)
        presets = root / PRESETS
        code = _COMMENT.sub("", content) + (presets.read_text() if presets.exists() else "")
        for setting in settings:
            key, _, value = setting.removeprefix("-D").partition("=")
            code = re.sub(f'"{key}": ".*"', f'"{key}": "{value}"', code)
        self.settings.append(settings)
        self.built_trees.append(code)
        defined = set(re.findall(r"defines\((\w+)\)", code))
        if missing := set(re.findall(r"uses\((\w+)\)", code)) - defined:
            raise UserError(f"`cmake` failed:\n  error: {min(missing)} is undefined")
        times = dict(TIMES)
        for row, factor in re.findall(r'cost\("(\S+)", ([\d.]+)\)', code):
            times[row] *= float(factor)
        for row, one, other, factor in re.findall(r'both\("(\S+)", (\w), (\w), ([\d.]+)\)', code):
            if {f"flag({one})", f"flag({other})"} <= {*re.findall(r"flag\(\w\)", code)}:
                times[row] *= float(factor)
        if '"CMAKE_CUDA_FLAGS": "slow"' in code:
            times[BUSY] *= 1.1
        if either := re.search(r'either\("(\S+)", ([\d.]+)\)', code):
            times[either[1]] *= float(either[2])
        self.times[self.git("-C", str(root), "rev-parse", "HEAD")] = times
        built = root / "build" / "release"
        version = hashlib.sha256(code.encode()).hexdigest()
        fake_binary.make(built, "sync", times, context={**fake_binary.GPU, "version": version})
        listed = json.loads((built / manifest.FILE).read_text())
        for program in listed["programs"]:
            program["inputs"] = [f"{program['path']}.told"]  # the fake itself is always the same
        (built / manifest.FILE).write_text(json.dumps(listed))

    def measured(
        self, base: str, commit: str, rows: Sequence[str], settled: object
    ) -> tuple[dict[str, Seen], bool]:
        """What CommitPairs.measured is here, where nothing is run."""
        seen = {}
        for row in rows:
            change = self.times[commit][row] / self.times[base][row] - 1.0
            ends = change - _ERROR, change + _ERROR
            outcome = Outcome.REGRESSION if change > 0.01 else Outcome.PASS
            seen[row] = Seen(outcome, change, *ends, *ends)
        return seen, True

    def explain(self, *argv: str) -> dict[str, Any]:
        """The document that the command writes."""
        path = self.root / "build" / "hunks.json"
        path.parent.mkdir(exist_ok=True)
        words = [*argv, "--against=HEAD", "--hunks", f"--format=json={path}"]
        assert explain.main(words, self.root) is ExitStatus.OK
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    def causes(self, row: str = BUSY) -> Mapping[tuple[str, ...], Any]:
        """The causes of a row by their places."""
        (found,) = (one for one in self.explain(row)["rows"] if one["name"] == row)
        return {tuple(cause["places"]): cause for cause in found["causes"]}

    @property
    def builds(self) -> int:
        """Of variants, without this tree."""
        return len(self.built_trees) - 1


@pytest.fixture
def real_tree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Tree:
    """Its first commit is the base; what a test writes then is the candidate."""
    made = empty_clone(Tree, tmp_path, capsys, monkeypatch)
    made.sources()
    made.save()
    return made


@pytest.fixture
def tree(real_tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """The same, without running programs in pairs."""
    monkeypatch.setattr(CommitPairs, "measured", real_tree.measured)
    return real_tree


def slow(row: str = BUSY, percent: int = 10) -> str:
    return f'cost("{row}", {1 + percent / 100});'


def innocent(number: int) -> str:
    return f"return {number + 1};"


EVERY = {f"f{number}": innocent(number) for number in range(12)}


def place(number: int) -> str:
    """Of the body of a function."""
    return f"kernels/{'ab'[number // 6]}.cuh:{number % 6 * 4 + 3}"


@pytest.mark.parametrize("guilty", [0, 4, 7, 11])
def test_one_of_12_functions_is_found_in_7_builds(tree: Tree, guilty: int) -> None:
    tree.sources(**{**EVERY, f"f{guilty}": slow()})
    ((places, cause),) = tree.causes().items()
    assert places == (place(guilty),)
    assert cause["share"]["part"] == pytest.approx(1.0, abs=0.05)
    assert tree.builds <= 7
    assert tree.git("status", "--porcelain").split() == ["M", "kernels/a.cuh", "M", "kernels/b.cuh"]


def test_a_file_with_any_name_is_found(tree: Tree) -> None:
    """Git quotes such names unless told otherwise."""
    name = "kernels/größe \x1b[31m.cuh"
    tree.file(name, "return 0;\n")
    tree.save()
    tree.sources(f1=innocent(1), f8=innocent(8))
    tree.file(name, slow())
    assert tree.causes().keys() == {(f"{name}:1",)}


def test_two_causes_have_their_shares(tree: Tree) -> None:
    tree.sources(**{**EVERY, "f2": slow(percent=14), "f9": slow(percent=6)})
    found = tree.causes()
    assert found.keys() == {(place(2),), (place(9),)}
    shares = [found[place(number),]["share"] for number in (2, 9)]
    assert [share["part"] for share in shares] == pytest.approx([0.69, 0.31], abs=0.03)
    assert all(share["low"] <= share["part"] <= share["high"] for share in shares)


def test_measured_pairs_find_it_and_leave_the_tree_alone(
    real_tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cubins, "of_row", lambda *_: "a digest")
    slower = list[float]()

    def of_pairs(name: str, pair: object, found: Comparison, measuring: object) -> Reason:
        slower.extend(row.change.ratio for row in found.verdicts if row.change and row.name == name)
        return Reason(name)

    monkeypatch.setattr(why.explain, "of_pairs", of_pairs)
    real_tree.sources(f1=innocent(1), f2=slow(percent=14), f3=innocent(3), f9=slow(percent=6))
    real_tree.git("add", "kernels/a.cuh")
    before = real_tree.git("status", "--porcelain")
    document = real_tree.explain(BUSY)
    assert document["code"]  # says that no kernels differ
    (row,) = document["rows"]
    assert row["whole"]["same_kernels"]
    assert row["did"]
    assert slower == pytest.approx([0.14], abs=0.02)  # of the larger cause alone
    found = {tuple(cause["places"]): cause for cause in row["causes"]}
    assert found.keys() == {(place(2),), (place(9),)}
    for number, share in ((2, 0.69), (9, 0.31)):
        assert found[place(number),]["share"]["part"] == pytest.approx(share, abs=0.02)
    assert real_tree.git("status", "--porcelain") == before
    assert real_tree.git("branch", "--list", "--all").split() == ["*", "main"]


def test_what_cannot_be_looked_into_loses_no_answer(
    real_tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> Reason:
        raise OSError(28, "No space left on device", "trace")

    monkeypatch.setattr(why.explain, "of_pairs", full)
    real_tree.sources(f1=innocent(1), f2=slow())
    assert real_tree.causes().keys() == {(place(2),)}
    assert "No space left" in real_tree.output()[1]


def test_what_builds_only_together_is_one_cause(tree: Tree) -> None:
    tree.sources(**{**EVERY, "f3": f"uses(helper); {slow()}", "f8": "defines(helper);"})
    (hunks_of_it,) = tree.causes()
    assert place(3) in hunks_of_it
    assert set(hunks_of_it) <= {place(3), place(8)}
    assert tree.builds <= 9


def test_what_cannot_be_put_back_in_parts_is_named_as_one(tree: Tree) -> None:
    """Neither of two functions goes with the old one of the other."""
    tree.sources(f3="defines(old3); uses(old8);", f8="defines(old8); uses(old3);")
    tree.save()
    tree.sources(f3=f"defines(n3); uses(n8); {slow()}", f8="defines(n8); uses(n3);")
    ((places, cause),) = tree.causes().items()
    assert set(places) == {place(3), place(8)}
    assert "build" in cause["note"]


def test_each_slower_row_of_a_run_has_its_causes(tree: Tree) -> None:
    tree.sources(**{**EVERY, "f5": slow(IDLE), "f10": f"{slow(BUSY)} {slow(IDLE, 20)}"})
    assert tree.bench("--against", "HEAD") is ExitStatus.REGRESSION
    found = {row["name"]: row for row in tree.explain()["rows"]}
    causes = {
        name: [(*cause["places"], round(cause["share"]["part"], 1)) for cause in row["causes"]]
        for name, row in found.items()
    }
    assert causes[BUSY] == [(place(10), 1.0)]
    assert sorted(causes[IDLE]) == [(place(5), 0.3), (place(10), 0.7)]


def test_two_functions_that_only_together_slow_it_are_found(tree: Tree) -> None:
    """It suffices to put one of them back."""
    both = f'both("{BUSY}", x, y, 1.2);'
    tree.sources(**{**EVERY, "f2": f"flag(x); {both}", "f9": "flag(y);"})
    ((places, cause),) = tree.causes().items()
    assert set(places) <= {place(2), place(9)}
    assert cause["share"]["part"] == pytest.approx(1.0)


def test_two_functions_each_of_which_slows_it_are_one_cause(tree: Tree) -> None:
    """Nothing is gained unless both are put back."""
    tree.sources(**{**EVERY, "f2": f'either("{BUSY}", 1.2);', "f9": f'either("{BUSY}", 1.2);'})
    ((places, cause),) = tree.causes().items()
    assert set(places) == {place(2), place(9)}
    assert cause["share"]["part"] == pytest.approx(1.0)


def test_comments_are_not_measured_and_files_of_no_program_not_built(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.sources(f1="return 0;  // zero", f2=slow())
    tree.file("docs/page.md", "words")
    tree.file("kernels/README.md", "words")
    asked: list[str] = []

    def measured(pairs: CommitPairs, base: str, *rest: Any) -> object:  # noqa: ANN401
        asked.append(base)
        return tree.measured(base, *rest)

    monkeypatch.setattr(CommitPairs, "measured", measured)
    found = tree.explain(BUSY)
    assert sorted(found["left_out"]) == ["docs/page.md", "kernels/README.md"]
    assert [cause["places"] for cause in found["rows"][0]["causes"]] == [[place(2)]]
    assert len(asked) == 1  # the base; without the function, it equals that


@pytest.mark.parametrize(
    "kind", ["new file", "deleted file", "binary file", "mode 100644 → 100755"]
)
def test_a_whole_file_can_be_the_cause(tree: Tree, kind: str) -> None:
    path, fast, costly = "kernels/c.cuh", b"return 0;\n", f"{slow()}\n".encode()
    if kind == "binary file":
        fast, costly = fast + b"\0", costly + b"\0"
    if kind == "deleted file":
        fast = b'cost("sync/busy", 0.5);\n'
    if kind != "new file":
        tree.file(path, fast)
        tree.save()
    tree.file(path, costly)
    if kind == "deleted file":
        (tree.root / path).unlink()
    if kind.startswith("mode"):
        (tree.root / path).chmod(0o755)
    tree.sources(f1=innocent(1), f8=innocent(8))
    ((places, cause),) = tree.causes().items()
    assert places == (path,)
    assert cause["hunks"][0]["whole"] == kind


def test_the_terminal_shows_lines_shares_and_what_was_not_put_back(tree: Tree) -> None:
    constant = "constexpr int vector_threads = {}; {}\n"
    tree.file("kernels/c.cuh", constant.format(128, slow(percent=0)))
    tree.save()
    tree.file("kernels/c.cuh", constant.format(512, slow(percent=0)))
    tree.sources(f1=innocent(1), f2=slow())
    tree.file("docs/page.md", "words")
    assert explain.main([BUSY, "--against=HEAD", "--hunks"], tree.root) is ExitStatus.OK
    out = tree.output()[0]
    assert f"({place(2)}) - return 0; + {slow()}" in out
    assert "+10.0 %" in out
    assert "100 % (97 to 103 %) of it" in out
    assert "docs/page.md" in out
    assert "vector_threads" not in out


def test_a_build_option_is_a_hunk_and_the_settings_of_this_machine_stay(tree: Tree) -> None:
    """The cache of this build has both; there, the preset's would hide the other one."""
    preset = '{{\n"CMAKE_CUDA_FLAGS": "{}",\n"CMAKE_CUDA_ARCHITECTURES": "native"\n}}\n'
    tree.file(PRESETS, preset.format("fast"))
    tree.save()
    tree.file(PRESETS, preset.format("slow"))
    tree.sources(f1=innocent(1), f7=innocent(7))
    cache = "CMAKE_CUDA_FLAGS:STRING=slow\nCMAKE_CUDA_ARCHITECTURES:STRING=90\n"
    tree.file("build/release/CMakeCache.txt", cache)
    assert tree.causes().keys() == {(f"{PRESETS}:2",)}
    assert all("-DCMAKE_CUDA_ARCHITECTURES=90" in given for given in tree.settings[1:])


def test_a_search_that_was_stopped_goes_on_where_it_was(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.sources(**{**EVERY, "f4": slow()})
    measured, limit = list[str](), 3

    def few(
        pairs: CommitPairs, base: str, name: str, rows: Sequence[str], settled: object
    ) -> object:
        if (known := pairs.journal.find(["seen", base, name, *rows], dict[str, Seen])) is not None:
            return known, True
        measured.append(base)
        if len(measured) == limit:
            monkeypatch.setattr(CommitPairs, "left", 0.0)
        seen, is_final = tree.measured(base, name, rows, settled)
        pairs.journal.keep(["seen", base, name, *rows], seen)
        return seen, is_final

    left = CommitPairs.left
    monkeypatch.setattr(CommitPairs, "measured", few)
    first = tree.explain(BUSY)
    assert first["stopped"]
    assert first["following"]
    monkeypatch.setattr(CommitPairs, "left", left)
    assert tree.causes().keys() == {(place(4),)}
    assert len(measured) == len(set(measured)) > limit
    trees = tree.built_trees[1:]  # without this tree, which is built each time
    assert len(trees) - 1 == len(set(trees))
    limit = 0
    tree.explain(BUSY)
    assert len(measured) > len(set(measured))  # a search that ended leaves nothing


def test_a_search_that_has_measured_all_it_may_does_not_go_on(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.sources(**{**EVERY, "f4": slow(), "f5": slow()})
    monkeypatch.setattr(bisect, "most_steps", lambda _: 1)
    found = tree.explain(BUSY)
    assert "limit" in found["stopped"]
    assert not found["following"]
    assert not [*tree.root.glob("build/runs/*.journal")]


def test_a_commit_can_be_explained_against_a_merge_and_files_that_git_ignores_do_not_count(
    tree: Tree,
) -> None:
    tree.git("checkout", "--quiet", "-b", "side")
    tree.file("docs/side.md", "words")
    tree.save()
    tree.git("checkout", "--quiet", "main")
    tree.file("docs/main.md", "words")
    tree.save()
    tree.git("merge", "--quiet", "--no-edit", "side")
    tree.sources(**{**EVERY, "f4": slow()})
    tree.file("build/ignored.cuh", slow())
    tree.file("kernels/untracked.cuh", "int untracked;\n")
    assert tree.causes().keys() == {(place(4),)}


def test_when_the_time_is_up_the_rest_is_named(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.sources(f1=innocent(1), f2=slow(), f9=innocent(9))
    monkeypatch.setattr(hunks, "SEARCH_S", 0.0)
    found = tree.explain(BUSY)
    ((cause,),) = (row["causes"] for row in found["rows"])
    assert set(cause["places"]) == {place(1), place(2), place(9)}
    assert cause["note"]
    assert "the time is up" in found["stopped"]
    assert [hunk["function"] for hunk in found["following"]] == ["int f1() {"]
    assert explain.main([BUSY, "--against=HEAD", "--hunks"], tree.root) is ExitStatus.OK
    assert f"goes on, with '{place(1)}' put back" in tree.output()[0]


def test_what_is_not_slower_has_no_cause(tree: Tree) -> None:
    tree.sources(f1=innocent(1), f2=slow(percent=-10))
    (row,) = tree.explain(BUSY)["rows"]
    assert row["causes"] == []
    assert tree.builds == 2  # both sides
    assert explain.main([BUSY, "--against=HEAD", "--hunks"], tree.root) is ExitStatus.OK
    assert f"{BUSY} is not slower" in tree.output()[0]


def test_a_run_of_another_commit_is_not_searched(real_tree: Tree) -> None:
    real_tree.sources(f1=slow())
    real_tree.save()
    assert real_tree.bench("--against", "HEAD~1") is ExitStatus.REGRESSION
    real_tree.sources(f1=slow(), f2=innocent(2))
    real_tree.save()
    with pytest.raises(UserError, match="measured commit"):
        explain.main(["--hunks"], real_tree.root)


def test_a_run_without_regressions_leaves_nothing_to_search(real_tree: Tree) -> None:
    real_tree.sources(f1=innocent(1))
    assert real_tree.bench("--against", "HEAD") is not ExitStatus.REGRESSION
    real_tree.output()
    assert explain.main(["--hunks"], real_tree.root) is ExitStatus.OK
    assert "nothing slower" in real_tree.output()[1]


@pytest.mark.parametrize(
    ("content", "why"), [("", "is this tree"), ("docs", "goes into"), ("//", "are equal")]
)
def test_without_a_difference_there_is_nothing_to_search(
    tree: Tree, content: str, why: str
) -> None:
    if content == "docs":
        tree.file("docs/page.md", "words")
    if content == "//":
        tree.sources(f1="return 0;  // zero")
    with pytest.raises(UserError, match=why) as caught:
        explain.main([BUSY, "--against=HEAD", "--hunks"], tree.root)
    assert caught.value.status is ExitStatus.BAD_USAGE


def test_a_base_that_does_not_build_is_one_sentence(tree: Tree) -> None:
    tree.sources(f1="uses(nothing);")
    tree.save()
    tree.sources(f2=slow())
    with pytest.raises(UserError, match="nothing is undefined") as caught:
        explain.main([BUSY, "--against=HEAD", "--hunks"], tree.root)
    assert caught.value.status is ExitStatus.NOT_MEASURED


@pytest.mark.parametrize(
    "argv",
    [
        [BUSY, "--against=."],
        [BUSY],
        ["kernels.toml:scale", "--against=HEAD"],
    ],
)
def test_what_cannot_be_built_in_parts_is_refused(tree: Tree, argv: list[str]) -> None:
    tree.file("kernels.toml", "")
    with pytest.raises(UserError) as caught:
        explain.main([*argv, "--hunks"], tree.root)
    assert caught.value.status is ExitStatus.BAD_USAGE


def verdicts(tree: Tree, *argv: str) -> dict[str, Any]:
    """What a run against the base says, by name."""
    path = tree.root / "build" / "verdicts.json"
    path.parent.mkdir(exist_ok=True)
    assert tree.bench("--against=HEAD", f"--format=json={path}", *argv) is ExitStatus.REGRESSION
    document = json.loads(path.read_text())
    return {**{row["name"]: row for row in document["verdicts"]}, "notes": document["notes"]}


def lines_of(why: Mapping[str, Any]) -> list[tuple[str, float]]:
    return [(one["place"], round(one["share"], 1)) for one in why["proved"]]


def notes(found: Mapping[str, Any]) -> str:
    return " ".join(note["text"] for note in found["notes"] if note["kind"] == "lines")


def test_a_run_proves_the_lines_of_each_regression_and_its_files_keep_them(tree: Tree) -> None:
    tree.sources(**{**EVERY, "f5": slow(IDLE), "f10": f"{slow(BUSY)} {slow(IDLE, 20)}"})
    found = verdicts(tree)
    assert lines_of(found[BUSY]["why"]) == [(place(10), 1.0)]
    assert lines_of(found[IDLE]["why"]) == [(place(10), 0.7), (place(5), 0.3)]
    assert not notes(found)
    out = tree.output()[0]
    assert f"slower, 2 rows: + {slow(BUSY)} {slow(IDLE, 20)} ({place(10)})" in out
    (run,) = (path for path in tree.runs() if not path.stem.endswith("-base"))
    kept = load.load(run).rows[IDLE].why
    assert kept is not None
    assert [cause.place for cause in kept.proved] == [place(10), place(5)]


@pytest.mark.parametrize("stop", ["time", "fault"])
def test_what_ends_the_search_of_a_run_is_a_note_and_changes_no_verdict(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, stop: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "variants")

    tree.sources(f5=slow(), f7=innocent(7))
    if stop == "time":
        monkeypatch.setattr(measuring_command, "_LINES_S", 0.0)
    else:
        monkeypatch.setattr(CommitPairs, "measured", full)
    found = verdicts(tree)
    assert ("searches longer" if stop == "time" else "No space left") in notes(found)
    assert not found[BUSY]["why"]["proved"]


def test_a_run_searches_what_it_measured_and_keeps_only_the_programs_of_its_search(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_pairs = MeasuringCommand.in_pairs

    def edited(*given: Any) -> object:  # noqa: ANN401
        found = in_pairs(*given)
        tree.sources(f0=slow(percent=50))
        return found

    tree.file("build/variants/of_another/program", "")
    tree.sources(**{**EVERY, "f5": slow()})
    monkeypatch.setattr(MeasuringCommand, "in_pairs", edited)
    assert lines_of(verdicts(tree)[BUSY]["why"]) == [(place(5), 1.0)]
    assert not (tree.root / "build" / "variants" / "of_another").exists()


def test_an_interrupted_search_of_a_run_loses_no_verdict(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    tree.sources(f5=slow())
    monkeypatch.setattr(CommitPairs, "measured", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tree.bench("--against=HEAD")
    assert f"1 slower: {BUSY}" in tree.output()[0]


@pytest.mark.parametrize("argv", [["--inject=busy=1.5"], []])
def test_a_run_with_injected_work_or_without_a_regression_searches_nothing(
    tree: Tree, argv: list[str]
) -> None:
    tree.sources(**{**EVERY, "f5": slow() if argv else innocent(5)})
    status = tree.bench("--against=HEAD", *argv)
    assert (status is ExitStatus.REGRESSION) is bool(argv)
    assert not (tree.root / "build" / "hunks").exists()
    assert len(tree.built_trees) == 2


def test_a_change_of_one_hunk_is_proved_by_the_pairs_of_the_run(real_tree: Tree) -> None:
    real_tree.sources(f5=slow(percent=50))
    assert lines_of(verdicts(real_tree)[BUSY]["why"]) == [(place(5), 1.0)]
    assert not [*real_tree.root.glob("build/runs/*-why/variant*.json")]
