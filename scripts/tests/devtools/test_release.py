# SPDX-License-Identifier: Apache-2.0
"""scripts/release tags what passes every check, and nothing else; each refusal says what to do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

import pytest

from clocks import wait_until
from devtools import release
from forked import runs
from hosted_repository import git
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import UserError

TODAY = date(2026, 12, 1)
VERSION = "1.2.3"


@dataclass
class Project:
    """A clone that can be released; its commands do nothing but succeed."""

    root: Path
    failing: str = ""  # a word of a command that fails
    lines: list[list[str]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    meanwhile: Callable[[], object] = lambda: None

    def __post_init__(self) -> None:
        git(self.root, "init", "--quiet", "--initial-branch=main")
        git(self.root, "commit", "--quiet", "--allow-empty", "--message", "measured")
        commit = git(self.root, "rev-parse", "HEAD")[:12]
        self.write("README.md", f"5 µs (H200, commit {commit}, `scripts/warpgauge demo`)\n")
        self.write("scripts/warpgauge", "")
        head = f"## [Unreleased]\n\n## [{VERSION}] - {TODAY}\n\n- All of it.\n"
        self.write("CHANGELOG.md", f"# Changelog\n\n{head}")
        self.write("CITATION.cff", f"version: {VERSION}\ndate-released: {TODAY}\n")
        self.self_check(commit=commit)
        self.commit()

    def write(self, file: str, text: str) -> None:
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def replace(self, file: str, old: str, new: str) -> None:
        text = (self.root / file).read_text()
        assert old in text
        self.write(file, text.replace(old, new))

    def figure(self, day: str) -> None:
        """The README's is of a commit of that day."""
        git(
            self.root, "commit", "--quiet", "--allow-empty", f"--date={day}T10:00", "--message", "x"
        )
        self.write("README.md", f"5 µs (commit {git(self.root, 'rev-parse', 'HEAD')[:12]})\n")

    def self_check(self, days: int = 3, commit: str = "") -> None:
        context = {"date": f"{TODAY - timedelta(days)}T10:00:00+00:00", "commit": commit or "HEAD"}
        self.write("baselines/self-check-a.json", json.dumps({"context": context}))

    def commit(self) -> None:
        git(self.root, "add", "--all")
        git(self.root, "commit", "--quiet", "--message", "more")

    def run(self, line: Sequence[str], folder: Path) -> None:
        self.lines.append([*line])
        self.meanwhile()
        if self.failing and self.failing in " ".join(line):
            raise UserError(f"{self.failing} failed")

    def release(self, asked: str = VERSION) -> None:
        wanted = release.Release(self.root, self.run, TODAY, asked, VERSION)
        release.made(wanted, self.said.append)

    @property
    def tags(self) -> str:
        return git(self.root, "tag", "--list")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(release, "cuda_compiler", lambda: "/cuda/bin/nvcc")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "a")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "a@b")
        monkeypatch.setenv(f"GIT_{who}_DATE", f"{TODAY}T10:00:00Z")
    root = tmp_path / "project"
    root.mkdir()
    (root / ".gitignore").write_text("/build/\n")
    return Project(root)


def test_what_passes_every_check_is_tagged_where_it_was_checked(project: Project) -> None:
    project.release()
    assert project.tags == f"v{VERSION}"
    assert git(project.root, "cat-file", "-t", f"v{VERSION}") == "tag"  # with a date and a name
    head = git(project.root, "rev-parse", "HEAD")
    assert git(project.root, "rev-parse", f"v{VERSION}^{{commit}}") == head
    *checks, tagged = project.said
    assert len(checks) == len(release.CHECKS)
    assert all(" ok: " in line for line in checks)
    assert f"git push --atomic origin main v{VERSION}" in tagged  # no tag of an unpublished commit
    tests, wheels = project.lines
    assert tests == [str(project.root / ".ci" / "run")]
    assert wheels[-1] == str(project.root / "build" / "wheels" / VERSION)


def test_without_a_version_nothing_is_tagged(project: Project) -> None:
    project.release("")
    assert len(project.said) == len(release.CHECKS)
    assert project.tags == ""


Change = Callable[[Project], object]

CHANGES: dict[str, tuple[Change, str]] = {
    "another branch": (lambda it: git(it.root, "switch", "--quiet", "--create", "x"), "main"),
    "a tag that exists": (lambda it: git(it.root, "tag", f"v{VERSION}"), "raise the version"),
    "a changelog of yesterday": (
        lambda it: it.replace("CHANGELOG.md", f"{TODAY}", "2026-11-30"), "headings"),
    "a changelog of another version": (
        lambda it: it.replace("CHANGELOG.md", VERSION, "1.2.2"), "headings"),
    "something unreleased": (
        lambda it: it.replace("CHANGELOG.md", "[Unreleased]\n", "[Unreleased]\n\n- Late.\n"),
        "'- Late.' under Unreleased"),
    "a citation of yesterday": (
        lambda it: it.replace("CITATION.cff", f"{TODAY}", "2026-11-30"), "date-released"),
    "a figure of a commit that is not there": (
        lambda it: it.write("README.md", "(commit 12ab34cd56)"), "12ab34cd56 did not lead"),
    "a figure without a commit": (lambda it: it.write("README.md", "5 µs"), "names no commit"),
    "a figure of an old commit": (lambda it: it.figure("2026-11-16"), "is 15 days old"),
    "a file that is gone": (
        lambda it: it.replace("README.md", "scripts/warpgauge", "scripts/gone"), "scripts/gone"),
    "a command that is gone": (
        lambda it: it.replace("README.md", "demo", "show"), "warpgauge show"),
    "an old self-check": (lambda it: it.self_check(15), "15 days old"),
    "a self-check of the future": (lambda it: it.self_check(-2), "days old"),
    "a self-check of a commit that is not there": (
        lambda it: it.self_check(commit="12ab34cd56"), "12ab34cd56 did not lead"),
    "no self-check": (
        lambda it: (it.root / "baselines" / "self-check-a.json").unlink(), "has no self-check"),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_a_fault_is_refused_before_anything_runs_for_minutes(project: Project, what: str) -> None:
    change, why = CHANGES[what]
    change(project)
    if git(project.root, "status", "--porcelain"):
        project.commit()
    before = project.tags
    with pytest.raises(UserError, match=why) as refusal:
        project.release()
    assert "\n" not in str(refusal.value)
    assert project.lines == []
    assert project.tags == before


def test_another_version_than_the_packages_is_refused(project: Project) -> None:
    with pytest.raises(UserError, match=r"has 1\.2\.3, not 1\.2\.4"):
        project.release("1.2.4")
    assert project.tags == ""


@pytest.mark.parametrize("failing", [".ci/run", "devtools.wheels"])
def test_a_command_that_fails_ends_it_without_a_tag(project: Project, failing: str) -> None:
    project.failing = failing
    with pytest.raises(UserError, match="failed"):
        project.release()
    assert failing in " ".join(project.lines[-1])
    assert project.tags == ""


def test_a_tree_that_changes_while_tests_run_is_not_tagged(project: Project) -> None:
    project.meanwhile = lambda: project.write("README.md", "Other words")
    with pytest.raises(UserError, match=r"the tree has changes \(M README.md\)"):
        project.release()
    assert project.tags == ""


def test_a_commit_while_tests_run_is_neither_tagged_nor_in_the_wheel_of_a_tag(
    project: Project,
) -> None:
    project.meanwhile = lambda: git(project.root, "commit", "--quiet", "--allow-empty", "-m", "x")
    with pytest.raises(UserError, match="run this again"):
        project.release()
    assert project.tags == ""


def test_no_release_is_made_without_a_cuda_compiler(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "cuda_compiler", lambda: None)
    with pytest.raises(UserError, match="nvcc"):
        project.release()
    assert project.lines == []
    assert project.tags == ""


def test_who_tags_is_known_before_the_tests_run(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(project.root, "config", "user.useConfigOnly", "true")
    for name in ("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    with pytest.raises(UserError, match=r"set its user\.name and user\.email"):
        project.release()
    assert project.lines == []


def test_a_file_that_git_does_not_know_is_a_change_whatever_git_shows_by_itself(
    project: Project,
) -> None:
    git(project.root, "config", "status.showUntrackedFiles", "no")
    project.write("left", "")
    with pytest.raises(UserError, match="the tree has changes"):
        project.release()


def test_the_output_of_a_command_is_kept_and_named_where_it_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    line = ["sh", "-c", "echo out; echo broken >&2; exit 1"]
    with pytest.raises(UserError, match=rf"failed \(1\): {log} says why"):
        release.logged(line, tmp_path, log)
    shown, *output = log.read_text().splitlines()
    assert output == ["out", "broken"]
    assert capsys.readouterr().out == f"{shown}\n"
    assert "echo broken" in shown


def test_a_command_is_shown_when_it_begins_and_ends_with_all_that_it_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pid, shown = tmp_path / "pid", []

    def interrupt() -> None:
        wait_until(lambda: pid.exists() and pid.read_text().strip())
        shown.append(capsys.readouterr().out)
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        release.logged(["sh", "-c", "sleep 600 & echo $! >pid; wait"], tmp_path, tmp_path / "log")
    other.join()
    assert "sleep 600" in shown[0]
    wait_until(lambda: not runs(int(pid.read_text())))


def test_the_starter_is_a_command(tmp_path: Path) -> None:
    line = [sys.executable, str(ROOT / "scripts" / "release"), "--help"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "VERSION" in done.stdout
