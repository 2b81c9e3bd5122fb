# SPDX-License-Identifier: Apache-2.0
"""The environment is found or made, and a half-made one never poisons a later run."""

from __future__ import annotations

import ast
import os
import re
import sys
from pathlib import Path

import pytest

from warpgauge.system import environment, packages
from warpgauge.system.environment import COMMENT, LOCKS, ROOT, RUNTIME, STAMP, WHOLE
from warpgauge.system.errors import UserError

SCRIPTS = Path(__file__).parents[2]
LOCK = "nothing==1.0 --hash=sha256:" + "0" * 64 + "\n"


class Execed(Exception):
    """Stands for the process becoming another."""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def execv(path: Path, arguments: list[str]) -> None:
        raise Execed(path, arguments)

    monkeypatch.setattr(os, "execv", execv)
    for lock in LOCKS:
        (tmp_path / lock).parent.mkdir(exist_ok=True)
        (tmp_path / lock).write_text(f"# {lock}\n{LOCK}")
    return tmp_path


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Makes environments cheap; the list tells what was created, and from which lock filled."""
    calls: list[str] = []

    def create(venv: Path) -> None:
        calls.append("created")
        (venv / "bin").mkdir()
        (venv / "bin" / "python").symlink_to(sys.executable)

    monkeypatch.setattr(environment, "_create", create)
    monkeypatch.setattr(environment, "_install", lambda _, lock, __: calls.append(lock.name))
    return calls


def test_too_old_a_python_can_read_what_tells_it_so_and_is_told(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = ("__init__", "environment", "packages", "errors", "streams")
    inner = (f"src/warpgauge/system/{name}.py" for name in system)
    for path in ("bench", "test", "src/warpgauge/__init__.py", *inner):
        ast.parse((SCRIPTS / path).read_text(), feature_version=(3, 8))
    monkeypatch.setattr(environment, "OLDEST_PYTHON", (4, 0))
    with pytest.raises(UserError, match=r"is too old; warpgauge needs 3\.10 or newer"):
        environment.ensure(["json"], root)


def test_an_interpreter_that_has_everything_is_kept(root: Path) -> None:
    environment.ensure(["json", "ast"], root)
    assert not (root / ".venv").exists()


def test_a_missing_package_leads_to_the_environment_of_the_lock(
    root: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["scripts/bench", "--quick"])
    for _ in range(2):  # the second time it is there already
        with pytest.raises(Execed) as caught:
            environment.ensure(["no_such_package"], root)
        python = root / ".venv" / "bin" / "python"
        assert caught.value.args == (python, [str(python), "scripts/bench", "--quick"])
    assert made == ["created", "runtime.lock"]


def test_a_new_lock_or_a_python_that_is_gone_makes_a_new_environment(
    root: Path, made: list[str]
) -> None:
    environment.make(root, RUNTIME, ["x"])
    (root / RUNTIME).write_text("other==2.0\n")
    python = environment.make(root, RUNTIME, ["x"])
    assert made == ["created", "runtime.lock"] * 2
    python.unlink()
    python.symlink_to("/nowhere/python")
    assert environment.make(root, RUNTIME, ["x"]).exists()
    assert made == ["created", "runtime.lock"] * 3


def test_what_a_larger_lock_has_is_added_and_serves_the_smaller_too(
    root: Path, made: list[str]
) -> None:
    environment.make(root, COMMENT, ["x"])
    (root / ".venv" / "in use").touch()
    for lock in (COMMENT, RUNTIME, RUNTIME, COMMENT, WHOLE, WHOLE, RUNTIME, COMMENT):
        environment.make(root, lock, ["x"])
    assert made == ["created", "comment.lock", "runtime.lock", "requirements.lock"]
    assert (root / ".venv" / "in use").exists()


def test_a_tool_that_the_small_environment_lacks_is_added_once(
    root: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.make(root, RUNTIME, ["x"])
    monkeypatch.setattr(sys, "prefix", str(root / ".venv"))
    with pytest.raises(Execed):
        environment.ensure(["no_such_package"], root, WHOLE)
    with pytest.raises(UserError, match="does not have no_such_package"):
        environment.ensure(["no_such_package"], root, WHOLE)


def pinned(lock: str) -> dict[str, set[str]]:
    """The hashes of each package and version, with its marker, that a lock holds."""
    packages = re.split(r"(?m)^(?=[a-z])", (ROOT / lock).read_text())[1:]
    lines = [package.replace("\\", "").split("\n") for package in packages]
    return {first.strip(): {*map(str.strip, rest)} - {""} for first, *rest in lines}


def test_what_a_smaller_lock_has_is_pinned_alike_in_the_larger() -> None:
    comment, runtime, whole = map(pinned, (COMMENT, RUNTIME, WHOLE))
    assert comment.items() <= runtime.items()
    assert runtime.items() <= whole.items()
    assert all(comment.values())
    names = {line.partition("==")[0] for line in runtime}
    assert {"numpy", "scipy", "rich"} <= names
    assert names.isdisjoint({"ruff", "mypy", "pytest", "clang-tidy"})
    of_rich = {"rich", "markdown-it-py", "mdurl", "pygments"}
    assert {line.partition("==")[0] for line in comment} == {"msgspec", "tomli", *of_rich}


def test_an_interrupted_making_is_begun_anew(
    root: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(environment, "_install", interrupted)
        with pytest.raises(KeyboardInterrupt):
            environment.make(root, RUNTIME, ["x"])
    leftover = root / ".venv" / "leftover"
    leftover.touch()
    environment.make(root, RUNTIME, ["x"])
    assert made == ["created", "created", "runtime.lock"]
    assert not leftover.exists()


def test_an_environment_of_the_users_own_is_left_alone(root: Path, made: list[str]) -> None:
    theirs = root / ".venv" / "precious"
    theirs.mkdir(parents=True)
    with pytest.raises(UserError, match="was not made by warpgauge"):
        environment.make(root, RUNTIME, ["x"])
    assert theirs.exists()
    assert not made


def test_without_a_network_there_is_one_sentence_and_no_half_environment(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    install = environment._install
    monkeypatch.setattr(environment, "_create", lambda venv: None)
    monkeypatch.setattr(
        environment, "_install", lambda python, *rest: install(Path(sys.executable), *rest)
    )
    with pytest.raises(UserError, match="run this once with network") as caught:
        environment.make(root, RUNTIME, ["rich"])
    assert "\n" not in str(caught.value)
    assert (root / ".venv" / STAMP).read_text() == "incomplete"


def test_a_distribution_without_venv_gets_the_package(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = root / "python"
    broken.write_text("#!/bin/sh\necho 'ensurepip is not available'; exit 1\n")
    broken.chmod(0o755)
    asked: list[str] = []
    monkeypatch.setattr(sys, "executable", str(broken))
    monkeypatch.setattr(packages, "install", lambda names, say: asked.extend(names))
    with pytest.raises(UserError, match="ensurepip is not available"):
        environment.make(root, RUNTIME, ["x"])
    assert asked == ["python3-venv"]
