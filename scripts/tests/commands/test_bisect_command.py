# SPDX-License-Identifier: Apache-2.0
"""warpgauge bisect over a git clone of fake programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import fake_binary
from clone import GitRepository, empty_clone
from driver_runs import DriverRuns
from warpgauge.commands import bisect
from warpgauge.history.bisect import CommitPairs
from warpgauge.measure import manifest, toolkit
from warpgauge.system import environment
from warpgauge.system.errors import ExitStatus, UserError

FAST = {"sync": {"sync/busy": 50000.0, "sync/idle": 10000.0}, "host": {"host/copy": 3000.0}}
BUSY, IDLE = "sync/busy", "sync/idle"


def slower(percent: float, row: str = BUSY) -> dict[str, dict[str, float]]:
    sync = FAST["sync"]
    return {**FAST, "sync": {**sync, row: sync[row] * (1 + percent / 100)}}


Suite = dict[str, dict[str, float]]


def make(folder: Path, suite: Suite, version: str) -> None:
    """The programs of a suite; another version makes other ones."""
    context = {"version": version} if version else {}
    for family, times in suite.items():
        own = {} if family == "host" else {**fake_binary.GPU, **context}
        fake_binary.make(folder, family, times, context=own)
    listed = json.loads((folder / manifest.FILE).read_text())
    for program in listed["programs"]:
        program["inputs"] = [f"{program['path']}.told"]  # the fake itself is always the same
    (folder / manifest.FILE).write_text(json.dumps(listed))


@dataclass
class History(GitRepository):
    """Its programs are made of benchmarks/suite.json, and of a version that changes nothing."""

    built_commits: list[str] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)

    def write(self, suite: object) -> None:
        (self.root / "benchmarks").mkdir(exist_ok=True)
        (self.root / "benchmarks" / "suite.json").write_text(json.dumps(suite))

    def add(self, suite: object, *, source: str = "", message: str = "a commit") -> str:
        """A commit; with `source` another text that changes the sources."""
        self.write(suite)
        (self.root / "benchmarks" / "sync.cu").write_text(source)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        self.commits.append(self.git("rev-parse", "HEAD"))
        return self.commits[-1]

    def document(self) -> str:
        """A commit that no program is made of."""
        with (self.root / "README.md").open("a") as file:
            file.write(f"{len(self.commits)}\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "documents")
        self.commits.append(self.git("rev-parse", "HEAD"))
        return self.commits[-1]

    def build(self, root: Path, preset: str, say: Callable[[str], None], *rest: object) -> None:
        self.built_commits.append(self.git("-C", str(root), "rev-parse", "HEAD"))
        suite = json.loads((root / "benchmarks" / "suite.json").read_text())
        if not suite:
            raise UserError("`cmake` failed:\n  error: no")
        version = (root / "benchmarks" / "sync.cu").read_text()
        make(root / "build" / "release", suite, "" if "equal" in version else version)

    def bisect(self, *argv: str, good: int = 0, rows: tuple[str, ...] = (BUSY,)) -> ExitStatus:
        ends = (self.commits[good], self.commits[-1])
        return bisect.main([*ends, *rows, *argv], self.root)

    @property
    def builds(self) -> int:
        return len(set(self.built_commits))


@pytest.fixture
def history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> History:
    return empty_clone(History, tmp_path, capsys, monkeypatch)


def test_one_of_64_commits_is_found_in_9_builds(history: History) -> None:
    """A third changes documents alone, a third other programs, and two do not build."""
    history.add(FAST)
    source = ""
    for number in range(1, 65):
        suite = slower(2.0) if number >= 41 else FAST
        if number in (34, 52):
            history.add({}, source=source, message="broken")
        elif number == 41:
            history.add(suite, source=(source := "41"), message="Unroll the loop")
        elif number % 3 == 0:
            history.document()
        elif number % 3 == 1 and number - 1 not in (34, 52):
            (history.root / "benchmarks" / "gemm.cu").write_text(str(number))
            history.add(suite, source=source)
        else:
            history.add(suite, source=(source := str(number)))
    assert history.bisect() is ExitStatus.OK
    out, _ = history.output()
    guilty = history.commits[41]
    assert f"{BUSY}: +2.0 %" in out
    assert f"Slower since {guilty[:10]} " in out
    assert "Unroll the loop" in out
    assert f"git show {guilty[:10]}" in out
    assert "the kernels are equal: the host code differs" in out
    assert history.builds <= 9
    assert history.git("status", "--porcelain") == ""
    assert not [*(history.root / "build" / "runs").glob("*.journal")]


def test_what_the_last_line_names_can_be_compared(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    from warpgauge.commands.main import main as warpgauge

    history.add(FAST)
    history.add(slower(4.0), source="2")
    monkeypatch.chdir(history.root)
    assert history.bisect() is ExitStatus.OK
    words = history.output()[0].partition(f"{environment.started('compare')} ")[2].split()
    assert warpgauge(["compare", *words[:2]]) == ExitStatus.REGRESSION


def test_equal_programs_are_built_and_not_measured_twice(history: History) -> None:
    history.add(FAST, source="equal 0")
    for number in range(1, 16):
        history.add(slower(3.0) if number >= 14 else FAST, source=f"equal {number}")
    assert history.bisect() is ExitStatus.OK
    out, err = history.output()
    assert f"Slower since {history.commits[14][:10]}" in out
    assert "has the programs of an earlier one" in err
    measured = [*(history.root / "build" / "runs").glob("bisect-*/*-base.json")]
    # BAD itself; all others equal it or GOOD. Rarely, four digits of a commit occur in its program
    # by chance, are masked, and make it unlike the others. If none were equal, it would be four.
    assert len(measured) <= 2


def test_what_a_revert_took_back_is_not_blamed(history: History) -> None:
    history.add(FAST)
    for number in range(1, 20):
        fast = number < 5 or 10 <= number < 17
        revert = 10 <= number < 14
        suite, source = (FAST, "") if revert else (FAST if fast else slower(3.0), str(number))
        history.add(suite, source=source)
    assert history.bisect() is ExitStatus.OK
    assert f"Slower since {history.commits[17][:10]}" in history.output()[0]


def test_commits_that_do_not_build_leave_a_range(history: History) -> None:
    history.add(FAST)
    history.add(FAST, source="1")
    broken = history.add({}, message="broken")
    history.add(slower(3.0), source="3")
    history.add(slower(3.0), source="4")
    assert history.bisect() is ExitStatus.NOT_MEASURED
    out = history.output()[0]
    assert "Not certain: commits in between are unknown." in out
    assert "one of 2 commits" in out
    assert f"Skipped: {broken[:10]}" in out
    assert "does not build here" in out


def test_a_commit_without_the_row_is_skipped(history: History) -> None:
    history.add(FAST)
    without = history.add({"host": FAST["host"]})
    history.add(FAST, source="2")
    history.add(slower(3.0), source="3")
    history.add(slower(3.0), source="4")
    history.add(slower(3.0), source="5")
    assert history.bisect() in (ExitStatus.OK, ExitStatus.NOT_MEASURED)
    assert f"Slower since {history.commits[3][:10]}" in history.output()[0]
    assert without not in history.built_commits or "has no benchmark" in history.output()[1]


def test_each_row_finds_its_own_commit_and_shares_builds(history: History) -> None:
    history.add(FAST)
    both = {**FAST, "sync": {BUSY: 51500.0, IDLE: 10400.0}}
    for number in range(1, 10):
        suite = FAST if number < 4 else slower(3.0) if number < 7 else both
        history.add(suite, source=str(number))
    assert history.bisect(rows=(BUSY, IDLE)) is ExitStatus.OK
    out = history.output()[0]
    first, second = out.split(f"{IDLE}:")
    assert f"Slower since {history.commits[4][:10]}" in first
    assert f"Slower since {history.commits[7][:10]}" in second
    assert history.builds <= 9


@pytest.mark.parametrize("runs", [0, 3, 9])
def test_an_interrupted_search_goes_on(
    history: History, driver_runs: DriverRuns, runs: int
) -> None:
    history.add(FAST)
    for number in range(1, 9):
        history.add(slower(3.0) if number >= 5 else FAST, source=str(number))
    driver_runs.interrupt(after=runs)
    with pytest.raises(KeyboardInterrupt):
        history.bisect()
    assert "the same command continues" in history.output()[1]
    driver_runs.interrupt(after=None)
    assert history.bisect() is ExitStatus.OK
    assert f"Slower since {history.commits[5][:10]}" in history.output()[0]
    resumed = len(driver_runs.plans)
    driver_runs.interrupt(after=None)
    assert history.bisect() is ExitStatus.OK
    assert resumed == len(driver_runs.plans) - runs


def test_a_search_whose_time_is_up_names_the_range_and_goes_on(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.add(FAST)
    for number in range(1, 9):
        history.add(slower(3.0) if number >= 5 else FAST, source=str(number))
    with monkeypatch.context() as patch:  # however fast the machine is
        patch.setattr(CommitPairs, "left", 0.0)
        assert history.bisect("--budget=1s") is ExitStatus.NOT_MEASURED
    out = history.output()[0]
    assert "Not certain: the time is up." in out
    assert "one of 8 commits" in out
    assert history.bisect() is ExitStatus.OK
    assert f"Slower since {history.commits[5][:10]}" in history.output()[0]


def test_no_difference_is_bad_input(history: History) -> None:
    history.add(FAST)
    history.add(FAST, source="1")
    with pytest.raises(UserError, match="nothing is slower in") as caught:
        history.bisect()
    assert caught.value.status is ExitStatus.BAD_USAGE


def test_what_became_faster_is_not_looked_for(history: History) -> None:
    history.add(slower(3.0))
    history.add(FAST, source="1")
    with pytest.raises(UserError, match="nothing is slower in"):
        history.bisect()


def test_equal_programs_at_both_ends_are_not_measured(history: History) -> None:
    history.add(FAST)
    history.document()
    with pytest.raises(UserError, match="are equal"):
        history.bisect()
    assert not [*(history.root / "build" / "runs").glob("bisect-*/*")]


def test_a_merge_counts_as_one_commit_and_its_branch_is_no_line_to_search(history: History) -> None:
    began = history.add(FAST)
    history.git("checkout", "--quiet", "-b", "side")
    side = history.add(slower(3.0), source="side")
    history.git("checkout", "--quiet", "main")
    (history.root / "README.md").write_text("main")
    history.git("add", "--all")
    history.git("commit", "--quiet", "--message", "main goes on")
    history.git("merge", "--quiet", "--no-edit", "side")
    merged = history.git("rev-parse", "HEAD")
    assert bisect.main([began, merged, BUSY], history.root) is ExitStatus.OK
    assert f"Slower since {merged[:10]}" in history.output()[0]
    with pytest.raises(UserError, match=f"name the merge, or {began[:10]}"):
        bisect.main([side, merged, BUSY], history.root)


def test_wrong_ends_and_rows_are_one_sentence(history: History) -> None:
    history.add(FAST)
    history.add(slower(3.0), source="1")
    ends = history.commits
    for good, bad, row, why in (
        (ends[1], ends[0], BUSY, "does not descend from"),
        (ends[0], ends[0], BUSY, "are the same commit"),
        (ends[0], "nonsense", BUSY, "is not a commit of this clone"),
        (ends[0], ends[1], "sync/bussy", "has no benchmark .*sync/bussy"),
    ):
        with pytest.raises(UserError, match=why) as caught:
            bisect.main([good, bad, row], history.root)
        assert caught.value.status is ExitStatus.BAD_USAGE


def test_a_search_for_other_rows_begins_anew(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.add(FAST)
    for number in range(1, 5):
        history.add(slower(3.0) if number >= 3 else FAST, source=str(number))
    with monkeypatch.context() as patch:
        patch.setattr(CommitPairs, "left", 0.0)
        history.bisect("--budget=1s")
    history.output()
    with pytest.raises(UserError, match="nothing is slower in"):
        history.bisect(rows=(IDLE,))
    assert "Continuing" not in history.output()[1]


def with_versions(
    history: History, monkeypatch: pytest.MonkeyPatch, suites: dict[str, Suite]
) -> None:
    """Have each version of nvcc make the programs of a suite."""
    history.add(FAST)

    def project(_: Path, version: str, work: Path, *rest: object) -> tuple[Path, str]:
        folder = work / "axis" / version
        if not suites[version]:
            raise UserError(f"does not build with {version}", ExitStatus.NOT_MEASURED)
        make(folder / toolkit.BUILT, suites[version], "")
        return folder, version

    monkeypatch.setattr(toolkit, "require_axis", lambda *_, of_file: None)
    monkeypatch.setattr(toolkit, "project", project)


def test_the_version_of_nvcc_that_made_it_slower_is_found(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, same = slower(3.0), slower(3.1)
    suites = {"12.4": FAST, "12.5": {}, "12.6": FAST, "12.8": slow, "12.9": same, "13.0": same}
    with_versions(history, monkeypatch, suites)
    axis = f"--axis=nvcc={','.join(suites)}"
    assert bisect.main([axis, BUSY], history.root) is ExitStatus.OK
    out, err = history.output()
    assert f"{BUSY}: +3.1 % (+3.1 %) from nvcc 12.4 to nvcc 13.0 Slower since nvcc 12.8 " in out
    assert "the version before it: " in out
    assert "git show" not in out
    assert "Measuring nvcc 13.0 in pairs with nvcc 12.4" in err
    with pytest.raises(UserError, match=r"of nvcc 12\.4 and nvcc 12\.6 are equal"):
        bisect.main(["--axis=nvcc=12.4,12.6", BUSY], history.root)


def test_versions_that_do_not_build_leave_a_range(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_versions(history, monkeypatch, {"1": FAST, "2": {}, "3": slower(3.0)})
    assert bisect.main(["--axis=nvcc=1,2,3", BUSY], history.root) is ExitStatus.NOT_MEASURED
    out = history.output()[0]
    assert "versions in between are unknown. The cause is one of 2 versions: nvcc 2 nvcc 3" in out
    assert "Skipped: nvcc 2: does not build with 2" in out
    with pytest.raises(UserError, match="does not build with 2"):
        bisect.main(["--axis=nvcc=1,2", BUSY], history.root)


@pytest.mark.parametrize(
    ("argv", "fault"),
    [
        (["--axis=nvcc=1,2"], "name of a benchmark is missing"),
        (["v1", "main"], "name of a benchmark is missing"),
        (["v1"], "name of a benchmark is missing"),
        ([], "name of a benchmark is missing"),
        (["--axis=nvcc=1", BUSY], "two different versions or more"),
        (["--axis=triton=1,2", BUSY], "a package for those of a FILE"),
    ],
)
def test_a_search_names_its_ends_and_a_benchmark(
    history: History, argv: list[str], fault: str
) -> None:
    with pytest.raises(UserError, match=fault) as caught:
        bisect.main(argv, history.root)
    assert caught.value.status is ExitStatus.BAD_USAGE
