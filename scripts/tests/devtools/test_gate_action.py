# SPDX-License-Identifier: Apache-2.0
"""The composite action hands on what another repository's workflow gives it, and nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import shell
import workflows
from warpgauge.commands.ci import gate
from warpgauge.system.environment import ROOT
from workflows import Step

GIVEN = {"BASE": "a b", "CANDIDATE": "$(touch x)", "OUT": "out", "GPU": "h 1"}
HANDED_ON = ["ci", "gate", "--programs", "a b", "$(touch x)", "--out-dir", "out", "--gpu=h 1",
             "--"]  # fmt: skip
# What an option is made of, unless the input is empty.
OPTIONAL = {
    "BUDGET": ["--budget=5 m"],
    "POLICY": ["--policy=my policy.toml"],
    "BASE_POLICY": ["--base-policy=its policy.toml"],
}


def step() -> Step:
    (one,) = [one for one in workflows.run_steps() if one.where.startswith("actions/gate/")]
    return one


def arguments(tmp_path: Path, **environment: str) -> list[str]:
    """What the action's step gives to the gate."""
    fake = shell.script(tmp_path / "warpgauge", "printf '%s\\n' \"$@\"\nexit 3")
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step().run]  # as GitHub's
    told = {"PATH": os.environ["PATH"], "WARPGAUGE": str(fake), **GIVEN, **environment}
    done = subprocess.run(bash, capture_output=True, text=True, env=told, cwd=tmp_path, check=False)
    assert done.returncode == 3  # the gate's own
    assert sorted(path.name for path in tmp_path.iterdir()) == ["warpgauge"]
    return done.stdout.splitlines()


@pytest.mark.parametrize("value", ["-^x y", "", "x; touch y"])
@pytest.mark.parametrize("name", ["", *OPTIONAL])
def test_every_input_is_handed_on_as_it_is_and_the_gate_understands_it(
    tmp_path: Path, value: str, name: str
) -> None:
    further = OPTIONAL.get(name, [])
    found = arguments(
        tmp_path, FILTER=value, **({name: further[0].partition("=")[2]} if name else {})
    )
    assert found == [*HANDED_ON, f"--filter={value}", *further]
    options = gate.parse(found[2:])
    assert options.programs == ["a b", "$(touch x)"]
    assert options.further == (f"--filter={value}", *further)


def test_both_commits_are_handed_on_and_nothing_is_where_none_is_given(tmp_path: Path) -> None:
    found = arguments(tmp_path, BASE_COMMIT="a" * 40, CANDIDATE_COMMIT="b c", GPU="")
    assert found[-3:] == ["--commits", "a" * 40, "b c"]


def test_it_calls_the_gate_that_it_came_with_and_every_input_reaches_it() -> None:
    here = workflows.GITHUB / "actions" / "gate"
    named = step().env["WARPGAUGE"].replace("${{ github.action_path }}", str(here))
    assert Path(named).resolve() == ROOT / "scripts" / "warpgauge"
    inputs = workflows.parsed((here / "action.yml").read_text())["inputs"]
    used = {value for value in step().env.values() if "inputs." in value}
    assert used == {f"${{{{ inputs.{name} }}}}" for name in inputs}
    for name, given in inputs.items():
        assert given.get("required") or "default" in given, name


def test_its_outputs_are_those_that_the_gate_writes() -> None:
    action = workflows.parsed((workflows.GITHUB / "actions" / "gate" / "action.yml").read_text())
    (gates,) = action["runs"]["steps"]
    told = {name: one["value"] for name, one in action["outputs"].items()}
    assert told.keys() == {"verdict", "worst", "exit-status", "report"}
    for name, value in told.items():
        assert value == f"${{{{ steps.{gates['id']}.outputs.{name} }}}}"
