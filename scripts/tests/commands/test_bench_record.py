# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --record: refused before the minutes of it, wherever it can be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

import fake_binary
from clone import HOST_TIMES, TIMES, GitRepository, Repository
from warpgauge.measure import build
from warpgauge.records.load import load
from warpgauge.system.errors import UserError


def gpu(**context: str) -> dict[str, Any]:
    return {"context": {key: one for key, one in {**fake_binary.GPU, **context}.items() if one}}


@pytest.mark.parametrize(
    ("sync", "said"),
    [
        (gpu(gpu_name=""), "its context has no gpu_name"),
        (gpu(gpu_uuid=""), "its context has no gpu_uuid"),
        (gpu(other_processes="1"), "others used the GPU at the start"),
        ({"times": {"../x": 1.0}}, "cannot be a file name"),
        (
            {"ill": {"sync/idle": "crash"}},
            "killed by SIGSEGV: .*an illegal memory access; correct it",
        ),
    ],
)
def test_what_can_be_known_before_measuring_is(
    repository: Repository, sync: Mapping[str, Any], said: str
) -> None:
    repository.binary("sync", **{"times": TIMES, **sync})
    with pytest.raises(UserError, match=said):
        repository.bench("--record")
    assert not repository.runs()
    assert not (repository.root / "baselines").exists()


def test_a_tree_of_unknown_commit_is_not_recorded(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WARPGAUGE_COMMIT")
    with pytest.raises(UserError, match="needs to know the commit"):
        repository.bench("--record")


def test_a_failed_row_or_a_lost_benchmark_is_not_recorded_and_the_baseline_stays(
    repository: Repository,
) -> None:
    repository.record()
    (path,) = repository.root.glob("baselines/*/sync.json")
    before, runs = path.read_bytes(), repository.runs()
    repository.binary("sync", {"sync/idle": 1000.0})
    with pytest.raises(UserError, match="this build is not recorded: it lacks 'sync/busy' of"):
        repository.bench("--record")
    assert repository.runs() == runs  # it did not measure first
    repository.binary("sync", TIMES, fault="errored row")
    with pytest.raises(UserError, match="not recorded"):
        repository.bench("--record")
    assert path.read_bytes() == before


def test_a_run_at_a_lowered_clock_is_not_recorded(repository: Repository) -> None:
    # In the rounds 1, 2, 4 and 5, of which the first three are tried twice; process 1 is the probe.
    lowered = {str(process): {"throttled": 1.0} for process in (2, 3, 4, 5, 7, 8, 9)}
    repository.binary("sync", TIMES, counters={"all": {"sm_clock_hz": 1.98e9}, **lowered})
    with pytest.raises(
        UserError, match=r"sync/idle: the SM clock was lowered .* in 4 of 6 processes"
    ):
        repository.bench("--record", "--processes=6")
    assert not (repository.root / "baselines").exists()


def test_a_run_without_its_few_bad_processes_is_recorded(repository: Repository) -> None:
    repository.binary("sync", TIMES, counters={3: {"throttled": 1.0}, 4: {"other_processes": 1.0}})
    repository.bench("--record", "--processes=7")
    (path,) = repository.root.glob("baselines/*/sync.json")
    rows = load(path).rows.values()
    # The second of the two was the first's second try.
    assert {len(*row.process_medians.values()) for row in rows} == {6}
    assert "processes_left_out" not in path.read_text()


@pytest.mark.parametrize("committed", [False, True])
def test_what_is_edited_while_it_builds_is_no_commits_code(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    first = clone.git("rev-parse", "HEAD")

    def edited(*arguments: Any) -> None:  # noqa: ANN401 - build.build's own
        clone.build(*arguments)
        changed = {"host": HOST_TIMES, "sync": {**TIMES, "sync/new": 1.0}}
        clone.commit(changed) if committed else clone.write(changed)

    monkeypatch.setattr(build, "build", edited)
    with pytest.raises(UserError, match="needs a committed tree"):
        clone.bench("--record")
    assert not (clone.root / "baselines").exists()
    if not committed:
        clone.git("checkout", "--quiet", "suite.json")
        clone.bench("--processes=3")
        (run,) = clone.runs()
        context = json.loads(run.read_text())["context"]
        assert (context["commit"], context["dirty"]) == (first, "true")
