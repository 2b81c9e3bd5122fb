# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --against REF from end to end, over fake binaries and a real git clone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_streams import ended, interrupted

import fake_binary
from clone import HOST_TIMES, TIMES, GitRepository, recorded
from warpgauge.commands.main import main as warpgauge
from warpgauge.measure import run_file
from warpgauge.measure.options import FIRST_LOOK
from warpgauge.system import environment
from warpgauge.system.errors import ExitStatus, UserError

SLOW = {**TIMES, "sync/busy": 9000.0}


def documents(clone: GitRepository) -> tuple[dict[str, Any], dict[str, Any]]:
    """The only pair of run files: base and candidate."""
    base, candidate = sorted(clone.runs(), key=lambda path: "base" not in path.name)
    assert base.name == f"{candidate.stem}-base.json"
    return json.loads(base.read_text()), json.loads(candidate.read_text())


def test_a_slower_candidate_is_a_regression(clone: GitRepository) -> None:
    base = clone.git("rev-parse", "HEAD")
    head = clone.commit({"host": HOST_TIMES, "sync": SLOW})
    assert clone.bench("--against", "HEAD~1", "--processes=14") is ExitStatus.REGRESSION
    out, err = clone.output()
    assert re.search(r"1 slower: \S+ \S+ % · 2 within\stolerance", out)
    assert f"Base: commit {base[:10]}, in" in err
    assert f"Measuring 3 benchmarks in pairs with commit {base[:10]}" in err
    assert f"Measured in pairs with commit {base[:10]}: 14 pairs." in out
    again = f"scripts/warpgauge explain sync/busy --against {base[:10]}"
    assert f"Accept it in baselines/policy.toml or look into it: {again} Report: " in out
    assert "round 1 of 2, base and candidate: " in err
    one, other = documents(clone)
    assert (one["context"]["commit"], one["context"]["dirty"]) == (base, "false")
    assert (other["context"]["commit"], other["context"]["dirty"]) == (head, "false")
    assert one["context"]["pair_id"] == other["context"]["pair_id"] != ""
    rounds = {row["name"]: len(row["process_rounds"]) for row in other["benchmarks"]}
    assert set(rounds.values()) == {14}


def test_pairs_measure_the_hosts_controls_in_two_rounds_and_do_not_judge_them(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = fake_binary.make

    def with_controls(folder: Path, family: str, times: dict[str, float], **more: Any) -> Path:  # noqa: ANN401
        counters = {"all": {"host_clock": 1.0}} if family == "host" else {}
        return make(folder, family, times, counters=counters, **more)

    monkeypatch.setattr(fake_binary, "make", with_controls)
    clone.commit({"host": {"host/copy": 2 * HOST_TIMES["host/copy"]}, "sync": TIMES})
    assert clone.bench("--against", "HEAD~1") is ExitStatus.OK
    rounds = {row["name"]: row["process_rounds"] for row in documents(clone)[1]["benchmarks"]}
    assert rounds["host/copy"] == [1, 2]
    assert rounds["sync/busy"] == rounds["sync/idle"] == [*range(1, FIRST_LOOK + 1)]


def test_uncommitted_changes_are_measured_beside_their_own_commit(clone: GitRepository) -> None:
    head = clone.git("rev-parse", "HEAD")
    clone.write({"host": HOST_TIMES, "sync": SLOW})
    assert clone.bench("--against", "HEAD") is ExitStatus.REGRESSION
    contexts = [document["context"] for document in documents(clone)]
    assert [context["commit"] for context in contexts] == [head, head]
    assert [context["dirty"] for context in contexts] == ["false", "true"]
    assert json.loads((clone.root / "suite.json").read_text())["sync"] == SLOW


def test_a_clean_tree_against_itself_needs_no_second_build(clone: GitRepository) -> None:
    assert clone.bench("--against", "main", "--processes=3") is ExitStatus.OK
    assert not (clone.root / "build" / "base").exists()
    assert "is this tree: both sides run the same programs" in clone.output()[1]


def test_what_one_side_lacks_is_missing_or_new(clone: GitRepository) -> None:
    clone.commit({"host": HOST_TIMES, "gemm": {"gemm/a": 1.0}})
    assert clone.bench("--against", "HEAD~1", "--processes=3") is ExitStatus.NOT_MEASURED
    out = clone.output()[0]
    assert re.search(r"1 within tolerance \(at most [^)]*\) · 2 missing · 1 new", out)


def test_the_files_go_where_the_user_wants_them_and_replace_no_others(clone: GitRepository) -> None:
    out = clone.root.parent / "mine.json"
    base = out.with_name("mine-base.json")
    base.write_text("my diary")
    argv = ("--against", "HEAD", "--processes=3", "--out", str(out))
    with pytest.raises(UserError, match=r"mine-base\.json: the file exists and is no run file"):
        clone.bench(*argv)
    assert base.read_text() == "my diary"
    base.unlink()
    clone.bench(*argv)
    assert json.loads(out.read_text())["context"]["pair_side"] == "candidate"
    assert json.loads(base.read_text())["context"]["pair_side"] == "base"
    assert not clone.runs()


def test_a_base_that_does_not_build_or_has_no_program_is_one_sentence(clone: GitRepository) -> None:
    clone.commit({})
    broken = clone.commit({"sync": {}})[:10]
    clone.commit({"host": HOST_TIMES, "sync": TIMES})
    with pytest.raises(UserError, match=f"commit {broken} does not build here") as caught:
        clone.bench("--against", "HEAD~1")
    assert caught.value.status is ExitStatus.NOT_MEASURED
    said = str(caught.value)
    assert "\n" not in said
    assert Path(said.rpartition(" ")[2]).read_text() == "error: no"
    with pytest.raises(UserError, match="builds no benchmark program that this") as caught:
        clone.bench("--against", "HEAD~2")
    assert caught.value.status is ExitStatus.NOT_MEASURED
    assert not clone.runs()


def test_without_building_the_base_must_have_been_built(clone: GitRepository) -> None:
    clone.commit({"host": HOST_TIMES, "sync": SLOW})
    clone.build(clone.root, "release", lambda line: None)
    with pytest.raises(UserError, match=r"build first .*without --no-build"):
        clone.bench("--against", "HEAD~1", "--no-build")
    clone.bench("--against", "HEAD~1")
    assert clone.bench("--against", "HEAD~1", "--no-build") is (ExitStatus.REGRESSION)


def test_an_interrupt_leaves_the_worktree_usable(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone.commit({"host": HOST_TIMES, "sync": SLOW})
    monkeypatch.setattr(environment, "ROOT", clone.root)
    with monkeypatch.context() as patched:
        patched.setattr(run_file, "write", interrupted)
        assert ended("bench", patched, "--against", "HEAD~1", "--processes=3") == 130
    assert "bench: interrupted" in clone.output()[1]
    assert clone.bench("--against", "HEAD~1") is ExitStatus.REGRESSION


def test_one_process_is_too_few_for_a_pair(clone: GitRepository) -> None:
    assert clone.bench("--against", "HEAD", "--processes=1") is ExitStatus.OK
    assert "Measured in pairs with commit" in clone.output()[0]
    rows = documents(clone)[0]["benchmarks"]
    assert all(row["process_rounds"][:2] == [1, 2] for row in rows)


@pytest.mark.parametrize("fault", ["crash", "errored row"])
def test_a_base_that_fails_in_one_round_is_no_pass(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    make = fake_binary.make

    def fails_in_the_base(folder: Path, family: str, times: dict[str, float], **more: Any) -> Path:  # noqa: ANN401
        ill = "base" in folder.parts and family == "sync"
        faults = {"2": fault, "3": fault}  # 3: alone, as 2 could not be measured in lock-step
        return make(folder, family, times, faults=faults if ill else {}, **more)

    clone.commit({"host": HOST_TIMES, "sync": TIMES})
    monkeypatch.setattr(fake_binary, "make", fails_in_the_base)
    clone.git("commit", "--quiet", "--allow-empty", "--message", "next")
    assert clone.bench("--against", "HEAD~1") is ExitStatus.NOT_MEASURED
    out = clone.output()[0]
    assert "1 failed" in out
    assert "failed in the base: in round 2: " in out


def test_an_expected_regression_is_accepted_here_and_by_compare_on_the_same_pair(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone.commit({"host": HOST_TIMES, "sync": SLOW})
    expected = (
        '[[expected]]\npattern = "^sync/busy$"\nslower_by_at_most_percent = 100\n'
        'reason = "the bounds check"\nexpires = 2999-01-31\n'
    )
    tolerances = clone.root / "baselines" / "policy.toml"
    tolerances.parent.mkdir(exist_ok=True)
    tolerances.write_text(expected)
    assert clone.bench("--against", "HEAD~1", "--processes=3") is ExitStatus.OK
    measured, _ = clone.output()
    pair = sorted(clone.runs(), key=lambda path: "base" not in path.name)
    monkeypatch.setattr(environment, "ROOT", clone.root)
    assert warpgauge(["compare", *map(str, pair)]) == ExitStatus.OK
    compared, _ = clone.output()
    for told in (measured, compared):
        assert "PASS 2 within tolerance (at most " in told
        assert ") · 1 accepted" in told
        assert "accepted: the bounds check" in told
    tolerances.unlink()
    assert warpgauge(["compare", *map(str, pair)]) == ExitStatus.REGRESSION


def test_what_has_moved_into_the_full_suite_is_not_asked_of_the_base(clone: GitRepository) -> None:
    more = {**TIMES, "sync/big": 7000.0}
    clone.commit({"host": HOST_TIMES, "sync": more, "gone": {"gone/a": 1.0}})
    (clone.root / "full_suite.json").write_text('["sync/big", "gone/a"]')
    clone.commit({"host": HOST_TIMES, "sync": more, "gone": {"gone/a": 1.0}})
    assert clone.bench("--against", "HEAD~1") is ExitStatus.OK
    base, candidate = documents(clone)
    names = [one["name"] for one in base["benchmarks"]]
    assert names == [one["name"] for one in candidate["benchmarks"]]
    assert "sync/big" not in names


def test_what_the_candidate_has_in_no_suite_is_missing(clone: GitRepository) -> None:
    clone.commit({"host": HOST_TIMES, "sync": {**TIMES, "sync/big": 7000.0, "sync/c": 1.0}})
    (clone.root / "full_suite.json").write_text('["sync/big"]')
    clone.commit({"host": HOST_TIMES, "sync": {**TIMES, "sync/big": 7000.0}})
    assert clone.bench("--against", "HEAD~1") is ExitStatus.NOT_MEASURED
    base, _ = documents(clone)
    assert "sync/c" in [one["name"] for one in base["benchmarks"]]
    assert "1 missing" in clone.output()[0]


def expecting(clone: GitRepository, percent: int) -> None:
    tolerances = clone.root / "baselines" / "policy.toml"
    tolerances.parent.mkdir(exist_ok=True)
    tolerances.write_text(
        f'[[expected]]\npattern = "^sync/busy$"\nslower_by_at_most_percent = {percent}\n'
        'reason = "the bounds check"\nexpires = 2999-01-31\n'
    )


def test_what_the_base_expects_already_accepts_no_further_change(clone: GitRepository) -> None:
    expecting(clone, 85)
    base = clone.commit({"host": HOST_TIMES, "sync": SLOW}, message="accepted, and merged")
    slower_still = {**TIMES, "sync/busy": 16000.0}
    clone.commit({"host": HOST_TIMES, "sync": slower_still})
    assert clone.bench("--against", "HEAD~1") is ExitStatus.REGRESSION
    said = "The entry that expects sync/busy to be slower is also in commit"
    assert f"{said} {base[:10]}" in clone.output()[0]
    expecting(clone, 90)  # an entry of its own does
    assert clone.bench("--against", "HEAD~1") is ExitStatus.OK


def test_a_policy_of_the_base_that_cannot_be_read_uses_nothing_up(clone: GitRepository) -> None:
    expecting(clone, 100)
    (clone.root / "baselines" / "policy.toml").write_text("[[unknown]]\n")
    clone.commit({"host": HOST_TIMES, "sync": TIMES})
    expecting(clone, 100)
    clone.commit({"host": HOST_TIMES, "sync": SLOW})
    assert clone.bench("--against", "HEAD~1") is ExitStatus.OK


BUSY = {"sync/busy": TIMES["sync/busy"]}


def test_what_this_tree_took_out_of_the_baseline_is_not_missing(clone: GitRepository) -> None:
    recorded(clone)
    clone.commit({"host": HOST_TIMES, "sync": TIMES}, message="a baseline")
    clone.commit({"host": HOST_TIMES, "sync": BUSY})
    assert clone.bench("--against", "HEAD~1") is ExitStatus.NOT_MEASURED
    assert "1 missing" in clone.output()[0]
    (path,) = clone.root.glob("baselines/*/sync.json")
    document = json.loads(path.read_text())
    rows = document["benchmarks"]
    document["benchmarks"] = [one for one in rows if one["name"] != "sync/idle"]
    path.write_text(json.dumps(document))
    assert clone.bench("--against", "HEAD~1") is ExitStatus.OK
    said = "Removed from both candidate and baseline: sync/idle."
    assert said in clone.output()[0]
    (clone.root / "baselines" / "policy.toml").write_text('[[required]]\npattern = "sync/idle"\n')
    assert clone.bench("--against", "HEAD~1") is ExitStatus.NOT_MEASURED
    assert "1 missing" in clone.output()[0]


def test_without_a_gpu_the_host_alone_is_compared_and_that_is_no_pass(clone: GitRepository) -> None:
    clone.no_gpu = "the driver is too old"
    assert clone.bench("--against", "HEAD") is ExitStatus.NOT_MEASURED
    assert "No GPU was measured: the driver is too old." in clone.output()[0]
