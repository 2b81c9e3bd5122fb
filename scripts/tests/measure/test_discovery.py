# SPDX-License-Identifier: Apache-2.0
"""What can be measured here is found out without measuring it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import fake_binary
import shell
from warpgauge.measure import discovery, program_folder, selection
from warpgauge.records.model import FULL_SUITE
from warpgauge.system.errors import UserError


def test_the_programs_of_the_last_build_are_found_by_name_with_their_benchmarks(
    tmp_path: Path,
) -> None:
    for family in ("memcpy", "host", "gone"):
        fake_binary.make(tmp_path, family)
    (tmp_path / "bench_gone").unlink()
    gone, host, memcpy = discovery.find(tmp_path, tmp_path)
    assert "No such file" in (gone.fault or "")
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
    for found in (
        discovery.listed(path, tmp_path),
        program_folder.program_at(path, tmp_path, {}),
    ):
        assert (found.fault, found.names) == (fault, () if fault else tuple(names))
        assert fault or (found.driven, found.total) == (driven, len(names))


def test_a_program_that_ignores_options_is_not_taken_for_one_of_ours(tmp_path: Path) -> None:
    path = shell.script(tmp_path / "bench", "case $* in *filter=^*) ;; *) echo BM_only;; esac")
    for found in (
        discovery.listed(path, tmp_path),
        program_folder.program_at(path, tmp_path, {}),
    ):
        assert (found.names, found.driven) == (("BM_only",), False)


def test_what_a_program_prints_beside_its_description_is_not_part_of_it(tmp_path: Path) -> None:
    benchmarks = '[{"name": "gemm/a", "suite": "default"}]'
    document = f'{{\n  "warpgauge": "0.1.0",\n  "protocol": 1,\n  "benchmarks": {benchmarks}\n}}'
    path = shell.script(tmp_path / "bench", f"echo 'found {{2}} GPUs'\necho '{document}'\necho bye")
    for found in (
        discovery.listed(path, tmp_path),
        program_folder.program_at(path, tmp_path, {}),
    ):
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
    shell.script(fake_binary.make(tmp_path, "gemm"), f"cat {tmp_path}/said")
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


def test_a_program_of_more_names_than_a_run_file_holds_is_refused_at_once(tmp_path: Path) -> None:
    """Its names are not looked at one by one, nor is it asked for them again."""
    asked = tmp_path / "asked"
    path = shell.script(tmp_path / "bench_x", f"echo x >>{asked}; seq -f 'x/n:%.0f' 300000")
    listing = "case $* in *filter*) ;; *) seq -f 'x/n:%.0f' 300000;; esac"
    quiet = shell.script(tmp_path / "plain", listing)
    said = "lists 300,000 benchmarks, more than 30,000: split the program"
    assert discovery.listed(path, tmp_path).fault == said
    assert asked.read_text() == "x\n"
    assert program_folder.program_at(quiet, tmp_path, {}).fault == said


def test_what_is_not_listed_in_time_has_a_fault_and_the_others_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_binary.write_manifest(tmp_path, [fake_binary.program(name) for name in "abc"])
    now = iter((0.0, 1.0, 299.0, 301.0))
    monkeypatch.setattr(discovery, "time", SimpleNamespace(monotonic=lambda: next(now)))
    monkeypatch.setattr(discovery, "listed", lambda path, *_: discovery.Binary(path, (path.name,)))
    a, b, c = discovery.find(tmp_path, tmp_path)
    assert (a.names, b.names, c.names) == (("a",), ("b",), ())
    assert c.fault == "its benchmarks were not listed, because listing the others took 300 s"
