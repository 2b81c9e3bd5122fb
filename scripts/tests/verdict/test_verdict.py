# SPDX-License-Identifier: Apache-2.0
"""The rule: what makes a benchmark slower, faster, the same, unknown, or not comparable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import pytest
from conftest import Loader

from builders import Json, baseline, context, failed, noisy, row, run
from builders import scaled as times
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.comparison import (
    SAME_CODE,
    Comparison,
    ContextDifference,
    Outcome,
    exit_status,
)
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge
from warpgauge.verdict.note import SIBLINGS
from warpgauge.verdict.policy import Policy

DEFAULT = ComparisonSettings()
SAME: dict[str, str] = {}
OTHER_BOOT = {"boot_id": "boot-2"}
OTHER_GPU = {"boot_id": "boot-2", "gpu_uuid": "GPU-2"}


def outcome(comparison: Comparison, name: str = "a/b") -> Outcome:
    return next(verdict.outcome for verdict in comparison.verdicts if verdict.name == name)


def runs(
    loaded: Loader,
    base: Sequence[Json],
    cand: Sequence[Json],
    settings: ComparisonSettings = DEFAULT,
    about: Mapping[str, str] = SAME,
) -> Comparison:
    """Two run files; `about` changes the context of the second."""
    return judge(loaded(run(base)), loaded(run(cand, **about)), settings)


def one_row(loaded: Loader, factor: float, host: bool = False, **candidate: str) -> Outcome:
    """The outcome of a steady benchmark that takes `factor` times its baseline."""
    keys: Json = {"host_clock": 1.0} if host else {}
    # Long enough that the latency by which siblings differ is nothing to it.
    base, cand = ([row("a/b", times(1000 * by), **keys)] for by in (1, factor))
    return outcome(runs(loaded, base, cand, about=candidate))


@pytest.mark.parametrize(
    ("host", "candidate", "least", "found"),
    [
        (False, {}, 0.005, 0.007),
        (False, OTHER_BOOT, 0.005, 0.009),
        (False, OTHER_GPU, 0.03, 0.042),
        (True, {}, 0.20, 0.202),
        # One session of one machine: how far the next may lie is assumed, to 5 %.
        (True, OTHER_BOOT, 0.20, 0.52),
        (True, OTHER_GPU, 0.20, 0.52),
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
    base = [row("a/b", times(0.5))]  # half a microsecond
    for factor, about, expected in (
        (1.48, OTHER_GPU, Outcome.INCONCLUSIVE),
        (1.52, OTHER_GPU, Outcome.REGRESSION),
        (1.02, SAME, Outcome.REGRESSION),
    ):
        found = runs(loaded, base, [row("a/b", times(0.5 * factor))], about=about)
        assert outcome(found) is expected


def test_the_minimum_effect_can_be_given(loaded: Loader) -> None:
    for effect, expected in ((0.05, Outcome.PASS), (0.03, Outcome.REGRESSION)):
        settings = ComparisonSettings(minimum_effect=effect)
        assert outcome(runs(loaded, [row("a/b")], [row("a/b", times(1.04))], settings)) is expected


def test_a_large_change_within_the_noise_is_no_regression(loaded: Loader) -> None:
    found = runs(loaded, [row("a/b")], [row("a/b", noisy(2, 0.10, 1.10))])
    assert outcome(found) is Outcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("sd", "host", "tolerance", "expected"),
    [
        (0.001, False, 0.01, Outcome.PASS),
        (0.010, False, 0.01, Outcome.INCONCLUSIVE),
        (0.010, True, 0.03, Outcome.PASS),
        (0.040, True, 0.03, Outcome.INCONCLUSIVE),
    ],
)
def test_a_pass_is_slower_by_no_more_than_the_tolerance_and_says_how_much(
    loaded: Loader, sd: float, host: bool, tolerance: float, expected: Outcome
) -> None:
    keys: Json = {"host_clock": 1.0} if host else {}
    sides = [row("a/b", noisy(1, sd), **keys)], [row("a/b", noisy(2, sd), **keys)]
    (verdict,) = runs(loaded, *sides).verdicts
    assert verdict.outcome is expected
    assert verdict.tolerance == tolerance
    assert verdict.change is not None
    assert verdict.bound is not None
    assert verdict.change.high < verdict.bound  # of 97.5 and of 99 %
    assert (verdict.bound <= tolerance) is (expected is Outcome.PASS)


def test_what_is_faster_beyond_chance_passes_below_the_minimum_effect(loaded: Loader) -> None:
    assert one_row(loaded, 0.996) is Outcome.PASS
    assert one_row(loaded, 1.004) is Outcome.PASS  # and so does what is slower within the tolerance


def test_a_minimum_effect_is_tolerated_too(loaded: Loader) -> None:
    sides = [row("a/b")], [row("a/b", (0.6, 0.8, 1.0, 1.0, 1.0, 1.2, 1.4))]
    (verdict,) = runs(loaded, *sides).verdicts
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.bound is not None
    assert 0.20 < verdict.bound < 0.60
    assert outcome(runs(loaded, *sides, ComparisonSettings(minimum_effect=0.60))) is Outcome.PASS


def test_a_change_is_told_with_times_and_interval(loaded: Loader) -> None:
    (verdict,) = runs(loaded, [row("a/b", times(20.0))], [row("a/b", times(22.0))]).verdicts
    assert verdict.change is not None
    assert verdict.baseline_seconds == pytest.approx(20e-6, rel=1e-3)
    assert verdict.candidate_seconds == pytest.approx(22e-6, rel=1e-3)
    assert verdict.change.ratio == pytest.approx(0.10, rel=1e-3)
    assert verdict.change.low < 0.10 < verdict.change.high
    assert verdict.change.high - verdict.change.low < 0.004


def sessions_at(
    loaded: Loader, levels: Sequence[float], candidate: float, *about: dict[str, str]
) -> Comparison:
    """A candidate against sessions whose times are `levels`: of other boots, or of `about`."""
    medians = {f"s{i}": times(level) for i, level in enumerate(levels)}
    contexts = about or [{"boot_id": key} for key in medians]
    sessions = {key: context(**keys) for key, keys in zip(medians, contexts, strict=True)}
    base = loaded(baseline([row("a/b", process_medians=medians)], sessions))
    return judge(base, loaded(run([row("a/b", times(candidate))])))


def test_sessions_that_lie_apart_widen_what_counts_as_noise(loaded: Loader) -> None:
    together, apart = (1.0, 1.001, 0.999, 1.0, 1.0005), (1.0, 1.03, 0.97, 1.01, 1.0)
    assert outcome(sessions_at(loaded, together, 1.02)) is Outcome.REGRESSION
    assert outcome(sessions_at(loaded, together, 0.98)) is Outcome.IMPROVED
    assert outcome(sessions_at(loaded, apart, 1.02)) is Outcome.INCONCLUSIVE
    assert outcome(sessions_at(loaded, apart, 1.25)) is Outcome.REGRESSION


def test_the_change_is_against_the_typical_session(loaded: Loader) -> None:
    (verdict,) = sessions_at(loaded, (1.0, 1.02, 1.04), 1.2).verdicts
    assert verdict.change is not None
    assert verdict.baseline_seconds == pytest.approx(1.02e-6, rel=1e-3)
    assert verdict.change.ratio == pytest.approx(1.2 / 1.02 - 1, rel=1e-2)
    assert verdict.change.low < 1.2 / 1.04 - 1
    assert verdict.change.high > 1.2 / 1.0 - 1


def test_the_nearest_sessions_decide(loaded: Loader) -> None:
    found = sessions_at(loaded, (1.0, 1.1, 1.1), 1.02, {}, OTHER_BOOT, {"boot_id": "boot-3"})
    assert outcome(found) is Outcome.REGRESSION
    comparison = sessions_at(loaded, (1.0, 1.02), 1.02, {}, OTHER_GPU)
    assert outcome(comparison) is Outcome.REGRESSION
    assert not any(note.kind == SIBLINGS for note in comparison.notes)


def test_kernels_that_the_candidate_adds_are_no_latency_of_siblings(loaded: Loader) -> None:
    def found(before: float, after: float) -> Outcome:
        base = loaded(run([row("a/b", times(10.0), kernels=before)], **OTHER_GPU))
        return outcome(judge(base, loaded(run([row("a/b", times(13.0), kernels=after)]))))

    assert found(16.0, 16.0) is Outcome.INCONCLUSIVE  # 250 ns in each are 40 %
    assert found(1.0, 16.0) is Outcome.REGRESSION


@pytest.mark.parametrize(
    ("base", "cand", "status"),
    [
        ([row("a/b")], [row("a/b"), row("a/d")], ExitStatus.OK),  # new ones are no fault
        ([row("a/b"), row("a/c")], [row("a/b")], ExitStatus.NOT_MEASURED),
        ([row("a/b"), row("a/c")], [row("a/b"), failed("a/c")], ExitStatus.NOT_MEASURED),
        ([row("a/b"), row("a/c")], [row("a/b", times(2))], ExitStatus.REGRESSION),
        ([row("a/b")], [row("a/c")], ExitStatus.NOT_MEASURED),
    ],
)
def test_a_regression_outranks_what_was_not_measured(
    loaded: Loader, base: list[Json], cand: list[Json], status: ExitStatus
) -> None:
    found = runs(loaded, base, cand)
    assert exit_status(found) is status
    new = {one["name"] for one in cand} - {one["name"] for one in base}
    assert {one.name for one in found.verdicts if one.outcome is Outcome.NEW} == new


MEMORY: Json = {"peak_device_bytes": 2147483648.0}


@pytest.mark.parametrize(
    ("before", "after", "causes"),
    [
        ({"registers": 40, "blocks_per_sm": 2, "label": "old", "samples": 3},
         {"registers": 72, "blocks_per_sm": 2, "label": "new", "samples": 9},
         ("registers 40 → 72", "kernel old → new")),
        (MEMORY, {"peak_device_bytes": 3221225472.0},
         ("peak device memory 2.147 GB → 3.221 GB",)),
        (MEMORY, {"peak_device_bytes": 2147483904.0},
         ("peak device memory 2147483648 → 2147483904 bytes",)),
    ],
)  # fmt: skip
def test_causes_are_named_for_what_changed_only(
    loaded: Loader, before: Json, after: Json, causes: tuple[str, ...]
) -> None:
    base = [row("a/b", **before), row("a/same", **before)]
    cand = [row("a/b", times(2.0), **after), row("a/same", **after)]
    comparison = runs(loaded, base, cand)
    assert [verdict.causes for verdict in comparison.verdicts] == [causes, ()]
    assert not any("a/b" in str(note) for note in comparison.notes)


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [("one", "one", True), ("one", "other", False), ("one", None, None), (None, None, None)],
)
def test_the_same_machine_code_is_a_likely_cause_and_never_a_pass(
    loaded: Loader, before: str | None, after: str | None, same: bool | None
) -> None:
    code: list[Json] = [{"machine_code": one} if one else {} for one in (before, after)]
    base, cand = (
        [row("a/b", time, **told), row("a/same", **told)]
        for time, told in zip((times(1.0), times(2.0)), code, strict=True)
    )
    slower, unchanged = runs(loaded, base, cand).verdicts
    assert slower.outcome is Outcome.REGRESSION
    assert [one.same_machine_code for one in (slower, unchanged)] == [same, same]
    assert slower.causes == ((SAME_CODE,) if same else ())
    assert unchanged.causes == ()


def test_a_candidate_of_several_sessions_is_judged_by_its_newest(loaded: Loader) -> None:
    medians = {"new": times(2.0), "old": times(1.0)}
    about = {
        "new": context(date="2026-11-21T10:00:00+01:00"),
        "old": context(date="2026-11-20T10:00:00+00:00"),
    }
    cand = loaded(baseline([row("a/b", process_medians=medians)], about))
    comparison = judge(loaded(run([row("a/b", times(2.0))])), cand)
    assert outcome(comparison) is Outcome.PASS
    assert any(str(one).startswith("The candidate holds 2 sessions") for one in comparison.notes)


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
    sides = [row("a/b", **before)], [row("a/b", **after)]
    assert outcome(runs(loaded, *sides)) is Outcome.PASS
    policy = Policy(Path("policy.toml"), fail_on_resources=True)
    gated = runs(loaded, *sides, ComparisonSettings(policy=policy, today=date(2026, 11, 27)))
    assert outcome(gated) is (Outcome.REGRESSION if worse else Outcome.PASS)
    if worse:
        assert gated.verdicts[0].reason == "fails on its resources; judged by its time: PASS"
        assert exit_status(gated) is ExitStatus.REGRESSION


def joules(energy: float, error: float = 0.02) -> Json:
    return {"energy_joules": energy, "energy_error_joules": error}


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (joules(1.0), joules(1.12), (0.12, 1.10 / 1.02 - 1, 1.14 / 0.98 - 1)),
        (joules(1.0), joules(0.9), (-0.1, 0.88 / 1.02 - 1, 0.92 / 0.98 - 1)),
        (joules(1.0), joules(1.03), None),  # within the meter's error
        (joules(1.0, error=1.0), joules(9.0), None),
        (joules(1.0), {}, None),
        (joules(1.0), {"energy_joules": 2.0}, None),
        (joules(1.0), joules(2.0, error=-1.0), None),
    ],
)
def test_energy_is_compared_where_both_sides_measured_it_and_changes_no_verdict(
    loaded: Loader, before: Json, after: Json, change: tuple[float, float, float] | None
) -> None:
    found = runs(loaded, [row("a/b", **before)], [row("a/b", **after)])
    (one,) = found.verdicts
    assert one.outcome is Outcome.PASS
    assert exit_status(found) is ExitStatus.OK
    notes = [str(note) for note in found.notes if note.kind == "energy"]
    if change is None:
        assert (one.energy, notes) == (None, [])
    else:
        assert one.energy is not None
        assert (one.energy.ratio, one.energy.low, one.energy.high) == pytest.approx(change)
        assert ["a/b" in note for note in notes] == [True]


def test_energy_of_another_gpu_says_nothing_of_the_code(loaded: Loader) -> None:
    sides = [row("a/b", **joules(1.0))], [row("a/b", **joules(2.0))]
    assert runs(loaded, *sides, about=OTHER_BOOT).verdicts[0].energy is not None
    assert runs(loaded, *sides, about=OTHER_GPU).verdicts[0].energy is None


def test_a_row_that_failed_still_tells_its_line_and_no_rates(loaded: Loader) -> None:
    fault = {**failed("a/b"), "source_line": 12.0, "bytes_per_second": 1.0}
    (verdict,) = runs(loaded, [row("a/b")], [fault]).verdicts
    assert verdict.counters == {"source_line": 12.0}


LEFT_OUT = [row("a/0", processes_left_out=1.0), row("a/1", [1.0] * 4, processes_left_out=3.0)]


@pytest.mark.parametrize(
    ("cand", "note"),
    [
        (LEFT_OUT, ("left_out", "3 of 7 of a/1 (candidate), and 1 more benchmark.")),
        ([row("a/0", registers=48), row("a/1", registers=1, waves=2.0)],
         ("resources", "a/0 (registers 40 → 48), and 1 more benchmark.")),
        ([row("a/0", resources_vary=1.0), row("a/1", registers=40, waves=2.0)],
         ("kernels_vary", ": a/0.")),
        ([row(f"a/{i}", real_time=1.2) for i in range(2)],
         ("edited", "in a/0, a/1; only process_medians count.")),
        ([row(f"a/{i}", real_time=1.00001) for i in range(2)], None),  # rounding is no edit
        ([row("a/0", processes_left_out=1e300), row("a/1", processes_left_out=-1.0)], None),
        ([row("a/0", clock_event_reasons=5.0), row("a/1", clock_event_reasons=2.0)],
         ("power_limited", ": a/0.")),
        ([row("a/0", canary_change=0.6), row("a/1")], ("slow_process", ": a/0. ")),
        ([row("a/0", time_error_seconds=1e-6), row("a/1", time_error_seconds=2e-6)],
         ("timed_by_events", "up to 2.000 µs: a/0, a/1.")),
    ],
)  # fmt: skip
def test_what_times_alone_would_not_say_is_noted(
    loaded: Loader, cand: list[Json], note: tuple[str, str] | None
) -> None:
    comparison = runs(loaded, [row(f"a/{i}", registers=40, waves=1.0) for i in range(2)], cand)
    assert comparison.count(Outcome.PASS) == 2
    assert [one.kind for one in comparison.notes] == ([note[0]] if note else [])
    assert all(note[1] in str(one) for one in comparison.notes if note)


@pytest.mark.parametrize("before", [{}, {"registers": float("nan")}])
def test_resources_that_a_baseline_does_not_know_are_no_change(
    loaded: Loader, before: dict[str, object]
) -> None:
    assert runs(loaded, [row("a/b", **before)], [row("a/b", registers=40)]).notes == ()


@pytest.mark.parametrize(
    ("key", "before", "after", "differs"),
    [
        ("power_limit_watts", "700.00", "500", True),
        ("power_limit_watts", "500.00", "500", False),
        ("runtime_version", "13.1", "13.10", True),  # no numbers
        # The state of the minute is no difference.
        *(
            (key, "0", "9", False)
            for key in "power_watts temperature_celsius clock_event_reasons".split()
        ),
    ],
)
def test_another_context_is_told_and_judges_nothing(
    loaded: Loader, key: str, before: str, after: str, differs: bool
) -> None:
    sides = [loaded(run([row("a/b")], **{key: value})) for value in (before, after)]
    comparison = judge(sides[0], sides[1])
    assert outcome(comparison) is Outcome.PASS
    assert comparison.differences == ((ContextDifference(key, before, after),) * differs)
    assert differs or comparison.notes == ()
