# SPDX-License-Identifier: Apache-2.0
"""--format: several at once, refused before the work, and never hiding a regression."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from builders import row, run, scaled, write
from clone import Repository
from comparisons import comparison, of_every_kind, with_text
from warpgauge.commands.compare import starter as main
from warpgauge.commands.format_options import Formats
from warpgauge.files.output_file import check_report
from warpgauge.reports.formats import FORMATS, TERMINAL
from warpgauge.system.errors import ExitStatus, UserError

SAME = run([row("a/b"), row("a/c")])
SLOWER = run([row("a/b", scaled(1.5)), row("a/c")])


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write(tmp_path / "base.json", SAME)


@pytest.fixture
def slower(tmp_path: Path) -> Path:
    return write(tmp_path / "slower.json", SLOWER)


def test_several_formats_go_to_files_and_the_terminal_stays(
    base: Path, slower: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    asked = [f"--format={name}={out / name}" for name in FORMATS]
    assert main([str(base), str(slower), *asked]) == 1
    assert capsys.readouterr().out.startswith("1 regression, 0 improvements")
    assert sorted(path.name for path in out.iterdir()) == sorted(FORMATS)
    assert all("a/b" in path.read_text() for path in out.iterdir() if path.name != "svg")


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_without_a_file_has_standard_output_alone(
    base: Path, slower: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(base), str(slower), "--format", name]) == 1
    out, err = capsys.readouterr()
    assert FORMATS[name].own.search(out.encode())
    assert err == ""


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_by_another_name_is_a_programs_too(
    base: Path, slower: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(base), str(slower), f"--format=json={name}"]) == 1
    assert json.loads(capsys.readouterr().out)["exit_status"] == 1


def test_a_pipe_gets_a_report_beside_what_the_terminal_shows(
    base: Path, slower: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe, whole = tmp_path / "pipe", tmp_path / "whole.xml"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as readers:
        read = readers.submit(pipe.read_text)
        asked = [f"--format=json={pipe}", f"--format=junit={whole}"]
        assert main([str(base), str(slower), *asked]) == 1
        assert json.loads(read.result())["exit_status"] == 1
    assert pipe.is_fifo()
    assert whole.read_text().startswith("<?xml")
    assert capsys.readouterr().out.startswith("1 regression")


def test_a_reader_of_a_pipe_may_leave_early(base: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as readers:
        readers.submit(lambda: pipe.open("rb").close())
        assert main([str(base), str(base), f"--format=json={pipe}"]) == 0


def test_a_full_device_keeps_no_other_report_from_being_written(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--format=json=/dev/full", f"--format=junit={tmp_path / 'whole.xml'}"]
    assert main([str(base), str(base), *asked]) == 2
    assert "/dev/full cannot be written (No space left on device)" in capsys.readouterr().err
    assert (tmp_path / "whole.xml").exists()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["xml"], "'xml' is not NAME or NAME=FILE with a NAME of terminal, markdown"),
        (["json="], "'json=' is not NAME or NAME=FILE"),
        (["=x"], "'=x' is not NAME"),
        (["\x1b[2J"], r"'\\x1b\[2J' is not NAME"),
        (["json", "markdown"], "json and markdown cannot share standard output: add =FILE"),
        (["json", "json"], "cannot share standard output"),
        (["json=x", "junit=./x"], "x is to be written twice"),
    ],
)
def test_what_contradicts_itself_is_one_sentence(asked: list[str], words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        Formats.parse(asked)
    assert caught.value.status is ExitStatus.BAD_USAGE


def test_a_bad_place_is_told_before_judging(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("warpgauge.verdict.judge.judge", None)
    before = base.read_bytes()
    for place in (base, tmp_path, tmp_path / "gone" / "x"):
        assert main([str(base), str(base), f"--format=json={place}"]) == 2
        assert capsys.readouterr().err.startswith(f"compare.py: cannot write {place}: ")
    assert base.read_bytes() == before


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_replaces_one_of_its_kind_and_nothing_else(tmp_path: Path, name: str) -> None:
    one, path = FORMATS[name], tmp_path / "report"
    for found in (of_every_kind(), with_text("x"), comparison([], refusal="Other GPUs.")):
        path.write_text(one.render(found), encoding="utf-8")
        check_report(path, tmp_path / "baselines", (), one.own, one.kind)
    for other in FORMATS.values():
        if other is not one:
            path.write_text(other.render(of_every_kind()), encoding="utf-8")
            with pytest.raises(UserError, match=f"it is there and is no {one.kind}"):
                check_report(path, tmp_path / "baselines", (), one.own, one.kind)


@pytest.mark.parametrize(("document", "status"), [(SAME, 2), (SLOWER, 1)])
def test_a_file_that_cannot_be_written_is_told_and_hides_no_regression(
    base: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    document: dict[str, object],
    status: int,
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    cand, place = write(tmp_path / "cand.json", document), tmp_path / "out.json"
    assert main([str(base), str(cand), f"--format=json={place}"]) == status
    out, err = capsys.readouterr()
    assert "unchanged" in out
    assert err.startswith(f"compare.py: {place} cannot be written (No space left on device)")


def test_the_bench_leaves_standard_output_to_a_program(repository: Repository) -> None:
    repository.record()
    repository.output()
    repository.bench("--format=json", "--processes=5")
    out, err = repository.output()
    assert json.loads(out)["counts"]["PASS"] == 3
    assert "run file" in err


def test_the_bench_refuses_a_report_in_place_of_its_run_file(repository: Repository) -> None:
    file = repository.root / "run.json"
    with pytest.raises(UserError, match=r"it would replace .*, which is compared"):
        repository.bench(f"--out={file}", f"--format=json={file}")
    (repository.root / "baselines").mkdir()
    with pytest.raises(UserError, match="only --record writes"):
        repository.bench(f"--format=json={repository.root / 'baselines' / 'x.json'}")


def test_the_help_names_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    words = capsys.readouterr().out.replace(",", " ").split()
    assert set(FORMATS) <= set(words)
    assert TERMINAL.name in words
