# SPDX-License-Identifier: Apache-2.0
"""The hunks of a change, and commits with some of them put back."""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from warpgauge.history.bisect import CommitPairs, Seen, Share
from warpgauge.history.commit_builds import Variants
from warpgauge.history.hunks import Answer, Difference, Hunk, Hunks, find, spliced
from warpgauge.measure.discovery import Suite
from warpgauge.measure.journal import Journal
from warpgauge.measure.measuring import Measuring
from warpgauge.system import git
from warpgauge.verdict.comparison import Outcome

Files = Mapping[str, bytes | None]

_LINES = st.lists(st.sampled_from(["a", "b", "", "}", "int f() {", "x\r", "@@ -1 +1 @@", "\\"]))
_TEXTS = st.builds(
    lambda lines, end: ("\n".join(lines) + end).encode(), _LINES, st.sampled_from(["", "\n"])
)
_FEW = st.lists(st.sampled_from([b"a\n", b"b\n", b"\n"]), max_size=3)
_MODES = {b"#!": "100755", b"->": "120000", b"%d": "160000"}
_SUBMODULES = {b"%d1": "1" * 40, b"%d2": "2" * 40}  # commits of another repository
Edit = tuple[bool, list[bytes], list[bytes]]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("clone")
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    return root


def commit(clone: Path, files: Files) -> str:
    """A commit of these files; a first word is its mode, if it is not a usual file's."""
    empty = git.require(clone, "hash-object", "-w", "-t", "tree", "/dev/null")
    changes = []
    for path, content in files.items():
        if content is None:
            continue
        (clone / "content").write_bytes(content)
        name = git.require(clone, "hash-object", "-w", "--no-filters", str(clone / "content"))
        mode = _MODES.get(content[:2], "100644")
        name = _SUBMODULES.get(content, name)
        changes += ["--cacheinfo", f"{mode},{name},{path}"]
    return git.variant(clone, empty, ["update-index", "--add", *changes])


def between(clone: Path, old: Files, new: Files) -> Difference:
    return Difference.between(clone, commit(clone, old), commit(clone, new))


def every_hunk(difference: Difference) -> Hunks:
    return difference.hunks([*difference.files])


@given(st.lists(st.tuples(st.booleans(), _FEW, _FEW), max_size=8), st.sets(st.integers(0, 7)))
def test_any_hunks_of_any_edits_are_put_back(edits: list[Edit], back: set[int]) -> None:
    """Each edit is some lines that both sides have, or some of the base and of the candidate.

    A line that both have follows, as between hunks of git.
    """
    base, candidate, expected, hunks = list[bytes](), list[bytes](), list[bytes](), list[Hunk]()
    for number, (is_same, one, other) in enumerate(edits):
        old, new = one, one if is_same else other
        if not is_same and (old or new):
            lines = (len(base), len(old)), (len(candidate), len(new))
            hunks += [Hunk("a.cu", old=lines[0], new=lines[1])] if number in back else []
        base += [*old, b"-\n"]
        candidate += [*new, b"-\n"]
        expected += [*(old if number in back else new), b"-\n"]
    assert spliced(base, candidate, hunks[::-1]) == b"".join(expected)


@given(old=_TEXTS, new=_TEXTS)
@examples(max_examples=15)
def test_with_nothing_put_back_it_is_the_candidate_and_with_everything_the_base(
    clone: Path, old: bytes, new: bytes
) -> None:
    base, candidate = ({"kernels/a.cu": text, "same": b"\n"} for text in (old, new))
    difference = between(clone, base, candidate)
    hunks = [hunk for file in difference.files.values() for hunk in file.hunks]
    assert bool(hunks) == (old != new)
    assert difference.without([], clone) == commit(clone, candidate)
    assert difference.without(hunks, clone) == commit(clone, base)


@pytest.mark.parametrize(
    ("old", "new", "whole"),
    [
        (None, b"a\n", "new file"),
        (b"a\n", None, "deleted file"),
        (b"a\0", b"b\0", "binary file"),
        (b"#!a\n", b"a\n", "mode 100755 → 100644"),
        (b"", b"\0", "binary file"),
        (b"->a", b"->b", "file"),
        (b"->a", b"a\n", "mode 120000 → 100644"),
        (b"%d1", b"%d2", "submodule"),
        (b"%d1", None, "submodule"),
    ],
)
def test_a_file_that_is_no_text_on_both_sides_is_one_hunk(
    clone: Path, old: bytes | None, new: bytes | None, whole: str
) -> None:
    name = "folder/a file, with ü"
    difference = between(clone, {"b": b"1", name: old}, {"b": b"2", name: new})
    (hunk,) = (one for one in every_hunk(difference) if one.path == name)
    assert (hunk.whole, hunk.place, hunk.words) == (whole, name, whole)
    assert difference.without([hunk], clone) == commit(clone, {"b": b"2", name: old})


def test_one_hunk_is_put_back_between_others(clone: Path) -> None:
    old = b"1\n2\n3\n4\n5\n6\n7\n"
    new = b"one\nmore\n2\n4\n5\nsix\n7\n"
    difference = between(clone, {"a": old}, {"a": new})
    first, second, third = sorted(every_hunk(difference), key=lambda hunk: hunk.new)
    assert [first.place, second.place, third.place] == ["a:1", "a:3", "a:6"]
    for back, text in (
        ([first], b"1\n2\n4\n5\nsix\n7\n"),
        ([second], b"one\nmore\n2\n3\n4\n5\nsix\n7\n"),
        ([third, first], b"1\n2\n4\n5\n6\n7\n"),
    ):
        assert difference.without(back, clone) == commit(clone, {"a": text})


def test_of_a_renamed_file_the_old_and_the_new_one_are_put_back_with_what_includes_them(
    clone: Path,
) -> None:
    old = {"old.cuh": b"int x;\n", "a.cu": b'#include "old.cuh"\nint y;\n', "b.cu": b"1\n"}
    new = {"new.cuh": b"int x;\n", "a.cu": b'#include "new.cuh"\nint y;\n', "b.cu": b"2\n"}
    difference = between(clone, old, new)
    _, groups = difference.named(every_hunk(difference))
    renamed = set[Hunk]().union(*groups)
    assert {hunk.path for hunk in renamed} == {"old.cuh", "new.cuh", "a.cu"}
    assert difference.without([*renamed], clone) == commit(clone, {**old, "b.cu": b"2\n"})


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_lines_end_as_on_the_side_that_they_are_from(clone: Path, end: bytes) -> None:
    old, new = b"1\r\n2\r\n-\r\n3" + end, b"1\r\ntwo\r\n-\r\n3\r\nfour\r\n"
    difference = between(clone, {"a": old}, {"a": new})
    first, last = every_hunk(difference)
    assert difference.without([first], clone) == commit(
        clone, {"a": b"1\r\n2\r\n-\r\n3\r\nfour\r\n"}
    )
    assert difference.without([last], clone) == commit(clone, {"a": b"1\r\ntwo\r\n-\r\n3" + end})


def test_hunks_of_a_new_or_removed_name_are_tried_together(clone: Path) -> None:
    body = "void {}() {{\n  1;\n  2;\n  3;\n{}}}\n"
    old = "".join(body.format(name, "  int x;\n" * 3) for name in "fghi")
    new = old.replace("void f() {\n  1;", "void f() {\n  made;", 1)
    new = new.replace("void h() {\n  1;\n  2;\n  3;", "void h() {\n  made;\n  2;\n  // other", 1)
    new = new.replace("void i() {\n  1;", "void i() {\n  x;  // made", 1)
    difference = between(clone, {"a.cu": old.encode()}, {"a.cu": new.encode()})
    _, groups = difference.named(every_hunk(difference))
    assert [{hunk.place for hunk in group} for group in groups] == [{"a.cu:2", "a.cu:18"}]


def test_hunks_of_comments_and_blank_lines_are_left_out(clone: Path) -> None:
    old = b"int x;\n// one\nint y;\nint z;\nint f;\nint g;\n"
    new = b"int x;\n  // two\nint y;\n\nint z;\nint f; // f\nint g;\n// goes on \\\n"
    difference = between(clone, {"a.cu": old}, {"a.cu": new})
    assert [hunk.added[0] for hunk in every_hunk(difference)] == ["int f; // f", "// goes on \\"]


def test_a_new_file_and_what_includes_it_are_tried_together(clone: Path) -> None:
    old = {"a.cu": b"int x;\n", "b.cu": b"1\n"}
    new = {"a.cu": b'#include "made.cuh"\nint x;\n', "b.cu": b"2\n", "made.cuh": b"int x;\n"}
    difference = between(clone, old, new)
    _, groups = difference.named(every_hunk(difference))
    assert [{hunk.path for hunk in group} for group in groups] == [{"a.cu", "made.cuh"}]


@pytest.mark.parametrize(
    ("removed", "added", "words"),
    [
        ("constexpr int threads = 128;", "constexpr int threads = 512;", "threads 128 → 512"),
        ("  y = __expf(x);", "  y = expf(x);", "__expf → expf"),
        ("float a = 1.5f;", "float a = 2.5f;", "a 1.5f → 2.5f"),
        ("return 1;", "return 2;", ""),
        ("a = 1;", "a = 1 + 2;", ""),
        ("a = 1; b = 2;", "a = 2; b = 3;", ""),
    ],
)
def test_one_changed_token_is_told_with_its_name(removed: str, added: str, words: str) -> None:
    assert Hunk("a.cu", removed=(removed,), added=(added,)).words == words


def test_of_a_hunk_some_lines_of_both_sides_are_shown() -> None:
    hunk = Hunk("a.cu", removed=("a", "", "b", "c", "d"), added=("  e", "f"))
    assert hunk.lines == ["- a", "+ e", "+ f"]
    assert Hunk("a.cu", removed=tuple("abcd")).lines == ["- a", "- b", "- c"]


def seen(change: float, error: float) -> Seen:
    ends = change - error, change + error
    return Seen(Outcome.REGRESSION, change, *ends, *ends)


def test_a_share_is_of_log_time_and_its_interval_holds_both_errors() -> None:
    half = Share.of(seen(0.1, 0.01), seen(0.21, 0.02))
    assert half.part == pytest.approx(0.5)
    assert half.low < 0.46
    assert half.high > 0.54
    assert half.counts


def test_what_is_faster_has_no_share_and_the_rest_keeps_the_whole() -> None:
    faster = Share.of(seen(-0.05, 0.01), seen(0.1, 0.01))
    assert faster.low < faster.part < faster.high < 0.0
    assert not faster.counts
    assert (Share(1.0, 1.0, 1.0, 1.0, 1.0) - faster).part > 1.0


@dataclass
class Noisy:
    """What Variants and its pairs are here: a line ``1:0.05`` makes the row 1 5 % slower.

    A line ``uses x`` does not build without ``makes x``. The log ratios of pairs scatter by another
    standard deviation in each row.
    """

    clone: Path
    names: list[str]
    base: str
    scatter: Mapping[str, float]
    source: np.random.Generator
    journal: Journal
    keys: list[str] = field(default_factory=list)
    identities: dict[str, str] = field(default_factory=dict)
    targets = ("bench",)
    built = 0
    fault = 'a.cu(3): error: identifier "{}" is undefined'

    def __post_init__(self) -> None:
        self.keys = [*self.names]
        self.rows = [*self.scatter]
        self.measuring = SimpleNamespace(root=self.clone, scratch=self.clone, note=print)

    def that_matter(self, paths: Iterable[str]) -> list[str]:
        return [*paths]

    of_other_code = that_matter

    def equal_code(self, *keys: str) -> list[str]:
        return []

    def add(self, commit: str) -> int:
        if commit not in self.names:
            self.names.insert(-1, commit)
            self.keys.insert(-1, commit)
        return self.names.index(commit)

    def build(self, index: int) -> str:
        code = self.code(self.names[index])
        self.built += 1
        for name in re.findall(r"uses (\w+)", code):
            if f"makes {name}" not in code:
                return self.fault.format(name)
        self.keys[index] = code.replace(" ", "")
        self.identities[self.keys[index]] = code
        return ""

    def code(self, commit: str) -> str:
        return git.require(self.clone, "show", f"{commit}:kernels/a.cu")

    def time(self, commit: str, row: str) -> float:
        """In log time."""
        slower = re.findall(rf"\b{row}:([\d.]+)", self.code(commit))
        return math.fsum(map(float, slower))

    def measured(
        self, base: str, name: str, rows: Sequence[str], settled: Callable[[str, Seen], bool]
    ) -> tuple[dict[str, Seen], bool]:
        seen = {}
        for row in rows:
            true = self.time(name, row) - self.time(base, row)
            drawn = self.source.normal(true, self.scatter[row], 24)
            for pairs in (8, 14, 24):
                log, error = drawn[:pairs].mean(), self.scatter[row] / math.sqrt(pairs)
                change, low, high, least, most = (
                    math.expm1(log + sigmas * error) for sigmas in (0.0, -2.0, 2.0, -5.0, 5.0)
                )
                outcome = Outcome.REGRESSION if least > 0.0 else Outcome.PASS
                seen[row] = Seen(outcome, change, low, high, least, most)
                if settled(row, seen[row]):
                    break
        return seen, True


Searched = Callable[
    [list[str], list[str], Mapping[str, float], np.random.Generator], tuple[Answer, int]
]


@pytest.fixture
def searched(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Searched:
    """The answer for lines each of which is a hunk, and how many variants were built."""

    def search(
        old: list[str], new: list[str], scatter: Mapping[str, float], source: np.random.Generator
    ) -> tuple[Answer, int]:
        texts = ("".join(f"{line}\n-\n" for line in lines).encode() for lines in (old, new))
        base, candidate = (commit(clone, {"kernels/a.cu": text}) for text in texts)
        fake = Noisy(clone, [candidate], base, scatter, source, Journal(tmp_path / "journal"))
        monkeypatch.setattr(CommitPairs, "measured", lambda _, *asked: fake.measured(*asked))
        return find(cast(Variants, fake), cast(Suite, None), tmp_path, math.inf), fake.built

    return search


def test_a_file_that_only_the_base_reads_is_put_back_too(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = {"kernels/a.cu": b"include b 0;\n", "kernels/b.cuh": b"1\n", "kernels/c.cuh": b"1\n"}
    new = {"kernels/a.cu": b"1:0.05;\n", "kernels/b.cuh": b"2\n", "kernels/c.cuh": b"2\n"}
    base, candidate = commit(clone, old), commit(clone, new)
    source = np.random.default_rng(0)
    fake = Noisy(clone, [candidate], base, {"1": 0.0002}, source, Journal(tmp_path / "journal"))

    def that_matter(paths: Iterable[str]) -> list[str]:
        has_b = "include" in fake.code(fake.names[0])
        return [
            path for path in paths if path == "kernels/a.cu" or (path == "kernels/b.cuh" and has_b)
        ]

    monkeypatch.setattr(fake, "that_matter", that_matter)
    monkeypatch.setattr(CommitPairs, "measured", lambda _, *asked: fake.measured(*asked))
    answer = find(cast(Variants, fake), cast(Suite, None), tmp_path, math.inf)
    assert answer.left_out == ["kernels/c.cuh"]
    assert git.require(clone, "show", f"{fake.names[0]}:kernels/b.cuh") == "1"


@pytest.mark.parametrize("at", [(1, 6), (6, 1), (5, 6), (6, 5)])
def test_of_two_causes_one_of_which_builds_only_without_the_other_the_shares_add_up(
    searched: Searched, at: tuple[int, int]
) -> None:
    """What is made may stay where it is no longer used, but not the other way round."""
    old, new = ["0;"] * 8, [f"{100 + number};" for number in range(8)]
    user, maker = at
    new[user], new[maker] = "uses n 1:0.06", "makes n 1:0.03"
    answer, _ = searched(old, new, {"1": 0.0002}, np.random.default_rng(0))
    (row,) = answer.rows
    places = {f"kernels/a.cu:{2 * number + 1}" for number in at}
    assert {hunk.place for cause in row.causes for hunk in cause.hunks} == places
    assert sum(cause.share.part for cause in row.causes) == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize(
    ("fault", "most"),
    [
        ('a.cu(3): error: identifier "{}" is undefined', 11),
        ("a.cu(3): error: too few arguments in function call uses {};", 11),
        ("a.cu(3): error: something else", 40),  # only by trying
    ],
)
def test_what_a_compiler_misses_is_put_back_too_and_found_without_its_help(
    searched: Searched, monkeypatch: pytest.MonkeyPatch, fault: str, most: int
) -> None:
    """Names that both sides have do not show which hunks build only together."""
    monkeypatch.setattr(Noisy, "fault", fault)
    old, new = ["0;"] * 8, [f"{100 + number};" for number in range(8)]
    old[0], new[0] = "o n 0;", "o n 100;"
    old[3], new[3] = "uses o;", "uses n 1:0.06;"
    old[6], new[6] = "makes o;", "makes n;"
    answer, built = searched(old, new, {"1": 0.0002}, np.random.default_rng(0))
    ((cause,),) = (row.causes for row in answer.rows)
    assert [hunk.place for hunk in cause.hunks] == ["kernels/a.cu:7", "kernels/a.cu:13"]
    assert cause.note
    assert answer.broken
    assert built <= most


@pytest.mark.parametrize(("fast", "slow"), [(0, 2), (3, 5), (5, 6), (2, 1)])
def test_what_makes_it_faster_does_not_blame_others(
    searched: Searched, fast: int, slow: int
) -> None:
    old, new = ["0;"] * 8, [f"{100 + number};" for number in range(8)]
    old[fast] = "1:0.1;"
    new[slow] = "1:0.18;"
    answer, _ = searched(old, new, {"1": 0.0002}, np.random.default_rng(0))
    ((cause,),) = (row.causes for row in answer.rows)
    assert [hunk.place for hunk in cause.hunks] == [f"kernels/a.cu:{2 * slow + 1}"]
    assert cause.share.part == pytest.approx(18 / 8, abs=0.1)


@pytest.mark.parametrize("seed", range(8))
def test_in_noise_the_clear_rows_lead_and_no_innocent_hunk_is_named(
    searched: Searched, seed: int
) -> None:
    """12 rows take 2 to 20 % longer by two of 12 hunks, in 70 and 30 parts; some by only one.

    Two innocent hunks build only together, and some change no code.
    """
    source = np.random.default_rng(seed)
    most, least, user, maker, *rest = (int(number) for number in source.permutation(12))
    new = [f"{100 + number};" for number in range(12)]
    old = [f"{100 + number} ;" if number in rest[:3] else "0;" for number in range(12)]
    old[user], old[maker] = "uses o;", "makes o;"
    new[user], new[maker] = "uses n;", "makes n;"
    rows = [f"{number}" for number in range(12)]
    for number, row in enumerate(rows):
        log = math.exp(source.uniform(math.log(0.02), math.log(0.2)))
        for guilty, part in ((most, 0.7), (least, 0.3)) if number % 4 else ((most, 1.0),):
            new[guilty] += f" {row}:{part * log:.6f}"
    scatter = {row: 0.01 if number % 3 == 2 else 0.002 for number, row in enumerate(rows)}
    answer, built = searched(old, new, scatter, source)
    causes = [cause for row in answer.rows for cause in row.causes]
    assert {hunk.place for cause in causes for hunk in cause.hunks} == {
        f"kernels/a.cu:{2 * number + 1}" for number in (most, least)
    }
    assert all(len(cause.hunks) == 1 for cause in causes)
    assert built <= 11
    (first,) = (row for row in answer.rows if row.name == "0")
    assert sum(cause.share.part for cause in first.causes) == pytest.approx(1.0, abs=0.25)


_NINJA = """
rule compile
  command = g++ -O1 -MD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
rule link
  command = cat $in > $out
build a.o: compile ../../kernels/a.cpp
build b.o: compile ../../kernels/b.cpp
build bench_x: link a.o b.o
"""


def test_files_of_objects_with_the_same_code_are_not_searched(tmp_path: Path) -> None:
    build, kernels = tmp_path / "build" / "release", tmp_path / "kernels"
    build.mkdir(parents=True)
    kernels.mkdir()
    (build / "build.ninja").write_text(_NINJA)

    def make(**contents: str) -> None:
        for name, content in contents.items():
            (kernels / name.replace("_", ".")).write_text(content)
        subprocess.run(["ninja", "-C", str(build), "-d", "keepdepfile"], check=True)

    files = {"a_hpp": "int a();", "both_hpp": "inline int two() { return 2; }"}
    make(
        **files,
        a_cpp='#include "a.hpp"\n#include "both.hpp"\nint a() { return two(); }',
        b_cpp='#include "both.hpp"\nint b() { return two(); }',
    )
    journal, options = Journal(tmp_path / "journal"), SimpleNamespace(file=None)
    measuring = SimpleNamespace(root=tmp_path, scratch=tmp_path, options=options)
    builds = Variants(cast(Measuring, measuring), journal, [], [], targets=["bench_x"])
    builds.__dict__["root"] = tmp_path
    paths = ["CMakeLists.txt", *(f"kernels/{name}" for name in ("a.hpp", "a.cpp", "b.cpp"))]
    paths.append("kernels/both.hpp")
    builds.names = ["candidate"]
    assert builds.that_matter([*paths, "kernels/c.cpp"]) == paths
    more = "build c.o: compile ../../kernels/c.cpp\nbuild bench_x: link a.o b.o c.o"
    (build / "build.ninja").write_text(_NINJA.replace("build bench_x: link a.o b.o", more))
    make(
        a_hpp="int a(), c();",
        b_cpp='#include "both.hpp"\nint b() { return two() + 1; }',
        c_cpp="int c() { return 3; }",
    )
    builds.names = ["base", "candidate"]
    assert builds.that_matter([*paths, "kernels/c.cpp"]) == [*paths, "kernels/c.cpp"]
    others = ["CMakeLists.txt", "kernels/b.cpp", "kernels/both.hpp", "kernels/c.cpp"]
    assert builds.of_other_code([*paths, "kernels/c.cpp"]) == others
