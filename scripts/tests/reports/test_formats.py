# SPDX-License-Identifier: Apache-2.0
"""--format: refused before the work, whole or not at all, hiding no regression."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import Loader

from builders import failed, row, run, scaled, write
from clone import Repository
from comparisons import comparison, of_every_kind, verdict, with_text
from warpgauge.commands.main import main as warpgauge
from warpgauge.commands.output import Formats, unpaired_comparison
from warpgauge.commands.output_file import check_report
from warpgauge.reports.format import FORMATS, TERMINAL
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict.incompatibility import Override

SAME = run([row("a/b"), row("a/c")])
SLOWER = run([row("a/b", scaled(1.5)), row("a/c")])
OF_TIMES = ["google_benchmark", "openmetrics"]
Capture = pytest.CaptureFixture[str]


def main(argv: Sequence[str]) -> int:
    return warpgauge(["compare", *argv])


@pytest.fixture
def base(tmp_path: Path) -> str:
    return str(write(tmp_path / "base.json", SAME))


@pytest.fixture
def slower(tmp_path: Path) -> str:
    return str(write(tmp_path / "slower.json", SLOWER))


def test_all_formats_go_to_files_and_the_terminal_stays(
    base: str, slower: str, tmp_path: Path, capsys: Capture
) -> None:
    asked = [f"--format={name}={tmp_path / name}" for name in FORMATS]
    assert main([base, slower, *asked]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("FAIL  1 slower")
    assert err == ""
    texts = {name: (tmp_path / name).read_bytes() for name in FORMATS}
    assert all(b"a/b" in text for text in texts.values())
    assert all(one.own.search(texts[name]) for name, one in FORMATS.items())
    times = [one["real_time"] for one in json.loads(texts["google_benchmark"])["benchmarks"]]
    assert times == pytest.approx([1500.0, 1000.0], rel=1e-3)


@pytest.mark.parametrize(
    "asked", [*FORMATS, "json=/dev/stdout", "json=/dev/fd/1", "junit=/proc/self/fd/1"]
)
def test_a_format_has_standard_output_alone_without_a_file_or_by_its_other_names(
    base: str, slower: str, asked: str, capsys: Capture
) -> None:
    assert main([base, slower, "--format", asked]) == 1
    out, err = capsys.readouterr()
    form = FORMATS[asked.partition("=")[0]]
    assert form.own.search(out.encode())
    assert not out.startswith("FAIL  1 slower") or form.name == TERMINAL
    assert err == ""


def test_a_pipe_gets_a_report_beside_what_the_terminal_shows_and_may_be_left_early(
    base: str, slower: str, tmp_path: Path, capsys: Capture
) -> None:
    pipe, whole = tmp_path / "pipe", tmp_path / "whole.xml"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as readers:
        read = readers.submit(pipe.read_text)
        asked = [f"--format=json={pipe}", f"--format=junit={whole}"]
        assert main([base, slower, *asked]) == 1
        assert json.loads(read.result())["exit_status"] == 1
        assert pipe.is_fifo()
        assert whole.read_text().startswith("<?xml")
        assert capsys.readouterr().out.startswith("FAIL  1 slower")
        readers.submit(lambda: pipe.open("rb").close())
        assert main([base, base, f"--format=json={pipe}"]) == 0


def test_a_full_device_keeps_no_other_report_from_being_written(
    base: str, tmp_path: Path, capsys: Capture
) -> None:
    asked = ["--format=json=/dev/full", f"--format=junit={tmp_path / 'whole.xml'}"]
    assert main([base, base, *asked]) == 2
    assert "cannot write /dev/full: No space left on device" in capsys.readouterr().err
    assert (tmp_path / "whole.xml").exists()


@pytest.mark.parametrize(
    ("formats", "words"),
    [
        ("xml", "'xml' is not NAME or NAME=FILE; NAME is one of terminal, "),
        ("json=", "'json=' is not NAME or NAME=FILE"),
        ("=x", "'=x' is not NAME"),
        ("\x1b[2J", r"'\\x1b\[2J' is not NAME"),
        ("json markdown", "json and markdown cannot share standard output: add =FILE"),
        ("json json", "cannot share standard output"),
    ],
)
def test_what_contradicts_itself_is_one_sentence(formats: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        Formats.parse(formats.split())
    assert caught.value.status is ExitStatus.BAD_USAGE


def test_a_bad_place_is_told_before_judging(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr("warpgauge.verdict.judge.judge", None)
    before = Path(base).read_bytes()
    for place in (base, tmp_path, tmp_path / "gone" / "x"):
        assert main([base, base, f"--format=json={place}"]) == 2
        assert capsys.readouterr().err.startswith(f"compare: cannot write {place}: ")
    assert Path(base).read_bytes() == before


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_replaces_one_of_its_kind_and_nothing_else(tmp_path: Path, name: str) -> None:
    one, path = FORMATS[name], tmp_path / "report"
    for found in (of_every_kind(), with_text("x"), comparison([verdict("a")], refusal="Other.")):
        path.write_text(one.render(found), encoding="utf-8")
        check_report(path, tmp_path / "baselines", (), one.own, one.kind)
    for other in FORMATS.values():
        if other.name != name:
            path.write_text(other.render(of_every_kind()), encoding="utf-8")
            with pytest.raises(UserError, match=f"exists and is no {one.kind}"):
                check_report(path, tmp_path / "baselines", (), one.own, one.kind)


def test_no_name_passes_an_export_for_a_file_of_another_kind() -> None:
    marks = '"warpgauge_export": "x" "warpgauge_format": "baseline/1" # TYPE warpgauge_'
    for name in OF_TIMES:
        text = FORMATS[name].render(comparison([verdict(marks)])).encode()
        assert [key for key in OF_TIMES if FORMATS[key].own.search(text)] == [name]
        assert b'"warpgauge_format"' not in text


@pytest.mark.parametrize(("document", "status"), [(SAME, 2), (SLOWER, 1)])
def test_a_file_that_cannot_be_written_is_told_and_hides_no_regression(
    base: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
    document: dict[str, object],
    status: int,
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    cand, place = write(tmp_path / "cand.json", document), tmp_path / "out.json"
    assert main([base, str(cand), f"--format=json={place}"]) == status
    out, err = capsys.readouterr()
    assert "within tolerance" in out
    assert err.startswith(f"compare: {place} cannot be written (No space left on device)")


@pytest.mark.parametrize("name", OF_TIMES)
def test_what_has_no_time_is_in_no_export_and_no_pass_and_hides_no_regression(
    base: str, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "out"
    asked = f"--format={name}={file}"
    for factor, status in ((1.0, 3), (1.5, 1)):
        cand = write(tmp_path / "cand.json", run([row("a/b", scaled(factor)), failed("a/c")]))
        assert main([base, str(cand), asked]) == status
        assert "a/b" in file.read_text()
        assert "a/c" not in file.read_text()
    nothing = write(tmp_path / "nothing.json", run([failed("a/b")]))
    for _ in "12":  # what holds nothing may be replaced, too
        assert main([base, str(nothing), asked]) == 3
        assert "a/b" not in file.read_text()


@pytest.mark.parametrize("name", OF_TIMES)
def test_of_a_run_alone_times_that_are_no_result_are_left_out(loaded: Loader, name: str) -> None:
    skipped = {"name": "a/d", "real_time": 0, "skipped": True, "skip_message": "needs two GPUs"}
    alone = loaded(run([row("a/b"), row("a/c", throttled=7.0), failed("a/e"), skipped]))
    allowed = unpaired_comparison(alone, {Override.THROTTLED})
    for found, names in ((unpaired_comparison(alone), "b"), (allowed, "bc")):
        text = FORMATS[name].render(found)
        assert [letter for letter in "bcde" if f'"a/{letter}"' in text] == [*names]


def test_the_bench_leaves_standard_output_to_a_program(repository: Repository) -> None:
    repository.record()
    repository.output()
    repository.bench("--format=json", "--processes=5")
    out, err = repository.output()
    assert json.loads(out)["counts"]["PASS"] == 3
    assert "run file" in err


def test_the_bench_exports_a_run_without_a_baseline(repository: Repository) -> None:
    file, report = repository.root / "export.json", repository.root / "report.json"
    asked = [f"--format=google_benchmark={file}", f"--format=json={report}"]
    assert repository.bench(*asked) is ExitStatus.NOT_MEASURED
    assert "--format" not in repository.output()[1]
    assert json.loads(report.read_text())["counts"]["NEW"] == 3
    rows = json.loads(file.read_text())["benchmarks"]
    assert [one["name"] for one in rows] == ["host/copy", "sync/idle", "sync/busy"]


def test_the_bench_refuses_a_report_in_place_of_its_run_file(repository: Repository) -> None:
    file = repository.root / "run.json"
    with pytest.raises(UserError, match="is in use"):
        repository.bench(f"--out={file}", f"--format=json={file}")
    (repository.root / "baselines").mkdir()
    with pytest.raises(UserError, match="only --record writes"):
        repository.bench(f"--format=json={repository.root / 'baselines' / 'x.json'}")


def test_each_gpu_of_several_writes_a_file_of_its_own() -> None:
    named = Formats.parse(["json=a/x.json"]).of("GPU-1")
    assert [path for _, path in named.files] == [Path("a/x-GPU-1.json")]


def test_the_help_names_every_format(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    words = capsys.readouterr().out.replace(",", " ").split()
    assert {*FORMATS} <= set(words)


def test_a_format_has_the_name_of_its_module() -> None:
    assert [form.name for form in FORMATS.values()] == [*FORMATS]
    assert "xml" not in FORMATS
