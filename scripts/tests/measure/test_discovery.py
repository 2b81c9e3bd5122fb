# SPDX-License-Identifier: Apache-2.0
"""What can be measured here is found out without measuring it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fake_binary
import shell
from warpgauge.measure import discovery, selection
from warpgauge.measure.discovery import Binary
from warpgauge.records.names import FULL_SUITE
from warpgauge.system.errors import UserError


def test_the_programs_of_the_last_build_are_found_by_name_with_their_benchmarks(
    tmp_path: Path,
) -> None:
    for family in ("memcpy", "host", "gone"):
        fake_binary.make(tmp_path, family)
    (tmp_path / "bench_gone").unlink()
    gone, host, memcpy = discovery.find(tmp_path, tmp_path)
    assert (gone.is_built, gone.fault) == (False, "is not built")
    assert memcpy.is_built
    assert (host.family, host.needs_gpu) == ("host", False)
    assert (memcpy.names, memcpy.needs_gpu) == (("memcpy/one", "memcpy/two"), True)


@pytest.mark.parametrize("listed", [False, True])
def test_a_folder_without_programs_says_to_build(tmp_path: Path, listed: bool) -> None:
    if listed:
        fake_binary.write_manifest(tmp_path, [])
    with pytest.raises(UserError, match="build first"):
        discovery.find(tmp_path, tmp_path)


KINDS: dict[str, tuple[dict[str, Any], bool, str | None]] = {
    "ours": ({}, True, None),
    "somebody else's": ({"plain": True}, False, None),
    "of an older commit": (
        {"old": True},
        False,
        "was built with a warpgauge from before 0.2: rebuild it with this one",
    ),
    "of a later protocol": (
        {"protocol": 2},
        False,
        "was built with warpgauge 0.1.0, which has protocol 2 and not 1: rebuild it with this one",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("names", [["gemm/a"], ["gemm/a", "gemm/b c"]])
def test_a_program_is_driven_if_it_can_be_and_refused_if_it_is_too_old(
    tmp_path: Path, kind: str, names: list[str]
) -> None:
    told, driven, fault = KINDS[kind]
    path = fake_binary.make(tmp_path, "gemm", dict.fromkeys(names, 1.0), **told)
    [found] = discovery.listed([Binary(path)], tmp_path)
    assert (found.fault, found.names) == (fault, () if fault else tuple(names))
    assert fault or (found.driven, found.total) == (driven, len(names))


def test_a_program_that_ignores_options_is_not_taken_for_one_of_ours(tmp_path: Path) -> None:
    path = shell.script(tmp_path / "bench", "case $* in *filter=^*) ;; *) echo BM_only;; esac")
    [found] = discovery.listed([Binary(path)], tmp_path)
    assert (found.names, found.driven) == (("BM_only",), False)


def test_what_a_program_prints_beside_its_description_is_not_part_of_it(tmp_path: Path) -> None:
    benchmarks = '[{"name": "gemm/a", "suite": "default"}]'
    document = f'{{\n  "warpgauge": "0.1.0",\n  "protocol": 1,\n  "benchmarks": {benchmarks}\n}}'
    path = shell.script(tmp_path / "bench", f"echo 'found {{2}} GPUs'\necho '{document}'\necho bye")
    [found] = discovery.listed([Binary(path)], tmp_path)
    assert (found.names, found.driven, found.fault) == (("gemm/a",), True, None)


def test_a_filter_drops_binaries_without_a_match_but_not_what_cannot_list(tmp_path: Path) -> None:
    fake_binary.make(tmp_path, "gemm", listing_fault="libcublas.so.13: cannot open")
    fake_binary.make(tmp_path, "memcpy")
    fake_binary.make(tmp_path, "sync")
    found = discovery.find(tmp_path, tmp_path)
    gemm, chosen = selection.chosen(found, "sync/t")
    assert chosen.names == ("sync/two",)
    assert "status 127: libcublas.so.13: cannot open" in (gemm.fault or "")
    assert [one.family for one in selection.chosen(found, "-sync")] == ["gemm", "memcpy"]


def test_a_filter_is_a_regular_expression_of_python(tmp_path: Path) -> None:
    fake_binary.make(tmp_path, "sync", {"sync/n:10": 1.0, "sync/n:x": 1.0})
    (chosen,) = selection.chosen(discovery.find(tmp_path, tmp_path), r"n:\d+(?!\d)")
    assert chosen.names == ("sync/n:10",)
    with pytest.raises(UserError, match=r"--filter '\(' is not a valid regular expression"):
        selection.chosen([chosen], "(")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("", ()),
        ("errored row", ("bench_launch exited with status 1",)),
        ("crash", ("bench_launch was killed by SIGSEGV",)),  # and leaves the probe to the next
    ],
)
def test_the_probe_learns_the_gpu_and_remembers_faults(
    tmp_path: Path, fault: str, said: tuple[str, ...]
) -> None:
    faults = {"always": fault} if fault else {}
    fake_binary.make(tmp_path, "launch", {"launch/one": 1.0}, faults=faults)
    fake_binary.make(tmp_path, "sync")
    probe = discovery.probe(discovery.find(tmp_path, tmp_path), (), tmp_path)
    assert probe.no_gpu is None
    assert tuple(one.partition(":")[0] for one in probe.faults) == said
    assert probe.context["gpu_name"] == "NVIDIA Fake"


def test_an_unknown_device_is_bad_usage(tmp_path: Path) -> None:
    fake_binary.make(tmp_path, "sync")
    with pytest.raises(UserError, match=r"^there is no device 7$"):
        discovery.probe(discovery.find(tmp_path, tmp_path), ["--device=7"], tmp_path)


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (b"", "lists no benchmark"),
        (b"gemm/a\n\x00\x01\x7fELF\n", "benchmarks: '\\x00\\x01\\x7fELF' is not a name"),
        (b"\xff\xfe\xfa\n", "cannot list its benchmarks: '���' is not a name"),
        (b"x" * 5000, "is not a name"),
    ],
)
def test_a_program_that_lists_what_no_benchmark_is_called_carries_a_fault(
    tmp_path: Path, said: bytes, fault: str
) -> None:
    (tmp_path / "said").write_bytes(said)
    listing = f"case $* in *filter*) ;; *) cat {tmp_path}/said;; esac"
    shell.script(fake_binary.make(tmp_path, "gemm"), listing)
    (found,) = discovery.find(tmp_path, tmp_path)
    assert found.names == ()
    assert fault in (found.fault or "")


def test_a_program_of_the_full_suite_alone_has_nothing_in_the_default_one(tmp_path: Path) -> None:
    fake_binary.make(tmp_path, "sync", {"sync/big": 1.0}, full_suite=["sync/big"])
    (found,) = discovery.find(tmp_path, tmp_path)
    assert (found.names, found.fault) == ((), None)
    assert discovery.left_out([found]) == ["sync/big"]
    (found,) = discovery.find(tmp_path, tmp_path, FULL_SUITE)
    assert found.names == ("sync/big",)
    assert discovery.left_out([found]) == []


def test_two_programs_with_a_benchmark_of_one_name_are_both_at_fault(tmp_path: Path) -> None:
    fake_binary.make(tmp_path, "copy", {"copy/a": 1.0, "sync/b": 1.0})
    fake_binary.make(tmp_path, "host")
    fake_binary.make(tmp_path, "sync", {"sync/a": 1.0, "sync/b": 1.0})
    copy, host, sync = discovery.find(tmp_path, tmp_path)
    assert copy.fault == "has the benchmark 'sync/b', which bench_sync also has: rename one"
    assert sync.fault == "has the benchmark 'sync/b', which bench_copy also has: rename one"
    assert host.fault is None


def test_a_program_of_more_names_than_a_run_file_holds_is_refused(tmp_path: Path) -> None:
    listing = "case $* in *filter*) ;; *) seq -f 'x/n:%.0f' 300000;; esac"
    [found] = discovery.listed([Binary(shell.script(tmp_path / "x", listing))], tmp_path)
    assert found.fault == "lists 300,000 benchmarks, more than 30,000: split the program"


def test_a_program_that_hangs_or_crashes_costs_itself_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "LISTING_DEADLINE_S", 0.5)
    for family in ("crash", "fine", "hang", "last"):
        fake_binary.make(tmp_path, family)
    shell.script(tmp_path / "bench_crash", "kill -SEGV $$")
    shell.script(tmp_path / "bench_hang", "sleep 600")
    crash, fine, hang, last = discovery.find(tmp_path, tmp_path)
    assert (fine.fault, last.fault) == (None, None)
    assert crash.fault == "cannot list its benchmarks: bench_crash was killed by SIGSEGV"
    late = "cannot list its benchmarks: bench_hang did not end within 0.5 s and was killed"
    assert hang.fault == late


@pytest.mark.parametrize(
    ("filter", "family", "may"),
    [
        ("^gemm/", "gemm", True),
        ("^gemm/", "cache", False),
        ("^gemm/(a|b)", "cache", False),
        ("^gemm/x|^cache/y", "cache", True),
        ("^(gemm|cache)/", "cache", True),
        ("^gemms?/", "gemm", True),
        ("f32", "cache", True),
        ("", "cache", True),
        ("-^gemm/", "gemm", False),
        ("-^gemm/a", "gemm", True),
        ("-^gemm/", "cache", True),
    ],
)
def test_a_filter_tells_which_families_it_cannot_mean(filter: str, family: str, may: bool) -> None:
    assert selection.may_match(filter, family) is may
