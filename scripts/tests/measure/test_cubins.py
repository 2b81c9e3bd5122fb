# SPDX-License-Identifier: Apache-2.0
"""The digest of a kernel's machine code changes with what runs, and with nothing else."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import shell
from hand_made_cubin import cubin
from warpgauge.measure import cubins, toolkit
from warpgauge.system.errors import UserError

SUM = "_Z3sumPKfPf"
MAX_THREADS, PARAMETER_BANK = 0x05, 0x0A
# Instructions whose operands are in constant banks.
OF_BANK = {bank: struct.pack("<QQ", bank << 54, 0) for bank in (0, 3, 4)}
BASE = {
    f".text.{SUM}": OF_BANK[0] + OF_BANK[3],
    ".text.other": b"other",
    ".nv.constant0.other": bytes(544),
    ".nv.constant0." + SUM: bytes(544),
    ".nv.constant2." + SUM: b"table",
    ".nv.constant3": b"shared",
    ".nv.constant4": b"addresses",
    ".nv.global.init": b"values",
}


def attribute(number: int, *values: int) -> bytes:
    """An attribute of a kernel, as its section .nv.info has it."""
    value = b"".join(struct.pack("<I", one) for one in values)
    return struct.pack("<BBH", 4, number, len(value)) + value


def relocation(offset: int, symbol: int) -> bytes:
    return struct.pack("<QIIq", offset, 2, symbol, 0)


def digests(
    folder: Path, contents: Mapping[str, bytes], symbols: Sequence[tuple[str, str, int]] = (),
    zeros: Mapping[str, int] | None = None,
) -> dict[str, str]:  # fmt: skip
    path = folder / "made.cubin"
    path.write_bytes(cubin({**BASE, **contents}, symbols, zeros))
    return cubins.digests(path)


@pytest.mark.parametrize(
    "contents",
    [
        {f".text.{SUM}": b"CODE"},
        {".nv.constant0." + SUM: bytes(548)},
        {".nv.constant2." + SUM: b"TABLE"},
        {".nv.constant3": b"SHARED"},
        {".nv.info." + SUM: attribute(MAX_THREADS, 1024, 1, 1)},
    ],
)
def test_code_constants_parameters_and_launch_bounds_count(
    tmp_path: Path, contents: Mapping[str, bytes]
) -> None:
    assert digests(tmp_path, contents)[SUM] != digests(tmp_path, {})[SUM]


def test_shared_memory_counts_by_its_size(tmp_path: Path) -> None:
    few, many = (digests(tmp_path, {}, (), {".nv.shared." + SUM: n}) for n in (1024, 2048))
    assert few[SUM] != many[SUM]
    assert few["other"] == many["other"]


def test_another_kernel_and_numbers_of_symbols_do_not_count(tmp_path: Path) -> None:
    moved = {
        "first": b"",
        ".text.other": b"another",
        ".nv.info." + SUM: attribute(PARAMETER_BANK, 27, 0x210),
    }
    assert digests(tmp_path, moved)[SUM] == digests(tmp_path, {})[SUM]


@pytest.mark.parametrize("section", [".nv.constant3", ".nv.constant4", ".nv.global.init"])
def test_what_kernels_share_counts_for_those_that_use_it(tmp_path: Path, section: str) -> None:
    def of(bank: int, value: bytes) -> str:
        return digests(tmp_path, {f".text.{SUM}": OF_BANK[bank], section: value})[SUM]

    user = 3 if section == ".nv.constant3" else 4
    assert of(user, b"1") != of(user, b"2")
    assert of(0, b"1") == of(0, b"2")


def test_what_a_kernel_calls_counts_with_it(tmp_path: Path) -> None:
    called = [("", "", 0), ("callee", ".text.callee", 0)]
    calls = {f".rela.text.{SUM}": relocation(16, 1)}
    one, other = (
        digests(tmp_path, {**calls, ".text.callee": code}, called)[SUM] for code in (b"1", b"2")
    )
    assert one != other


def test_a_target_within_the_kernel_counts_by_its_place_and_not_by_its_name(
    tmp_path: Path,
) -> None:
    def to(label: str, value: int) -> str:
        symbols = [("", "", 0), (label, f".text.{SUM}", value)]
        return digests(tmp_path, {f".rela.text.{SUM}": relocation(16, 1)}, symbols)[SUM]

    assert to(".L_x_1", 32) == to(".L_x_7", 32) != to(".L_x_1", 48)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "_ZN43_GLOBAL__N__76da5d5d_10_compare_cu_2deab5cf14compare_kernelIdEEv",
            "_ZN43_GLOBAL__N__00da5d5d_10_compare_cu_00eab5cf14compare_kernelIdEEv",
        ),
        (
            "_ZN49_GLOBAL__N__bfc0dd94_6_sum_cu_0f2af4bd_60933sumEv",
            "_ZN50_GLOBAL__N__00c0dd94_6_sum_cu_1f2af4bd_716093sumEv",
        ),
        (  # of a file with main()
            "_ZN32_GLOBAL__N__845220d9_4_a_cu_main1kILi3EEEvPKfPfi",
            "_ZN32_GLOBAL__N__4f0ef37c_4_a_cu_main1kILi3EEEvPKfPfi",
        ),
        (
            "_ZN42_GLOBAL__N__845220d9_10_my_main_cu_2deab5cf3sumEv",
            "_ZN42_GLOBAL__N__4f0ef37c_10_my_main_cu_00eab5cf3sumEv",
        ),
    ],
)
def test_a_name_is_known_in_another_build(one: str, other: str) -> None:
    assert cubins.stable_name(one) == cubins.stable_name(other) != one
    assert cubins.stable_name(one) != cubins.stable_name(one.replace("_cu", "_two_cu"))


def test_what_is_no_cubin_has_no_kernels(tmp_path: Path) -> None:
    path = tmp_path / "broken.cubin"
    path.write_bytes(cubin(BASE)[:100])
    assert cubins.digests(path) == {}


def test_a_program_without_kernels_of_its_own_has_none(tmp_path: Path) -> None:
    try:
        toolkit.tool("cuobjdump")
    except UserError as absent:
        pytest.skip(str(absent))
    program = Path(shutil.which("true") or "")
    assert cubins.digests(program) == {}


def test_a_script_has_no_machine_code_and_says_so(tmp_path: Path) -> None:
    script = tmp_path / "bench_x"
    script.write_text("#!/usr/bin/env python3\n")
    tool = tmp_path / "cuobjdump"
    shell.script(tool, "exit 1")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cubins, "tool", lambda name: str(tool))
        with pytest.raises(UserError, match="bench_x is a script"):
            cubins.of(script, tmp_path)
