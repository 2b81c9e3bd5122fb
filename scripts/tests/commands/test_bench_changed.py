# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --against REF --changed FILE: what cannot have changed is measured in part."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clone import GitRepository
from driver_runs import DriverRuns
from warpgauge.commands.main import main as warpgauge
from warpgauge.measure import machine_context, options, selection
from warpgauge.measure.discovery import Binary, Probe, Suite
from warpgauge.records.benchmark_filter import same_code
from warpgauge.records.load import load
from warpgauge.system import environment
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.why.changes import Changes

SAME = {f"sync/n:{number}": 1000.0 for number in range(30)}
OTHER = {"copy/a": 2000.0, "copy/b": 3000.0}


class Tree:
    """A clone with two commits, and the file that says what changed between them."""

    def __init__(self, clone: GitRepository) -> None:
        self.clone, self.file = clone, clone.root.parent / "changed.json"
        self.base = clone.commit({"sync": SAME, "copy": OTHER})
        self.head = clone.commit({"sync": SAME, "copy": OTHER})
        self.says()

    def says(self, names: Sequence[str] = tuple(SAME), **changes: Any) -> None:  # noqa: ANN401
        found = Changes(self.base, self.head, (90,), tuple(names), (), (), (), ())
        self.file.write_bytes(msgspec.json.encode(msgspec.structs.replace(found, **changes)))

    def bench(self, *argv: str) -> ExitStatus:
        return self.clone.bench("--against", self.base, "--changed", str(self.file), *argv)

    def measured(self) -> list[set[str]]:
        """What each side's run file has, base first."""
        runs = sorted(self.clone.runs(), key=lambda path: "base" not in path.name)
        return [{*load(path).rows} for path in runs]


@pytest.fixture
def tree(clone: GitRepository) -> Tree:
    return Tree(clone)


def test_a_sample_of_what_cannot_have_changed_is_measured_and_all_else(tree: Tree) -> None:
    assert tree.bench() is ExitStatus.OK
    base, candidate = tree.measured()
    assert base == candidate
    assert len(candidate & SAME.keys()) == 5
    assert candidate - SAME.keys() == OTHER.keys()
    out, err = tree.clone.output()
    assert (
        "30 of 32 benchmarks cannot have changed: their machine code and host code are equal. "
        "5 of them were measured as a control."
    ) in out
    assert "7 within tolerance" in out
    assert "missing" not in out
    assert "Measuring 7 benchmarks in pairs" in err


def test_what_the_policy_requires_is_measured_all_the_same(tree: Tree) -> None:
    policy = tree.clone.root / "baselines" / "policy.toml"
    policy.parent.mkdir()
    policy.write_text("[[required]]\npattern = '^sync/n:1.$'\n")
    assert tree.bench() is ExitStatus.OK
    assert tree.measured()[1] & {f"sync/n:{number}" for number in range(10, 20)}


def test_an_entry_of_the_policy_for_what_was_left_out_is_not_called_wrong(tree: Tree) -> None:
    policy = tree.clone.root / "baselines" / "policy.toml"
    policy.parent.mkdir()
    entries = (
        f"[[tolerance]]\npattern = '^{name}$'\npercent = 2\nreason = 'noisy'\n" for name in SAME
    )
    policy.write_text("".join(entries))
    assert tree.bench() is ExitStatus.OK
    assert "matches no benchmark" not in tree.clone.output()[0]


def test_a_control_that_is_slower_fails_and_the_note_says_what_that_means(tree: Tree) -> None:
    slow = {name: 1.8 * time for name, time in SAME.items()}
    tree.head = tree.clone.commit({"sync": slow, "copy": OTHER})
    tree.says()
    assert tree.bench("--processes=14") is ExitStatus.REGRESSION
    out = tree.clone.output()[0]
    assert "5 slower" in out
    assert "5 benchmarks that cannot have changed are slower" in out


def test_a_resumed_run_keeps_its_sample(
    tree: Tree, driver_runs: DriverRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "new_seed", iter(range(9)).__next__)
    driver_runs.interrupt(2)
    with pytest.raises(KeyboardInterrupt):
        tree.bench()
    driver_runs.interrupt(after=None)
    assert tree.clone.resume() is ExitStatus.OK
    assert len(tree.measured()[1]) == 5 + len(OTHER)


def test_the_run_files_say_the_same_again(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.bench()
    tree.clone.output()
    monkeypatch.setattr(environment, "ROOT", tree.clone.root)
    pair = sorted(tree.clone.runs(), key=lambda path: "base" not in path.name)
    assert [same_code(load(path)) for path in pair] == [SAME.keys()] * 2
    assert warpgauge(["compare", *map(str, pair)]) == ExitStatus.OK
    out = tree.clone.output()[0]
    assert "30 of 32 benchmarks cannot have changed" in out
    assert "missing" not in out


def test_what_the_base_measured_is_missing_whatever_the_file_says(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.bench()
    base, run = sorted(tree.clone.runs(), key=lambda path: "base" not in path.name)
    document = json.loads(run.read_text())
    rows = document["benchmarks"]
    document["benchmarks"] = [row for row in rows if row["name"] not in SAME]
    run.write_text(json.dumps(document))
    monkeypatch.setattr(environment, "ROOT", tree.clone.root)
    assert warpgauge(["compare", str(base), str(run)]) == ExitStatus.NOT_MEASURED
    assert "5 missing" in tree.clone.output()[0]


def test_names_that_this_build_does_not_have_leave_nothing_out(tree: Tree) -> None:
    tree.says(("gemm/a", "sync/n", "\x1b[2J\n"))
    assert tree.bench() is ExitStatus.OK
    assert tree.measured()[1] == SAME.keys() | OTHER.keys()
    assert "cannot have changed" not in tree.clone.output()[0]


REFUSED = {
    "another base": ({"base": "0" * 40}, "its base is '0000000000', not "),
    "another head": ({"candidate": "1" * 40}, "its candidate is '1111111111', not "),
    "a working tree": ({"candidate": "the working tree"}, "its candidate is 'the working tree'"),
}


@pytest.mark.parametrize(("says", "words"), REFUSED.values(), ids=REFUSED)
def test_a_file_of_other_commits_is_refused_before_a_build(
    tree: Tree, says: dict[str, str], words: str
) -> None:
    tree.says(**says)
    refused(tree, words)


def refused(tree: Tree, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        tree.bench()
    assert caught.value.status is ExitStatus.BAD_USAGE
    assert "\n" not in str(caught.value)
    assert not (tree.clone.root / "build" / "release").exists()


def test_a_changed_tree_is_refused_before_a_build(tree: Tree) -> None:
    tree.clone.write({"sync": SAME})
    refused(tree, "committed tree")


DAMAGED = {
    "no JSON": "{",
    "another format": '{"warpgauge_format": "comparison/4"}',
    "a later version": '{"warpgauge_format": "changed/2"}',
    "a key lacks": '{"warpgauge_format": "changed/1", "base": "x"}',
    "a name of another type": '"cannot_have_changed": [1]',
    "empty": "",
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_refused_before_a_build(tree: Tree, text: str) -> None:
    if text.startswith('"'):
        key = text.partition(":")[0]
        whole = json.loads(tree.file.read_text())
        text = json.dumps({**whole, **json.loads(f"{{{text}}}")})
        assert key in text
    tree.file.write_text(text)
    refused(tree, "changed.json")


def test_a_file_that_is_missing_is_refused_before_a_build(tree: Tree) -> None:
    tree.file.unlink()
    refused(tree, "cannot be read")


def test_a_gpu_that_the_file_does_not_know_is_refused(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_context, "nvidia_smi", lambda *_: "9.0\n12.0")
    with pytest.raises(UserError, match="says nothing of this GPU's sm_120: "):
        tree.bench()
    assert not tree.clone.runs()
    tree.says(architectures=(80, 90, 120))
    assert tree.bench() is ExitStatus.OK


def suite(*names: str) -> Suite:
    programs = Binary(Path("bench_sync"), names), Binary(Path("bench_copy"), ("copy/a",))
    return Suite(programs, Probe({}), {})


def left(made: Suite) -> set[str]:
    return {name for binary in made.binaries for name in binary.names}


def test_the_sample_is_a_tenth_or_five_and_depends_on_the_seed() -> None:
    for count, sample in ((3, 3), (20, 5), (51, 6), (200, 20)):
        names = [f"sync/n:{number}" for number in range(count)]
        whole = suite(*names)
        drawn = {
            frozenset(left(selection.spared(whole, frozenset(names), (), seed)))
            for seed in (1, 1, 2, 3)
        }
        assert {len(one) for one in drawn} == {sample + 1}
        assert len(drawn) == (1 if count == sample else 3)


def test_a_required_pattern_has_one_benchmark_at_least() -> None:
    names = [f"sync/n:{number}" for number in range(200)]
    patterns = [re.compile(text) for text in ("^sync/n:9[0-9]$", "^sync/", "^copy/", "^gone/")]
    for seed in range(5):
        kept = left(selection.spared(suite(*names), frozenset(names), patterns, seed))
        assert any(map(patterns[0].search, kept))
        assert 21 <= len(kept) <= 22  # the sample, copy/a and, if it is not of the sample, one more


def test_the_hosts_controls_are_no_sample_of_the_code() -> None:
    names = ("host/copy", *(f"host/n:{number}" for number in range(20)), "sync/a")
    whole = Suite((Binary(Path("bench_host"), names),), Probe({}), {})
    assert left(selection.spared(whole, frozenset(names), (), 1)) == {"sync/a"}


def test_a_program_without_known_benchmarks_stays() -> None:
    unknown = Binary(Path("bench_gemm"), fault="crashed")
    whole = Suite((unknown, Binary(Path("bench_sync"), tuple(SAME))), Probe({}), {})
    assert unknown in selection.spared(whole, frozenset(SAME), (), 1).binaries
