# SPDX-License-Identifier: Apache-2.0
"""--no-build measures the programs that are there, and says what they were built from."""

from __future__ import annotations

import json
import os

import pytest

import fake_binary
from clone import HOST_TIMES, TIMES, GitRepository
from warpgauge.execution import machine_context
from warpgauge.system.errors import UserError

SUITE = {"host": HOST_TIMES, "sync": TIMES}


def measured(clone: GitRepository) -> tuple[str, str]:
    """Commit and state that the newest run file names."""
    newest = max(clone.runs(), key=lambda path: path.stat().st_mtime_ns)
    context = json.loads(newest.read_text())["context"]
    return context["commit"], context["dirty"]


def test_programs_of_this_very_tree_need_no_word(clone: GitRepository) -> None:
    head = clone.commit(SUITE)
    clone.bench("--quick")
    clone.output()
    clone.bench("--quick", "--no-build")
    assert "--no-build" not in clone.output()[1]
    assert measured(clone) == (head, "false")


def test_programs_of_another_commit_go_by_their_own(clone: GitRepository) -> None:
    built = clone.commit(SUITE)
    clone.bench("--quick")
    head = clone.commit(SUITE)
    clone.output()
    clone.bench("--quick", "--no-build")
    assert (
        f"--no-build: the programs were built from commit {built[:10]}, and this tree is at commit "
        f"{head[:10]}. What is measured goes by the programs;"
    ) in clone.output()[1]
    assert measured(clone) == (built, "false")


def test_programs_with_changes_stay_so_when_the_changes_are_gone(clone: GitRepository) -> None:
    head = clone.commit(SUITE)
    clone.write({**SUITE, "sync": {"sync/idle": 3.0}})
    clone.bench("--quick")
    clone.write(SUITE)
    clone.bench("--quick", "--no-build")
    assert f"from commit {head[:10]} with changes" in clone.output()[1]
    assert measured(clone) == (head, "true")


def test_programs_that_somebody_built_since_are_of_no_known_commit(clone: GitRepository) -> None:
    clone.commit(SUITE)
    clone.bench("--quick")
    program = fake_binary.make(clone.built, "sync", TIMES)
    later = program.stat().st_mtime_ns + 10**9
    os.utime(program, ns=(later, later))
    head = clone.commit(SUITE)
    clone.bench("--quick", "--no-build")
    assert "--no-build: nothing tells which commit" in clone.output()[1]
    assert measured(clone) == (head, "false")


def test_a_build_that_breaks_off_leaves_programs_of_no_known_commit(clone: GitRepository) -> None:
    clone.commit(SUITE)
    clone.bench("--quick")
    clone.commit({"sync": {}})  # does not build
    with pytest.raises(UserError):
        clone.bench("--quick")
    assert machine_context.known(clone.root) is None


@pytest.mark.parametrize("text", ["", "[]", '{"commit": 1, "dirty": ""}', '{"commit": ""}', "\xff"])
def test_what_is_no_note_tells_nothing(clone: GitRepository, text: str) -> None:
    machine_context.keep(clone.root, {"commit": "c", "dirty": "false"})
    (path,) = (clone.root / "build" / "release").glob("built-from.json")
    path.write_bytes(text.encode("latin-1"))
    assert machine_context.known(clone.root) is None
