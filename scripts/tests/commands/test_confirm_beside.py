# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --confirm-beside REF: what the baseline flags is held against another commit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clone import HOST_TIMES, SLOW, TIMES, GitRepository, recorded
from warpgauge.measurement import confirm
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.comparison import Comparison

JSON = ("--format", "json")


def policy(clone: GitRepository, text: str) -> None:
    (clone.root / "baselines" / "policy.toml").write_text(text)


def told(clone: GitRepository) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(clone.capsys.readouterr().out)
    return document


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
    told = f"1 of 3 benchmarks was flagged. Measured again in turns with commit {base[:10]}, 5"
    assert f"Screened against the baseline: {told} rounds: 1 slower." in out
    assert f"again, in turns with commit {base[:10]} " in f"{err} "
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
    assert f"Measured in turns with commit {base[:10]}: 5 rounds." in out
    names = sorted(path.name for path in clone.runs())
    assert len(names) == 2
    assert names[0].endswith("-base.json")


def test_without_a_gpu_the_host_alone_is_compared_and_that_is_no_pass(clone: GitRepository) -> None:
    clone.no_gpu = "the driver is too old"
    assert beside(clone, "HEAD") is ExitStatus.NOT_MEASURED
    assert "baselines belong to a GPU model" not in clone.output()[0]
