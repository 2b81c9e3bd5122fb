# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --self-check from end to end, over fake binaries that do the extra work."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fake_binary
from clone import GitRepository
from comparisons import comparison, record, verdict
from warpgauge.execution.plan import Plan
from warpgauge.execution.turn_result import TurnResult
from warpgauge.measurement import runner, self_check_report
from warpgauge.measurement.journal import Journal
from warpgauge.measurement.options import FIRST_LOOK
from warpgauge.measurement.self_check import SelfCheck
from warpgauge.records.model import Clock
from warpgauge.system.errors import ExitStatus, UserError

# Long enough that the nanosecond by which the fakes' processes differ is nothing to it.
TIMES = {"sync/idle": 1e7, "sync/busy": 5e7}
HOST_TIMES = {"host/copy": 3e7}


@pytest.fixture
def suite(clone: GitRepository) -> GitRepository:
    clone.commit({"host": HOST_TIMES, "sync": TIMES})
    return clone


def result(suite: GitRepository) -> Path:
    return suite.root / "baselines" / "self-check-nvidia-fake.json"


def kept(suite: GitRepository) -> dict[str, Any]:
    return dict(json.loads(result(suite).read_text()))


def rows(path: Path) -> dict[str, Any]:
    return {row["name"]: row for row in json.loads(path.read_text())["benchmarks"]}


def folders(suite: GitRepository) -> list[Path]:
    return sorted(path for path in (suite.root / "build" / "runs").iterdir() if path.is_dir())


def test_unchanged_code_raises_no_alarm_and_every_change_is_found(suite: GitRepository) -> None:
    assert suite.bench("--self-check", "--quick") is ExitStatus.OK
    out, err = suite.output()
    # One row for the family and one for all; the host's controls judge nobody. What is unchanged
    # passes after 4 pairs, and any change needs 8.
    assert "sync device 2 0 0 100 % 100 % 100 % 100 % 100 % 100 % ≤ 1 % 100 % 7.3" in out
    assert "all device 2 0 0 100 % 100 %" in out
    assert "host" not in out
    assert "run files: " in err
    (folder,) = folders(suite)
    slower = {f"slower-by-{percent}-percent" for percent in (1, 2, 3, 5, 10)}
    assert {path.stem for path in folder.iterdir()} == {"again", "base", *slower}


def test_the_result_is_kept_and_its_run_files_can_be_judged_again(suite: GitRepository) -> None:
    suite.bench("--self-check")
    document = kept(suite)
    assert document["warpgauge_format"] == "self-check/2"
    context = document["context"]
    assert context["commit"] == suite.git("rev-parse", "HEAD")
    assert context["gpu_name"] == "NVIDIA Fake"
    family = document["families"][0]
    assert (family["family"], family["false_alarms"], family["unknown"]) == ("sync", 0, 0)
    assert family["found"] == {"0.01": 2, "0.02": 2, "0.03": 2, "0.05": 2, "0.1": 2}
    assert document["not_found_by_change"] == {change: [] for change in family["found"]}
    assert document["against_the_baseline"] is None
    (folder,) = folders(suite)
    table = suite.output()[0]
    result(suite).unlink()
    suite.no_gpu = "there is no GPU"  # none is asked for
    assert suite.bench("--self-check", str(folder)) is ExitStatus.OK
    assert kept(suite) == document
    assert suite.output()[0] == table
    with pytest.raises(UserError, match=r"--self-check .* --processes"):
        suite.bench("--self-check", str(folder), "--processes=5")


def test_a_baseline_that_is_there_is_asked_too(suite: GitRepository) -> None:
    suite.bench("--record", "--processes=5")
    suite.git("add", "--all")
    suite.git("commit", "--quiet", "--message", "baseline")
    suite.rewind()
    assert suite.bench("--self-check") is ExitStatus.OK
    said = "Against the baseline (1 session): 0 of 3 called changed, 0 unknown."
    assert said in kept(suite)["against_the_baseline"]


def test_a_false_alarm_is_exit_status_1(suite: GitRepository) -> None:
    suite.bench("--record", "--processes=5")
    suite.weather = 1.2
    assert suite.bench("--self-check", "--processes=5") is ExitStatus.REGRESSION
    assert "3 of 3 called changed" in suite.output()[0]


def test_other_run_files_are_not_taken_for_a_self_check(suite: GitRepository) -> None:
    suite.bench("--self-check", "--quick")
    suite.bench("--self-check", "--quick")
    one, other = folders(suite)
    again = one / "again.json"
    again.write_bytes((other / "again.json").read_bytes())
    with pytest.raises(UserError, match=r"again\.json and .*base.* different self-checks"):
        suite.bench("--self-check", str(one))
    again.write_bytes((one / "slower-by-1-percent.json").read_bytes())
    with pytest.raises(UserError, match=r"again\.json was not made by scripts/bench --self-check"):
        suite.bench("--self-check", str(one))
    again.unlink()
    with pytest.raises(UserError, match=r"again\.json"):
        suite.bench("--self-check", str(one))


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("--quick", "--quick, --budget"),
        ("--budget=1s", "--quick, --budget"),
        ("--processes=2", f"{FIRST_LOOK} pairs or more"),
        ("--quick --filter=sync/idle", "(--filter)"),
    ],
)
def test_a_weaker_gate_is_shown_and_not_kept(suite: GitRepository, how: str, why: str) -> None:
    assert suite.bench("--self-check", *how.split()) is ExitStatus.OK
    assert why in suite.output()[1]
    assert not (suite.root / "baselines").exists()


def test_changed_code_is_shown_and_not_kept(suite: GitRepository) -> None:
    suite.write({"host": HOST_TIMES, "sync": {**TIMES, "sync/more": 1e6}})
    suite.bench("--self-check", "--quick")
    assert "the working tree had uncommitted changes" in suite.output()[1]
    assert not (suite.root / "baselines").exists()


@pytest.mark.parametrize("process", ["1", "2", "4"])  # of the base, of its like, of one injected
def test_what_failed_on_any_side_is_no_success_and_not_kept(
    suite: GitRepository, monkeypatch: pytest.MonkeyPatch, process: str
) -> None:
    make = fake_binary.make

    def ill(folder: Path, family: str, times: dict[str, float], **more: Any) -> Path:  # noqa: ANN401
        return make(folder, family, times, faults={process: "crash"}, **more)

    monkeypatch.setattr(fake_binary, "make", ill)
    assert suite.bench("--self-check", "--quick") is ExitStatus.NOT_MEASURED
    assert " gave no result" in suite.output()[1]
    assert not (suite.root / "baselines").exists()


@pytest.mark.parametrize(("lock_steps", "stop_in"), [(False, 3), (True, 3), (True, 6)])
def test_an_interrupted_self_check_is_kept_to_go_on(
    suite: GitRepository, monkeypatch: pytest.MonkeyPatch, *, lock_steps: bool, stop_in: int
) -> None:
    """Also in a further look, where those sides alone run that have something open."""
    suite.lock_steps = lock_steps
    everything = runner.one_by_one

    def run(plan: Plan, observer: runner.Observer, journal: Journal | None) -> Iterator[TurnResult]:
        for outcome in everything(plan, observer, journal):
            if outcome.round == stop_in:
                raise KeyboardInterrupt
            yield outcome

    with monkeypatch.context() as patched:
        patched.setattr(runner, "one_by_one", run)
        with pytest.raises(KeyboardInterrupt):
            suite.bench("--self-check")
    assert "--resume" in suite.output()[1]
    suite.resume()
    out, _ = suite.output()
    assert "all device 2 0 0 100 % 100 % 100 % 100 % 100 % 100 % ≤ 1 % 100 % 7.3" in out
    (folder,) = folders(suite)
    rounds = {
        path.stem: len(rows(path)["sync/idle"]["process_rounds"]) for path in folder.iterdir()
    }
    assert (rounds["base"], rounds["again"], rounds["slower-by-1-percent"]) == (8, 4, 8)
    if lock_steps:
        ratios = rows(folder / "slower-by-3-percent.json")["sync/busy"]["pair_ratios"]
        assert ratios == pytest.approx([1.03] * 8, rel=1e-3)


def test_a_policy_accepts_none_of_the_extra_work(suite: GitRepository) -> None:
    (suite.root / "baselines").mkdir()
    (suite.root / "baselines" / "policy.toml").write_text(
        '[[expected]]\npattern = "sync"\nslower_by_at_most_percent = 50\nreason = "known"\n'
        "expires = 2999-01-01\n"
    )
    suite.bench("--self-check", "--quick")
    assert "sync device 2 0 0 100 % 100 %" in suite.output()[0]


def test_the_hosts_controls_are_not_counted_against_the_baseline() -> None:
    found = comparison([verdict("sync/a"), verdict("host/a", clock=Clock.HOST, host_clock=1.0)])
    check = SelfCheck(record(), found, {})
    told = json.loads(self_check_report.text(check, found))["against_the_baseline"]
    assert told.endswith("0 of 1 called changed, 0 unknown.")
