# SPDX-License-Identifier: Apache-2.0
"""scripts/release tags what passes every check, and nothing else; each refusal says what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

import pytest

from devtools import release
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
        self.write("examples/library/CMakeLists.txt", "")
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

    def run(self, line: Sequence[str], folder: Path) -> str:
        self.lines.append([*line])
        self.meanwhile()
        if self.failing and self.failing in " ".join(line):
            raise UserError(f"{self.failing} failed")
        if "devtools.wheels" in line:
            Path(line[-1]).mkdir(parents=True)
            Path(line[-1], f"warpgauge-{VERSION}.whl").touch()
        return "/venv/lib/cmake\n" if "--cmake-dir" in line else ""

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
    assert f"git push origin v{VERSION}" in tagged
    assert project.lines[0] == [str(project.root / ".ci" / "run")]
    (configured,) = (line for line in project.lines if line[:2] == ["cmake", "-S"])
    assert "-Dwarpgauge_DIR=/venv/lib/cmake" in configured
    # Which FetchContent would take instead of the wheel.
    assert not [word for word in configured if word.startswith("-DFETCHCONTENT_SOURCE_DIR")]
    (installed,) = (line for line in project.lines if "install" in line)
    assert installed[-1].endswith(f"warpgauge-{VERSION}.whl")


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


def test_without_an_example_to_build_nothing_is_tagged(project: Project) -> None:
    (project.root / "examples" / "library" / "CMakeLists.txt").unlink()
    project.commit()
    with pytest.raises(UserError, match="no project that CMake builds"):
        project.release()
    assert project.tags == ""


@pytest.mark.parametrize("failing", [".ci/run", "devtools.wheels", "pip", "cmake --build"])
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


def test_no_release_is_made_without_a_cuda_compiler(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "cuda_compiler", lambda: None)
    with pytest.raises(UserError, match="nvcc"):
        project.release()
    assert project.tags == ""


def test_the_output_of_a_command_is_kept_and_named_where_it_fails(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = "import sys; print('out'); sys.exit('broken')"
    with pytest.raises(UserError, match=rf"failed \(1\): {log} says why"):
        release.logged([sys.executable, "-c", code], tmp_path, log)
    assert {"out", "broken"} <= {*log.read_text().splitlines()}


def test_the_starter_is_a_command(tmp_path: Path) -> None:
    line = [sys.executable, str(ROOT / "scripts" / "release"), "--help"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "VERSION" in done.stdout
