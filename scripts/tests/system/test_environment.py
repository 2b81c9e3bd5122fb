# SPDX-License-Identifier: Apache-2.0
"""What a machine lacks is installed or asked for; a half-made .venv never poisons a later run."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

import shell
import warpgauge
from warpgauge.system import environment
from warpgauge.system.environment import LOCK, ROOT, Need, ensure
from warpgauge.system.errors import UserError

SCRIPTS = Path(__file__).parents[2]
PYTHON = os.path.realpath(sys.executable)


class Execed(Exception):
    """Stands for the process becoming another."""


class Programs:
    """Stands for every program that is started: what was run, and what each answers.

    A program whose command line matches `failing` fails with `output`.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.failing = "$never"
        self.output = "Reading lists\nE: no network\n"
        self.wait = Event()
        self.wait.set()

    def __call__(self, command: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        line = " ".join(command)
        self.lines.append(line)
        assert self.wait.wait(60)
        if re.search(self.failing, line):
            return subprocess.CompletedProcess(command, 1, self.output)
        if " venv " in line:
            python = Path(command[-1], "bin", "python")
            python.parent.mkdir()
            python.symlink_to(PYTHON)
        return subprocess.CompletedProcess(command, 0, "")

    def installed(self) -> list[str]:
        """The packages of each apt-get install."""
        return [line.partition("-recommends ")[2] for line in self.lines if " install " in line]


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Root's, on a Debian."""
    fake = Programs()
    monkeypatch.setattr(subprocess, "run", fake)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("CI", raising=False)
    return fake


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: Programs) -> Path:
    def execv(path: Path, arguments: list[str]) -> None:
        raise Execed(path, arguments)

    monkeypatch.setattr(os, "execv", execv)
    (tmp_path / LOCK).write_text("one==1.0\n")
    return tmp_path


def set_up(clone: Path) -> None:
    """A command that lacks a package finds or makes .venv, and goes on there."""
    with pytest.raises(Execed):
        ensure(["no_such_package"], clone)


def test_too_old_a_python_can_read_what_tells_it_so_and_is_told(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = ("__init__", "environment", "errors", "locks", "streams")
    inner = (f"src/warpgauge/system/{name}.py" for name in system)
    for path in ("bench", "test", "src/warpgauge/__init__.py", *inner):
        ast.parse((SCRIPTS / path).read_text(), feature_version=(3, 8))
    monkeypatch.setattr(environment, "OLDEST_PYTHON", (4, 0))
    with pytest.raises(UserError, match=r"is too old; warpgauge needs 3\.10 or newer"):
        ensure(["json"], clone)


def test_an_interpreter_that_has_everything_is_kept(clone: Path) -> None:
    ensure(["json", "ast"], clone)
    assert not (clone / ".venv").exists()


def test_a_missing_package_leads_to_the_environment_of_the_lock_which_is_made_once(
    clone: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["scripts/bench", "--list"])
    ensure(["no_such_package"], clone, make=False)
    assert not (clone / ".venv").exists()
    for _ in range(2):
        with pytest.raises(Execed) as caught:
            ensure(["no_such_package"], clone)
        python = clone / ".venv" / "bin" / "python"
        assert caught.value.args == (python, [str(python), "scripts/bench", "--list"])
    create, install = programs.lines
    assert create == f"{PYTHON} -m venv {clone / '.venv'}"
    assert install.startswith(f"{python} -m pip install ")
    assert install.endswith(f" --require-hashes --only-binary=:all: --requirement {clone / LOCK}")


def test_a_new_lock_or_a_python_that_is_gone_makes_a_new_environment(
    clone: Path, programs: Programs
) -> None:
    set_up(clone)
    (clone / LOCK).write_text("other==2.0\n")
    leftover = clone / ".venv" / "leftover"
    leftover.touch()
    set_up(clone)
    assert len(programs.lines) == 4
    assert not leftover.exists()
    python = clone / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python")
    set_up(clone)
    assert len(programs.lines) == 6


def test_a_command_that_runs_from_an_outdated_environment_can_replace_it(
    clone: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up(clone)
    (clone / LOCK).write_text("other==2.0\n")
    monkeypatch.setattr(sys, "prefix", str(clone / ".venv"))
    monkeypatch.setattr(sys, "executable", str(clone / ".venv" / "bin" / "python"))
    set_up(clone)
    assert programs.lines[2].startswith(f"{PYTHON} -m venv ")
    with pytest.raises(UserError, match="does not have no_such_package: remove the folder"):
        ensure(["no_such_package"], clone)


@pytest.mark.parametrize("failing", [" venv ", " pip "])
def test_a_failure_is_a_sentence_and_the_next_command_begins_anew(
    clone: Path, programs: Programs, failing: str
) -> None:
    programs.failing, programs.output = failing, "ERROR: no network\n\nhint: pip\n"
    with pytest.raises(UserError, match=r"\(ERROR: no network\): run this once with netw") as no:
        ensure(["no_such_package"], clone)
    assert "\n" not in str(no.value)
    programs.failing = "$never"
    set_up(clone)


def test_an_interrupted_making_is_begun_anew(
    clone: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(command: Sequence[str], **_: object) -> None:
        (clone / ".venv" / "leftover").touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ensure(["no_such_package"], clone)
    set_up(clone)
    assert len(programs.lines) == 2
    assert not (clone / ".venv" / "leftover").exists()


def test_of_two_commands_at_once_one_makes_the_environment_and_the_other_waits(
    clone: Path, programs: Programs
) -> None:
    programs.wait.clear()
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(ensure, ["no_such_package"], clone) for _ in range(2)]
        programs.wait.set()
        assert {type(one.exception()) for one in both} == {Execed}
    assert len(programs.lines) == 2


def test_an_environment_of_the_users_own_is_left_alone(clone: Path, programs: Programs) -> None:
    theirs = clone / ".venv" / "precious"
    theirs.mkdir(parents=True)
    with pytest.raises(UserError, match="was not made by warpgauge"):
        ensure(["no_such_package"], clone)
    assert theirs.exists()
    assert programs.lines == []


def test_an_installed_package_sets_nothing_up(
    clone: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clone)  # another project may have a lock of that name
    with pytest.raises(UserError, match="install warpgauge with its dependencies"):
        ensure(["no_such_package"], None)
    assert not (clone / ".venv").exists()
    assert programs.lines == []


def test_the_lock_pins_every_package_by_hash() -> None:
    packages = re.split(r"(?m)^(?=[a-z])", (ROOT / LOCK).read_text())[1:]
    assert all("==" in one and "--hash=sha256:" in one for one in packages)
    assert {"numpy", "rich", "pytest"} <= {one.partition("==")[0] for one in packages}


def need(package: str, *there: bool, required: bool = True) -> Need:
    """Answers with `there`, one by one; the last one for good."""
    answers = list(there)
    return Need(package, lambda: answers.pop(0) if answers[1:] else answers[0], required)


def test_root_installs_exactly_what_is_missing(programs: Programs) -> None:
    environment.provide([need("cmake", True), need("ninja-build", True)], print)
    assert programs.lines == []
    environment.provide([need("cmake", True), need("ninja-build", False, True)], print)
    assert programs.lines[0].endswith(" update")
    assert programs.installed() == ["ninja-build"]


def test_another_user_is_told_what_to_type_except_in_ci(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    line = "with: sudo apt-get install --no-install-recommends cmake g[+][+]$"
    with pytest.raises(UserError, match=line):
        environment.provide([need("cmake", False), need("g++", False)], print)
    assert programs.lines == []
    monkeypatch.setenv("CI", "true")
    environment.provide([need("cmake", False, True)], print)
    assert programs.lines[-1].startswith("sudo -n env DEBIAN_FRONTEND=noninteractive ")


def test_a_failing_apt_stops_what_is_required_only(programs: Programs) -> None:
    programs.failing, said = " install ", list[str]()
    with pytest.raises(UserError, match="missing or too old here: cmake; "):
        environment.provide([need("cmake", False)], said.append)
    assert said[-1] == "E: no network"
    environment.provide([need("libbenchmark-dev", False, required=False)], said.append)
    assert said[-1].startswith("continuing without libbenchmark-dev; ")


def test_a_package_that_a_distribution_lacks_keeps_no_other_away(programs: Programs) -> None:
    programs.failing, said = "chromium", list[str]()
    needs = [need(one, False, True, required=False) for one in ("libgtest-dev", "git")]
    needs.insert(1, need("chromium", False, required=False))
    environment.provide(needs, said.append)
    assert programs.installed() == ["libgtest-dev", "chromium", "git"]
    (line,) = [line for line in said if "continuing" in line]
    assert line.startswith("continuing without chromium")


def test_another_distribution_is_told_what_is_missing(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "exists", lambda path: False)
    with pytest.raises(UserError, match="here: cmake; install a newer one"):
        environment.provide([need("cmake", False)], print)
    assert programs.lines == []


@pytest.mark.parametrize(
    ("name", "versions", "too_old"),
    [
        ("cmake", ("cmake version 3.25.1", "cmake version 4.1.0"), "cmake version 3.22.1"),
        ("g++", ("12.2.0", "13"), "11.4.0"),
    ],
)
def test_the_version_of_cmake_and_of_the_compiler_decides(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    versions: tuple[str, ...],
    too_old: str,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    (found,) = [need for need in environment.BUILD if need.package == name]
    assert not found.present()
    for said in (*versions, too_old):
        shell.script(tmp_path / name, f"echo {said}")
        assert found.present() is (said != too_old)


def test_a_version_of_a_package_is_installed_once_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails on the second run, after it has written something.
    runs = tmp_path / "runs"
    pip = shell.script(
        tmp_path / "python3",
        f'echo "$*" >>{runs}; while [ "$1" != --target ]; do shift; done; mkdir -p "$2"; >"$2/$3"\n'
        f"[ $(wc -l <{runs}) != 2 ] || {{ echo ERROR: no match; exit 1; }}",
    )
    monkeypatch.setenv("PATH", f"{pip.parent}:/bin:/usr/bin")
    where = tmp_path / "axis"
    folder = environment.installed("triton==3.5", where)
    assert environment.installed("triton==3.5", where) == folder
    assert [path.name for path in folder.iterdir()] == ["triton==3.5"]
    with pytest.raises(UserError, match=r"triton==3\.6 cannot be installed: ERROR: no match"):
        environment.installed("triton==3.6", where)
    assert environment.installed("triton==3.6", where) != folder
    words = runs.read_text().splitlines()
    assert len(words) == 3
    assert all("-m pip install" in line and "--no-deps" in line for line in words)


def test_what_an_engine_was_built_with_is_what_its_build_wrote(tmp_path: Path) -> None:
    built = tmp_path / "warpgauge-built.txt"
    head = f"warpgauge {warpgauge.__version__} "
    assert environment.about(tmp_path, None) == f"{head}(commit unknown, engine not built)"
    built.write_text("0123abcd\nwith CUDA 13.0.88\n")
    assert environment.about(tmp_path, None) == f"{head}(commit 0123abcd, engine with CUDA 13.0.88)"
    built.write_text("\nwithout CUDA\n")  # by who has no git
    assert environment.about(tmp_path, None) == f"{head}(commit unknown, engine without CUDA)"
    built.write_text("")
    assert environment.about(tmp_path, None) == f"{head}(commit unknown, engine not built)"


def test_the_commit_of_a_clone_is_that_of_its_checkout(tmp_path: Path) -> None:
    (tmp_path / "warpgauge-built.txt").write_text("of-the-build\nwithout CUDA\n")
    said = environment.about(tmp_path, ROOT)
    described = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True
    ).stdout.strip()
    assert f"(commit {described}, engine without CUDA)" in said


def test_the_folder_for_cmake_is_there_or_a_sentence_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"not built in {tmp_path}: cmake --preset release && "):
        environment.cmake_dir(tmp_path)
    (tmp_path / "warpgauge-config.cmake").touch()
    assert environment.cmake_dir(tmp_path) == str(tmp_path)


def test_a_command_is_named_as_it_is_started_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "a clone"
    project = tmp_path / "project"
    for folder in (clone, project):
        folder.mkdir()
    monkeypatch.setattr(environment, "CLONE", clone)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.chdir(clone)
    assert environment.started("bench --record") == "scripts/bench --record"
    assert environment.started("ab A B") == "scripts/warpgauge ab A B"
    monkeypatch.chdir(project)
    assert environment.started("bench") == f"'{clone}/scripts'/bench"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")  # its reader has no such folder
    assert environment.started("ab A B") == "warpgauge ab A B"
    monkeypatch.setattr(environment, "CLONE", None)
    assert environment.started("bench --record") == "warpgauge bench --record"
