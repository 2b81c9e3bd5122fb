# SPDX-License-Identifier: Apache-2.0
"""--confirm-beside REF: what only the candidate or only the baseline has is held against REF."""

from __future__ import annotations

import json

import pytest
from test_confirm_beside import JSON, beside, policy, told, verdicts

from clone import HOST_TIMES, TIMES, GitRepository, recorded
from warpgauge.measurement.baseline_run import BaselineRun
from warpgauge.measurement.throttle_guard import PersistentThrottling
from warpgauge.system.errors import ExitStatus, UserError

BUSY = {"sync/busy": TIMES["sync/busy"]}


def test_what_is_new_is_no_pass_beside_a_commit_that_does_not_build(clone: GitRepository) -> None:
    recorded(clone)
    broken = clone.commit({"sync": {}})
    clone.commit({"host": HOST_TIMES, "sync": {**TIMES, "sync/new": 1000.0}})
    assert beside(clone, "HEAD~1", *JSON) is ExitStatus.NOT_MEASURED
    document = told(clone)
    new = verdicts(document)["sync/new"]
    assert new["outcome"] == "INVALID"
    why = f"commit {broken[:10]}: commit {broken[:10]} does not build here; what"
    assert new["reason"].startswith(f"new to the baseline, and not measured beside {why}")
    assert "0 of 3 benchmarks were flagged, 1 is new to it. Not measured" in document["notes"][0]


def test_what_is_new_is_no_pass_where_a_tired_gpu_ends_the_run(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(clone)
    measured = BaselineRun.measured
    tired = PersistentThrottling("the GPU stays slow")
    monkeypatch.setattr(BaselineRun, "measured", lambda one: (measured(one)[0], tired))
    clone.write({"host": HOST_TIMES, "sync": {**TIMES, "sync/new": 1000.0}})
    with pytest.raises(UserError):
        beside(clone, "HEAD", *JSON)
    assert verdicts(told(clone))["sync/new"]["reason"].endswith(": the GPU stays slow")


def test_what_the_base_has_lost_already_is_not_held_against_the_candidate(
    clone: GitRepository,
) -> None:
    recorded(clone)
    base = clone.commit({"host": HOST_TIMES, "sync": BUSY}, message="without idle")
    clone.commit({"host": HOST_TIMES, "sync": BUSY}, message="innocent")
    assert beside(clone, "HEAD~1", *JSON) is ExitStatus.OK
    said = clone.capsys.readouterr()
    document = json.loads(said.out)
    assert sorted(verdicts(document)) == ["host/copy", "sync/busy"]
    gone = f"1 benchmark of the baseline is gone from commit {base[:10]}, too: 'sync/idle'."
    assert any(note.startswith(gone) for note in document["notes"])
    assert len(clone.runs()) == 1
    assert f"Looking in commit {base[:10]} for 1 benchmark of the baseline" in said.err


def test_what_the_candidate_alone_has_lost_is_missing(clone: GitRepository) -> None:
    recorded(clone)
    clone.commit({"host": HOST_TIMES, "sync": TIMES}, message="between")
    clone.commit({"host": HOST_TIMES, "sync": {"sync/busy": 9000.0}})
    assert beside(clone, "HEAD~1") is ExitStatus.REGRESSION
    assert "1 missing" in clone.output()[0]


def test_what_a_policy_requires_is_missing_whatever_the_base_has(clone: GitRepository) -> None:
    recorded(clone)
    for pattern in ("^sync/idle$", "sync/idle"):
        policy(clone, f'[[required]]\npattern = "{pattern}"\n')
        clone.commit({"host": HOST_TIMES, "sync": BUSY}, message="without idle")
        clone.commit({"host": HOST_TIMES, "sync": BUSY}, message="innocent")
        assert beside(clone, "HEAD~1") is ExitStatus.NOT_MEASURED
        assert "1 missing" in clone.output()[0]


def test_what_moved_into_the_full_suite_with_the_candidate_is_not_gone_from_the_base(
    clone: GitRepository,
) -> None:
    recorded(clone)
    clone.commit({"host": HOST_TIMES, "sync": TIMES}, message="between")
    (clone.root / "full_suite.json").write_text('["sync/idle"]')
    clone.commit({"host": HOST_TIMES, "sync": TIMES})
    assert beside(clone, "HEAD~1") is ExitStatus.NOT_MEASURED
    assert "1 missing" in clone.output()[0]


def test_without_a_gpu_nothing_of_it_is_gone(clone: GitRepository) -> None:
    recorded(clone)
    (path,) = clone.root.glob("baselines/*/sync.json")
    clone.commit({"host": HOST_TIMES, "sync": TIMES}, message="between")
    clone.no_gpu = "the driver is too old"
    assert beside(clone, "HEAD", "--baseline", str(path.parent)) is ExitStatus.NOT_MEASURED
    assert "gone from commit" not in clone.output()[0]
