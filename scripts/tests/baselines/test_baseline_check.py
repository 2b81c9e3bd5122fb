# SPDX-License-Identifier: Apache-2.0
"""warpgauge baseline check: all is well, or every reason why it is not."""

from __future__ import annotations

import pytest

import fake_binary
from baselines import NAMES, STEADY, Baselines
from builders import context, write
from warpgauge.system import environment
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict import staleness


def warned(there: Baselines, *expected: str, argv: tuple[str, ...] = ()) -> str:
    """check warns of exactly these, in this order; all that it printed, on one line."""
    status = there.command("check", *argv)
    shown = there.output()
    _, *warnings = f"\n{shown}".split("\n  warning: ")
    flat = [" ".join(warning.split()) for warning in warnings]
    assert len(flat) == len(expected), flat
    for warning, part in zip(flat, expected, strict=True):
        assert part in warning
    assert status is (ExitStatus.NOT_MEASURED if expected else ExitStatus.OK)
    return " ".join(shown.split())


def built(there: Baselines, *names: str) -> None:
    families: dict[str, dict[str, float]] = {}
    for name in names:
        families.setdefault(name.split("/")[0], {})[name] = 1.0
    for family, times in families.items():
        fake_binary.make(there.root / "build/release", family, times)


def told_by_a_run(**changed: str) -> dict[str, str]:
    return {key: str(value) for key, value in context(**changed).items()}


def test_a_good_baseline_has_no_warnings(baselines: Baselines) -> None:
    baselines.session(18, gpu_uuid="GPU-2")
    baselines.session(19)
    built(baselines, *NAMES)
    assert baselines.command("check") is ExitStatus.OK
    lines = baselines.output().splitlines()
    assert lines == [
        "NVIDIA Test · baselines/nvidia-test · 2 sessions of 2 GPUs · 3 benchmarks",
        "no warnings",
    ]


def test_an_old_baseline_is_warned_of(
    baselines: Baselines, monkeypatch: pytest.MonkeyPatch
) -> None:
    baselines.session(10)
    built(baselines, *NAMES)
    warned(baselines)
    monkeypatch.setattr(staleness, "STALE_DAYS", 9)
    warned(baselines, "is 10 days old")


def test_a_newest_session_in_the_future_is_warned_of(baselines: Baselines) -> None:
    baselines.session(26)
    warned(baselines, "newest session, 2026-11-26-")


def test_a_benchmark_that_is_gone_or_new_is_warned_of(baselines: Baselines) -> None:
    baselines.session(19)
    built(baselines, *NAMES[1:], "gemm/new")
    warned(
        baselines,
        "in the baseline but no longer in the build: 'memcpy/a'",
        "in the build but not in the baseline: 'gemm/new'",
    )


def test_a_program_that_cannot_list_says_nothing_of_its_family(baselines: Baselines) -> None:
    baselines.session(19)
    built(baselines, "memcpy/a", "memcpy/b")
    folder = baselines.root / "build/release"
    fake_binary.make(folder, "sync", listing_fault="libcuda.so.1: cannot open")
    shown = warned(baselines)
    assert "does not list sync (bench_sync cannot list" in shown


def test_what_is_new_of_the_full_suite_is_recorded_with_it(baselines: Baselines) -> None:
    baselines.session(19)
    baselines.edit("memcpy", '"name": "memcpy/a"', '"name": "memcpy/a", "full_suite": 1')
    built(baselines, "sync/c")
    times = {"memcpy/a": 1.0, "memcpy/b": 1.0, "memcpy/new": 1.0}
    full_suite = ["memcpy/a", "memcpy/new"]
    fake_binary.make(baselines.root / "build/release", "memcpy", times, full_suite=full_suite)
    warned(
        baselines, f"'memcpy/new'; {environment.started('bench --record')} --suite=full adds them"
    )


def test_a_baseline_holds_what_is_for_its_number_of_gpus(baselines: Baselines) -> None:
    baselines.session(19)
    built(baselines, *NAMES)
    folder = baselines.root / "build/release"
    fake_binary.make(folder, "ring", needs=2)
    warned(baselines)
    for family in ("memcpy", "sync"):
        uuid = '"gpu_uuid": "'
        baselines.edit(family, uuid, f"{uuid}GPU-0,")
    record = environment.started("bench --record")
    warned(baselines, f"('ring/one', 'ring/two'); {record} --device 0,1 adds them")


def test_a_build_without_nvcc_says_nothing_of_gpu_benchmarks(baselines: Baselines) -> None:
    baselines.session(19)
    built(baselines, "host/copy")
    shown = warned(baselines, "in the build but not in the baseline: 'host/copy'")
    assert "does not list memcpy, sync" in shown


def test_a_family_that_lacks_a_session_is_warned_of(baselines: Baselines) -> None:
    for day in (17, 18, 19):
        baselines.session(day)
        if day == 18:
            kept = (baselines.folder / "sync.json").read_bytes()
    (baselines.folder / "sync.json").write_bytes(kept)
    warned(baselines, "has no time of 'sync/c'")


def test_a_family_that_began_later_is_no_fault(baselines: Baselines) -> None:
    baselines.session(18)
    (baselines.folder / "sync.json").unlink()
    baselines.session(19)
    warned(baselines)


def test_names_of_folders_and_files_that_are_wrong_are_warned_of(baselines: Baselines) -> None:
    baselines.session(19)
    (baselines.folder / "sync.json").rename(baselines.folder / "mine.json")
    baselines.folder.rename(baselines.folder.parent / "nvidia-h100")
    warned(
        baselines,
        "the folder is not named after 'NVIDIA Test'",
        "mine.json holds the family 'sync': name the file after its family",
    )


def test_sessions_and_rows_that_would_not_be_recorded_are_warned_of(baselines: Baselines) -> None:
    spoilt = told_by_a_run(build_type="Debug", inject="sync=2", dirty="true", filter="sync")
    rows = [baselines.row("sync/a", s=STEADY, t=STEADY)]
    rows += [baselines.row("sync/b", s=STEADY[:4], t=STEADY)]
    baselines.written("sync", rows, {"s": told_by_a_run(), "t": spoilt})
    warned(
        baselines,
        "session s: 'sync/b': fewer than 5 processes",
        "session t: its build type is 'Debug'",
        "session t: the working tree had uncommitted changes",
        "session t: extra work was injected",
        "session t: only part of the suite was measured",
    )


def test_a_baseline_that_cannot_be_read_is_an_error(baselines: Baselines) -> None:
    baselines.session(19)
    write(baselines.root / "baselines" / "broken" / "sync.json", {}).write_text("{")
    with pytest.raises(UserError, match=r"broken/sync\.json: ends in the middle") as caught:
        baselines.command("check")
    assert caught.value.status is ExitStatus.BAD_USAGE
