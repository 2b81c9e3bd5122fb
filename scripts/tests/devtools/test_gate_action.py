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

GIVEN = {
    "BASE": "a b",
    "CANDIDATE": "$(touch x)",
    "OUT": "out",
    "PROCESSES": "7",
    "FILTER": "-^x y",
}
HANDED_ON = [
    "ci",
    "gate",
    "--programs",
    "a b",
    "$(touch x)",
    "--out-dir",
    "out",
    "--",
    "--processes=7",
]


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


def test_every_input_is_handed_on_as_it_is(tmp_path: Path) -> None:
    found = arguments(tmp_path, POLICY="my policy.toml")
    assert found == [*HANDED_ON, "--filter=-^x y", "--policy=my policy.toml"]


@pytest.mark.parametrize("value", ["", "x; touch y"])
def test_without_a_policy_none_is_named(tmp_path: Path, value: str) -> None:
    found = arguments(tmp_path, POLICY="", FILTER=value)
    assert found == [*HANDED_ON, f"--filter={value}"]


def test_the_gate_understands_it(tmp_path: Path) -> None:
    options = gate.parse(arguments(tmp_path, POLICY="p.toml")[2:])
    assert options.programs == (Path("a b"), Path("$(touch x)"))
    assert options.further == ("--processes=7", "--filter=-^x y", "--policy=p.toml")


def test_it_calls_the_gate_that_it_came_with() -> None:
    told = step().env
    place = "${{ github.action_path }}"
    assert told["WARPGAUGE"].startswith(f"{place}/")
    here = workflows.GITHUB / "actions" / "gate"
    named = here / told["WARPGAUGE"].removeprefix(f"{place}/")
    assert named.resolve() == ROOT / "scripts" / "warpgauge"


def test_every_input_reaches_the_step() -> None:
    action = workflows.parsed((workflows.GITHUB / "actions" / "gate" / "action.yml").read_text())
    used = {value for value in step().env.values() if "inputs." in value}
    assert used == {f"${{{{ inputs.{name} }}}}" for name in action["inputs"]}
    for name, told in action["inputs"].items():
        assert told.get("required") or "default" in told, name
