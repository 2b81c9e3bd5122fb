# SPDX-License-Identifier: Apache-2.0
"""warpgauge baseline as a command: bad input is one sentence and status 2, and nothing is lost."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from baselines import Baselines
from warpgauge.baselines.store import Recorded
from warpgauge.system.errors import ExitStatus, UserError

SCRIPTS = Path(__file__).parents[2]


@pytest.fixture
def there(baselines: Baselines) -> Baselines:
    baselines.session(18)
    baselines.session(19)
    return baselines


def refused(there: Baselines, said: str, *argv: str) -> None:
    before = there.contents()
    with pytest.raises(UserError, match=re.escape(said)) as caught:
        there.command(*argv)
    assert caught.value.status is ExitStatus.BAD_USAGE
    assert str(caught.value).isprintable()
    assert there.contents() == before


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["add-session"], "the following arguments are required: RUN_FILE"),
        (["zzz"], "there is no command 'zzz': known are add-session"),
        (["prone"], "there is no command 'prone': did you mean 'prune'?"),
        (["show", "--row"], "unrecognized arguments: --row"),
        (["check", "\x1b[31m", "\x1b[31m"], "unrecognized arguments"),
    ],
)
def test_bad_usage_is_one_sentence(there: Baselines, argv: list[str], said: str) -> None:
    refused(there, said, *argv)


@pytest.mark.parametrize("argv", [["show"], ["check"], ["prune", "--removed=."]])
def test_a_run_file_is_no_baseline(there: Baselines, argv: list[str]) -> None:
    there.run_file(20).rename(there.folder / "run.json")
    said = "run.json is not a baseline but a run file; baseline add-session adds"
    refused(there, said, *argv)


def test_a_run_of_a_day_to_come_is_not_added(there: Baselines) -> None:
    path = there.run_file(22)
    sentence = (
        "run.json is not recorded: its date '2026-11-22T10:00:00+00:00' is in the future; set "
        "the clock that is wrong"
    )
    refused(there, sentence, "add-session", str(path))
    # Less than a day ahead: a date without a zone may be.
    assert there.command("add-session", str(there.run_file(21))) is ExitStatus.OK


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gone.json", "gone.json: cannot be read (No such file or directory)"),
        ("baselines/nvidia-test", "is not a regular file"),
        ("baselines/nvidia-test/sync.json", "it is a baseline; give a run file"),
        ("broken.json", "broken.json: is empty"),
    ],
)
def test_only_a_run_file_is_added(there: Baselines, name: str, said: str) -> None:
    (there.root / "broken.json").write_text("")
    refused(there, said, "add-session", name)


@pytest.mark.parametrize("turn", [1, 2])
def test_a_full_disk_loses_no_byte(
    there: Baselines, monkeypatch: pytest.MonkeyPatch, turn: int
) -> None:
    calls = iter(range(1, 10))

    def full(descriptor: int) -> None:
        if next(calls) == turn:
            raise OSError(28, "No space left on device")

    path = there.run_file(20)
    monkeypatch.setattr(os, "fsync", full)
    refused(there, "(No space left on device); nothing was changed", "add-session", str(path))


def test_a_fault_is_one_line_of_the_command_and_no_traceback() -> None:
    command = [sys.executable, str(SCRIPTS / "warpgauge"), "baseline", "show", "no\x1b[1m"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("baseline: 'no\\x1b[1m' is neither a path nor a GPU in ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--removed", "--session"])
def test_a_baseline_file_that_is_a_link_is_not_changed(there: Baselines, option: str) -> None:
    """A rename would replace the link, and what it leads to would stay as it was."""
    key = there.session(20)
    prune = ("prune", option, {"--removed": "sync/c", "--session": key}[option])
    kept = there.root / "elsewhere.json"
    link = there.folder / "sync.json"
    link.replace(kept)
    link.symlink_to(kept)
    refused(there, "sync.json is a link: replace it", *prune)
    assert link.is_symlink()
    with pytest.raises(UserError, match="is a link"):
        there.session(21)


def test_an_interrupt_behind_the_last_file_says_that_all_were_changed(
    there: Baselines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recorded, "lines", Mock(side_effect=KeyboardInterrupt))
    before = there.contents()
    with pytest.raises(KeyboardInterrupt, match="after all files were changed"):
        there.command("add-session", str(there.run_file(20)))
    assert there.contents() != before


def test_a_baseline_that_a_kill_left_half_changed_is_read_as_it_is(there: Baselines) -> None:
    """Reading repairs nothing; git and `check` show what happened, and adding again completes."""
    path = there.run_file(20)
    sync = there.folder / "sync.json"
    old = sync.read_bytes()
    there.command("add-session", str(path))
    complete = there.contents()
    sync.write_bytes(old)
    (there.folder / ".warpgauge-killed.new").write_bytes(b"half of")
    half = there.contents()
    there.output()
    assert there.command("show", "baselines") is ExitStatus.OK
    assert there.command("check") is ExitStatus.NOT_MEASURED
    assert "session, 2026-11-20-664bc6b2, has no time of 'sync/c'" in there.flat()
    assert there.contents() == half
    there.command("add-session", str(path))
    (there.folder / ".warpgauge-killed.new").unlink()
    assert there.contents() == complete
