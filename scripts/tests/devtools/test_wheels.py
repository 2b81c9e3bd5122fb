# SPDX-License-Identifier: Apache-2.0
"""What is built of a clone for others, and what a wheel must do before it is published."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import shell
import warpgauge
from devtools import wheels
from warpgauge.system import contract
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import UserError

ABOUT = "warpgauge 0.2.0 (commit 0123abcd, engine with CUDA 13.0.88)"
PAGE = "echo '<html></html>'"


def installed(folder: Path, about: str = ABOUT, compared: int = 1, page: str = PAGE) -> Path:
    """A folder of programs with a stand-in for the command."""
    does = f"""case $1 in
--version) echo '{about}';;
demo) {page} > demo.html;;
compare) {page} > report.html; exit {compared};;
*) exit 9;;
esac"""
    (folder / "bin").mkdir()
    shell.script(folder / "bin" / "warpgauge", does)
    return folder / "bin"


def test_a_command_that_says_and_shows_all_passes(tmp_path: Path) -> None:
    wheels.try_commands(installed(tmp_path), tmp_path, "0.2.0")
    old, new = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("a", "b"))
    assert old["benchmarks"][0]["real_time"] < new["benchmarks"][0]["real_time"]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"about": ABOUT.replace("0.2.0", "0.1.0")}, r"--version says 'warpgauge 0.1.0 "),
        ({"about": ABOUT.replace("0123abcd", "unknown")}, r"not 0.2.0 and its commit"),
        ({"compared": 0}, r"`.*warpgauge compare .*` ended with status 0, not 1: it said nothing"),
        ({"page": "false"}, r"`.*warpgauge demo .*` ended with status 1, not 0"),
        ({"page": "echo '<html>'"}, r"wrote no whole page to .*/demo.html"),
    ],
    ids=["version", "commit", "verdict", "demo", "page"],
)
def test_a_command_that_does_not_is_refused_in_a_sentence(
    fault: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=words):
        wheels.try_commands(installed(tmp_path, **fault), tmp_path, "0.2.0")


def test_a_wheel_that_is_too_large_is_not_tried(tmp_path: Path) -> None:
    wheel = tmp_path / "warpgauge-0.2.0-py3-none-any.whl"
    with wheel.open("wb") as file:
        file.truncate(wheels.MOST_MB * 10**6 + 1)
    with pytest.raises(UserError, match="is larger than 15 MB"):
        wheels.check(wheel, tmp_path)


def test_only_what_was_checked_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"

    def build(root: Path, work: Path) -> tuple[Path, Path]:
        made = work / "a.tar.gz", work / "a.whl"
        for path in made:
            path.write_text(path.name)
        return made

    def check(wheel: Path, work: Path) -> None:
        assert [*work.iterdir()] == []
        raise UserError(f"{wheel.name} is wrong")

    monkeypatch.setattr(wheels, "build", build)
    monkeypatch.setattr(wheels, "check", check)
    with pytest.raises(UserError, match=r"a\.whl is wrong"):
        wheels.main([str(out)])
    assert [*out.iterdir()] == []
    monkeypatch.setattr(wheels, "check", lambda wheel, work: None)
    wheels.main([str(out)])
    assert {path.read_text() for path in out.iterdir()} == {"a.tar.gz", "a.whl"}


def test_cmake_reads_the_version_where_python_has_it(tmp_path: Path) -> None:
    """Configures the project as for an sdist, which needs no compiler and writes the commit."""
    settings = ["-DSKBUILD_STATE=sdist", "-DCMAKE_PROJECT_INCLUDE=" + str(tmp_path / "show.cmake")]
    (tmp_path / "show.cmake").write_text("message(STATUS ${PROJECT_VERSION})\n")
    source = tmp_path / "source"
    for name in ("CMakeLists.txt", ".cmake", "scripts/src/warpgauge/__init__.py"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).symlink_to(ROOT / name)
    (source / ".commit").write_text("0123abcd\n")  # of the sdist that this one is made from
    line = ["cmake", "-S", str(source), "-B", str(tmp_path / "build"), *settings]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert f"-- {warpgauge.__version__}\n" in done.stdout
    assert (source / ".commit").read_text() == "0123abcd\n"


def test_a_source_distribution_has_what_the_build_reads() -> None:
    project: Any = contract.read_toml(ROOT / "pyproject.toml")
    scikit_build = project["tool"]["scikit-build"]
    for name in (*scikit_build["wheel"]["packages"], scikit_build["metadata"]["version"]["input"]):
        assert (ROOT / name).exists()
        assert any(f"/{name}".startswith(part) for part in scikit_build["sdist"]["include"])
    missing = {name for name in scikit_build["sdist"]["include"] if not (ROOT / name[1:]).exists()}
    assert missing <= {"/.commit"}
