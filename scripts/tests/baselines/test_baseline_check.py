# SPDX-License-Identifier: Apache-2.0
"""warpgauge baseline check: all is well, or every reason why it is not."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

import fake_binary
from baselines import NAMES, STEADY, Baselines
from builders import Json, context, failed, noisy, row, write
from warpgauge.system.errors import ExitStatus, UserError


def warned(there: Baselines, *said: str, argv: tuple[str, ...] = ()) -> None:
    """check warns of exactly these, in this order."""
    status = there.command("check", *argv)
    shown = there.output()
    warnings = [part.split("\n  warning: ")[0] for part in f"\n{shown}".split("\n  warning: ")[1:]]
    flat = [" ".join(warning.split()) for warning in warnings]
    assert len(flat) == len(said), flat
    for one, beginning in zip(flat, said, strict=True):
        assert beginning in one
    assert status is (ExitStatus.NOT_MEASURED if said else ExitStatus.OK)


def built(there: Baselines, *names: str) -> None:
    families: dict[str, dict[str, float]] = {}
    for name in names:
        families.setdefault(name.split("/")[0], {})[name] = 1.0
    for family, times in families.items():
        fake_binary.make(there.root / "build/release", family, times)


def told_by_a_run(**changed: str) -> dict[str, str]:
    return {key: str(value) for key, value in context(**changed).items()}


def one_session(there: Baselines, **changed: str) -> None:
    """A file whose only session is told as a run's context is, but for these keys."""
    told = told_by_a_run(**changed)
    there.written("sync", [there.row("sync/a", **{"2026-11-20-s": STEADY})], {"2026-11-20-s": told})


def test_a_good_baseline_has_no_warnings(baselines: Baselines) -> None:
    baselines.session(18, gpu_uuid="GPU-2")
    baselines.session(19)
    built(baselines, *NAMES)
    assert baselines.command("check") is ExitStatus.OK
    lines = baselines.output().splitlines()
    assert lines == [
        "baselines/nvidia-test: NVIDIA Test, 3 benchmarks, 2 sessions; newest 2026-11-19, 1 day "
        "ago, commit cccccccccc",
        "no warnings",
    ]


def test_an_old_baseline_is_warned_of(baselines: Baselines) -> None:
    baselines.session(10)
    built(baselines, *NAMES)
    warned(baselines, "is 10 days old", argv=("--stale-days=9",))
    warned(baselines, argv=("--stale-days=11",))


def test_a_date_to_come_is_told_of_any_session(baselines: Baselines) -> None:
    baselines.session(25)
    baselines.session(26)
    warned(baselines, "newest session, 2026-11-26-", "session '2026-11-25-")


def test_a_benchmark_that_is_gone_or_new_is_warned_of(baselines: Baselines) -> None:
    baselines.session(19)
    built(baselines, *NAMES[1:], "gemm/new")
    warned(
        baselines,
        "in the baseline and no longer in the build: 'memcpy/a'; if this is meant",
        "in the build and not in the baseline: 'gemm/new'",
    )


def test_a_program_that_cannot_list_says_nothing_of_its_family(baselines: Baselines) -> None:
    baselines.session(19)
    built(baselines, "memcpy/a", "memcpy/b")
    folder = baselines.root / "build/release"
    fake_binary.make(folder, "sync", listing_fault="libcuda.so.1: cannot open")
    warned(baselines)
    baselines.command("check")
    assert "sync was not held against its program: bench_sync cannot list" in baselines.flat()


def test_what_is_new_of_the_full_suite_is_recorded_with_it(baselines: Baselines) -> None:
    baselines.session(19)
    path = baselines.folder / "memcpy.json"
    document = json.loads(path.read_text())
    document["benchmarks"][0]["full_suite"] = 1
    path.write_text(json.dumps(document))
    built(baselines, "sync/c")
    fake_binary.make(
        baselines.root / "build/release",
        "memcpy",
        {"memcpy/a": 1.0, "memcpy/b": 1.0, "memcpy/new": 1.0},
        full_suite=["memcpy/a", "memcpy/new"],
    )
    warned(baselines, "'memcpy/new'; scripts/warpgauge baseline record --suite=full adds it")


def test_a_build_without_nvcc_says_nothing_of_gpu_benchmarks(baselines: Baselines) -> None:
    baselines.session(19)
    built(baselines, "host/copy")
    warned(baselines, "in the build and not in the baseline: 'host/copy'")
    baselines.command("check")
    assert "no GPU benchmark is built, so theirs were not held" in baselines.flat()


def test_a_file_of_another_name_is_warned_of(baselines: Baselines) -> None:
    baselines.session(19)
    (baselines.folder / "sync.json").rename(baselines.folder / "mine.json")
    warned(baselines, "mine.json holds the family 'sync': name it after its family")


def test_a_folder_of_another_gpu_is_warned_of(baselines: Baselines) -> None:
    baselines.session(19)
    baselines.folder.rename(baselines.folder.parent / "nvidia-h100")
    warned(baselines, "the folder is not the one of 'NVIDIA Test'")


def test_a_family_that_lacks_a_session_is_warned_of(baselines: Baselines) -> None:
    for day in (17, 18, 19):
        baselines.session(day)
        if day == 18:
            kept = (baselines.folder / "sync.json").read_bytes()
    (baselines.folder / "sync.json").write_bytes(kept)
    warned(
        baselines,
        "sync.json lacks the session 2026-11-19-",
        "has no time of 'sync/c'",
    )


def test_a_family_that_began_later_is_no_fault(baselines: Baselines) -> None:
    baselines.session(18)
    (baselines.folder / "sync.json").unlink()
    baselines.session(19)
    warned(baselines)


def test_a_file_that_says_it_is_of_another_gpu_is_warned_of(baselines: Baselines) -> None:
    baselines.session(19)
    at = '"gpu_name": "{}"}},\n"sessions"'
    baselines.edit("sync", at.format("NVIDIA Test"), at.format("NVIDIA B\x1b"))
    warned(
        baselines,
        "sync.json says that it is of 'NVIDIA B\\x1b', its sessions and the other files of "
        "'NVIDIA Test'",
    )


def test_files_that_contradict_each_other_are_warned_of(baselines: Baselines) -> None:
    baselines.session(19, driver_version="580.1")
    baselines.edit("sync", "580.1", "580.2")
    warned(baselines, "the files do not agree on the driver_version of session 2026-11-19-")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"build_type": "Debug"}, "its build type is 'Debug'"),
        ({"inject": "sync=2"}, "extra work was injected"),
        ({"dirty": "true"}, "the working tree had uncommitted changes"),
        ({"filter": "sync"}, "only a part was measured"),
    ],
)
def test_a_session_that_would_not_be_recorded_is_warned_of(
    baselines: Baselines, changed: Mapping[str, str], said: str
) -> None:
    one_session(baselines, **changed)
    warned(baselines, f"session 2026-11-20-s: {said}")


def test_a_session_of_too_few_processes_is_warned_of(baselines: Baselines) -> None:
    told = told_by_a_run()
    rows = [baselines.row("sync/a", s=STEADY), baselines.row("sync/b", s=STEADY[:4])]
    baselines.written("sync", rows, {"s": told})
    warned(baselines, "session s: there are fewer than 5 processes of 'sync/b'")


def test_one_boot_under_two_keys_is_warned_of(baselines: Baselines) -> None:
    told = told_by_a_run()
    rows = [baselines.row("sync/a", s=STEADY, t=STEADY)]
    baselines.written("sync", rows, {"s": told, "t": told})
    warned(baselines, "sessions s and t are of one boot of one GPU")


def test_a_row_that_failed_is_warned_of(baselines: Baselines) -> None:
    told = told_by_a_run()
    baselines.written("sync", [baselines.row("sync/a", s=STEADY), failed("sync/b")], {"s": told})
    warned(baselines, "holds no time of what failed: 'sync/b'")


def test_a_scatter_that_hides_what_counts_is_told_and_no_fault(baselines: Baselines) -> None:
    wide = noisy(1, 0.05)
    told = told_by_a_run()
    rows: list[Json] = [
        row("sync/device", process_medians={"s": wide}),
        row("sync/host", process_medians={"s": wide}, host_clock=1.0),
        row("sync/quiet", process_medians={"s": list(STEADY)}),
    ]
    baselines.written("sync", rows, {"s": told})
    assert baselines.command("check") is ExitStatus.OK
    assert (
        "too much scatter between processes to see the change that should count: "
        "'sync/device', with "
    ) in baselines.flat()


def test_what_cannot_be_read_is_an_error_and_the_others_are_checked(baselines: Baselines) -> None:
    baselines.session(19)
    write(baselines.root / "baselines" / "broken" / "sync.json", {})
    (baselines.root / "baselines" / "broken" / "sync.json").write_text("{")
    with pytest.raises(UserError, match=r"broken/sync\.json: breaks off") as caught:
        baselines.command("check")
    assert caught.value.status is ExitStatus.BAD_USAGE
    assert "nvidia-test: NVIDIA Test" in baselines.flat()


def test_the_hosts_controls_may_scatter(baselines: Baselines) -> None:
    wide = noisy(1, 0.5)
    told = told_by_a_run()
    baselines.written("host", [row("host/a", process_medians={"s": wide}, host_clock=1.0)],
                      {"s": told})  # fmt: skip
    warned(baselines)
