# SPDX-License-Identifier: Apache-2.0
"""What warpgauge explain shows of one build, over fake binaries and fake profilers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import shell
from clone import Repository
from hand_made_cubin import cubin
from traces import WORK, process, text
from warpgauge.commands import explain
from warpgauge.measure import build, toolkit
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.why import cupti

NAME = "sync/busy"
OTHER = "_Z5otherv"
TIMES = {"sync/idle": 1000.0, NAME: 5000.0}
TRACE = text(process(NAME, replays=5))


def run(repository: Repository, *argv: str) -> ExitStatus:
    return explain.main(argv, repository.root)


def refused(repository: Repository, *argv: str) -> UserError:
    """What it says; no run file and no other file of it is left."""
    with pytest.raises(UserError) as caught:
        run(repository, *argv)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.fixture
def traced(repository: Repository) -> Repository:
    """A clone whose program leaves a trace."""
    repository.binary("sync", TIMES, trace=TRACE)
    (repository.built / cupti.LIBRARY).touch()
    return repository


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PATH for fake tools; the toolkit has none."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setattr(build, "cuda_compiler", lambda: None)
    monkeypatch.setattr(toolkit, "packaged", lambda: tmp_path / "none")
    return folder


def add_tool(folder: Path, name: str, script: str) -> None:
    shell.script(folder / name, f'echo "$@" >> {folder}/{name}.called\n{script}')


def add_disassembler(folder: Path) -> None:
    """Of a program with two kernels."""
    sections = {f".text.{name}": b"code" for name in (WORK, OTHER)}
    held = folder / "held"
    held.write_bytes(cubin(sections, [(name, f".text.{name}", 0) for name in (WORK, OTHER)]))
    add_tool(folder, "cuobjdump", f"cp {held} program.1.sm_90.cubin")
    told = "".join(f'\t.section\t{one},"ax"\n /*0000*/  EXIT ;\n' for one in sections)
    add_tool(folder, "nvdisasm", f"cat <<'END'\n{told}END")


PROFILER = """
while [ "$1" != -o ]; do shift; done
report=$2; shift 2
printf '{}' > "$report"
exec "$@"
"""


def test_without_an_option_the_table_is_shown_and_nothing_is_kept(traced: Repository) -> None:
    assert run(traced, NAME) is ExitStatus.OK
    out, _ = traced.output()
    assert "warpgauge::kernels::square" in out
    assert "cudaGraphLaunch" in out
    assert list((traced.root / "build" / "runs").iterdir()) == []


def test_a_filter_that_matches_one_benchmark_names_it(traced: Repository) -> None:
    assert run(traced, "^sync/b") is ExitStatus.OK
    error = refused(traced, "sync")
    assert "matches 2 benchmarks ('sync/idle', 'sync/busy')" in str(error)
    assert error.status is ExitStatus.BAD_USAGE
    assert "did you mean" in str(refused(traced, "sync/bussy"))


def test_the_trace_is_written_for_perfetto_and_replaces_its_own_kind(traced: Repository) -> None:
    path = traced.root / "trace.json"
    for _ in range(2):
        assert run(traced, NAME, "--trace", str(path)) is ExitStatus.OK
    document = json.loads(path.read_text())
    assert document["otherData"]["benchmark"] == NAME
    assert document["otherData"]["gpu_name"] == "NVIDIA Fake"
    assert {event["ph"] for event in document["traceEvents"]} == set("MXsf")
    path.write_text("mine")
    error = refused(traced, NAME, "--trace", str(path))
    assert "is no trace of warpgauge explain" in str(error)
    assert path.read_text() == "mine"


@pytest.mark.parametrize(("tool", "magic"), [("ncu", r"NVR\0"), ("nsys", r"a\0")])
def test_a_profiler_runs_the_one_benchmark_and_its_report_is_kept(
    repository: Repository, tools: Path, tool: str, magic: str
) -> None:
    repository.binary("sync", TIMES)
    add_tool(tools, tool, PROFILER.format(magic))
    path = repository.root / f"busy.{tool}-rep"
    for _ in range(2):
        assert run(repository, NAME, "--report", str(path)) is ExitStatus.OK
    assert b"\0" in path.read_bytes()
    called = (tools / f"{tool}.called").read_text()
    assert "--benchmark_filter=^(sync/busy)$" in called
    assert ("--clock-control none" in called) is (tool == "ncu")
    assert "--graph-profiling node" in called or "--cuda-graph-trace=node" in called
    path.write_text("mine")
    assert f"is no report of {tool}" in str(refused(repository, NAME, "--report", str(path)))


def test_what_a_profiler_refuses_is_one_sentence(repository: Repository, tools: Path) -> None:
    repository.binary("sync", TIMES)
    path = repository.root / "busy.ncu-rep"
    for script, said in (
        ("echo '==ERROR== ERR_NVGPUCTRPERM - The user does not'; exit 1", "only administrators"),
        (
            "echo '==ERROR== no kernels' >&2; exit 9",
            "ncu wrote no report: ncu exited with status 9",
        ),
    ):
        add_tool(tools, "ncu", script)
        error = refused(repository, NAME, "--report", str(path))
        assert said in str(error)
        assert error.status is ExitStatus.NOT_MEASURED
        assert not path.exists()


def test_a_report_is_kept_where_the_benchmark_fails_behind_what_it_holds(
    repository: Repository, tools: Path
) -> None:
    repository.binary("sync", TIMES, ill={NAME: "wrong"})
    add_tool(tools, "ncu", PROFILER.format(r"NVR\0"))
    path = repository.root / "busy.ncu-rep"
    assert run(repository, NAME, "--report", str(path)) is ExitStatus.OK
    assert "under ncu: wrong" in repository.output()[1]
    assert path.exists()
    path.unlink()
    add_tool(tools, "ncu", PROFILER.replace("printf", "true").format(""))
    assert "ncu wrote no report: sync/busy under ncu: wrong" in str(
        refused(repository, NAME, "--report", str(path))
    )


def test_a_missing_tool_is_told_before_the_build(
    repository: Repository, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(build, "build")
    assert list(tools.iterdir()) == []
    for words, said in (
        (["--report", "a.ncu-rep"], "ncu is missing: install Nsight Compute"),
        (["--report", "a.nsys-rep"], "nsys is missing: install Nsight Systems"),
        (["--sass"], "cuobjdump is missing: install the CUDA toolkit's"),
    ):
        error = refused(repository, NAME, *words)
        assert said in str(error)
        assert error.status is ExitStatus.NOT_MEASURED


def test_machine_code_is_that_of_the_kernels_that_the_benchmark_runs(
    traced: Repository, tools: Path
) -> None:
    add_disassembler(tools)
    assert run(traced, NAME, "--sass") is ExitStatus.OK
    out = traced.output()[0]
    assert f"{WORK}: /*0000*/ EXIT" in out
    assert OTHER not in out


def test_without_a_gpu_nothing_is_shown(repository: Repository, tools: Path) -> None:
    repository.binary("sync", TIMES, no_gpu="no CUDA-capable device is detected")
    error = refused(repository, NAME)
    assert "no CUDA-capable device" in str(error)
    assert error.status is ExitStatus.NOT_MEASURED


def test_without_cupti_a_sentence_says_so(repository: Repository) -> None:
    repository.binary("sync", TIMES, trace=TRACE)
    error = refused(repository, NAME)
    assert "libwarpgauge_trace.so" in str(error)
    assert error.status is ExitStatus.NOT_MEASURED


@pytest.mark.parametrize(
    ("ill", "said"),
    [
        ("wrong", "sync/busy under CUPTI: wrong"),
        ("skipped", "sync/busy under CUPTI: skipped: needs another GPU"),
        ("crash", "bench_sync was killed by SIGSEGV"),
    ],
)
def test_a_benchmark_that_fails_is_told(repository: Repository, ill: str, said: str) -> None:
    repository.binary("sync", TIMES, trace=TRACE, ill={NAME: ill})
    (repository.built / cupti.LIBRARY).touch()
    error = refused(repository, NAME)
    assert said in str(error)
    assert error.status is ExitStatus.NOT_MEASURED


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["host/copy"], "host/copy"),
        ([NAME, "--trace", "/no/such/folder/a.json"], "No such file or directory"),
        ([NAME, "--device=-1"], "see --help"),
        ([NAME, "--trace=a.ncu-rep", "--report=./a.ncu-rep"], "two reports would be written"),
        ([NAME, "--report=a.ncu-rep", "--report=./a.ncu-rep"], "two reports would be written"),
        ([NAME, "--report=a.txt"], "a.txt ends in none of .ncu-rep, .nsys-rep"),
        (["--sass"], "--sass shows one build: name a benchmark"),
        ([NAME, "--sass", "--against=main"], "omit --against"),
        (["run.json", "--trace=a.json"], "and the run file"),
        ([NAME, "--format=json"], "add --against"),
        (["("], "BENCHMARK '(' is not a valid regular expression"),
    ],
)
def test_wrong_usage_is_told(traced: Repository, tools: Path, argv: list[str], said: str) -> None:
    add_tool(tools, "ncu", PROFILER.format("NVR"))
    error = refused(traced, *argv)
    assert said in str(error)
    assert error.status is ExitStatus.BAD_USAGE
