# SPDX-License-Identifier: Apache-2.0
"""Whatever decides a verdict, or runs with a token that may write, has an owner."""

from __future__ import annotations

import re

import pytest

from warpgauge.system.environment import ROOT
from workflows import jobs

OWNERS = ROOT / ".github" / "CODEOWNERS"


def rules() -> dict[str, str]:
    lines = [line.split() for line in OWNERS.read_text().splitlines()]
    return {words[0]: words[1] for words in lines if words and words[0] != "#"}


def is_owned(path: str) -> bool:
    """Every rule is a file, or a folder and all in it, from the root on (see below)."""
    return any(path == rule[1:] or (rule[-1] == "/" and path.startswith(rule[1:]))
               for rule in rules())  # fmt: skip


def test_every_rule_is_a_plain_path_with_one_owner() -> None:
    for rule, owner in rules().items():
        assert re.fullmatch(r"/[A-Za-z0-9_./-]+", rule)
        assert rule.endswith("/") == (ROOT / rule[1:]).is_dir()
        assert (ROOT / rule[1:]).exists()
        assert re.fullmatch(r"@[a-z-]+/[a-z-]+", owner)


@pytest.mark.parametrize(
    "path",
    [
        ".github/CODEOWNERS",
        ".github/gpus.json",
        ".github/workflows/baseline.yml",
        "baselines/policy.toml",
        "baselines/new-model/new-family.json",
        "requirements.lock",
    ],
)
def test_what_a_pull_request_could_soften_the_gate_with_has_an_owner(path: str) -> None:
    assert is_owned(path)


def test_every_command_and_module_of_a_job_that_may_write_has_an_owner() -> None:
    steps = [str(step.get("run", "")) for job in jobs() if job.writes for step in job.steps]
    commands = {word for run in steps for word in re.findall(r"(?:\.ci|scripts)/[\w.-]+", run)}
    assert "scripts/warpgauge" in commands
    modules = (ROOT / "scripts" / "src" / "warpgauge").rglob("*.py")
    for path in [*commands, *(str(one.relative_to(ROOT)) for one in modules)]:
        assert is_owned(path), path


def test_what_is_no_more_than_code_under_test_has_no_owner() -> None:
    assert not is_owned("kernels/gemm.cu")
    assert not is_owned("README.md")
