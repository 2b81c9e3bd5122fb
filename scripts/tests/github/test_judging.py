# SPDX-License-Identifier: Apache-2.0
"""A pull request is judged by the base's policy and our baseline, and told what it changes."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from contextlib import suppress

import pytest

from builders import STEADY, Json, baseline, context, failed, pairs, row, write
from gate_pair import BASE, HEAD, Pair, pair, unchanged
from hosted_run import HostedRun
from warpgauge.reports.formats.markdown import MARK
from warpgauge.system.errors import ExitStatus, UserError

POLICY, BASELINE = "baselines/policy.toml", "baselines/nvidia-h200/gemm.json"
EXPECTED = """
[[expected]]
pattern = "^gemm/tiled$"
slower_by_at_most_percent = 6
reason = "the safer kernel"
expires = 2030-01-01
"""
TOLERANT = """
[[tolerance]]
pattern = "^gemm/"
percent = 7
reason = "noisy"
"""


def file_of(names: Mapping[str, Json]) -> Json:
    rows = [row(name, process_medians={"s": [*STEADY]}, **more) for name, more in names.items()]
    return baseline(rows, {"s": context(gpu_name="NVIDIA H200")}, "NVIDIA H200")


@pytest.fixture
def suite(hosted: HostedRun) -> HostedRun:
    """Nothing changed, and every baseline has a benchmark more than the run."""
    hosted.replace(unchanged())
    names: dict[str, Json] = {"gemm/tiled": {}, "gemm/gone": {}, "gemm/full": {"full_suite": 1.0}}
    text = write(hosted.root / BASELINE, file_of(names)).read_text()
    for commit in (BASE, HEAD):
        hosted.file(BASELINE, text, commit)
    return hosted


def of_head(hosted: HostedRun, *names: str) -> None:
    """Let the head's baseline have these benchmarks alone."""
    path = write(hosted.root / "head.json", file_of({name: {} for name in names}))
    hosted.file(BASELINE, path.read_text(), HEAD)
    hosted.changed.append({"filename": BASELINE})


def undecided() -> Pair:
    """Slower by 1.5 % on the whole, with noise that leaves more possible."""
    left = pair({"gemm/tiled": 1.0, "sync/idle": 1.0})
    slow = left.row("gemm/tiled")
    shifts = [((number * 5) % 14 - 6.5) / 6.5 for number in range(14)]
    slow["pairs"] = pairs([1.015 + 0.03 * shift for shift in shifts])
    return left


def test_a_slowdown_that_the_pull_request_expects_needs_a_review_and_its_job_passes(
    hosted: HostedRun,
) -> None:
    hosted.file(POLICY, EXPECTED)
    hosted.changed.append({"filename": POLICY})
    hosted.ended("success")
    assert hosted.comment() is ExitStatus.OK
    assert hosted.body.startswith(f"{MARK}**NEEDS REVIEW** · slower: `gemm/tiled`")
    only = "**1 benchmark passes only by the policy that this pull request changes**; review it: "
    both = "REGRESSION without it, PASS with it: `the safer kernel, until 2030-01-01`"
    assert f"{only}`gemm/tiled` ({both})." in hosted.body
    assert f"This pull request changes how it is judged: `{POLICY}`." in hosted.body
    assert "Its job ended" not in hosted.body
    hosted.ended("failure")
    hosted.comment()
    assert hosted.body.startswith(f"{MARK}**NOT DECIDED** · slower: `gemm/tiled`")
    assert "Its job ended with `failure`" in hosted.body


def test_what_its_own_policy_excuses_in_part_fails(hosted: HostedRun) -> None:
    hosted.replace(pair({"gemm/tiled": 1.05, "sync/idle": 1.3}))
    hosted.file(POLICY, EXPECTED)
    hosted.comment()
    assert hosted.body.startswith(f"{MARK}**FAIL** · slower: `sync/idle`")
    assert "`gemm/tiled` (REGRESSION without it, PASS with it" in hosted.body
    assert "Its job ended" not in hosted.body


def test_a_requirement_that_the_pull_request_drops_is_named(hosted: HostedRun) -> None:
    hosted.replace(unchanged())
    hosted.file(POLICY, '[[required]]\npattern = "^memcpy/"\nreason = "the contract"', BASE)
    hosted.file(POLICY, "")
    hosted.ended("success")
    hosted.comment()
    assert hosted.body.startswith(f"{MARK}**NEEDS REVIEW**")
    assert "`^memcpy/` (MISSING without it, not required with it)" in hosted.body


def test_what_the_base_expects_is_in_the_base_already(hosted: HostedRun) -> None:
    for commit in (BASE, HEAD):
        hosted.file(POLICY, EXPECTED, commit)
    hosted.comment()
    assert "1 slower" in hosted.body
    assert "only by the policy" not in hosted.body


def test_an_entry_that_expired_since_the_job_still_counts(hosted: HostedRun) -> None:
    hosted.file(POLICY, EXPECTED.replace("2030-01-01", "2026-11-20"))  # the job's day
    hosted.comment()
    assert "passes only by the policy" in hosted.body


def test_a_tolerance_that_the_pull_request_adds_needs_a_review(hosted: HostedRun) -> None:
    hosted.replace(undecided())
    hosted.file(POLICY, TOLERANT)
    hosted.ended("success")
    hosted.comment()
    assert hosted.body.startswith(f"{MARK}**NEEDS REVIEW** · undecided: `gemm/tiled`")
    assert "`gemm/tiled` (INCONCLUSIVE without it, PASS with it)" in hosted.body
    hosted.file(POLICY, TOLERANT, BASE)  # reviewed before
    hosted.comment()
    assert hosted.body.startswith(f"{MARK}**PASS**")


def test_a_policy_that_cannot_be_read_is_said(
    hosted: HostedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.file(POLICY, "[[")
    assert hosted.comment() is ExitStatus.BAD_USAGE
    assert "Its result was refused" in hosted.body
    assert POLICY in capsys.readouterr().err


def test_a_policy_that_takes_too_long_ends_soon_and_is_said(
    hosted: HostedRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("warpgauge.github.artifact.CPU_LIMIT_S", 0.3)
    hosted.file(POLICY, TOLERANT.replace("^gemm/", "(a+)+$"))
    hosted.replace(pair({f"gemm/{'a' * 40}!": 1.0}))
    assert hosted.comment() is ExitStatus.BAD_USAGE
    assert "takes too long" in capsys.readouterr().err


def test_a_benchmark_of_the_baseline_that_is_not_in_the_result_is_missing(suite: HostedRun) -> None:
    suite.comment()
    assert "gemm/gone" in suite.body
    assert "1 missing" in suite.body
    assert "gemm/full" not in suite.body


def test_what_the_pull_request_takes_out_of_the_baseline_is_named(suite: HostedRun) -> None:
    of_head(suite, "gemm/tiled", "gemm/renamed")
    suite.ended("success")
    suite.comment()
    assert suite.body.startswith(f"{MARK}**PASS**")
    gone = "**This pull request removes 2 benchmarks** from the baseline: `gemm/full`, `gemm/gone`."
    assert gone in suite.body
    assert f"changes how it is judged: `{BASELINE}`" in suite.body


def test_a_whole_family_that_is_taken_out_is_named(suite: HostedRun) -> None:
    del suite.files[BASELINE, HEAD]
    suite.changed.append({"filename": BASELINE})
    suite.comment()
    assert "removes 3 benchmarks" in suite.body


def test_a_benchmark_that_base_and_baseline_lost_together_is_left_out(suite: HostedRun) -> None:
    of_head(suite, "gemm/tiled")
    left = pair({"gemm/tiled": 1.0, "gemm/gone": 1.0, "sync/idle": 1.0})
    del left.candidate["benchmarks"][1]
    suite.replace(left)
    suite.ended("success")
    suite.comment()
    assert suite.body.startswith(f"{MARK}**PASS**")
    assert "Removed from both candidate and baseline: `gemm/gone`" in suite.body


def test_a_benchmark_that_the_head_lost_before_it_was_recorded_is_missing(suite: HostedRun) -> None:
    left = pair({"gemm/tiled": 1.0, "gemm/gone": 1.0, "gemm/fresh": 1.0, "sync/idle": 1.0})
    del left.candidate["benchmarks"][2]
    suite.replace(left)
    suite.comment()
    assert suite.body.startswith(f"{MARK}**NOT DECIDED**")
    assert "1 missing" in suite.body
    assert "Removed from both" not in suite.body


def test_a_policy_of_the_base_that_cannot_be_read_judges_nothing(hosted: HostedRun) -> None:
    hosted.file(POLICY, "[[required]]\npattern = 'x'\n[[unknown]]\n", BASE)
    hosted.file(POLICY, "", HEAD)
    hosted.changed.append({"filename": POLICY})
    hosted.ended("success")
    with suppress(UserError):
        hosted.comment()
    assert "**PASS**" not in hosted.body


@pytest.mark.parametrize(
    "path", ["fixtures/drive/measuring.cpp", "CMakeLists.txt", "requirements.lock", "scripts/bench"]
)
def test_a_change_of_what_measures_or_judges_is_named(hosted: HostedRun, path: str) -> None:
    hosted.changed.append({"filename": path})
    hosted.comment()
    assert path in hosted.body


def test_a_host_time_is_one_by_our_baseline(suite: HostedRun) -> None:
    """The host's tolerance is three times the device's."""
    left = pair({"gemm/tiled": 1.02, "gemm/gone": 1.0})
    for side in ("base", "candidate"):
        left.row("gemm/tiled", side)["host_clock"] = 1.0
    suite.replace(left)
    suite.comment()
    assert "1 slower" in suite.body


def test_a_benchmark_whose_clock_changes_is_not_comparable(suite: HostedRun) -> None:
    left = pair({"gemm/tiled": 1.0, "gemm/gone": 1.0})
    left.row("gemm/tiled")["host_clock"] = 1.0
    suite.replace(left)
    suite.comment()
    assert "1 not comparable" in suite.body


SKIPPED = {**failed("gemm/tiled", "needs another GPU"), "skipped": 1.0}


@pytest.mark.parametrize(
    ("base", "candidate", "counted"),
    [(None, None, "2 missing"), (SKIPPED, SKIPPED, "1 missing"), (row("x"), SKIPPED, "1 missing"),
     (None, row("x"), "1 not comparable"), (failed("x"), row("x"), "1 failed")],
)  # fmt: skip
def test_a_benchmark_with_a_time_in_our_baseline_needs_one_on_both_sides(
    suite: HostedRun, base: Json | None, candidate: Json | None, counted: str
) -> None:
    left = pair({"gemm/gone": 1.0, "sync/idle": 1.0} if base or candidate else {"sync/idle": 1.0})
    for rows, own in ((left.base, base), (left.candidate, candidate)):
        if own is not None:
            made = copy.deepcopy(rows["benchmarks"][0]) if "process_medians" in own else own
            rows["benchmarks"].append({**made, "name": "gemm/tiled"})
    suite.replace(left)
    suite.comment()
    assert counted in suite.body


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("scripts/src/warpgauge/verdict/rule.py", True),
        (".github/workflows/gpu.yml", True),
        (".github/gpus.json", True),
        ("action.yml", True),
        ("scripts/tests/verdict/test_verdict.py", False),
        ("scripts/README.md", False),
        ("kernels/gemm.cu", False),
    ],
)
def test_changes_of_what_judges_are_named(hosted: HostedRun, path: str, named: bool) -> None:
    hosted.changed[:] = [{"filename": path}]
    hosted.comment()
    assert ("This pull request changes how it is judged" in hosted.body) is named
