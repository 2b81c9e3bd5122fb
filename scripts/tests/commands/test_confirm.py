# SPDX-License-Identifier: Apache-2.0
"""What a baseline flags is measured again beside its commit, and the answer says what was done."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Loader

import builders
import comparisons
import fake_binary
from clone import HOST_TIMES, SLOW, TIMES, GitRepository, recorded
from warpgauge.commands.measuring_command import RunPaths
from warpgauge.measure import build, confirm
from warpgauge.measure.ab_run import Looks
from warpgauge.measure.options import FIRST_LOOK
from warpgauge.records.sessions import only_session
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict.comparison import Outcome, exit_status
from warpgauge.verdict.note import Rounds


def processes(run: Path) -> list[int]:
    """How many of each benchmark."""
    rows = json.loads(run.read_text())["benchmarks"]
    return [len(row["process_medians"]) for row in rows]


FLAGGED = "1 of 3 benchmarks flagged. Measured again in pairs with its commit"


def test_a_change_of_the_code_is_confirmed_by_a_pair_of_what_was_flagged(
    clone: GitRepository,
) -> None:
    commit = recorded(clone)
    clone.write({"host": HOST_TIMES, "sync": SLOW})
    assert clone.bench() is ExitStatus.REGRESSION
    out, err = clone.output()
    assert f"{FLAGGED} {commit[:10]}: 8 pairs, and up to " in out
    assert "Screening 3 benchmarks against " in err
    assert f"Confirming 1 flagged benchmark in pairs with commit {commit[:10]}" in err
    (run,) = [path for path in clone.runs() if "confirm" not in path.name]
    assert processes(run) == [3, 3, 3]
    for path in RunPaths(run).confirming:
        document = json.loads(path.read_text())
        assert [row["name"] for row in document["benchmarks"]] == ["sync/busy"]
        assert document["context"]["filter"] == "^(sync/busy)$"
    pairs = document["benchmarks"][0]["pairs"]  # the screening counts as a look
    assert [pair["look"] for pair in pairs[FIRST_LOOK - 1 : FIRST_LOOK + 1]] == [2, 3]
    assert len(clone.runs()) == 3


def test_a_change_of_the_machine_is_not(clone: GitRepository) -> None:
    recorded(clone)
    clone.weather = 1.2
    clone.commit({"host": {"host/copy": 2500.0}, "sync": {**TIMES, "sync/idle": 1000.0 / 1.2}})
    status, out = clone.bench_in_full()
    assert status is ExitStatus.OK
    assert "PASS " in out
    assert "Of these, 1 within tolerance. Not caused by the code: sync/busy." in out


def test_the_baselines_own_code_needs_no_second_build(clone: GitRepository) -> None:
    recorded(clone)
    assert clone.bench("--inject", "sync=2") is ExitStatus.REGRESSION
    assert "2 of 3 benchmarks flagged" in clone.output()[0]
    clone.weather = 2.0
    status, out = clone.bench_in_full()
    assert status is ExitStatus.OK
    assert "Of these, 3 within tolerance. Not caused by the code: " in out
    assert not (clone.root / "build" / "base").exists()


def test_an_unchanged_run_confirms_nothing_nor_does_recording(clone: GitRepository) -> None:
    recorded(clone)
    assert clone.bench("--processes=3") is ExitStatus.OK
    assert "flagged" not in "".join(clone.output())
    clone.weather = 2.0
    clone.bench("--record", "--processes=5")
    assert len(clone.runs()) == 2


def test_who_believes_the_baseline_need_not_confirm(clone: GitRepository) -> None:
    recorded(clone)
    clone.write({"host": HOST_TIMES, "sync": SLOW})
    assert clone.bench("--no-confirm") is ExitStatus.REGRESSION
    assert "again in pairs with its commit: --no-confirm was given." in clone.output()[0]
    (run,) = clone.runs()
    assert processes(run) == [7, 7, 7]


def test_a_commit_that_is_gone_leaves_the_verdict_and_a_note(clone: GitRepository) -> None:
    recorded(clone)
    clone.git("rm", "--quiet", "--cached", "suite.json")
    clone.git("commit", "--quiet", "--amend", "--message", "without a suite")
    clone.git("reflog", "expire", "--expire=now", "--all")
    clone.git("gc", "--quiet", "--prune=now")
    clone.commit({"host": HOST_TIMES, "sync": SLOW})
    assert clone.bench() is ExitStatus.REGRESSION
    out = clone.output()[0]
    assert "1 of 3 benchmarks flagged. Not measured again in pairs with its commit: " in out
    assert "is not a commit of this clone; git fetch it" in out
    (run,) = clone.runs()
    assert processes(run) == [7, 7, 7]  # known before the first


def builds_only_this_tree(clone: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    here = clone.build

    def only_here(root: Path, preset: str, say: Callable[[str], None], *rest: object) -> None:
        if root != clone.root:
            raise UserError("`cmake` failed:\n  error: no")
        here(root, preset, say, *rest)

    monkeypatch.setattr(build, "build", only_here)


def test_a_commit_that_does_not_build_any_more_leaves_it_too(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = recorded(clone)
    clone.write({"host": HOST_TIMES, "sync": SLOW})
    builds_only_this_tree(clone, monkeypatch)
    assert clone.bench() is ExitStatus.REGRESSION
    said = f"Not measured again in pairs with its commit: commit {commit[:10]} does not build here"
    assert said in clone.output()[0]
    (run,) = clone.runs()
    assert processes(run) == [3, 3, 3]


def test_a_commit_of_an_older_warpgauge_leaves_it_and_is_told_once(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = recorded(clone)
    clone.write({"host": HOST_TIMES, "sync": SLOW})
    base_is_old(clone, monkeypatch)
    told = f"commit {commit[:10]} cannot be measured in pairs: its bench_"
    assert clone.bench() is ExitStatus.REGRESSION
    out, err = clone.output()
    assert f"Not measured again in pairs with its commit: {told}" in out
    assert out.count("before 0.2") == 1
    assert "record the baseline again (scripts/bench --record)" in out
    assert "before 0.2" not in err
    with pytest.raises(UserError, match=told) as caught:
        clone.bench("--against", commit)
    assert caught.value.status is ExitStatus.NOT_MEASURED
    assert "before 0.2" not in clone.output()[1]


def base_is_old(clone: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the programs of all other trees be those of an older warpgauge."""
    here = clone.build

    def older(root: Path, preset: str, say: Callable[[str], None], *rest: object) -> None:
        here(root, preset, say, *rest)
        if root != clone.root:
            for family in ("host", "sync"):
                fake_binary.make(root / "build" / "release", family, TIMES, old=True)

    monkeypatch.setattr(build, "build", older)


def test_who_asks_for_more_processes_gets_them_before_pairs_and_in_them(
    clone: GitRepository,
) -> None:
    recorded(clone)
    clone.write({"host": HOST_TIMES, "sync": SLOW})
    assert clone.bench("--processes=15") is ExitStatus.REGRESSION
    run, *pair = sorted(clone.runs(), key=lambda path: len(path.name))
    assert processes(run) == [15, 15, 15]
    assert [processes(path) for path in pair] == [[16], [16]]


def test_a_base_without_the_benchmark_leaves_the_verdict_and_a_note(clone: GitRepository) -> None:
    recorded(clone)
    other = clone.commit({"host": HOST_TIMES})
    for path in clone.root.glob("baselines/*/*.json"):
        told = path.read_text()
        path.write_text(told.replace(json.loads(told)["sessions"].popitem()[1]["commit"], other))
    clone.commit({"host": HOST_TIMES, "sync": SLOW})
    assert clone.bench("--filter", "sync") is ExitStatus.REGRESSION
    assert f"commit {other[:10]} has none of these benchmarks" in clone.output()[0]


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ({"commit": ""}, "does not record its commit"),
        ({"commit": "HEAD"}, "does not record its commit"),
        ({"dirty": "true"}, "uncommitted changes"),
    ],
)
def test_a_baseline_of_no_commit_cannot_be_built(
    loaded: Loader, context: dict[str, str], said: str
) -> None:
    baseline = loaded(builders.run([builders.row("a")], **context))
    with pytest.raises(UserError, match=said):
        confirm.commit_of(baseline, only_session(loaded(builders.run([builders.row("a")]))))


def test_the_base_is_the_newest_session_that_was_compared_with(loaded: Loader) -> None:
    def session(day: int, gpu: str) -> builders.Json:
        date = f"2026-11-{day}T10:00:00+00:00"
        return builders.context(date=date, gpu_uuid=gpu, commit=f"{day}" * 20)

    sessions = {"x": session(20, "GPU-1"), "y": session(21, "GPU-1"), "z": session(22, "GPU-2")}
    times = {key: list(builders.STEADY) for key in sessions}
    baseline = loaded(builders.baseline([builders.row("a", process_medians=times)], sessions))
    for gpu, commit in (("GPU-1", "21" * 20), ("GPU-2", "22" * 20), ("GPU-3", "22" * 20)):
        run = loaded(builders.run([builders.row("a")], gpu_uuid=gpu))
        assert confirm.commit_of(baseline, only_session(run)) == commit


def test_a_pair_that_both_sides_skip_clears_nothing() -> None:
    slower = comparisons.verdict("a/b", Outcome.REGRESSION, 0.5)
    skipped = comparisons.verdict("a/b", Outcome.SKIPPED, reason="needs 2 GPUs")
    both = Looks(comparisons.comparison([skipped]), Rounds(4))
    found = confirm.combined(comparisons.comparison([slower]), both)
    assert exit_status(found) is ExitStatus.REGRESSION
