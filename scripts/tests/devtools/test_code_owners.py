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
    return any(
        path.startswith(rule[1:]) if rule.endswith("/") else path == rule[1:] for rule in rules()
    )


def test_every_rule_is_a_plain_path_with_one_owner() -> None:
    for rule, owner in rules().items():
        assert re.fullmatch(r"/[A-Za-z0-9_./-]+", rule)
        assert (ROOT / rule[1:]).exists()
        assert rule.endswith("/") == (ROOT / rule[1:]).is_dir()
        assert re.fullmatch(r"@[a-z-]+/[a-z-]+", owner)


@pytest.mark.parametrize(
    ("path", "owned"),
    [
        (".github/CODEOWNERS", True),
        (".github/gpus.json", True),
        (".github/workflows/baseline.yml", True),
        ("baselines/policy.toml", True),
        ("baselines/new-model/new-family.json", True),
        ("requirements.lock", True),
        ("kernels/gemm.cu", False),
        ("README.md", False),
    ],
)
def test_what_could_soften_the_gate_has_an_owner_and_mere_code_under_test_none(
    path: str, owned: bool
) -> None:
    assert is_owned(path) == owned


def test_every_command_and_module_of_a_job_that_may_write_has_an_owner() -> None:
    steps = [str(step.get("run", "")) for job in jobs() if job.writes for step in job.steps]
    commands = {word for run in steps for word in re.findall(r"(?:\.ci|scripts)/[\w.-]+", run)}
    assert "scripts/warpgauge" in commands
    modules = (ROOT / "scripts" / "src" / "warpgauge").rglob("*.py")
    for path in [*commands, *(str(one.relative_to(ROOT)) for one in modules)]:
        assert is_owned(path), path
