# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci gate leaves a folder, a summary and a true status, whatever its comparison does."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest

import workflows
from clocks import wait_until
from fake_gate import FakeGate
from warpgauge.commands.ci.gate import parse
from warpgauge.github import gpus
from warpgauge.system import process
from warpgauge.system.errors import ExitStatus, UserError


@pytest.fixture
def fake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> FakeGate:
    for name in (
        "GITHUB_ACTIONS",
        "GITHUB_STEP_SUMMARY",
        "GITHUB_OUTPUT",
        "GITHUB_WORKSPACE",
        "COLUMNS",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(process, "require_gpu", lambda: None)
    made = FakeGate(tmp_path / "clone", capsys)
    made.begin()
    return made


@pytest.fixture
def summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "summary.md"
    path.write_text("what a step before this said\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "outputs"
    path.touch()
    monkeypatch.setenv("GITHUB_OUTPUT", str(path))
    return path


def test_the_change_is_measured_against_the_commit_that_it_began_at(fake: FakeGate) -> None:
    fake.git("checkout", "--quiet", "main")
    fake.commit("what others did meanwhile")
    fake.git("checkout", "--quiet", "topic")
    assert fake.run() is ExitStatus.OK
    assert fake.called() == ["--isolate=auto", f"--against={fake.commits[0]}"]
    assert (
        f"commit {fake.commits[0][:10]} is the merge base of 'main'" in fake.capsys.readouterr().out
    )


def test_everything_that_is_left_lies_in_one_folder(fake: FakeGate) -> None:
    fake.run()
    formats = {"comparison.json": "json", "report.md": "markdown", "junit.xml": "junit"}
    left = {str(path.relative_to(fake.out)) for path in fake.out.rglob("*") if path.is_file()}
    assert left == {*formats, "commands.log", "log.txt", "report.html", "runs/run.json"}
    assert fake.formats() == {**formats, "annotations.txt": "github"}
    assert (fake.out / "log.txt").read_text() == "measuring\nthe end\n"
    # What it runs has room, and a place of its own for what is temporary.
    environment = fake.environment()
    assert environment["COLUMNS"] == "140"
    assert not Path(environment["TMPDIR"]).exists()
    assert Path(environment["TMPDIR"]).name.startswith("warpgauge-gate-")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, "gate: No regression was found, and every benchmark is bounded."),
        (1, "::error title=Regression::Some benchmarks got slower"),
        (
            3,
            "::error title=Not everything is bounded::No regression was found, but some benchmarks "
            "are",
        ),
    ],
)
def test_the_status_is_the_comparisons_and_is_told_apart(
    fake: FakeGate, summary: Path, status: int, words: str
) -> None:
    annotations = "::error title=REGRESSION: a/b::slower\n"
    fake.told(status, texts={"github": annotations, "markdown": "# the report\n"})
    assert fake.run() == status
    out = fake.capsys.readouterr().out
    assert annotations + words in out
    assert summary.read_text() == "what a step before this said\n# the report\n"
    summary.unlink()
    summary.mkdir()  # it cannot be written now
    shutil.rmtree(fake.out)
    assert fake.run() == status
    assert "::warning title=No summary::" in fake.capsys.readouterr().out


@pytest.mark.parametrize(
    ("status", "mine"), [(0, 2), (1, 1), (2, 2), (3, 3), (5, 2), (137, 2), (143, 2)]
)
def test_without_a_report_nothing_is_a_pass(
    fake: FakeGate, summary: Path, status: int, mine: int
) -> None:
    fake.told(status, says="::warning::x\nbench: `a` <b> does not\x1b build\n", reports=False)
    assert fake.run() == mine
    *_, last = fake.capsys.readouterr().out.splitlines()
    how = f"was ended by {signal.Signals(status - 128).name}" if status > 128 else "ended with exit"
    assert last.startswith(f"::error title=Nothing was compared::the comparison {how}")
    assert last.endswith(": the end")
    assert "**Nothing was compared:** the comparison" in summary.read_text()


def test_a_report_of_what_did_not_end_well_and_the_tail_of_its_log_are_shown_and_are_no_pass(
    fake: FakeGate, summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpgauge.system.process.log_tail", lambda log: "100% `a` <img> @somebody")
    fake.told(143, texts={"markdown": "# so far\n"})
    assert fake.run() is ExitStatus.BAD_USAGE
    assert ": 100%25 `a` <img> @somebody" in fake.capsys.readouterr().out
    said = "**Not finished:** the comparison was ended by SIGTERM: ``100% `a` <img> @somebody"
    assert "# so far\n" in summary.read_text()
    assert said in summary.read_text()


@pytest.mark.parametrize("last", ["::add-mask::b\n", "ended in the middle of a line"])
def test_nothing_that_a_program_prints_commands_the_runner(
    fake: FakeGate, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    fake.told(says=f"::add-mask::a\n{last}")
    fake.run()
    lines = fake.capsys.readouterr().out.splitlines()
    at = lines.index("::add-mask::a")
    (stop,) = [index for index, line in enumerate(lines) if line.startswith("::stop-commands::")]
    token = lines[stop].removeprefix("::stop-commands::")
    assert len(token) > 32
    assert stop < at < lines.index(f"::{token}::")
    assert token not in (fake.out / "log.txt").read_text()


@pytest.mark.parametrize(
    ("status", "verdict"), [(0, "PASS"), (1, "FAIL"), (2, "NOT DECIDED"), (3, "NOT DECIDED")]
)
def test_later_steps_read_the_verdict_the_worst_row_the_status_and_where_the_report_is(
    fake: FakeGate, outputs: Path, status: int, verdict: str
) -> None:
    name = "gemm/a\nverdict=PASS\n\ud800"
    fake.told(status, texts={"json": json.dumps({"worst": name if status == 1 else None})})
    assert fake.run() == status
    found = workflows.outputs(outputs)
    report = str(fake.out / "report.md")
    assert found == {
        "verdict": verdict, "exit-status": str(status), "report": report,
        "worst": r"gemm/a\nverdict=PASS\n\ud800" if status == 1 else "",
    }  # fmt: skip


@pytest.mark.parametrize("left", ["", '{"wor'])
def test_a_comparison_that_came_to_no_end_has_outputs_all_the_same(
    fake: FakeGate, outputs: Path, left: str
) -> None:
    fake.told(137, reports=bool(left), texts={"json": left})
    assert fake.run() == 2
    found = workflows.outputs(outputs)
    assert (found["verdict"], found["worst"], found["exit-status"]) == ("NOT DECIDED", "", "2")
    assert bool(found["report"]) == bool(left)


def test_what_is_refused_has_outputs_and_a_file_that_cannot_be_written_is_told(
    fake: FakeGate, outputs: Path
) -> None:
    with pytest.raises(UserError, match="gone' is not a folder"):
        fake.run("--programs", str(fake.root / "gone"), str(fake.root))
    with pytest.raises(UserError, match="'' is not a folder"):  # an empty input of the action
        fake.run("--programs", "", str(fake.root))
    told = {"verdict": "NOT DECIDED", "worst": "", "exit-status": "2", "report": ""}
    assert workflows.outputs(outputs) == told
    outputs.unlink()
    outputs.mkdir()
    assert fake.run() is ExitStatus.OK
    assert "::warning title=No outputs::" in fake.capsys.readouterr().out


def test_an_interrupt_ends_what_runs_and_keeps_the_log(fake: FakeGate) -> None:
    fake.told(sleeps=600.0)
    log = fake.out / "log.txt"
    with fake.start({}) as running:
        wait_until(lambda: log.exists() and "sleeping" in log.read_text())
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert running.returncode == 130
    assert err == "gate: interrupted\n"
    assert "sleeping" in out
    assert (fake.out / "commands.log").exists()


def test_two_folders_of_programs_are_measured_in_pairs(fake: FakeGate) -> None:
    base, candidate = fake.root / "a", fake.root / "b"
    for folder in (base, candidate):
        folder.mkdir()
    fake.told(1)
    status = fake.run("--programs", str(base), str(candidate), "--", "--budget=2m", "--filter=")
    assert status is ExitStatus.REGRESSION
    folders = [str(base), str(candidate)]
    assert fake.called("warpgauge") == [
        "ab",
        *folders,
        "--isolate=auto",
        "--budget=2m",
        "--filter=",
    ]
    assert (fake.out / "comparison.json").exists()


def test_what_lies_in_the_folder_stays(fake: FakeGate) -> None:
    fake.out.mkdir(parents=True)
    kept = fake.out / "diary.txt"
    kept.write_text("mine")
    with pytest.raises(UserError, match="exists and is not empty"):
        fake.run()
    assert kept.read_text() == "mine"
    assert list(fake.out.iterdir()) == [kept]


def test_an_unknown_base_and_one_without_a_common_commit_are_told(
    fake: FakeGate,
) -> None:
    with pytest.raises(UserError, match="'gone' is not a commit of this clone"):
        fake.run("--base", "gone")
    fake.git("checkout", "--quiet", "--orphan", "other")
    fake.commit("elsewhere")
    with pytest.raises(UserError, match="fetch-depth: 0"):
        fake.run()
    assert not fake.out.exists()


def test_a_runner_with_another_gpu_is_told_before_anything_is_measured(
    fake: FakeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(one: gpus.Gpu) -> None:
        raise UserError(f"no {one.name}", ExitStatus.NOT_MEASURED)

    monkeypatch.setattr(gpus, "require_here", other)
    gpus.file_of(fake.root).parent.mkdir()
    gpus.file_of(fake.root).write_text(gpus.file_of(Path(__file__).parents[3]).read_text())
    of_others = ["--programs", str(fake.root), str(fake.root / "scripts")]
    for what in (["--base", "main"], of_others):
        with pytest.raises(UserError, match="no NVIDIA H200"):
            fake.run(*what, "--gpu", "nvidia-h200")
    assert not fake.out.exists()


def test_a_gpu_is_looked_up_in_the_checkout_that_the_programs_lie_in(fake: FakeGate) -> None:
    programs = fake.root / "build" / "bench"
    programs.mkdir(parents=True)
    words = ("--programs", str(fake.root), str(programs), "--gpu", "nvidia-none")
    with pytest.raises(UserError, match=r"no folder above .* has \.github/gpus\.json"):
        fake.run(*words)
    gpus.file_of(fake.root).parent.mkdir()
    gpus.file_of(fake.root).write_text(gpus.file_of(Path(__file__).parents[3]).read_text())
    with pytest.raises(UserError, match="does not list the GPU 'nvidia-none'"):
        fake.run(*words)
    assert not fake.out.exists()


def test_a_runner_without_a_gpu_is_told_before_the_build_and_where_the_reader_looks(
    fake: FakeGate, summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> None:
        raise UserError("this runner has no GPU", ExitStatus.NOT_MEASURED)

    monkeypatch.setattr(process, "require_gpu", none)
    with pytest.raises(UserError, match="this runner has no GPU") as caught:
        fake.run()
    assert caught.value.status is ExitStatus.NOT_MEASURED
    assert not fake.out.exists()
    said = "::error title=Nothing was compared::this runner has no GPU\n"
    assert fake.capsys.readouterr().out.endswith(said)
    assert summary.read_text().endswith("**Nothing was compared:** this runner has no GPU\n")


def test_what_contradicts_itself_is_one_sentence() -> None:
    complete = "--base main --out-dir x"
    parse(complete.split())
    for line in (
        *("", "--out-dir x", "--base main", "--base= --out-dir x"),
        *(f"{complete} {more}" for more in ("--programs a b", "--budget=2m")),
    ):
        with pytest.raises(UserError) as caught:
            parse(line.split())
        assert caught.value.status is ExitStatus.BAD_USAGE
        assert "\n" not in str(caught.value)


def test_a_command_that_is_not_there_is_told(fake: FakeGate) -> None:
    (fake.root / "scripts" / "bench").unlink()
    assert fake.run() is ExitStatus.BAD_USAGE
    assert "No such file" in fake.capsys.readouterr().out
