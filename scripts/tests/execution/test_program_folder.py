# SPDX-License-Identifier: Apache-2.0
"""What a folder of somebody else's programs holds is found out without measuring it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from two_folders import TwoFolders
from warpgauge.execution import plain_program, program_folder
from warpgauge.execution.plain_program import PlainProgram
from warpgauge.system.errors import UserError


def found(folders: TwoFolders, side: str = "base") -> dict[str, PlainProgram]:
    """The programs of one folder, beside itself, by the names of their files."""
    there = Path(side)
    scratch = folders.root / "scratch"
    scratch.mkdir(exist_ok=True)
    programs, _ = program_folder.both((there, there), scratch, {})
    return {one.family: one for one in programs.everything}


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


def test_a_program_that_lost_its_permission_is_a_fault_and_not_left_out(
    folders: TwoFolders,
) -> None:
    folders.make("base", "bench")
    (folders.root / "base" / "other").write_bytes(ELF)
    assert found(folders)["other"].fault == "is not executable: chmod +x it"


def test_a_link_to_a_program_is_one_and_a_link_to_nothing_is_a_fault(folders: TwoFolders) -> None:
    real = folders.make("elsewhere", "bench")
    (folders.root / "base").mkdir()
    (folders.root / "base" / "good").symlink_to(real)
    (folders.root / "base" / "gone").symlink_to("nowhere")
    Path(f"{folders.root}/base/good.told").write_text(Path(f"{real}.told").read_text())
    programs = found(folders)
    assert programs["good"].names
    assert "No such file" in (programs["gone"].fault or "")


def test_what_a_program_says_of_itself_is_no_benchmark(folders: TwoFolders) -> None:
    folders.script("base", "a", 'print("device 0: a GPU")\nif "filter" not in "".join(sys.argv):\n'
                   '    print("BM_x/8")\n    print("BM_a<int, 2>")')  # fmt: skip
    assert found(folders)["a"].names == ("BM_x/8", "BM_a<int, 2>")


LISTINGS = {
    "nothing": ("", "lists no benchmark"),
    "only talk": ('print("usage: a [file]")', "lists no benchmark"),
    "a bad end": ('print("BM_x"); sys.exit("no licence")', "status 1: no licence"),
    "a crash": ("import os; os.abort()", "SIGABRT"),
    "a hang": ("import time; time.sleep(60)", "did not finish within 0.5 s"),
    "one name twice": ('print("BM_x\\nBM_x" * (len(sys.argv) < 3))', "'BM_x' twice: rename one"),
    "no text": ('sys.stdout.buffer.write(b"BM_\\x1b" * (len(sys.argv) < 3))', "is no name"),
}


@pytest.mark.parametrize("case", LISTINGS)
def test_a_program_that_lists_no_benchmarks_is_a_fault(
    folders: TwoFolders, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case == "a hang":
        monkeypatch.setattr(plain_program, "LISTING_DEADLINE_S", 0.5)
    body, words = LISTINGS[case]
    folders.script("base", "a", body)
    program = found(folders)["a"]
    assert words in (program.fault or "")


def test_what_is_no_program_at_all_is_a_fault(folders: TwoFolders) -> None:
    folders.script("base", "a", "").write_bytes(b"\x00\x01 neither ELF nor a script")
    assert "Exec format error" in (found(folders)["a"].fault or "")


def test_programs_with_a_name_in_common_carry_their_own(folders: TwoFolders) -> None:
    folders.make("base", "a", {"BM_x": 1.0, "BM_a": 1.0})
    folders.make("base", "bench_a", {"BM_x": 1.0})
    folders.make("base", "c", {"BM_c": 1.0})
    programs = found(folders)
    assert {name: one.names for name, one in programs.items()} == {
        "a": ("a/BM_x", "a/BM_a"),
        "bench_a": ("bench_a/BM_x",),
        "c": ("BM_c",),
    }
    assert programs["a"].own(programs["a"].names) == ("BM_x", "BM_a")


def test_a_benchmark_that_is_called_as_a_broken_program_is_told_apart(folders: TwoFolders) -> None:
    folders.make("base", "a", {"b": 1.0})
    folders.make("base", "b", listing_fault="no library")
    programs = found(folders)
    assert programs["a"].names == ("a/b",)
    assert programs["b"].fault


def test_what_is_no_folder_is_one_sentence(folders: TwoFolders) -> None:
    with pytest.raises(UserError, match="gone: cannot be read"):
        found(folders, "gone")


def test_a_folder_without_programs_names_what_it_holds_instead(folders: TwoFolders) -> None:
    (folders.root / "base" / "bin").mkdir(parents=True)
    with pytest.raises(UserError, match="base: holds no program, only 'bin'; give the folder of"):
        found(folders)


def test_a_file_name_that_cannot_be_told_is_one_sentence(folders: TwoFolders) -> None:
    folders.script("base", os.fsdecode(b"a\xff"), "")
    with pytest.raises(UserError, match=r"the name of .* is none that can be told: rename it"):
        found(folders)
