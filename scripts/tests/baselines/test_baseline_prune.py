# SPDX-License-Identifier: Apache-2.0
"""warpgauge baseline prune: what goes is told, and nothing is left that is no baseline."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines import STEADY, Baselines
from builders import failed
from warpgauge.baselines.store import surplus
from warpgauge.records.load import load
from warpgauge.records.model import Session
from warpgauge.system.errors import ExitStatus, UserError


@pytest.fixture
def there(baselines: Baselines) -> Baselines:
    """Three sessions, of 3, 2 and 1 days ago."""
    for day in (17, 18, 19):
        baselines.session(day)
    return baselines


def refused(there: Baselines, said: str, *argv: str) -> None:
    before = there.contents()
    with pytest.raises(UserError, match=re.escape(said)) as caught:
        there.command("prune", *argv)
    assert caught.value.status is ExitStatus.BAD_USAGE
    assert there.contents() == before


def test_a_session_goes_by_its_key(there: Baselines) -> None:
    (key,) = [key for key in load(there.folder).sessions if key.startswith("2026-11-18")]
    assert there.command("prune", "--session", key) is ExitStatus.OK
    assert there.days("memcpy") == there.days("sync") == ["17", "19"]
    shown = there.output()
    assert f"removes session {key} (2026-11-18, 2 days ago; GPU-1)" in shown
    assert "pruned: " in shown
    assert "sync.json" in shown


def test_removed_benchmarks_go_and_the_others_keep_their_lines(there: Baselines) -> None:
    before = there.contents()
    there.command("prune", "--removed", "memcpy/a")
    assert there.names("memcpy") == ["memcpy/b"]
    after = there.contents()
    path = "baselines/nvidia-test/memcpy.json"
    assert set(after[path].splitlines()) < set(before[path].splitlines())
    assert after["baselines/nvidia-test/sync.json"] == before["baselines/nvidia-test/sync.json"]
    assert "removes benchmark memcpy/a" in there.output()


def test_a_family_without_a_benchmark_loses_its_file(there: Baselines) -> None:
    there.command("prune", "--removed", "^sync/")
    assert list(there.contents()) == ["baselines/nvidia-test/memcpy.json"]
    assert "deletes sync.json" in there.output()


def test_every_baseline_is_pruned_unless_one_is_named(there: Baselines) -> None:
    there.session(17, gpu_name="NVIDIA Other")
    there.command("prune", "--removed=memcpy/a", "nvidia-other")
    assert there.names("memcpy") == ["memcpy/a", "memcpy/b"]
    there.command("prune", "--removed=memcpy/b")
    assert there.names("memcpy") == ["memcpy/a"]
    assert "baselines/nvidia-other/memcpy.json" not in there.contents()


def test_a_benchmark_does_not_lose_its_last_session_unasked(there: Baselines) -> None:
    key = next(iter(load(there.folder).sessions))
    text = (there.folder / "sync.json").read_text()
    kept = re.sub(r'"2026-11-1[89]-\w+": \[[^]]*\],? ?', "", text).replace("], }", "]}")
    (there.folder / "sync.json").write_text(kept)
    assert list(load(there.folder).rows["sync/c"].process_medians) == [key]
    refused(there, "nvidia-test would have no session of 'sync/c'", "--session", key)
    there.command("prune", "--session", key, "--removed", "sync/c")
    assert list(there.contents()) == ["baselines/nvidia-test/memcpy.json"]


def test_a_session_whose_benchmarks_all_go_is_told_to_go_too(baselines: Baselines) -> None:
    rows = [baselines.row("sync/a", s=STEADY), baselines.row("sync/b", t=STEADY)]
    baselines.written("sync", rows, {"s": {}, "t": {}})
    baselines.command("prune", "--removed=sync/b")
    assert "removes session t (undated" in baselines.output()
    assert list(load(baselines.folder).sessions) == ["s"]


def test_a_failed_row_is_named_before_its_file_is_written_anew(baselines: Baselines) -> None:
    baselines.written("sync", [baselines.row("sync/a", s=STEADY, t=STEADY), failed("sync/b")],
                      {"s": {}, "t": {}})  # fmt: skip
    refused(baselines, "would have no session of 'sync/b'", "--session=t")
    baselines.command("prune", "--session=t", "--removed=sync/b")
    assert baselines.names("sync") == ["sync/a"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "--session or --removed"),
        (["--removed=."], "nvidia-test would remain"),
        (["--removed=memcpy/a", "baselines/nvidia-test/sync.json"], "is one file of a baseline"),
        (["--session=2026-01-01-0"], "there is no session '2026-01-01-0'; there are 2026-11-17-"),
        (["--removed=nothing"], "--removed 'nothing' matches no benchmark"),
        (["--removed=("], "--removed '(' is not a valid regular expression"),
        (["--removed=.", "nvidia-h100"], "'nvidia-h100' is neither a path nor a GPU in"),
    ],
)
def test_what_cannot_be_meant_is_refused(there: Baselines, argv: list[str], said: str) -> None:
    refused(there, said, *argv)


def test_a_read_only_folder_changes_nothing(
    there: Baselines, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open

    def denied(path: Path, mode: str = "r", **keywords: str) -> object:
        if mode not in ("r", "rb"):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, mode, **keywords)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", denied)
    refused(
        there, "memcpy.json cannot be written (Permission denied); nothing", "--removed=memcpy/a"
    )


def test_what_is_removed_is_listed(there: Baselines) -> None:
    oldest = next(iter(load(there.folder).sessions))
    there.command("prune", f"--session={oldest}", "--removed=^sync/")
    shown = there.output()
    assert "removes session 2026-11-17" in shown
    assert "deletes sync.json" in shown


def sessions(gpus: str) -> list[Session]:
    """A session a letter, oldest first, the letter its GPU."""
    return [
        Session(f"{day:02}{gpu}", {"gpu_uuid": gpu, "date": f"2026-11-{day + 1:02}T00:00:00+00:00"})
        for day, gpu in enumerate(gpus)
    ]


def dropped(gpus: str, keep: int = 3, staying: str = "") -> list[str]:
    return [session.key for session in surplus(sessions(gpus), staying, keep)]


@pytest.mark.parametrize(
    ("gpus", "staying", "gone"),
    [
        *(("aab", "", []), ("abbc", "", ["01b"])),
        *(("abcd", "", ["00a"]), ("baba", "", ["00b"])),
        *(("abcd", "00a", ["01b"]), ("aabc", "00a", ["01a"])),
    ],
)
def test_the_oldest_of_the_gpu_with_most_sessions_goes_but_not_the_one_that_was_asked_for(
    gpus: str, staying: str, gone: list[str]
) -> None:
    assert dropped(gpus, staying=staying) == gone


@given(st.text("abcd", min_size=1, max_size=12), st.integers(1, 6))
def test_as_many_gpus_stay_as_can(gpus: str, keep: int) -> None:
    gone = dropped(gpus, keep)
    left = [session for session in sessions(gpus) if session.key not in gone]
    assert len(left) == min(keep, len(gpus))
    assert len({session.gpu_uuid for session in left}) == min(keep, len(set(gpus)))
