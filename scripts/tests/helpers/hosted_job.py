# SPDX-License-Identifier: Apache-2.0
"""A job of a workflow, run here as GitHub would: expressions, steps, actions, outputs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import workflows
from hosted_repository import git
from warpgauge.system.environment import ROOT

OURS = "warpgauge/warpgauge"
_EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")
_TOKEN = re.compile(r"'[^']*'|[a-zA-Z_][\w-]*(?:\.[\w-]+)+|\|\||&&|!(?!=)")
_WORDS = {"||": " or ", "&&": " and ", "!": " not "}


@dataclass
class HostedJob:
    """`folder` is the workspace, `project` what is checked out, `known` the contexts' values.

    What no step, input or context names is empty, as on GitHub.
    """

    folder: Path
    project: Path
    known: dict[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)
    before: Mapping[str, Any] = field(default_factory=dict)  # what is done ahead of a step's name
    failed: bool = False
    uploaded: dict[str, Path] = field(default_factory=dict)
    log: str = ""

    def run(self, job: Mapping[str, Any]) -> dict[str, str]:
        """Its outputs; `failed` tells how it ended."""
        self.folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self._temporary, ignore_errors=True)
        self._temporary.mkdir()
        self.known |= {
            "github.workspace": str(self.folder), "github.repository": "somebody/library",
            "job.workflow_repository": OURS, "job.workflow_sha": "0" * 40,
        }  # fmt: skip
        self._steps(job["steps"])
        return {name: self.filled(value) for name, value in job.get("outputs", {}).items()}

    def value(self, expression: str) -> Any:  # noqa: ANN401
        """What GitHub makes of it."""

        def word(found: re.Match[str]) -> str:
            text = found[0]
            if text in _WORDS or text.startswith("'"):
                return _WORDS.get(text, text)
            return repr(self.known.get(text, ""))

        functions = {
            "format": str.format, "toJSON": json.dumps, "always": lambda: True,
            "cancelled": lambda: False, "success": lambda: not self.failed,
            "contains": lambda found, one: one in found,
        }  # fmt: skip
        return eval(_TOKEN.sub(word, expression).strip(), functions)

    def filled(self, text: str) -> str:
        return _EXPRESSION.sub(lambda found: str(self.value(found[1])), str(text))

    @property
    def _temporary(self) -> Path:
        return self.folder.with_name("temporary")

    def _steps(self, steps: list[Mapping[str, Any]]) -> None:
        for step in steps:
            condition = step.get("if", "success()")
            bare = condition.removeprefix("${{ ").removesuffix(" }}")
            implied = not re.search(r"always\(\)|cancelled\(\)|success\(\)", bare)
            if (implied and self.failed) or not self.value(bare):
                continue
            if prepare := self.before.get(step.get("name", "")):
                prepare()
            given = {key: self.filled(one) for key, one in step.get("with", {}).items()}
            found = self._shell(step) if "run" in step else self._action(step, given)
            for name, one in found.items():
                self.known[f"steps.{step.get('id', '')}.outputs.{name}"] = one

    def _shell(self, step: Mapping[str, Any]) -> dict[str, str]:
        outputs = self.folder.with_name("outputs")
        outputs.write_text("")
        variables = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_ACTIONS": "true",
            "GITHUB_OUTPUT": str(outputs),
            "RUNNER_TEMP": str(self._temporary),
            **{name: self.filled(one) for name, one in step.get("env", {}).items()},
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder,
            env={**os.environ, **self.environment, **variables},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        self.log += done.stdout
        self.failed |= done.returncode != 0
        return workflows.outputs(outputs)

    def _action(self, step: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
        uses = step["uses"]
        if uses.startswith(("./", f"{OURS}@")):
            action = self.folder / uses if uses.startswith("./") else ROOT
            variables = {name: self.filled(one) for name, one in step.get("env", {}).items()}
            return self._composite(action, given, variables)
        if uses.startswith("actions/upload-artifact@"):
            path = self.folder / given["path"]
            alone = given.get("archive") == "False"
            name = path.name if alone else given["name"]
            if alone and not path.is_file():
                return {}
            self.uploaded[name] = path
            return {"artifact-url": f"https://github.com/artifacts/{name}"}
        assert uses.startswith("actions/checkout@"), uses
        target = self.folder / given.get("path", ".")
        if given.get("repository") == OURS:
            target.symlink_to(ROOT)
        else:
            git(self.folder, "clone", "--quiet", "--no-checkout", str(self.project), str(target))
            git(target, "checkout", "--quiet", "--detach", given["ref"])
        return {}

    def _composite(
        self, action: Path, given: Mapping[str, str], variables: Mapping[str, str]
    ) -> dict[str, str]:
        told = workflows.parsed((action / "action.yml").read_text())
        assert given.keys() <= told["inputs"].keys()
        inputs = {name: given.get(name, one.get("default")) for name, one in told["inputs"].items()}
        known = {name: one for name, one in self.known.items() if name.startswith("github.")}
        known |= {f"inputs.{name}": one for name, one in inputs.items()}
        known["github.action_path"] = str(action)
        environment = {**self.environment, **variables}
        inner = HostedJob(self.folder, self.project, known, environment)
        inner._steps(told["runs"]["steps"])
        self.failed, self.log = inner.failed, self.log + inner.log
        return {name: inner.filled(one["value"]) for name, one in told["outputs"].items()}
