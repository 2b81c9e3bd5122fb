# SPDX-License-Identifier: Apache-2.0
"""The rule: what makes a benchmark slower, faster, the same, unknown, or not comparable."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from conftest import Loader

from builders import Json, baseline, context, failed, noisy, row, run
from builders import scaled as times
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge

OTHER_BOOT = {"boot_id": "boot-2"}
OTHER_GPU = {"boot_id": "boot-2", "gpu_uuid": "GPU-2"}


def outcome(comparison: Comparison, name: str = "a/b") -> Outcome:
    return next(verdict.outcome for verdict in comparison.verdicts if verdict.name == name)


def one_row(loaded: Loader, factor: float, host: bool = False, **candidate: str) -> Outcome:
    """The outcome of a steady benchmark that takes `factor` times its baseline."""
    keys: Json = {"host_clock": 1.0} if host else {}
    # Long enough that the latency by which siblings differ is nothing to it.
    base = loaded(run([row("a/b", times(1000), **keys)]))
    cand = loaded(run([row("a/b", times(1000 * factor), **keys)], **candidate))
    return outcome(judge(base, cand))


def test_the_same_times_pass(loaded: Loader) -> None:
    assert one_row(loaded, 1.0) is Outcome.PASS


@pytest.mark.parametrize(
    ("host", "candidate", "least", "found"),
    [
        (False, {}, 0.005, 0.007),
        (False, OTHER_BOOT, 0.005, 0.007),
        (False, OTHER_GPU, 0.03, 0.032),
        (True, {}, 0.20, 0.202),
        # One session of one machine: how far the next may lie is assumed, to 5 %.
        (True, OTHER_BOOT, 0.20, 0.30),
        (True, OTHER_GPU, 0.20, 0.30),
    ],
)
def test_the_minimum_effect_follows_clock_and_kinship(
    loaded: Loader, host: bool, candidate: dict[str, str], least: float, found: float
) -> None:
    assert one_row(loaded, 1 + found, host, **candidate) is Outcome.REGRESSION
    assert one_row(loaded, 1 + least - 0.002, host, **candidate) is not Outcome.REGRESSION
    assert one_row(loaded, 1 - found, host, **candidate) is Outcome.IMPROVED
    assert one_row(loaded, 1 - least + 0.002, host, **candidate) is not Outcome.IMPROVED


def test_siblings_differ_by_a_fixed_latency_too(loaded: Loader) -> None:
    half = times(0.5)  # half a microsecond
    base = loaded(run([row("a/b", half)]))
    assert outcome(judge(base, loaded(run([row("a/b", times(1.28, half))], **OTHER_GPU)))) is (
        Outcome.PASS
    )
    assert outcome(judge(base, loaded(run([row("a/b", times(1.32, half))], **OTHER_GPU)))) is (
        Outcome.REGRESSION
    )
    assert outcome(judge(base, loaded(run([row("a/b", times(1.02, half))])))) is Outcome.REGRESSION


def test_the_minimum_effect_can_be_given(loaded: Loader) -> None:
    base, cand = loaded(run([row("a/b")])), loaded(run([row("a/b", times(1.04))]))
    assert outcome(judge(base, cand, ComparisonSettings(minimum_effect=0.05))) is Outcome.PASS
    assert outcome(judge(base, cand, ComparisonSettings(minimum_effect=0.03))) is Outcome.REGRESSION


def test_a_large_change_within_the_noise_is_no_regression(loaded: Loader) -> None:
    base = loaded(run([row("a/b")]))
    cand = loaded(run([row("a/b", noisy(2, 0.10, 1.10))]))
    assert outcome(judge(base, cand)) is Outcome.INCONCLUSIVE


def test_noise_as_accepted_in_the_baseline_passes_and_says_what_it_can_show(loaded: Loader) -> None:
    base = loaded(run([row("a/b", noisy(1, 0.05))]))
    cand = loaded(run([row("a/b", noisy(2, 0.05))]))
    comparison = judge(base, cand)
    assert outcome(comparison) is Outcome.PASS
    assert 0.05 < (comparison.verdicts[0].detectable or 0.0) < 0.20


def test_what_could_hide_a_change_is_inconclusive_and_says_which(loaded: Loader) -> None:
    noise = (0.6, 0.8, 1.0, 1.0, 1.0, 1.2, 1.4)
    sides = loaded(run([row("a/b")])), loaded(run([row("a/b", noise)]))
    (verdict,) = judge(*sides).verdicts
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.detectable is not None
    assert 0.50 < verdict.detectable < 2.0
    assert f"{100 * verdict.detectable:.0f} %" in verdict.reason
    assert outcome(judge(*sides, ComparisonSettings(minimum_effect=0.50))) is Outcome.PASS


def test_a_change_is_told_with_times_and_interval(loaded: Loader) -> None:
    (verdict,) = judge(
        loaded(run([row("a/b", times(20.0))])), loaded(run([row("a/b", times(22.0))]))
    ).verdicts
    assert verdict.change is not None
    assert verdict.baseline_seconds == pytest.approx(20e-6, rel=1e-3)
    assert verdict.candidate_seconds == pytest.approx(22e-6, rel=1e-3)
    assert verdict.change.ratio == pytest.approx(0.10, rel=1e-3)
    assert verdict.change.low < 0.10 < verdict.change.high
    assert verdict.change.high - verdict.change.low < 0.004


def sessions_at(loaded: Loader, levels: Sequence[float], candidate: float) -> Comparison:
    """A candidate against sessions of this GPU whose times are `levels`."""
    medians = {f"s{i}": times(level) for i, level in enumerate(levels)}
    about = {key: context(boot_id=key) for key in medians}
    base = loaded(baseline([row("a/b", process_medians=medians)], about))
    return judge(base, loaded(run([row("a/b", times(candidate))])))


def test_sessions_that_lie_apart_widen_what_counts_as_noise(loaded: Loader) -> None:
    together, apart = (1.0, 1.001, 0.999, 1.0, 1.0005), (1.0, 1.03, 0.97, 1.01, 1.0)
    assert outcome(sessions_at(loaded, together, 1.02)) is Outcome.REGRESSION
    assert outcome(sessions_at(loaded, together, 0.98)) is Outcome.IMPROVED
    assert outcome(sessions_at(loaded, apart, 1.02)) is Outcome.PASS
    assert outcome(sessions_at(loaded, apart, 1.25)) is Outcome.REGRESSION


def test_the_change_is_against_the_typical_session(loaded: Loader) -> None:
    (verdict,) = sessions_at(loaded, (1.0, 1.02, 1.04), 1.2).verdicts
    assert verdict.change is not None
    assert verdict.baseline_seconds == pytest.approx(1.02e-6, rel=1e-3)
    assert verdict.change.ratio == pytest.approx(1.2 / 1.02 - 1, rel=1e-2)
    assert verdict.change.low < 1.2 / 1.04 - 1
    assert verdict.change.high > 1.2 / 1.0 - 1


def test_the_session_of_the_same_boot_goes_before_others_of_the_gpu(loaded: Loader) -> None:
    medians = {"here": times(1.0), "before": times(1.1), "long ago": times(1.1)}
    about = {
        "here": context(),
        "before": context(boot_id="boot-2"),
        "long ago": context(boot_id="boot-3"),
    }
    base = loaded(baseline([row("a/b", process_medians=medians)], about))
    assert outcome(judge(base, loaded(run([row("a/b", times(1.02))])))) is Outcome.REGRESSION


def test_sessions_of_this_gpu_go_before_its_siblings(loaded: Loader) -> None:
    medians = {"own": times(1.0), "sibling": times(1.02)}
    about = {"own": context(), "sibling": context(**OTHER_GPU)}
    base = loaded(baseline([row("a/b", process_medians=medians)], about))
    comparison = judge(base, loaded(run([row("a/b", times(1.02))])))
    assert outcome(comparison) is Outcome.REGRESSION
    assert not any("siblings" in note for note in comparison.notes)


def test_a_vanished_benchmark_is_missing_and_a_new_one_new(loaded: Loader) -> None:
    comparison = judge(loaded(run([row("a/b"), row("a/c")])), loaded(run([row("a/b"), row("a/d")])))
    assert outcome(comparison, "a/c") is Outcome.MISSING
    assert outcome(comparison, "a/d") is Outcome.NEW
    assert comparison.exit_status is ExitStatus.NOT_MEASURED


def test_new_benchmarks_alone_are_no_fault(loaded: Loader) -> None:
    comparison = judge(loaded(run([row("a/b")])), loaded(run([row("a/b"), row("a/d")])))
    assert comparison.exit_status is ExitStatus.OK


@pytest.mark.parametrize(("base", "cand"), [(row, failed), (failed, row), (failed, failed)])
def test_an_error_on_either_side_is_an_error(loaded: Loader, base: object, cand: object) -> None:
    assert callable(base)
    assert callable(cand)
    comparison = judge(
        loaded(run([row("a/b"), base("a/c")])), loaded(run([row("a/b"), cand("a/c")]))
    )
    assert outcome(comparison, "a/c") is Outcome.ERROR
    assert comparison.exit_status is ExitStatus.NOT_MEASURED


def test_another_clock_is_not_comparable(loaded: Loader) -> None:
    base, cand = loaded(run([row("a/b")])), loaded(run([row("a/b", host_clock=1.0)]))
    (verdict,) = judge(base, cand).verdicts
    assert verdict.outcome is Outcome.INVALID
    assert "host clock" in verdict.reason


def test_a_regression_outranks_what_was_not_measured(loaded: Loader) -> None:
    base = loaded(run([row("a/b"), row("a/c")]))
    assert judge(base, loaded(run([row("a/b", times(2))]))).exit_status is ExitStatus.REGRESSION


def test_nothing_in_common_is_no_success(loaded: Loader) -> None:
    comparison = judge(loaded(run([row("a/b")])), loaded(run([row("a/c")])))
    assert comparison.refusal is not None
    assert comparison.exit_status is ExitStatus.NOT_MEASURED


def test_causes_are_named_for_what_changed_only(loaded: Loader) -> None:
    before: Json = {"registers": 40, "blocks_per_sm": 2, "label": "old", "samples": 3}
    after: Json = {"registers": 72, "blocks_per_sm": 2, "label": "new", "samples": 9}
    base = loaded(run([row("a/b", **before), row("a/same", **before)]))
    cand = loaded(run([row("a/b", times(1.5), **after), row("a/same", **after)]))
    slower, same = judge(base, cand).verdicts
    assert slower.causes == ("registers 40 → 72", "kernel old → new")
    assert same.causes == ()


def test_a_candidate_of_several_sessions_is_judged_by_its_newest(loaded: Loader) -> None:
    medians = {"new": times(2.0), "old": times(1.0)}
    about = {
        "new": context(date="2026-11-21T10:00:00+01:00"),
        "old": context(date="2026-11-20T10:00:00+00:00"),
    }
    cand = loaded(baseline([row("a/b", process_medians=medians)], about))
    comparison = judge(loaded(run([row("a/b", times(2.0))])), cand)
    assert outcome(comparison) is Outcome.PASS
    assert any("newest of each benchmark" in note for note in comparison.notes)


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        ({"registers": 40}, {"registers": 72}, True),
        ({"registers": 72}, {"registers": 40}, False),
        ({"local_bytes": 0}, {"local_bytes": 64}, True),
        ({"blocks_per_sm": 2}, {"blocks_per_sm": 1}, True),
        ({"blocks_per_sm": 1}, {"blocks_per_sm": 2}, False),
        ({"kernels": 1}, {"kernels": 2}, True),
        ({"peak_device_bytes": 1e9}, {"peak_device_bytes": 1e9 + 256}, True),
        ({"shared_bytes": 0}, {"shared_bytes": 1024}, False),
        ({"label": "one"}, {"label": "another"}, True),
        ({"registers": 40}, {"registers": 40}, False),
        ({"registers": 40}, {}, False),
    ],
)
def test_resources_fail_alone_where_that_is_asked_for(
    loaded: Loader, before: Json, after: Json, worse: bool
) -> None:
    sides = loaded(run([row("a/b", **before)])), loaded(run([row("a/b", **after)]))
    assert outcome(judge(*sides)) is Outcome.PASS
    gated = judge(*sides, ComparisonSettings(fail_on_resources=True))
    assert outcome(gated) is (Outcome.REGRESSION if worse else Outcome.PASS)
    if worse:
        assert gated.verdicts[0].reason == "fails on its resources; by its time alone PASS"
        assert gated.exit_status is ExitStatus.REGRESSION


def test_a_row_that_failed_still_tells_its_line_and_no_rates(loaded: Loader) -> None:
    fault = {**failed("a/b"), "source_line": 12.0, "bytes_per_second": 1.0}
    (verdict,) = judge(loaded(run([row("a/b")])), loaded(run([fault]))).verdicts
    assert verdict.counters == {"source_line": 12.0}
