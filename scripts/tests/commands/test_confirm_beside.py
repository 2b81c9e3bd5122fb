# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --confirm-beside REF: what the baseline flags, or lacks, is held against REF."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clone import HOST_TIMES, SLOW, TIMES, GitRepository, recorded
from warpgauge.measurement import confirm
from warpgauge.measurement.baseline_run import BaselineRun
from warpgauge.measurement.throttle_guard import PersistentThrottling
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict.comparison import Comparison

JSON = ("--format", "json")


def policy(clone: GitRepository, text: str) -> None:
    (clone.root / "baselines" / "policy.toml").write_text(text)


def told(clone: GitRepository) -> dict[str, Any]:
    return dict(json.loads(clone.capsys.readouterr().out))


def verdicts(document: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one for one in document["verdicts"]}


def beside(clone: GitRepository, ref: str, *more: str) -> ExitStatus:
    return clone.bench("--confirm-beside", ref, "--processes=5", *more)


def test_a_change_of_the_candidate_is_confirmed_beside_that_commit(clone: GitRepository) -> None:
    baseline = recorded(clone)
    base = clone.commit({"host": HOST_TIMES, "sync": TIMES}, message="between")
    clone.commit({"host": HOST_TIMES, "sync": SLOW})
    assert beside(clone, "HEAD~1") is ExitStatus.REGRESSION
    out, err = clone.output()
    told = f"1 of 3 benchmarks was flagged. Measured again in pairs with commit {base[:10]}, 5"
    assert f"Screened against the baseline: {told} rounds: 1 slower." in out
    assert f"again, in pairs with commit {base[:10]} " in f"{err} "
    assert baseline[:10] not in err.partition("Confirming")[2]


def test_a_change_that_the_base_made_already_is_not_the_candidates(clone: GitRepository) -> None:
    recorded(clone)
    base = clone.commit({"host": HOST_TIMES, "sync": SLOW}, message="slower, and merged")
    clone.commit({"host": HOST_TIMES, "sync": SLOW}, message="innocent")
    assert beside(clone, "HEAD~1", "--verbose") is ExitStatus.OK
    out = clone.output()[0]
    assert "0 regressions, 0 improvements" in out
    assert "Not by this change: 'sync/busy' differs from what the baseline recorded" in out
    assert f"and not from commit {base[:10]} as it runs here now" in out


def test_what_the_baseline_does_not_know_is_judged_beside_that_commit(clone: GitRepository) -> None:
    recorded(clone)
    clone.commit({"host": HOST_TIMES, "sync": {**TIMES, "sync/new": 1000.0}})
    clone.write({"host": HOST_TIMES, "sync": {**TIMES, "sync/new": 2000.0}})
    assert beside(clone, "HEAD") is ExitStatus.REGRESSION
    out, err = clone.output()
    assert "Worst: sync/new" in out
    assert "0 of 3 benchmarks were flagged, 1 is new to it. Measured again" in out
    assert "Confirming 1 benchmark: again" in err
    assert clone.bench("--processes=5") is ExitStatus.OK  # the baseline alone cannot tell


def test_what_is_new_to_that_commit_too_is_new_and_measured_once(clone: GitRepository) -> None:
    recorded(clone)
    clone.write({"host": HOST_TIMES, "sync": {**TIMES, "sync/new": 1000.0}})
    assert beside(clone, "HEAD") is ExitStatus.OK
    out = clone.output()[0]
    assert "1 new" in out
    assert "flagged" not in out
    assert len(clone.runs()) == 1


def test_an_expected_regression_is_accepted_once_and_not_of_each_change(
    clone: GitRepository,
) -> None:
    recorded(clone)
    policy(
        clone,
        '[[expected]]\npattern = "^sync/busy$"\nslower_by_at_most_percent = 85\n'
        'reason = "the bounds check"\nexpires = 2999-01-31\n',
    )
    base = clone.commit({"host": HOST_TIMES, "sync": SLOW}, message="accepted, and merged")
    clone.commit({"host": HOST_TIMES, "sync": {**TIMES, "sync/busy": 16000.0}})
    assert beside(clone, "HEAD~1", *JSON) is ExitStatus.REGRESSION
    busy = verdicts(told(clone))["sync/busy"]
    assert busy["outcome"] == "REGRESSION"
    assert busy["reason"].startswith("expected at most 85 % (the bounds check); accepted beside ")
    assert f"commit {base[:10]} (+77.8 %), not against the baseline (+220 %)" in busy["reason"]


def test_a_comparison_tells_beside_which_commit_it_was_measured(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Comparison] = []

    def kept(*arguments: Any) -> Comparison:  # noqa: ANN401
        seen.append(confirmed(*arguments))
        return seen[-1]

    confirmed = confirm.confirmed
    monkeypatch.setattr(confirm, "confirmed", kept)
    recorded(clone)
    head = clone.git("rev-parse", "HEAD")
    clone.write({"host": HOST_TIMES, "sync": SLOW})
    beside(clone, "HEAD")
    clone.bench("--processes=5")
    assert [one.beside for one in seen] == [head, ""]


def test_without_a_baseline_everything_is_measured_in_turns(clone: GitRepository) -> None:
    base = clone.git("rev-parse", "HEAD")
    clone.commit({"host": HOST_TIMES, "sync": SLOW})
    assert beside(clone, "HEAD~1") is ExitStatus.REGRESSION
    out = clone.output()[0]
    assert "There is no baseline for NVIDIA Fake yet: the same command" in out
    assert f"Measured in pairs with commit {base[:10]}: 5 rounds." in out
    names = sorted(path.name for path in clone.runs())
    assert len(names) == 2
    assert names[0].endswith("-base.json")


def test_without_a_gpu_the_host_alone_is_compared_and_that_is_no_pass(clone: GitRepository) -> None:
    clone.no_gpu = "the driver is too old"
    assert beside(clone, "HEAD") is ExitStatus.NOT_MEASURED
    assert "baselines belong to a GPU model" not in clone.output()[0]


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
