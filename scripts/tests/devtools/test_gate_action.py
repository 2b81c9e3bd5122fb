# SPDX-License-Identifier: Apache-2.0
"""The composite action hands on what another repository's workflow gives it, and nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import workflows
from warpgauge.commands.ci import gate
from warpgauge.system.environment import ROOT
from workflows import Step

GIVEN = {"BASE": "a b", "CANDIDATE": "$(touch x)", "OUT": "out", "PROCESSES": "7",
         "FILTER": "-^x y"}  # fmt: skip
HANDED_ON = ["ci", "gate", "--programs", "a b", "$(touch x)", "--out-dir", "out", "--",
             "--processes=7"]  # fmt: skip


def step() -> Step:
    (one,) = [one for one in workflows.run_steps() if one.where.startswith("actions/gate/")]
    return one


def arguments(tmp_path: Path, **environment: str) -> list[str]:
    """What the action's step gives to the gate."""
    fake = tmp_path / "warpgauge"
    fake.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit 3\n")
    fake.chmod(0o755)
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step().run]  # as GitHub's
    told = {"PATH": os.environ["PATH"], "WARPGAUGE": str(fake), **GIVEN, **environment}
    done = subprocess.run(
        shell, capture_output=True, text=True, env=told, cwd=tmp_path, check=False
    )
    assert done.returncode == 3  # the gate's own
    assert sorted(path.name for path in tmp_path.iterdir()) == ["warpgauge"]
    return done.stdout.splitlines()


@pytest.mark.parametrize("value", ["-^x y", "", "x; touch y"])
@pytest.mark.parametrize("policy", [["--policy=my policy.toml"], []])
def test_every_input_is_handed_on_as_it_is_and_the_gate_understands_it(
    tmp_path: Path, value: str, policy: list[str]
) -> None:
    path = policy[0].removeprefix("--policy=") if policy else ""
    found = arguments(tmp_path, POLICY=path, FILTER=value)
    assert found == [*HANDED_ON, f"--filter={value}", *policy]
    options = gate.parse(found[2:])
    assert options.programs == [Path("a b"), Path("$(touch x)")]
    assert options.further == ("--processes=7", f"--filter={value}", *policy)


def test_it_calls_the_gate_that_it_came_with_and_every_input_reaches_it() -> None:
    here = workflows.GITHUB / "actions" / "gate"
    named = step().env["WARPGAUGE"].replace("${{ github.action_path }}", str(here))
    assert Path(named).resolve() == ROOT / "scripts" / "warpgauge"
    inputs = workflows.parsed((here / "action.yml").read_text())["inputs"]
    used = {value for value in step().env.values() if "inputs." in value}
    assert used == {f"${{{{ inputs.{name} }}}}" for name in inputs}
    for name, given in inputs.items():
        assert given.get("required") or "default" in given, name
