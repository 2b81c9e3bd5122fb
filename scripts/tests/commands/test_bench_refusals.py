# SPDX-License-Identifier: Apache-2.0
"""What scripts/bench refuses, in one sentence and before it measures."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from clone import Repository
from warpgauge.system.errors import ExitStatus, UserError

SCRIPTS = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--device", "3"], "there is no device 3"),
        (
            ["--filter", "nothing_like_it"],
            "no benchmark matches --filter 'nothing_like_it'",
        ),
        (["--filter", "sink"], "no benchmark matches --filter 'sink'"),
        (["--filter", "sync/busi"], "'sync/busi': did you mean 'sync/busy'?"),
        (["--filter", "("], "no regular expression"),
        (["--inject", "nothing_like_it=2"], "matches --inject 'nothing_like_it'"),
        (["--inject", "all=2"], "no benchmark that will run matches --inject 'all'"),
        (["--inject=-sync=2"], "no benchmark that will run matches --inject '-sync'"),
        (
            ["--inject", "sync=2", "--filter", "host"],
            "that will run matches --inject 'sync'",
        ),
        (["--inject", "(=2"], "--inject '(' is no regular expression"),
        (["--filter", "[[:alpha:]]"], "means one thing to Python and another"),
        (["--inject", "[[:digit:]]=2"], "means one thing to Python and another"),
        ([r"--filter=-\d"], r"'\d': '\d' means one thing to Python and another"),
        (["--filter", r"\.x"], r"no benchmark matches --filter '\.x'"),
        ([r"--inject=\.x=2"], r"no benchmark that will run matches --inject '\.x'"),
        (["--baseline", "gone.json"], "gone.json"),
    ],
)
def test_bad_usage_is_told_before_anything_is_measured(
    repository: Repository, argv: list[str], said: str
) -> None:
    with pytest.raises(UserError, match=re.escape(said)) as caught:
        repository.bench(*argv)
    assert caught.value.status is ExitStatus.BAD_USAGE
    assert not repository.runs()


def test_a_fault_is_one_sentence_of_the_command_and_no_traceback() -> None:
    command = [sys.executable, str(SCRIPTS / "bench"), "--no-build", "--baseline", "gone.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == ExitStatus.BAD_USAGE
    assert done.stderr.startswith("bench: gone.json: cannot be read")
    assert done.stderr.count("\n") == 1


def test_a_truncated_baseline_is_told_before_anything_is_measured(repository: Repository) -> None:
    path = repository.root / "base.json"
    path.write_text('{"context": {')
    with pytest.raises(UserError, match="breaks off"):
        repository.bench("--baseline", str(path))
    assert not repository.runs()


def test_programs_that_cannot_run_are_told_and_not_called_unmatched(repository: Repository) -> None:
    for family in ("host", "sync"):
        repository.binary(family, listing_fault="libstdc++.so.6: cannot open")
    said = r"nothing can be measured: bench_host cannot list .*: libstdc\+\+\.so\.6: cannot open"
    with pytest.raises(UserError, match=said) as caught:
        repository.bench()
    assert caught.value.status is ExitStatus.NOT_MEASURED
    said = "nothing of --filter 'sync' can be measured: bench_host cannot list"
    with pytest.raises(UserError, match=said):
        repository.bench("--filter", "sync")
