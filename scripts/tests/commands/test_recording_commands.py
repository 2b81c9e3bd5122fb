# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci propose and scripts/warpgauge ci history as a workflow's step starts them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from warpgauge.system.environment import ROOT

REPOSITORY = ("--repository=somebody/project", "--run-id=1")
COMMANDS = (("propose", "--gpu=nvidia-h200", *REPOSITORY), ("history", "add", *REPOSITORY))


def ended(argv: Sequence[str], **environment: str) -> tuple[int, str]:
    """The exit status, and what stands on standard error."""
    command = [sys.executable, str(ROOT / "scripts" / "warpgauge"), "ci", *argv]
    own = {key: value for key, value in os.environ.items() if key != "GH_TOKEN"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**own, **environment}
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("argv", COMMANDS)
def test_without_a_token_one_sentence_says_so(argv: Sequence[str]) -> None:
    status, told = ended(argv)
    assert status == 2
    assert told.startswith(f"{argv[0]}: GH_TOKEN is empty")
    assert told.count("\n") == 1


@pytest.mark.parametrize("argv", COMMANDS)
def test_an_address_that_is_none_is_told_without_the_token(argv: Sequence[str]) -> None:
    status, told = ended(argv, GH_TOKEN="ghs_secret", GITHUB_API_URL="ftp://127.0.0.1")
    assert status == 2
    assert "GITHUB_API_URL" in told
    assert "ghs_secret" not in told
    assert told.count("\n") == 1
