# SPDX-License-Identifier: Apache-2.0
"""The project's workflows and actions as its tests read them, and the examples that others copy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from warpgauge.system.environment import ROOT

GITHUB = ROOT / ".github"
ACTION = ROOT / "action.yml"
_EXAMPLE = re.compile(r"^```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HOSTED = re.compile(r"ubuntu-\d\d\.04")

# What begins a command in a shell, and what ends it; a line that goes on is one.
_END = re.compile(r"\n|&&|\|\||[;|]")
_SCRIPT = re.compile(r"(?:^|[\s\"'/])((?:scripts|\.ci)(?:/[\w.-]+)+)")
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


@dataclass(frozen=True)
class Job:
    """A job of the workflow in the file `path`."""

    path: Path
    name: str
    told: Mapping[str, Any]
    workflow: Mapping[str, Any]

    @property
    def steps(self) -> list[Mapping[str, Any]]:
        return list(self.told.get("steps", ()))

    @property
    def called(self) -> str:
        """The workflow that it calls instead of having steps and a machine; "" for none."""
        return str(self.told.get("uses", "")).removeprefix("$/.github/workflows/")

    @property
    def on_gpu(self) -> bool:
        """Whether it runs on a machine of our own."""
        return not self.called and _HOSTED.fullmatch(str(self.told["runs-on"])) is None

    @property
    def writes(self) -> list[str]:
        return [key for key, right in self.told["permissions"].items() if right != "read"]

    def __str__(self) -> str:
        return f"{self.path.name}/{self.name}"


@dataclass(frozen=True)
class Step:
    """A step that runs a shell, wherever it stands; `shell` is what was chosen for it."""

    where: str
    run: str
    shell: str
    env: Mapping[str, str]

    def __str__(self) -> str:
        return self.where


@dataclass(frozen=True)
class Call:
    """A command of ours with the options that a step gives it."""

    where: str
    script: str  # as in "scripts/bench", or "scripts/warpgauge ci history"
    flags: frozenset[str]

    def __str__(self) -> str:
        return f"{self.where}: {self.script}"


def parsed(text: str) -> Any:  # noqa: ANN401
    return YAML(typ="safe").load(text)


def files() -> list[Path]:
    return sorted([*GITHUB.glob("workflows/*.yml"), ACTION])


def workflows() -> dict[Path, Mapping[str, Any]]:
    return {path: parsed(path.read_text()) for path in sorted(GITHUB.glob("workflows/*.yml"))}


def jobs() -> list[Job]:
    return [
        Job(path, name, told, workflow)
        for path, workflow in workflows().items()
        for name, told in workflow["jobs"].items()
    ]


def blocks() -> list[str]:
    """The YAML that the gate's page shows, for other repositories to copy."""
    return _EXAMPLE.findall((ROOT / "docs" / "pages" / "gate.md").read_text())


def run_steps() -> list[Step]:
    found = []
    for job in jobs():
        defaults = {**job.workflow.get("defaults", {}), **job.told.get("defaults", {})}
        shell = defaults.get("run", {}).get("shell", "")
        found += _run_steps(str(job), job.steps, shell)
    return found + _run_steps(ACTION.name, parsed(ACTION.read_text())["runs"]["steps"], "")


def outputs(path: Path) -> dict[str, str]:
    """What a step wrote to $GITHUB_OUTPUT, as the runner reads it (FileCommandManager.cs)."""
    lines, found = path.read_text(encoding="utf-8").split("\n"), {}
    while lines:
        name, several, end = lines.pop(0).partition("<<")
        if several and "=" not in name:
            at = lines.index(end)
            found[name], lines = "\n".join(lines[:at]), lines[at + 1 :]
        elif name:
            key, equals, value = f"{name}{several}{end}".partition("=")
            assert equals, f"no output: {name}"
            found[key] = value
    return found


def calls() -> list[Call]:
    """Every command of ours that a step runs; what stands behind ``--`` is another's."""
    return [call for step in run_steps() for call in _calls(step)]


def _run_steps(where: str, steps: list[Mapping[str, Any]], shell: str) -> list[Step]:
    return [
        Step(f"{where}/{number}", step["run"], step.get("shell", shell), step.get("env", {}))
        for number, step in enumerate(steps, 1)
        if "run" in step
    ]


def _calls(step: Step) -> Iterator[Call]:
    text = step.run.replace("\\\n", " ")
    for key, value in step.env.items():  # a command may be named by a variable
        if _SCRIPT.search(str(value)):
            text = text.replace(f"${key}", str(value))
    for command in filter(None, map(str.strip, _END.split(text))):
        found = _SCRIPT.search(command)
        if found is None:
            continue
        own, _, handed = command[found.end() :].partition(" -- ")
        words = re.match(r"\"?((?:\s+[a-z][a-z-]*(?=\s|$))*)", own)
        script = " ".join([found[1], *(words[1].split() if words else ())])
        yield Call(step.where, script, frozenset(_FLAG.findall(own)))
        if handed:
            other = "scripts/warpgauge ab" if "--programs" in own else "scripts/bench"
            yield Call(step.where, other, frozenset(_FLAG.findall(handed)))
