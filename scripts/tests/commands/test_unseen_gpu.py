# SPDX-License-Identifier: Apache-2.0
"""A baseline without a session of this GPU: all is measured in pairs with its commit at once."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from test_confirm import base_is_old, builds_only_this_tree

from clone import HOST_TIMES, SLOW, TIMES, GitRepository, recorded
from driver_runs import DriverRuns
from fake_binary import GPU
from warpgauge.commands import compare
from warpgauge.commands.measuring_command import RunPaths
from warpgauge.measure.options import FIRST_LOOK, schedule
from warpgauge.system.errors import ExitStatus

UNSEEN = "The baseline has not seen this GPU: measuring 3 benchmarks in pairs with its commit"
FIRST = dict.fromkeys({**HOST_TIMES, **TIMES}, FIRST_LOOK)  # the pairs of the first look


def recorded_elsewhere(clone: GitRepository) -> str:
    """Record a baseline, as if on another GPU of the model in another boot; return its commit."""
    commit = recorded(clone)
    for path in clone.root.glob("baselines/*/*.json"):
        text = path.read_text().replace(GPU["gpu_uuid"], "GPU-elsewhere")
        boot = json.dumps(GPU["boot_id"])  # in quotes, because a commit may contain it
        path.write_text(text.replace(boot, '"another"'))
    clone.git("add", "--all")
    clone.git("commit", "--quiet", "--message", "a baseline")
    clone.rewind()
    return commit


def pair_of(clone: GitRepository) -> tuple[dict[str, Any], dict[str, Any]]:
    """The only run files, base first."""
    run = min(clone.runs(), key=lambda path: len(path.name))
    assert sorted(clone.runs()) == sorted(RunPaths(run).pair)
    base, candidate = (json.loads(path.read_text()) for path in RunPaths(run).pair)
    return base, candidate


def counts(document: dict[str, Any]) -> dict[str, int]:
    """How many processes of each benchmark."""
    return {row["name"]: len(row["process_medians"]) for row in document["benchmarks"]}


def test_unchanged_code_passes_by_pairs_alone(clone: GitRepository) -> None:
    commit = recorded_elsewhere(clone)
    status, out = clone.bench_in_full()
    assert status is ExitStatus.OK
    err = clone.output()[1]
    assert f"{UNSEEN} {commit[:10]}" in err
    assert "Screening" not in err
    said = "The baseline has no session of this GPU. Measured in pairs with its commit"
    assert f"{said} {commit[:10]}: 8 pairs." in out
    assert "and those differ even without a cause" not in out
    base, candidate = pair_of(clone)
    assert base["context"]["commit"] == commit
    looks = {pair["look"] for row in candidate["benchmarks"] for pair in row["pairs"]}
    assert looks == {1}  # no look at a screening is paid for
    assert counts(base) == counts(candidate) == FIRST


def test_a_change_of_the_code_is_found_and_one_of_the_machine_is_not(clone: GitRepository) -> None:
    recorded_elsewhere(clone)
    clone.weather = 1.5
    clone.write({"host": HOST_TIMES, "sync": SLOW})
    status, out = clone.bench_in_full()
    assert status is ExitStatus.REGRESSION
    assert re.search(r"1 slower: \S+ \S+ % · 2 within\stolerance", out)
    assert "Confirmed in lock-step" in out
    assert "Not caused by the code: " in out
    assert counts(pair_of(clone)[1]) == {**FIRST, "sync/busy": schedule()[1]}


@pytest.mark.parametrize(("weather", "is_slower"), [(1.0, False), (5.0, True)])
def test_a_baseline_of_several_sessions_judges_the_machine_whatever_the_code_does(
    clone: GitRepository, weather: float, is_slower: bool
) -> None:
    recorded_elsewhere(clone)
    for path in clone.root.glob("baselines/*/*.json"):
        document = json.loads(path.read_text())
        ((key, context),) = document["sessions"].items()
        document["sessions"]["2026-11-01-00000000"] = {**context, "gpu_uuid": "GPU-third"}
        for row in document["benchmarks"]:
            row["process_medians"]["2026-11-01-00000000"] = row["process_medians"][key]
        path.write_text(json.dumps(document))
    clone.weather = weather
    status, out = clone.bench_in_full()
    assert status is ExitStatus.OK
    assert ("This machine is slower than the baseline's 2 sessions" in out) is is_slower
    assert ("This machine is within the baseline's sessions in 3 of 3" in out) is not is_slower


def test_what_the_baseline_alone_knows_is_missing_and_what_it_lacks_is_new(
    clone: GitRepository,
) -> None:
    recorded_elsewhere(clone)
    (clone.root / "baselines" / "policy.toml").write_text('[[required]]\npattern = "^gemm/"\n')
    clone.commit({"host": HOST_TIMES, "sync": {"sync/busy": TIMES["sync/busy"], "sync/c": 1.0}})
    assert clone.bench() is ExitStatus.NOT_MEASURED
    out = clone.output()[0]
    assert ") · 2 missing · 1 new" in out
    assert " ^gemm/ " in out
    assert " sync/idle " in out


def test_the_run_file_can_be_compared_with_the_baseline_and_with_the_base(
    clone: GitRepository,
) -> None:
    recorded_elsewhere(clone)
    run = clone.root.parent / "run.json"
    assert clone.bench("--out", str(run)) is ExitStatus.OK
    base, candidate = map(str, RunPaths(run).pair)
    assert candidate == str(run)
    assert compare.main([base, candidate], clone.root) == ExitStatus.OK
    (baseline,) = clone.root.glob("baselines/*/")
    # The baseline alone bounds nothing on another GPU.
    assert compare.main([str(baseline), candidate], clone.root) == ExitStatus.NOT_MEASURED


def test_a_filter_selects_what_the_pairs_measure(clone: GitRepository) -> None:
    recorded_elsewhere(clone)
    assert clone.bench("--filter", "busy", "--processes=3") is ExitStatus.OK
    base, candidate = pair_of(clone)
    assert base["context"]["filter"] == candidate["context"]["filter"] == "busy"
    assert counts(base).keys() == counts(candidate).keys() == {"sync/busy"}


@pytest.mark.parametrize("why", ["no pairs wanted", "the base does not build"])
def test_where_no_pair_is_possible_the_baseline_judges_seven_processes(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    commit, wanted = recorded_elsewhere(clone), why != "no pairs wanted"
    builds_only_this_tree(clone, monkeypatch)
    assert clone.bench(*([] if wanted else ["--no-confirm"])) is ExitStatus.NOT_MEASURED
    out, err = clone.output()
    said = f"commit {commit[:10]} does not build here" if wanted else "--no-confirm was given"
    assert f"Not measured again in pairs with its commit: {said}" in out
    assert "Screening 3 benchmarks against " in err
    (run,) = clone.runs()
    assert set(counts(json.loads(run.read_text())).values()) == {7}


def test_a_base_without_these_benchmarks_is_no_pair(clone: GitRepository) -> None:
    first = clone.commit({"host": HOST_TIMES})
    clone.commit({"host": HOST_TIMES, "sync": TIMES})
    commit = recorded_elsewhere(clone)
    for path in clone.root.glob("baselines/*/*.json"):
        path.write_text(path.read_text().replace(commit, first))
    assert clone.bench("--filter", "sync") is ExitStatus.NOT_MEASURED
    assert f"commit {first[:10]} has none of these benchmarks" in clone.output()[0]
    assert len(clone.runs()) == 1


def test_a_further_look_that_is_interrupted_shows_the_one_before_and_can_be_resumed(
    clone: GitRepository,
    driver_runs: DriverRuns,
) -> None:
    recorded_elsewhere(clone)
    clone.write({"host": HOST_TIMES, "sync": SLOW})
    driver_runs.interrupt(after=FIRST_LOOK + 1)
    with pytest.raises(KeyboardInterrupt):
        clone.bench()
    assert "8 pairs, and no more for 1 open benchmark, interrupted." in clone.output()[0]
    driver_runs.interrupt(after=None)
    assert clone.resume() is ExitStatus.REGRESSION
    assert min(driver_runs.rounds) == FIRST_LOOK + 2
    assert re.search(r"1 slower: \S+ \S+ % · 2 within\stolerance", clone.output()[0])
    pair_of(clone)


def test_a_commit_of_an_older_warpgauge_leaves_the_baseline_alone_and_is_told_once(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = recorded_elsewhere(clone)
    clone.write({"host": HOST_TIMES, "sync": SLOW})
    base_is_old(clone, monkeypatch)
    assert clone.bench() is ExitStatus.REGRESSION
    told = " ".join(clone.output())
    assert f"commit {commit[:10]} cannot be measured in pairs: its bench_" in told
    assert told.count("before 0.2") == 1


def test_both_sides_are_called_alike(clone: GitRepository) -> None:
    recorded_elsewhere(clone)
    assert clone.bench() is ExitStatus.OK
    log = max(clone.root.glob("build/runs/*.log"), key=lambda path: path.stat().st_mtime_ns)
    lines = [line.split("  # round ") for line in log.read_text().splitlines() if "# round" in line]
    rounds = [
        [command.split("bench_sync")[1] for command in commands.split("; ") if "_sync" in command]
        for commands, _ in lines
    ]
    of_sync = [called for called in rounds if called]
    assert [len(called) for called in of_sync] == [2] * FIRST_LOOK
    assert [len({*called}) for called in of_sync] == [1] * FIRST_LOOK
