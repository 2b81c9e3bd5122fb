# SPDX-License-Identifier: Apache-2.0
"""A GPU that stays slow ends the run, with the reason; one hungry benchmark does not."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext

import pytest

from clone import HOST_TIMES, TIMES, Repository
from warpgauge.measurement.throttle_guard import PersistentThrottling, ThrottleGuard
from warpgauge.system.errors import ExitStatus, UserError

SLOW = {
    "throttled": 1.0,
    "sm_clock_hz": 1.2e9,
    "clock_event_reasons": 0x20,
    "temperature_celsius": 88.0,
}
FULL = {"sm_clock_hz": 1.98e9}


def report(*rows: dict[str, float], target: str = "1980000000") -> dict[str, object]:
    named = [{"name": str(index), **row} for index, row in enumerate(rows)]
    return {"context": {"sm_clock_target_hz": target}, "benchmarks": named}


def test_three_slow_programs_in_a_row_are_a_tired_gpu_and_why_is_said() -> None:
    guard = ThrottleGuard()
    for _ in range(3):
        guard.require_rested()
        guard.look([report({**SLOW, "temperature_celsius": 80.0}, SLOW, FULL)])
    said = (
        "the GPU stays slow: the SM clock was lowered to 1.200 GHz of 1.980 GHz "
        r"\(temperature\) at 88 degrees Celsius in 3 programs one after the other"
    )
    with pytest.raises(PersistentThrottling, match=said) as caught:
        guard.require_rested()
    assert caught.value.status is ExitStatus.NOT_MEASURED
    guard = ThrottleGuard()  # of a GPU that tells nothing
    for _ in range(3):
        guard.look([report({"throttled": 1.0}, target="")])
    with pytest.raises(PersistentThrottling, match="the SM clock was lowered in 3 programs"):
        guard.require_rested()


@pytest.mark.parametrize(
    ("between", "rested"),
    [
        ([FULL], True),
        ([SLOW, FULL], True),
        # Rows without a clock tell neither.
        ([{"host_clock": 1.0}], False),
        ([{**FULL, "error_occurred": True}], False),
    ],
)
def test_only_a_program_at_full_clock_in_between_shows_that_the_gpu_can(
    between: list[dict[str, float]], rested: bool
) -> None:
    guard = ThrottleGuard()
    for rows in ([SLOW], [SLOW], between, [SLOW]):
        guard.look([report(*rows)])
    with nullcontext() if rested else pytest.raises(PersistentThrottling):
        guard.require_rested()


@pytest.fixture
def tired(repository: Repository) -> Repository:
    """With a baseline, and a GPU that is slow from the third round on; the first process probes."""
    repository.record()
    counters = {str(number): SLOW for number in range(4, 40)}
    repository.binary("sync", TIMES, counters=counters)
    repository.output()
    return repository


def test_a_tired_gpu_ends_the_run_and_what_is_complete_is_shown(tired: Repository) -> None:
    out = tired.root / "run.json"
    said = r"^the GPU stays slow: .* to 1.200 GHz \(temperature\) at 88 degrees Celsius"
    with pytest.raises(UserError, match=said) as caught:
        tired.bench("--out", str(out))
    assert caught.value.status is ExitStatus.NOT_MEASURED
    # Two good ones, and three slow ones that were tried twice each; two rounds were spared.
    assert len((tired.built / "bench_sync.count").read_text()) == 1 + 2 + 3 * 2
    rows = {row["name"]: row for row in json.loads(out.read_text())["benchmarks"]}
    assert len(rows["host/copy"]["process_medians"]) in (4, 5)
    assert rows["sync/idle"]["throttled"] == 3.0
    shown, err = tired.output()
    assert "candidate: the SM clock was lowered to 1.200 GHz in 3 of 5 processes" in shown
    assert re.search(r"are kept: `scripts/bench --resume \S+/run\.journal` goes on", err)


def test_a_run_goes_on_when_the_gpu_has_rested(tired: Repository) -> None:
    out = tired.root / "run.json"
    with pytest.raises(UserError, match="stays slow"):
        tired.bench("--out", str(out))
    before = len((tired.built / "bench_sync.count").read_text())
    told = tired.built / "bench_sync.told"
    lines = told.read_text().splitlines(keepends=True)
    told.write_text("".join(line for line in lines if not line.startswith("counter")))
    # The times of the fake program grow by a nanosecond a process, which is no change.
    assert tired.resume(str(out.with_name("run.journal"))) is ExitStatus.OK
    assert len((tired.built / "bench_sync.count").read_text()) == before + 1 + 3 + 2
    rows = json.loads(out.read_text())["benchmarks"]
    assert {row["name"] for row in rows} == {*TIMES, *HOST_TIMES}
    assert all(len(row["process_medians"]) == 7 for row in rows)
    assert not any("throttled" in row for row in rows)


def test_a_regression_is_told_by_the_status_all_the_same(repository: Repository) -> None:
    repository.record()
    counters = {str(number): SLOW for number in range(6, 40)}
    repository.binary("sync", {**TIMES, "sync/busy": 9000.0}, counters=counters)
    with pytest.raises(UserError, match="stays slow") as caught:
        repository.bench("--processes=9", "--out", str(repository.root / "run.json"))
    assert caught.value.status is ExitStatus.REGRESSION
    assert "the GPU stays slow" in repository.output()[0]


def test_nothing_of_a_tired_gpu_is_recorded(tired: Repository) -> None:
    (before,) = tired.root.glob("baselines/*/sync.json")
    text = before.read_text()
    with pytest.raises(UserError, match="stays slow"):
        tired.bench("--record")
    assert before.read_text() == text
