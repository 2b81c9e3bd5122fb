# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci history: a night becomes a line on the history's branch, and nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from statistics import stdev

import pytest

from archives import archive
from builders import STEADY, Json, failed, row, run
from fake_github import job
from hosted_project import NAMES, RUN, Project, checked_out
from hosted_repository import NAME, git
from warpgauge.commands.ci.results import add
from warpgauge.system.errors import ExitStatus, UserError

# What a line tells of a benchmark whose process medians are STEADY.
POINT = [1e-6, float(f"{stdev(map(math.log, STEADY)):.3g}"), len(STEADY)]
FILE = f"nvidia-test/2026-11-20-{RUN}.jsonl"


class Nights(Project):
    """scripts/warpgauge ci history in such a checkout."""

    def add(self, run: int = RUN) -> ExitStatus:
        return add([], self.root, job({}, self.hosted.git, self.hosted.url, NAME, run))

    def night(self, document: object, gpu: str = "nvidia-test") -> None:
        self.upload(f"nightly-{gpu}", document)

    def refused(self, status: ExitStatus = ExitStatus.BAD_USAGE) -> str:
        return self.refusal(self.add, status)

    def files(self) -> list[str]:
        return git(self.hosted.git, "ls-tree", "-r", "--name-only", "history").split("\n")

    def line(self, file: str = FILE) -> Json:
        (line,) = git(self.hosted.git, "show", f"history:{file}").split("\n")
        told = json.loads(line)
        assert isinstance(told, dict)
        return told

    def pairs(self, *logs: float, base: str = "ba" * 20, **other: bytes) -> None:
        """A night whose `memcpy/a` is so much slower than the base, pair by pair."""
        rounds = list(range(1, len(logs) + 1))
        ratios = [math.exp(log) for log in logs]
        sides = {
            "run_confirm_base": ([1.0] * len(logs), base, "base"),
            "run_confirm": (ratios, self.commit, "candidate"),
        }
        files = {"run": json.dumps(self.recorded()).encode()}
        for name, (times, commit, side) in sides.items():
            rows = [row("memcpy/a", times, process_rounds=rounds), failed("memcpy/b")]
            files[name] = json.dumps(run(rows, commit=commit, pair_id="p", pair_side=side)).encode()
        members = [
            (f"{name.replace('_', '-')}.json", text) for name, text in (files | other).items()
        ]
        made = archive(*((name, text) for name, text in members if text))
        self.hosted.artifacts.append(("nightly-nvidia-test", made))


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Nights]:
    with checked_out(tmp_path, "nightly.yml", ("NVIDIA Test", "NVIDIA Other")) as made:
        yield Nights(made.root, made.hosted, made.workflow, made.commit)


def test_the_first_night_makes_a_branch_of_its_own_with_what_was_measured_where(
    project: Nights,
) -> None:
    before = project.hosted.branches()
    project.night(project.recorded(driver_version="580.1", date="2099-01-01"))
    assert project.add() is ExitStatus.OK
    assert project.files() == ["README.md", FILE]
    assert git(project.hosted.git, "rev-list", "--count", "history") == "1"
    after = project.hosted.branches()
    assert after == {**before, "history": after["history"]}
    assert not project.hosted.pulls
    line = project.line()
    # GitHub's date, whatever the runner says.
    about = (project.commit, RUN, "2026-11-20T09:00:00Z")
    assert (line["commit"], line["run"], line["date"]) == about
    assert line["benchmarks"] == dict.fromkeys(NAMES, POINT)
    facts = {"gpu_name": "NVIDIA Test", "gpu_uuid": "GPU-1", "boot_id": "boot-1"}
    assert line["facts"] == {**facts, "driver_version": "580.1"}


def test_a_night_stands_beside_the_one_before_and_another_attempt_replaces_it(
    project: Nights,
) -> None:
    project.night(project.recorded())
    project.add()
    before, later = project.line(), "nvidia-test/2026-11-21-78.jsonl"
    again = {"id": 78, "created_at": "2026-11-21T01:00:00Z"}
    project.hosted.runs[78] = {**project.hosted.runs[RUN], **again}
    for boot in ("boot-2", "boot-3"):
        project.night(project.recorded(boot_id=boot))
        project.add(78)
        assert project.files() == ["README.md", FILE, later]
        facts = project.line(later)["facts"]
        assert isinstance(facts, dict)
        assert facts["boot_id"] == boot
    assert project.line() == before
    assert git(project.hosted.git, "rev-list", "--count", "history") == "3"


def test_all_gpus_of_a_night_are_one_commit_and_no_forged_one_is_beside(project: Nights) -> None:
    project.night(project.recorded())
    project.night(b"{", "nvidia-other")
    assert "nightly-nvidia-other/run.json" in project.refused()
    project.night(project.recorded(gpu_name="NVIDIA Other"), "nvidia-other")
    project.add()
    assert project.files() == ["README.md", f"nvidia-other/2026-11-20-{RUN}.jsonl", FILE]


def test_the_scatter_of_a_single_process_is_not_known(project: Nights) -> None:
    project.night(run([row("memcpy/a", [1.0])], commit=project.commit))
    project.add()
    assert project.line()["benchmarks"] == {"memcpy/a": [1e-6, None, 1]}


def test_what_was_confirmed_in_pairs_has_its_ratio_to_the_base(project: Nights) -> None:
    project.pairs(0.02, 0.01, 0.03, 0.02)
    project.add()
    line = project.line()
    assert line["base"] == "ba" * 20
    assert line["ratios"] == {"memcpy/a": [0.02, 0.00816, 4]}


def test_on_a_gpu_that_the_baseline_has_not_seen_the_night_itself_is_in_pairs(
    project: Nights,
) -> None:
    sides = {"run-base": ([1.0, 1.0], "ba" * 20), "run": ([math.exp(0.02)] * 2, project.commit)}
    files = []
    for name, (times, commit) in sides.items():
        rows = [row("memcpy/a", times, process_rounds=[1, 2])]
        side = "base" if name == "run-base" else "candidate"
        document = run(rows, commit=commit, pair_id="p", pair_side=side)
        files.append((f"{name}.json", json.dumps(document).encode()))
    project.hosted.artifacts.append(("nightly-nvidia-test", archive(*files)))
    project.add()
    line = project.line()
    assert line["base"] == "ba" * 20
    assert line["ratios"] == {"memcpy/a": [0.02, 0.0, 2]}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"run_confirm": b""}, "holds no run-confirm.json"),
        ({"run_confirm_base": b""}, "holds no run-confirm-base.json"),
        ({"run_confirm": b"{"}, "run-confirm.json"),
        ({"run_confirm_base": b"[]"}, "run-confirm-base.json"),
        ({"run_confirm_base": json.dumps(run([row("memcpy/a")])).encode()}, "are no pairs of"),
        ({"run_confirm": json.dumps(run([row("memcpy/a")])).encode()}, "are no pairs of"),
        ({"base": "main"}, "are no pairs of"),
        ({"logs": (80.0, 81.0)}, "a value is impossible ("),
    ],
)
def test_pairs_that_cannot_be_used_cost_their_ratios_alone(
    project: Nights, capsys: pytest.CaptureFixture[str], given: Json, why: str
) -> None:
    project.pairs(*given.pop("logs", (0.02, 0.01)), **given)  # type: ignore[misc,arg-type]
    assert project.add() is ExitStatus.OK
    line = project.line()
    assert (line["base"], line["ratios"]) == ("", {})
    assert line["benchmarks"] == dict.fromkeys(NAMES, POINT)
    (told,) = capsys.readouterr().out.splitlines()
    assert why in told


def test_what_failed_or_was_disturbed_has_a_reason_in_place_of_a_time(project: Nights) -> None:
    rows = [row("memcpy/a"), failed("memcpy/b"), row("sync/c", throttled=1.0, host_clock=1.0)]
    project.night(run(rows, commit=project.commit))
    project.add()
    line = project.line()
    assert line["benchmarks"] == {"memcpy/a": POINT}
    assert line["host"] == ["sync/c"]
    unmeasured = line["unmeasured"]
    assert isinstance(unmeasured, dict)
    assert unmeasured["memcpy/b"] == "out of device memory"
    assert "clock" in unmeasured["sync/c"]


def test_a_branch_that_somebody_advanced_meanwhile_is_not_overwritten(project: Nights) -> None:
    project.night(project.recorded())
    project.add()
    theirs = git(project.hosted.git, "commit-tree", "history^{tree}", "-p", "history", text="x")

    def advanced(asked: str) -> None:
        if asked.startswith("PATCH"):
            git(project.hosted.git, "update-ref", "refs/heads/history", theirs)

    project.hosted.before = advanced
    with pytest.raises(UserError, match="not a fast forward"):
        project.add()
    assert project.hosted.branches()["history"] == theirs


def test_artifacts_of_gpus_that_are_not_listed_are_not_fetched(project: Nights) -> None:
    project.night(project.recorded(gpu_name="Evil"), "evil")
    project.night(project.recorded(), "..")
    assert "measured no GPU" in project.refused(ExitStatus.NOT_MEASURED)
    assert not any("/zip" in asked for asked in project.hosted.asked)


def test_another_gpu_and_a_time_that_no_benchmark_takes_are_refused(project: Nights) -> None:
    project.night(project.recorded(gpu_name="NVIDIA Other"))
    assert "states gpu_name 'NVIDIA Other'" in project.refused()
    for factor in (1e-300, 1e-7, 1e13, 1e300):
        project.night(project.recorded(factor))
        sentence = project.refused()
        assert "a value is impossible (" in sentence


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("path", ".github/workflows/baseline.yml", "not of .github/workflows/nightly.yml"),
        ("event", "pull_request", "was started by 'pull_request'"),
        ("head_sha", "f" * 40, "check out that commit"),
        ("created_at", "../../x", "as created_at"),
    ],
)
def test_a_run_of_something_else_is_refused(
    project: Nights, key: str, value: str, why: str
) -> None:
    project.night(project.recorded())
    project.hosted.runs[RUN][key] = value
    assert why in project.refused()
