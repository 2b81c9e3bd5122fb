# SPDX-License-Identifier: Apache-2.0
"""The images' Dockerfile: its steps run in order, with stand-ins for what only an image has."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import shell
from warpgauge.system.environment import BUILD, ROOT, VENV

FOLDER = ROOT / ".github" / "runner"
STAGE = re.compile(r"^FROM (\S+) AS (\S+)$")
STEP = re.compile(r"^RUN (?:--mount=\S+ )*(warpgauge-image .+)$")
VERSION = "2.400.0"
RECORDS = 'echo "$(basename "$0") $*" >> "$CALLS"'


def steps(image: str) -> list[str]:
    """The commands of the image and of the stages that it begins with."""
    found: dict[str, list[str]] = {}
    for line in (FOLDER / "Dockerfile").read_text().splitlines():
        if stage := STAGE.match(line):
            base, current = stage.groups()
            found[current] = [*found.get(base, [])]
        elif step := STEP.match(line):
            found[current].append(step[1])
        else:
            assert not line.startswith("RUN")
    return found[image]


@dataclass
class Image:
    """One that is made below `root`, with the arguments of the build; `calls` are its programs'."""

    root: Path

    def make(self, image: str, **arguments: str) -> subprocess.CompletedProcess[str]:
        variables = {"FRAMEWORKS": "", "RUNNER_VERSION": "", "RUNNER_SHA256": "", **arguments}
        script = "\n".join(["set -e", *steps(image)])
        for folder in ("/opt", "/home", "/wheel"):
            script = re.sub(rf"(?<= ){folder}\b", f"{self.root}{folder}", script)
        path = f"{self.root / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = {**variables, "PATH": path, "CALLS": str(self.root / "calls")}
        return subprocess.run(
            ["bash", "-c", script], env=environment, capture_output=True, text=True, check=False
        )

    @property
    def calls(self) -> list[str]:
        text = (self.root / "calls").read_text().replace(str(self.root), "")
        return text.splitlines()

    @property
    def installed(self) -> list[str]:
        """What pip was given."""
        return [call for call in self.calls if call.startswith("python -m pip")]


@pytest.fixture
def image(tmp_path: Path) -> Image:
    programs = tmp_path / "bin"
    (tmp_path / "wheel").mkdir()
    (tmp_path / "home").mkdir()
    programs.mkdir()
    (programs / "warpgauge-image").symlink_to(FOLDER / "install")
    shell.script(programs / "apt-get", RECORDS)
    shell.script(programs / "chown", RECORDS)
    shell.script(programs / "python", RECORDS)
    shell.script(programs / "useradd", f'{RECORDS}\nmkdir "$2"')
    shell.script(programs / "python3", f'mkdir -p "$3/bin" && cp "{programs}/python" "$3/bin"')
    shell.script(programs / "curl", f'{RECORDS}\ncp "{tmp_path}/runner.tar.gz" "$(basename "$4")"')
    dependencies = tmp_path / "dependencies"
    shell.script(dependencies, RECORDS)
    with tarfile.open(tmp_path / "runner.tar.gz", "w:gz") as archive:
        archive.add(dependencies, "bin/installdependencies.sh")
    return Image(tmp_path)


def test_the_image_for_users_has_the_wheel_and_the_frameworks(image: Image) -> None:
    wheel = image.root / "wheel" / "warpgauge-0.2.0-py3-none-any.whl"
    wheel.touch()
    made = image.make("user", FRAMEWORKS="torch==2.11 triton")
    assert made.returncode == 0, made.stderr
    pip = "python -m pip install --no-cache-dir"
    assert image.installed == [f"{pip} torch==2.11 triton", f"{pip} /wheel/{wheel.name}"]


def test_an_image_has_what_a_build_needs_and_no_framework_that_was_not_named(image: Image) -> None:
    made = image.make("tools")
    assert made.returncode == 0, made.stderr
    update, install = (call for call in image.calls if call.startswith("apt-get"))
    assert update == "apt-get update"
    assert {need.package for need in (VENV, *BUILD)} <= {*install.split()}
    assert image.installed == []


def test_without_a_wheel_the_sentence_says_how_to_get_it(image: Image) -> None:
    made = image.make("user")
    assert made.returncode != 0
    assert "no wheel of warpgauge" in made.stderr
    assert "--build-context wheel=" in made.stderr


def test_the_image_for_runners_has_the_runner_whose_checksum_was_given(image: Image) -> None:
    checksum = hashlib.sha256((image.root / "runner.tar.gz").read_bytes()).hexdigest()
    made = image.make("runner", RUNNER_VERSION=VERSION, RUNNER_SHA256=checksum)
    assert made.returncode == 0, made.stderr
    home = image.root / "home" / "runner"
    assert [path.name for path in home.iterdir()] == ["bin"]
    (download,) = (call for call in image.calls if call.startswith("curl"))
    assert download.endswith(f"/v{VERSION}/actions-runner-linux-x64-{VERSION}.tar.gz")
    assert image.calls[-2:] == ["installdependencies.sh ", "chown -R runner:runner /home/runner"]


@pytest.mark.parametrize(
    ("version", "checksum", "sentence"),
    [
        (VERSION, "0" * 64, "FAILED"),
        (VERSION, "", "give --build-arg RUNNER_SHA256"),
        ("", "0" * 64, "give --build-arg RUNNER_VERSION"),
    ],
)
def test_no_runner_is_unpacked_that_is_not_the_one_named(
    image: Image, version: str, checksum: str, sentence: str
) -> None:
    made = image.make("runner", RUNNER_VERSION=version, RUNNER_SHA256=checksum)
    assert made.returncode != 0
    assert sentence in made.stdout + made.stderr
    assert not (image.root / "home" / "runner" / "bin").exists()
