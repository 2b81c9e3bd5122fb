# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --self-check from end to end, over fake binaries that do the extra work."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest

import fake_binary
from clone import GitRepository
from driver_runs import DriverRuns
from warpgauge.measure import self_check
from warpgauge.measure.self_check import CHANGES, extra_work, is_left_out
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.system.errors import ExitStatus

SEED = "1"  # of GitRepository.bench


def drawn(extra: float, count: int = 1) -> list[str]:
    """Names for which the seed draws this extra work."""
    every = (f"sync/n:{number}" for number in itertools.count())
    names = (name for name in every if not is_left_out(SEED, name))
    return list(itertools.islice((one for one in names if extra_work(SEED, one) == extra), count))


WITHOUT, SLOWER = drawn(0.0, 2), {change: drawn(change)[0] for change in CHANGES}
# Long enough that the nanosecond by which the fakes' processes differ is nothing to it.
TIMES = dict.fromkeys([*WITHOUT, *SLOWER.values()], 1e7)
HOST_TIMES = {
    next(name for n in range(99) if not is_left_out(SEED, name := f"host/copy/n:{n}")): 3e7
}
LABELS = (
    *("benchmarks", "false alarms", "no extra work: within tolerance"),
    "no extra work: inside the interval",
    *(f"+{100 * change:g} % found" for change in CHANGES),
    *("extra work: inside the interval", "undecided", "mean number of pairs"),
)


def device(cells: str) -> str:
    """The table of a single clock, or its beginning, without its spaces."""
    return " ".join(f"{label} {cell}" for label, cell in zip(LABELS, cells.split(), strict=False))


EVERYTHING = device("7 0 2/2 2/2 1/1 1/1 1/1 1/1 1/1 5/5 0 14.0")


@pytest.fixture
def suite(clone: GitRepository, monkeypatch: pytest.MonkeyPatch) -> GitRepository:
    # An interval of 95 % does not hold the truth in each run of random noise.
    monkeypatch.setenv("WARPGAUGE_TEST_STILL", "1")
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


def test_code_without_extra_work_raises_no_alarm_and_every_change_is_found(
    suite: GitRepository,
) -> None:
    assert suite.bench("--self-check") is ExitStatus.OK
    out, err = suite.output()
    # The host's controls judge nobody.
    assert EVERYTHING in out
    assert "host" not in out
    assert "run files: " in err
    (folder,) = folders(suite)
    assert {path.stem for path in folder.iterdir()} == {"base", "candidate"}


def test_the_result_is_kept_with_what_was_missed(suite: GitRepository) -> None:
    suite.bench("--self-check")
    document = kept(suite)
    assert document["warpgauge_format"] == self_check.FORMAT
    context = document["context"]
    assert context["commit"] == suite.git("rev-parse", "HEAD")
    assert context["gpu_name"] == "NVIDIA Fake"
    (total,) = document["totals"]
    assert (total["false_alarms"], total["undecided"]) == (0, 0)
    assert total["found_of"] == {f"{change:g}": [1, 1] for change in CHANGES}
    assert total["achieved"] == {f"{change:g}": change for change in CHANGES}
    assert document["extra_work_not_measured"] == []
    result(suite).with_name("self-check-old.json").write_text(
        '{"warpgauge_format": "self-check/3"}'
    )
    heads, lines = self_check.table(result(suite).parent)
    assert heads == ["", "NVIDIA Fake, device"]
    assert " ".join(word for line in lines for word in line) == EVERYTHING
    assert document["missed_by_extra_work"] == {change: [] for change in total["found_of"]}


def test_what_compared_nothing_is_no_success(suite: GitRepository) -> None:
    assert suite.bench("--self-check", "--filter=^host/") is ExitStatus.NOT_MEASURED


@pytest.mark.parametrize("how", ["--budget=1s", "--processes=8", f"--filter={WITHOUT[0]}$"])
def test_a_weaker_gate_is_shown_and_not_kept(suite: GitRepository, how: str) -> None:
    assert suite.bench("--self-check", how) is ExitStatus.OK
    assert "The result is not kept" in suite.output()[1]
    assert not (suite.root / "baselines").exists()


def test_changed_code_is_shown_and_not_kept(suite: GitRepository) -> None:
    suite.write({"host": HOST_TIMES, "sync": {**TIMES, "sync/more": 1e6}})
    suite.bench("--self-check")
    assert "The result is not kept" in suite.output()[1]
    assert not (suite.root / "baselines").exists()


@pytest.mark.parametrize("process", ["1", "2"])  # of the base, of the candidate
def test_what_failed_on_any_side_is_no_success_and_not_kept(
    suite: GitRepository, monkeypatch: pytest.MonkeyPatch, process: str
) -> None:
    make = fake_binary.make

    def ill(folder: Path, family: str, times: dict[str, float], **more: Any) -> Path:  # noqa: ANN401
        return make(folder, family, times, faults={process: "crash"}, **more)

    monkeypatch.setattr(fake_binary, "make", ill)
    assert suite.bench("--self-check") is ExitStatus.NOT_MEASURED
    assert "The result is not kept" in suite.output()[1]
    assert not (suite.root / "baselines").exists()


@pytest.mark.parametrize("stop_in", [3, 6])
def test_an_interrupted_self_check_is_kept_to_go_on(
    suite: GitRepository, driver_runs: DriverRuns, stop_in: int
) -> None:
    """Also in a further look."""
    driver_runs.interrupt(after=stop_in)
    with pytest.raises(KeyboardInterrupt):
        suite.bench("--self-check")
    assert "--resume" in suite.output()[1]
    driver_runs.interrupt(after=None)
    suite.resume()
    assert stop_in + 1 == driver_runs.rounds[0]
    out, _ = suite.output()
    assert EVERYTHING in out
    (folder,) = folders(suite)
    for path in folder.iterdir():
        measured = rows(path)
        assert len(measured[SLOWER[0.01]]["process_rounds"]) == FEWEST_OF_A_CHANGE
    pairs = rows(folder / "candidate.json")[SLOWER[0.03]]["pairs"]
    logs = [pair["log_ratio"] for pair in pairs]
    assert logs == pytest.approx([math.log(1.03)] * FEWEST_OF_A_CHANGE, abs=1e-3)


def test_a_policy_accepts_none_of_the_extra_work(suite: GitRepository) -> None:
    (suite.root / "baselines").mkdir()
    (suite.root / "baselines" / "policy.toml").write_text(
        '[[expected]]\npattern = "sync"\nslower_by_at_most_percent = 50\nreason = "known"\n'
        "expires = 2999-01-01\n"
    )
    suite.bench("--self-check")
    assert EVERYTHING in suite.output()[0]
