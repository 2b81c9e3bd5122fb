# SPDX-License-Identifier: Apache-2.0
"""What a folder of somebody else's programs holds is found out without measuring it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reports import reported
from two_folders import TwoFolders
from warpgauge.measure import discovery
from warpgauge.measure.discovery import Binary
from warpgauge.records.counters import Clock
from warpgauge.records.row import Row
from warpgauge.system.errors import UserError


def found(folders: TwoFolders, side: str = "base") -> dict[str, Binary]:
    """The programs of one folder, beside itself, by the names of their files."""
    there = Path(side)
    scratch = folders.root / "scratch"
    scratch.mkdir(exist_ok=True)
    programs, _ = discovery.of_folders((there, there), scratch, {}, "")
    return {one.family: one for one in programs}


ELF = b"\x7fELF\x02\x01\x01"


def test_executable_files_are_programs_and_nothing_else_is(folders: TwoFolders) -> None:
    folders.make("base", "bench")
    base = folders.root / "base"
    for name in ("libx.so", "libx.so.1.2", ".hidden"):
        (base / name).write_text("")
        (base / name).chmod(0o755)
    (base / "README").write_text("no program")
    (base / "CMakeFiles").mkdir()
    (base / "x.o").write_bytes(ELF)
    assert list(found(folders)) == ["bench"]


def test_what_cannot_run_is_a_fault_and_not_left_out(folders: TwoFolders) -> None:
    real = folders.make("elsewhere", "bench")
    folders.script("base", "broken", "").write_bytes(b"\x00\x01 neither ELF nor a script")
    base = folders.root / "base"
    (base / "other").write_bytes(ELF)  # it lost its permission
    (base / "good").symlink_to(real)
    (base / "gone").symlink_to("nowhere")
    Path(f"{base}/good.told").write_text(Path(f"{real}.told").read_text())
    programs = found(folders)
    assert programs["good"].names
    assert "Permission denied" in (programs["other"].fault or "")
    assert "No such file" in (programs["gone"].fault or "")
    assert "Exec format error" in (programs["broken"].fault or "")


def test_what_a_program_says_of_itself_is_no_benchmark(folders: TwoFolders) -> None:
    folders.script("base", "a", 'print("device 0: a GPU")\nif "filter" not in "".join(sys.argv):\n'
                   '    print("BM_x/8")\n    print("BM_a<int, 2>")')  # fmt: skip
    assert found(folders)["a"].names == ("BM_x/8", "BM_a<int, 2>")


LISTINGS = {
    "nothing": ("", "lists no benchmark"),
    "only talk": ('print("usage: a [file]")', "lists no benchmark"),
    "a bad end": ('print("BM_x"); sys.exit("no licence")', "status 1: no licence"),
    "a crash": ("import os; os.abort()", "SIGABRT"),
    "a hang": ("import time; time.sleep(60)", "did not end within 0.5 s"),
    "one name twice": (
        'print("BM_x\\nBM_x" * ("filter" not in "".join(sys.argv)))',
        "'BM_x' twice: rename one",
    ),
    "no text": (
        'sys.stdout.buffer.write(b"BM_\\x1b" * ("filter" not in "".join(sys.argv)))',
        "is not a name",
    ),
}


@pytest.mark.parametrize("case", LISTINGS)
def test_a_program_that_lists_no_benchmarks_is_a_fault(
    folders: TwoFolders, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case == "a hang":
        monkeypatch.setattr(discovery, "LISTING_DEADLINE_S", 0.5)
    body, fault = LISTINGS[case]
    folders.script("base", "a", body)
    assert fault in (found(folders)["a"].fault or "")


def test_programs_with_a_name_in_common_carry_their_own(folders: TwoFolders) -> None:
    folders.make("base", "a", {"BM_x": 1.0, "BM_a": 1.0})
    folders.make("base", "bench_a", {"BM_x": 1.0})
    folders.make("base", "c", {"BM_c": 1.0})
    folders.make("base", "d", {"broken": 1.0})
    folders.make("base", "broken", listing_fault="no library")
    programs = found(folders)
    assert {name: one.names for name, one in programs.items()} == {
        "a": ("a/BM_x", "a/BM_a"),
        "bench_a": ("bench_a/BM_x",),
        "broken": (),
        "c": ("BM_c",),
        "d": ("d/broken",),
    }
    assert programs["a"].own(programs["a"].names) == ("BM_x", "BM_a")


def test_a_folder_whose_programs_cannot_be_told_is_one_sentence(folders: TwoFolders) -> None:
    (folders.root / "base" / "bin").mkdir(parents=True)
    folders.script("odd", os.fsdecode(b"a\xff"), "")
    for side, fault in {
        "gone": "gone: cannot be read",
        "base": "base: holds no program, only 'bin'; give the folder of",
        "odd": "the path is not UTF-8: rename the folder",
    }.items():
        with pytest.raises(UserError, match=fault):
            found(folders, side)


RUN = {"name": "BM_x", "run_name": "BM_x", "run_type": "iteration", "real_time": 2.0}
RUN |= {"time_unit": "s", "iterations": 1}


def aggregate(kind: str, time: float, name: str = "BM_x") -> dict[str, object]:
    typed = {"run_type": "aggregate", "aggregate_name": kind, "aggregate_unit": "time"}
    about = {"name": f"{name}_{kind}", "run_name": name, **typed}
    return {**about, "real_time": time, "time_unit": "s"}


def rows_of(*rows: dict[str, object], prefix: str = "") -> list[Row]:
    program = Binary(Path("bench"), called="bench", of_folder=True, prefix=prefix)
    return [*reported(rows, program).rows.values()]


def test_a_row_without_an_sm_clock_is_the_hosts_and_names_are_those_asked_for() -> None:
    device = {**RUN, "name": "BM_d", "run_name": "BM_d", "sm_clock_hz": 1.98e9}
    assert [row.clock for row in rows_of(RUN, device)] == [Clock.HOST, Clock.DEVICE]
    assert [row.name for row in rows_of(RUN, prefix="my bench/")] == ["my bench/BM_x"]


def test_repetitions_count_and_their_aggregates_do_not() -> None:
    (row,) = rows_of(RUN, RUN, aggregate("median", 3.0), aggregate("BigO", 4.0))
    assert [*row.process_medians.values()] == [(2.0, 2.0)]


def test_of_aggregates_alone_the_median_counts_else_the_mean() -> None:
    rows = rows_of(
        *(aggregate(kind, time) for kind, time in [("mean", 5.0), ("median", 3.0), ("cv", 0.1)]),
        aggregate("mean", 7.0, "BM_y"),
        aggregate("stddev", 1.0, "BM_z"),
    )
    found = [(row.name, *row.process_medians.values()) for row in rows]
    assert found[:2] == [("BM_x", (3.0,)), ("BM_y", (7.0,))]
    assert "not typical times" in str(rows[2].error)


def test_a_counter_takes_the_place_of_nothing_that_a_run_file_needs() -> None:
    ours = dict.fromkeys(("process_medians", "process_rounds", "pairs", "elapsed"), 1.0)
    (row,) = rows_of({**RUN, **ours, "items": 3.0})
    assert row.counters == {"items": 3.0}
    assert [*row.process_medians.values()] == [(2.0,)]
