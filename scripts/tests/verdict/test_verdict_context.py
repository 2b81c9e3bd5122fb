# SPDX-License-Identifier: Apache-2.0
"""What a context forbids, what it asks for, and what it merely tells; how old a baseline is."""

from __future__ import annotations

import warnings
from dataclasses import astuple
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from conftest import Loader

from builders import STEADY, Json, baseline, context, google, google_row, row, run, scaled
from warpgauge.records.model import Record, Session, Source
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict import staleness
from warpgauge.verdict.comparison import ContextDifference, Outcome, exit_status
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge


def refused(loaded: Loader, base: Json, cand: Json) -> str | None:
    comparison = judge(loaded(base), loaded(cand))
    if comparison.refusal is not None:
        assert exit_status(comparison) is ExitStatus.NOT_MEASURED
        assert {verdict.outcome for verdict in comparison.verdicts} == {Outcome.INVALID}
    return comparison.refusal


ROWS = [row("a/b"), row("a/c")]


def unnamed(**keys: str) -> Json:
    return google([google_row("a/b", 1.0), google_row("a/c", 1.0)], **keys)


@pytest.mark.parametrize(
    ("base", "cand", "reason"),
    [
        (run(ROWS), run(ROWS, gpu_name="NVIDIA Other"),
         "measured on NVIDIA Other and the baseline on NVIDIA Test"),
        (run(ROWS), run(ROWS, gpu_name=""), "measured on no GPU"),
        (run(ROWS, gpu_name=""), run(ROWS), "the baseline on no GPU"),
        (run(ROWS), unnamed(gpu_name="NVIDIA Other"), "measured on NVIDIA Other"),
        (unnamed(gpu_name="NVIDIA Other"), run(ROWS), "the baseline on NVIDIA Other"),
        (run(ROWS, inject="a=1.05"), run(ROWS), "injected extra work (a=1.05)"),
        (run(ROWS, gpu_name=""), run(ROWS, gpu_name=""), None),
        (run(ROWS), unnamed(), None),
        (unnamed(), run(ROWS), None),
    ],
)  # fmt: skip
def test_another_gpu_model_and_an_injected_baseline_are_refused(
    loaded: Loader, base: Json, cand: Json, reason: str | None
) -> None:
    found = refused(loaded, base, cand)
    assert (found is None) is (reason is None)
    assert (reason or "") in (found or "")


@pytest.mark.parametrize("side", ["baseline", "candidate"])
@pytest.mark.parametrize("build", ["Debug", "RelWithDebInfo", None])
def test_anything_but_release_is_refused(loaded: Loader, side: str, build: str | None) -> None:
    bad, good = run(ROWS), run(ROWS)
    about = bad["context"]
    assert isinstance(about, dict)
    about["build_type"] = build
    sides = (bad, good) if side == "baseline" else (good, bad)
    reason = refused(loaded, *sides)
    assert reason is not None
    assert reason.startswith(f"The {side} ")


def test_an_injected_candidate_is_judged_and_named(loaded: Loader) -> None:
    slower = [row("a/b", scaled(1.05)), row("a/c")]
    comparison = judge(loaded(run(ROWS)), loaded(run(slower, inject="a/b=1.05")))
    assert exit_status(comparison) is ExitStatus.REGRESSION
    assert any("a/b=1.05" in str(note) for note in comparison.notes)


MANY = [row("gemm/a"), row("gemm/b"), row("sync/c")]


def outcomes(loaded: Loader, cand: Json, filter: str | None) -> dict[str, Outcome]:
    comparison = judge(loaded(run(MANY)), loaded(cand), ComparisonSettings(filter=filter))
    return {verdict.name: verdict.outcome for verdict in comparison.verdicts}


@pytest.mark.parametrize(
    ("cand", "filter", "expected"),
    [
        (run([row("gemm/a")]), "gemm", {"gemm/a": Outcome.PASS, "gemm/b": Outcome.MISSING}),
        (run(MANY), "-gemm", {"sync/c": Outcome.PASS}),
        # The run's own filter says what was asked for.
        (run([row("gemm/a")], filter="gemm/"), None,
         {"gemm/a": Outcome.PASS, "gemm/b": Outcome.MISSING}),
    ],
)  # fmt: skip
def test_what_a_filter_leaves_out_is_not_missed(
    loaded: Loader, cand: Json, filter: str | None, expected: dict[str, Outcome]
) -> None:
    assert outcomes(loaded, cand, filter) == expected


def test_a_filter_that_python_reads_differently_loses_nothing_measured(loaded: Loader) -> None:
    posix = "[[:alpha:]]emm/a"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = outcomes(loaded, run([row("gemm/a")], filter=posix), posix)
    assert found["gemm/a"] is Outcome.PASS


def test_what_was_not_asked_for_is_counted(loaded: Loader) -> None:
    comparison = judge(loaded(run(MANY)), loaded(run(MANY)), ComparisonSettings(filter="sync"))
    assert [*map(str, comparison.notes)] == ["2 benchmarks skipped by --filter sync."]
    comparison = judge(loaded(run(MANY)), loaded(run(MANY)), ComparisonSettings(filter="nothing"))
    assert exit_status(comparison) is ExitStatus.NOT_MEASURED
    assert comparison.refusal is not None
    assert "filter nothing" in comparison.refusal
    for bad in ("(", "*", "-["):
        with pytest.raises(UserError, match="is not a valid regular expression"):
            outcomes(loaded, run(MANY), bad)


def test_differences_of_the_context_are_told(loaded: Loader) -> None:
    base = loaded(run(ROWS, driver_version="580", commit="a", host_name="one", flags="-O3"))
    cand = loaded(run(ROWS, driver_version="590", commit="a", host_name="two"))
    comparison = judge(base, cand)
    assert comparison.differences == (ContextDifference("driver_version", "580", "590"),)
    assert exit_status(comparison) is ExitStatus.OK


def test_hosts_of_plain_files_are_told_apart(loaded: Loader) -> None:
    one, other = (
        loaded(google([google_row("a/b", 1.0)], host_name=host, mhz_per_cpu=clock))
        for host, clock in (("one", 2100), ("two", 3400))
    )
    told = (("host_name", "one", "two"), ("mhz_per_cpu", "2100", "3400"))
    assert tuple(map(astuple, judge(one, other).differences)) == told
    assert judge(loaded(run([row("a/b")], host_name="one")), other).differences == ()


NOW = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


def dated(*dates: str) -> Record:
    sessions = {
        f"s{n}": Session(f"s{n}", {"date": date, "commit": "0123456789abcdef"})
        for n, date in enumerate(dates)
    }
    return Record(Path("b"), Source.BASELINE, sessions, {})


def days_ago(days: float) -> str:
    return (NOW - timedelta(days=days)).isoformat()


@pytest.mark.parametrize(
    ("dates", "note"),
    [
        ((days_ago(400), days_ago(89.9)), None),
        ((days_ago(400), days_ago(100)),
         ("stale", "100 days old (2026-08-12, commit 0123456789)")),
        (("",), ("undated", "")),
        (("yesterday",), ("undated", "")),
        ((days_ago(5), days_ago(-3)),
         ("future", "session, s1, is dated in the future (2026-11-23, in 3 days)")),
        ((days_ago(-0.6),), None),  # it may be another zone's
    ],
)  # fmt: skip
def test_an_old_undated_or_future_newest_session_is_told(
    dates: tuple[str, ...], note: tuple[str, str] | None
) -> None:
    found = staleness.note(dated(*dates), NOW)
    assert (found and found.kind) == (note and note[0])
    assert found is None or note is None or note[1] in str(found)


def test_a_comparison_with_an_old_baseline_says_so(loaded: Loader) -> None:
    rows = [row("a", process_medians={"s": list(STEADY)})]
    sessions = {"s": context(date="2026-08-12T12:00:00+00:00")}
    old = loaded(baseline(rows, sessions))
    new = loaded(run([row("a")]))
    now = ComparisonSettings(today=NOW.date())
    assert judge(old, new, now).notes[-1].kind == "stale"
    assert not any(note.kind == "stale" for note in judge(old, new).notes)
    assert judge(old, old, now).notes == judge(old, old).notes
    assert judge(new, new, now).notes == judge(new, new).notes


def test_what_was_measured_today_is_of_today_in_every_zone() -> None:
    run = Record(Path("r"), Source.RUN, {}, {})
    for hours in (-12, 0, 14):
        now = (NOW + timedelta(hours=11.9)).astimezone(timezone(timedelta(hours=hours)))
        assert staleness.notes(dated(now.isoformat()), run, NOW.date()) == ()
