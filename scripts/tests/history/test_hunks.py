# SPDX-License-Identifier: Apache-2.0
"""The hunks of a change, and commits with some of them put back."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from warpgauge.history.bisect import Seen, Share
from warpgauge.history.hunks import Difference, Hunk, Hunks, spliced
from warpgauge.system import git
from warpgauge.verdict.comparison import Outcome

Files = Mapping[str, bytes | None]

_LINES = st.lists(st.sampled_from(["a", "b", "", "}", "int f() {", "x\r", "@@ -1 +1 @@", "\\"]))
_TEXTS = st.builds(
    lambda lines, end: ("\n".join(lines) + end).encode(), _LINES, st.sampled_from(["", "\n"])
)
_FEW = st.lists(st.sampled_from([b"a\n", b"b\n", b"\n"]), max_size=3)
Edit = tuple[bool, list[bytes], list[bytes]]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("clone")
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    return root


def commit(clone: Path, files: Files) -> str:
    """A commit of these files, each executable if its name ends so."""
    empty = git.require(clone, "hash-object", "-w", "-t", "tree", "/dev/null")
    changes = []
    for path, content in files.items():
        if content is None:
            continue
        (clone / "content").write_bytes(content)
        name = git.require(clone, "hash-object", "-w", "--no-filters", str(clone / "content"))
        mode = "100755" if content.startswith(b"#!") else "100644"
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
