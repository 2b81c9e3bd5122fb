# SPDX-License-Identifier: Apache-2.0
"""What is there is left alone; what is missing is installed, or asked for by the exact line."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from warpgauge.system import packages
from warpgauge.system.errors import UserError
from warpgauge.system.packages import Need


class Apt:
    """Stands for apt-get and sudo: what was run, and what each answers."""

    def __init__(self) -> None:
        self.commands: list[str] = []
        self.failing = ""

    def __call__(self, command: Sequence[str]) -> tuple[int, str]:
        line = " ".join(command)
        self.commands.append(line)
        failed = bool(self.failing) and self.failing in line
        return (100, "Reading lists\nE: no network\n") if failed else (0, "")


@pytest.fixture
def apt(monkeypatch: pytest.MonkeyPatch) -> Apt:
    fake = Apt()
    monkeypatch.setattr(packages, "output_of", fake)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return fake


def need(package: str, *there: bool, required: bool = True) -> Need:
    """Answers with `there`, one by one; the last one for good."""
    answers = list(there)
    return Need(package, package, lambda: answers.pop(0) if answers[1:] else answers[0], required)


def test_root_installs_exactly_what_is_missing(apt: Apt) -> None:
    packages.provide([need("cmake", True), need("ninja-build", True)], print)
    assert apt.commands == []
    packages.provide([need("cmake", True), need("ninja-build", False, True)], print)
    assert apt.commands[0].endswith("update")
    assert apt.commands[1].endswith("install --no-install-recommends ninja-build")


def test_a_passwordless_sudo_is_used(apt: Apt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    packages.install(["g++"], print)
    assert apt.commands[0] == "sudo -n true"
    assert apt.commands[-1].startswith("sudo -n env DEBIAN_FRONTEND=noninteractive ")


def test_without_rights_the_line_to_type_is_told(apt: Apt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    apt.failing = "sudo -n true"
    line = "type: sudo apt-get install --no-install-recommends cmake g[+][+]$"
    with pytest.raises(UserError, match=line):
        packages.provide([need("cmake", False), need("g++", False)], print)
    assert apt.commands == ["sudo -n true"]


def test_a_failing_apt_is_told_with_its_last_line_and_stops_what_is_required(apt: Apt) -> None:
    apt.failing, said = " install ", list[str]()
    with pytest.raises(UserError, match=r"missing here: cmake; .* failed: E: no network"):
        packages.provide([need("cmake", False)], print)
    packages.provide([need("libbenchmark-dev", False, required=False)], said.append)
    assert said[-1].startswith("continuing without libbenchmark-dev: ")


def test_a_package_that_a_distribution_lacks_keeps_no_other_away(apt: Apt) -> None:
    apt.failing, said = "chromium", list[str]()
    needs = [need(name, False, required=False) for name in ("libgtest-dev", "chromium", "git")]
    packages.provide(needs, said.append)
    installed = [line.split()[-1] for line in apt.commands if " install " in line]
    assert installed[1:] == ["libgtest-dev", "chromium", "git"]
    (told,) = [line for line in said if "continuing" in line]
    assert told.startswith("continuing without chromium")


def test_a_package_that_is_still_too_old_is_told(apt: Apt) -> None:
    with pytest.raises(UserError, match="of cmake are too old: install newer ones"):
        packages.provide([need("cmake", False)], print)


def test_another_distribution_is_told_what_is_missing(
    apt: Apt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UserError, match=r"missing here: cmake \(Debian's names\)"):
        packages.provide([need("cmake", False)], print)
    assert apt.commands == []


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
    (found,) = [need for need in packages.BUILD if need.package == name]
    assert not found.present()
    for said in (*versions, too_old):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {said}\n")
        (tmp_path / name).chmod(0o755)
        assert found.present() is (said != too_old)


def test_the_linters_are_not_the_distributions() -> None:
    assert not [one for one in packages.TEST if one.package.startswith("clang")]
    assert "libbenchmark-tools" in {one.package for one in packages.TEST}
