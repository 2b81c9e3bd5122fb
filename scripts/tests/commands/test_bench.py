# SPDX-License-Identifier: Apache-2.0
"""scripts/bench from end to end over fake binaries: with a GPU and without, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clone import TIMES, Repository
from warpgauge.measure import build, gpu_watch
from warpgauge.system.errors import ExitStatus, UserError

SCRIPTS = Path(__file__).parents[2]
NO_GPU = "no CUDA-capable device is detected"


def test_without_a_baseline_it_shows_the_values_and_how_to_record(repository: Repository) -> None:
    out = repository.root / "run.json"
    out.write_text('{"context": {"warpgauge_format": "run/1"}, "benchmarks": []}')  # an older run
    argv = ("--processes=3", "--inject", "sync=1.05", "--out", str(out))
    assert repository.bench(*argv) is ExitStatus.NOT_MEASURED
    shown, err = repository.output()
    assert "idle" in shown
    assert "NVIDIA Fake: scripts/bench --record" in err
    assert "scripts/bench --against main" in err
    assert "demo" not in err
    context = json.loads(out.read_text())["context"]
    assert context["gpu_name"] == "NVIDIA Fake"
    assert (context["processes"], context["order_seed"]) == ("3", "1")
    assert (context["commit"], context["dirty"]) == ("0123456789" * 4, "false")
    assert context["inject"] == "sync=1.05"


def test_times_without_a_baseline_are_fractions_of_the_ceilings_of_their_run(
    repository: Repository,
) -> None:
    repository.binary("sync", TIMES, ceilings=True)
    assert repository.bench("--processes=3") is ExitStatus.NOT_MEASURED
    shown = repository.output()[0]
    assert re.search(r"time .*of limit spread .* idle .* \d+ % ", shown)
    assert "of limit: relative to the ceilings that the same run measured" in shown


def test_a_recorded_run_is_the_baseline_of_the_next(repository: Repository) -> None:
    assert repository.record() is ExitStatus.OK
    recorded = repository.root / "baselines" / "nvidia-fake"
    assert {path.name for path in recorded.iterdir()} == {"host.json", "sync.json"}
    assert "nvidia-fake/sync.json" in repository.output()[0]
    assert repository.bench("--out", str(repository.root / "again.json")) is ExitStatus.OK
    repository.binary("sync", {**TIMES, "sync/busy": 9000.0})
    assert repository.bench("--out", str(repository.root / "slow.json")) is ExitStatus.REGRESSION
    assert "busy" in repository.output()[0]


def test_a_crash_is_never_a_pass(repository: Repository) -> None:
    repository.record()
    repository.binary("sync", TIMES, fault="crash")
    assert repository.bench("--out", str(repository.root / "bad.json")) is ExitStatus.NOT_MEASURED
    out, err = repository.output()
    assert "round 1: sync/busy: bench_sync was killed by SIGSEGV: an illegal memory access" in err
    assert "SIGSEGV" in out


def test_a_hang_costs_its_deadline_once_and_its_own_row(
    repository: Repository, clock_of_hangs: None
) -> None:
    repository.record()
    repository.binary("sync", TIMES, ill={"sync/busy": "hang"})
    out = repository.root / "bad.json"
    assert repository.bench("--timeout=0.6", "--out", str(out)) is ExitStatus.NOT_MEASURED
    told = "bench_sync sent nothing for 0.6 s and was killed"
    shown, err = repository.output()
    assert err.count(f"sync/busy: {told}") == 1
    assert f"in round 1: {told}" in shown
    rows = {row["name"]: row for row in json.loads(out.read_text())["benchmarks"]}
    assert [name for name, row in rows.items() if "error_message" in row] == ["sync/busy"]
    assert len(rows["sync/idle"]["process_medians"]) == 7


@pytest.mark.parametrize("fault", ["noise", "wrong"])
def test_bytes_that_are_no_text_do_no_harm(repository: Repository, fault: str) -> None:
    repository.record()
    repository.binary("sync", TIMES, ill={"sync/busy": fault})
    written = [repository.root / f"report.{name}" for name in ("junit", "json", "html")]
    formats = [f"--format={path.suffix[1:]}={path}" for path in written]
    out = str(repository.root / "bad.json")
    assert repository.bench("--processes=3", "--out", out, *formats) is ExitStatus.NOT_MEASURED
    junit, document, page = written
    failed = ElementTree.parse(junit).getroot().findall(".//error/..")
    assert ["sync/busy" in one.get("name", "") for one in failed] == [True]
    assert page.read_text().endswith("</html>\n")
    assert json.loads(document.read_text())


def test_a_host_filter_on_a_gpu_machine_knows_its_gpu(repository: Repository) -> None:
    repository.record()
    repository.binary("host", {"host/copy": 3000.0})
    out = repository.root / "part.json"
    assert repository.bench("--filter", "^host", "--out", str(out)) is ExitStatus.OK
    assert json.loads(out.read_text())["context"]["gpu_name"] == "NVIDIA Fake"


@pytest.mark.parametrize(("visible", "why"), [(None, NO_GPU), ("7", f"{NO_GPU} (CUDA_VISIBLE_")])
def test_without_a_gpu_it_measures_the_host_and_says_why_and_what_a_gpu_shows(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, visible: str | None, why: str
) -> None:
    repository.record()
    repository.output()
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    repository.binary("sync", TIMES, no_gpu=NO_GPU)
    out = repository.root / "host.json"
    assert repository.bench("--processes=3", "--out", str(out)) is ExitStatus.NOT_MEASURED
    shown, err = repository.capsys.readouterr()
    assert "copy" in shown
    *_, reason, demo, _ = err.splitlines()  # the last one names the log
    assert why in reason
    assert "exit status 3" in reason
    assert demo.endswith("scripts/warpgauge demo")
    assert err.count(NO_GPU) == 1
    assert "--record" not in err
    assert [row["name"] for row in json.loads(out.read_text())["benchmarks"]] == ["host/copy"]


@pytest.mark.parametrize(
    ("argv", "said", "status"),
    [
        (["--filter=sync"], NO_GPU, ExitStatus.NOT_MEASURED),
        (["--record"], f"nothing to record: {NO_GPU}", ExitStatus.NOT_MEASURED),
        (["--inject=sync=2"], "will run matches --inject 'sync'", ExitStatus.BAD_USAGE),
    ],
)
def test_what_needs_a_gpu_is_refused_without_one(
    repository: Repository, argv: list[str], said: str, status: ExitStatus
) -> None:
    repository.binary("sync", TIMES, no_gpu=NO_GPU)
    with pytest.raises(UserError, match=said) as caught:
        repository.bench(*argv)
    assert caught.value.status is status
    assert not repository.runs()
    assert not (repository.root / "baselines").exists()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--device=3"], "there is no device 3"),
        (["--filter=nothing_like_it"], "no benchmark matches --filter 'nothing_like_it'"),
        (["--filter=sink"], "no benchmark matches --filter 'sink'"),
        (["--filter=sync/busi"], "'sync/busi': did you mean 'sync/busy'?"),
        (["--filter=("], "not a valid regular expression"),
        (["--inject=nothing_like_it=2"], "matches --inject 'nothing_like_it'"),
        (["--inject=all=2"], "no benchmark that will run matches --inject 'all'"),
        (["--inject=-sync=2"], "no benchmark that will run matches --inject '-sync'"),
        (["--inject=sync=2", "--filter=host"], "that will run matches --inject 'sync'"),
        (["--inject=(=2"], "--inject '(' is not a valid regular expression"),
        (["--filter=("], "--filter '(' is not a valid regular expression"),
        (["--inject=[[:digit:]]=2"], "means different things to Python and"),
        ([r"--inject=\d=2"], r"'\d': '\d' means different things to Python and"),
        ([r"--filter=\.x"], r"no benchmark matches --filter '\.x'"),
        ([r"--inject=\.x=2"], r"no benchmark that will run matches --inject '\.x'"),
        (["--policy=gone.toml"], "gone.toml: cannot be read"),
    ],
)
def test_bad_usage_is_told_before_anything_is_measured(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, argv: list[str], said: str
) -> None:
    monkeypatch.chdir(repository.root)
    with pytest.raises(UserError, match=re.escape(said)) as caught:
        repository.bench(*argv)
    assert caught.value.status is ExitStatus.BAD_USAGE
    assert not repository.runs()


def test_a_gpu_that_is_not_there_is_refused_before_the_build(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_watch, "all_gpus", lambda: {"GPU-1": "H200", "GPU-2": "H200"})
    monkeypatch.delattr(build, "build")
    said = "there is no GPU 7 here: choose one of 0: H200 (GPU-1), 1: H200 (GPU-2)"
    with pytest.raises(UserError, match=re.escape(said)) as caught:
        repository.bench("--device=7")
    assert caught.value.status is ExitStatus.BAD_USAGE


def test_a_fault_is_one_sentence_of_the_command_and_no_traceback() -> None:
    command = [sys.executable, str(SCRIPTS / "bench"), "--no-build", "--policy", "gone.toml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == ExitStatus.BAD_USAGE
    assert done.stderr.startswith("bench: gone.toml: cannot be read")
    assert done.stderr.count("\n") == 1


def test_programs_that_cannot_run_are_told_and_not_called_unmatched(repository: Repository) -> None:
    for family in ("host", "sync"):
        repository.binary(family, listing_fault="libstdc++.so.6: cannot open")
    said = r"nothing can be measured: bench_host cannot list .*: libstdc\+\+\.so\.6: cannot open"
    with pytest.raises(UserError, match=said) as caught:
        repository.bench()
    assert caught.value.status is ExitStatus.NOT_MEASURED
    said = "nothing of --filter 'sync' can be measured: bench_host cannot list"
    with pytest.raises(UserError, match=said):
        repository.bench("--filter", "sync")


def test_every_comparison_leaves_a_report_beside_its_run_whose_path_is_told_last(
    repository: Repository,
) -> None:
    report = repository.root / "run.html"
    assert repository.bench("--out", str(report.with_suffix(".json"))) is ExitStatus.NOT_MEASURED
    assert "There is nothing to compare with." in report.read_text()  # the rows alone
    assert ">new<" in report.read_text()
    assert repository.output()[0].endswith(f" Report: {os.path.relpath(report)}")
    assert repository.record() is ExitStatus.OK
    repository.output()
    repository.binary("sync", {**TIMES, "sync/busy": 9000.0})
    assert repository.bench() is ExitStatus.REGRESSION
    page = Path(repository.output()[0].rpartition(" Report: ")[2]).resolve()
    assert page.parent == repository.root / "build" / "runs"
    assert page.with_suffix(".json").exists()
    assert "1 slower" in page.read_text()


def test_a_report_that_cannot_be_written_decides_nothing(repository: Repository) -> None:
    repository.record()
    foreign = repository.root / "again.html"
    foreign.write_text("<p>mine</p>")
    repository.output()
    assert repository.bench("--out", str(foreign.with_suffix(".json"))) is ExitStatus.OK
    told = repository.output()[0]
    assert " The report of this run was not written: cannot write " in told
    assert told.endswith("the file exists and is no page of a comparison; name another file")
    assert foreign.read_text() == "<p>mine</p>"


def test_what_compares_nothing_leaves_no_report(repository: Repository) -> None:
    assert repository.bench("--list") is ExitStatus.OK
    assert "Report: " not in repository.output()[0]
    assert not [*repository.root.rglob("*.html")]


def test_energy_is_asked_of_programs_that_need_a_gpu(repository: Repository) -> None:
    repository.bench("--energy", "--no-confirm")
    (log,) = repository.root.glob("build/runs/*.log")
    asked = [line for line in log.read_text().splitlines() if "--energy" in line]
    assert any("bench_sync" in line for line in asked)
    assert not any("bench_host" in line for line in asked if "warpgauge bench" not in line)
