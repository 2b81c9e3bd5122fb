# SPDX-License-Identifier: Apache-2.0
"""A benchmark that vanished, failed or changed its unit is told of, and never as faster.

Each case is one benchmark, "f", as the baseline and as the candidate file has it, beside another
that is the same in both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from conftest import Loader

from builders import Json, baseline, failed, google, google_row, row, run, scaled
from warpgauge.verdict.comparison import Outcome, Verdict
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge

Document = Callable[[Sequence[Json]], Json]

# A plain file's processes are known to agree, or none of its rows would ever pass.
QUIET = ComparisonSettings(process_scatter=0.01)


def as_baseline(rows: Sequence[Json]) -> Json:
    told = []
    for one in rows:
        times = one.get("process_medians")
        told.append({**one, "process_medians": {"s": times}} if times else one)
    return baseline(told, {"s": {"gpu_uuid": "GPU-1", "build_type": "Release"}})


def plain(rows: Sequence[Json]) -> Json:
    """The same rows in a plain file, their processes as repetitions."""
    told = []
    for one in rows:
        times = one.get("process_medians")
        for time in times if isinstance(times, list) else [0.0]:
            kept = {key: value for key, value in one.items() if key != "process_medians"}
            told.append({**kept, "run_type": "iteration", "real_time": time})
    return google(told)


KINDS: dict[str, tuple[Document, Document]] = {
    "runs": (run, run),
    "baseline and run": (as_baseline, run),
    "plain files": (plain, plain),
}


Judged = Callable[[Json | None, Json | None], Verdict]


@pytest.fixture(params=KINDS)
def judged(request: pytest.FixtureRequest, loaded: Loader) -> Judged:
    """Compares "f" as both sides have it, in each kind of file."""

    def compare(*sides: Json | None) -> Verdict:
        base, cand = (
            loaded(make([row("other"), *([one] if one else [])]))
            for make, one in zip(KINDS[request.param], sides, strict=True)
        )
        found = {verdict.name: verdict for verdict in judge(base, cand, QUIET).verdicts}
        assert found["other"].outcome is Outcome.PASS
        return found["f"]

    return compare


HERE = row("f")
HALF_DONE = {**row("f", scaled(0.1)), "error_occurred": True, "error_message": "half done"}
SKIPPED: Json = {"name": "f", "skipped": True, "skip_message": "no GPU"}


@pytest.mark.parametrize(
    ("base", "cand", "outcome"),
    [
        (HERE, None, Outcome.MISSING),
        (HERE, failed("f"), Outcome.ERROR),
        (failed("f"), HERE, Outcome.ERROR),
        (failed("f"), failed("f"), Outcome.ERROR),
        (failed("f"), None, Outcome.ERROR),
        (None, failed("f"), Outcome.ERROR),
        (HERE, SKIPPED, Outcome.MISSING),
        (HERE, HALF_DONE, Outcome.ERROR),  # with a tempting time
    ],
)
def test_what_was_not_measured_is_told_and_has_no_change(
    judged: Judged, base: Json | None, cand: Json | None, outcome: Outcome
) -> None:
    verdict = judged(base, cand)
    assert (verdict.outcome, verdict.change) == (outcome, None)
    assert verdict.reason


# Units in a microsecond, which is what the builders' rows are in.
UNITS = {"ns": 1e3, "us": 1.0, "ms": 1e-3, "s": 1e-6}


@pytest.mark.parametrize(
    ("unit", "factor", "outcome"),
    [
        *((unit, factor, Outcome.PASS) for unit, factor in UNITS.items()),
        ("ms", 1e-3 * 1.5, Outcome.REGRESSION),  # the number fell from 1 to 0.0015
        ("ns", 1e3 / 1.5, Outcome.IMPROVED),  # the number rose from 1 to 667
        ("ms", 1.0, Outcome.REGRESSION),  # the number stayed
        ("ns", 1.0, Outcome.IMPROVED),
    ],
)
def test_a_change_of_unit_neither_hides_nor_makes_a_change(
    judged: Judged, unit: str, factor: float, outcome: Outcome
) -> None:
    assert judged(HERE, row("f", scaled(factor), time_unit=unit)).outcome is outcome


def test_counters_never_feed_the_time(judged: Judged) -> None:
    lures = ("time", "median", "seconds", "real_time_ns", "manual_time", "bytes_per_second")
    base = row("f", cpu_time=100.0, **dict.fromkeys(lures, 100.0))
    cand = row("f", cpu_time=1.0, iterations=10**6, **dict.fromkeys(lures, 1.0))
    verdict = judged(base, cand)
    assert verdict.outcome is Outcome.PASS
    assert verdict.candidate_seconds == pytest.approx(1e-6, rel=1e-3)


@pytest.mark.parametrize(
    "lost",
    [
        google_row("f", 0.0, error_occurred=True, error_message="boom"),
        google_row("f_stddev", 0.1, run_name="f", run_type="aggregate", aggregate_name="stddev"),
    ],
)
def test_a_failed_repetition_and_a_useless_aggregate_are_errors(loaded: Loader, lost: Json) -> None:
    steady = google_row("g", 5.0)
    fast = [google_row("f", 1.0)] * 2 if lost["name"] == "f" else []
    base = loaded(google([google_row("f", 5.0), steady]))
    verdicts = judge(base, loaded(google([*fast, lost, steady])), QUIET).verdicts
    assert [verdict.outcome for verdict in verdicts] == [Outcome.ERROR, Outcome.PASS]
    assert verdicts[0].change is None
