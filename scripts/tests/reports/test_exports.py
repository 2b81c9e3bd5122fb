# SPDX-License-Identifier: Apache-2.0
"""--export: whole or not at all, refused before the work, and what is left out is no pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Loader

from builders import failed, row, run, scaled, write
from clone import Repository
from comparisons import comparison, of_every_kind, verdict, with_text
from warpgauge.commands import format_options
from warpgauge.commands.compare import starter as main
from warpgauge.commands.format_options import Formats
from warpgauge.files.output_file import check_report
from warpgauge.reports.exports import EXPORTS
from warpgauge.reports.formats import FORMATS
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict.override import Override

SAME = run([row("a/b"), row("a/c")])
SLOWER = run([row("a/b", scaled(1.5)), row("a/c")])
FAILED = run([row("a/b"), failed("a/c")])
each_export = pytest.mark.parametrize("name", EXPORTS)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write(tmp_path / "base.json", SAME)


def test_every_export_is_written_beside_what_the_terminal_shows(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cand = write(tmp_path / "cand.json", SLOWER)
    asked = [f"--export={name}={tmp_path / name}" for name in EXPORTS]
    assert main([str(base), str(cand), *asked, f"--format=json={tmp_path / 'json'}"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("1 regression")
    assert err == ""
    rows = json.loads((tmp_path / "bencher").read_text())["benchmarks"]
    assert [one["real_time"] for one in rows] == pytest.approx([1500.0, 1000.0], rel=1e-3)
    for name, one in EXPORTS.items():
        assert one.own.search((tmp_path / name).read_bytes())


@each_export
def test_what_failed_is_left_out_named_and_no_pass(
    base: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cand, file = write(tmp_path / "cand.json", FAILED), tmp_path / "out"
    assert main([str(base), str(cand), f"--export={name}={file}"]) == 3
    assert f"--export {name}={file} leaves out 'a/c': ERROR\n" in capsys.readouterr().err
    assert "a/b" in file.read_text()
    assert "a/c" not in file.read_text()


def test_a_regression_outranks_what_is_left_out(base: Path, tmp_path: Path) -> None:
    cand = write(tmp_path / "cand.json", run([row("a/b", scaled(1.5)), failed("a/c")]))
    assert main([str(base), str(cand), f"--export=bencher={tmp_path / 'out'}"]) == 1


def test_what_one_tool_cannot_read_is_no_pass_although_it_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = write(tmp_path / "run.json", run([row("a/b"), row("a/" + "c" * 1024)]))
    asked = ["--export=bencher=", "--export=openmetrics="]
    bencher, openmetrics = (f"{one}{tmp_path / str(at)}" for at, one in enumerate(asked))
    assert main([str(both), str(both), bencher]) == 3
    assert "more than the 1024 bytes that Bencher reads" in capsys.readouterr().err
    assert main([str(both), str(both), openmetrics]) == 0


def test_where_no_benchmark_has_a_time_no_file_is_written(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cand, file = write(tmp_path / "cand.json", run([failed("a/b")])), tmp_path / "out"
    file.touch()
    assert main([str(base), str(cand), f"--export=bencher={file}"]) == 3
    assert f"bencher={file} is not written: 'a/b': ERROR; 'a/c': MISSING" in capsys.readouterr().err
    assert file.read_text() == ""


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["xml=x"], "'xml=x' is not NAME=FILE with a NAME of github-action-benchmark, bencher"),
        (["bencher"], "'bencher' is not NAME=FILE"),
        (["bencher="], "'bencher=' is not NAME=FILE"),
        (["\x1b[2J=x"], r"'\\x1b\[2J=x' is not NAME=FILE"),
        (["bencher=/dev/stdout"], "standard output shows the comparison; name a file"),
        (["bencher=x", "openmetrics=./x"], "x is to be written twice"),
        (["bencher=y"], "y is to be written twice"),
    ],
)
def test_what_contradicts_itself_is_one_sentence(asked: list[str], words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        Formats.parse(["json=y"], asked)
    assert caught.value.status is ExitStatus.BAD_USAGE


@each_export
def test_an_export_replaces_one_of_its_kind_and_nothing_else(tmp_path: Path, name: str) -> None:
    one, path = EXPORTS[name], tmp_path / "export"
    for found in (of_every_kind(), with_text("x"), comparison([verdict("a")], refusal="Alone.")):
        path.write_text(one.render(found), encoding="utf-8")
        check_report(path, tmp_path / "baselines", (), one.own, one.kind)
    others = {known: two.render(of_every_kind()) for known, two in EXPORTS.items()}
    others |= {known: two.render(of_every_kind()) for known, two in FORMATS.items()}
    for known, text in others.items():
        if known != name:
            path.write_text(text, encoding="utf-8")
            with pytest.raises(UserError, match=f"it is there and is no {one.kind}"):
                check_report(path, tmp_path / "baselines", (), one.own, one.kind)


def test_no_name_passes_a_file_for_one_of_another_kind() -> None:
    marks = '"warpgauge_export": "bencher" "warpgauge_format": "baseline/1" # TYPE warpgauge_'
    for name, one in EXPORTS.items():
        text = one.render(comparison([verdict(marks)])).encode()
        assert [key for key, other in EXPORTS.items() if other.own.search(text)] == [name]
        assert b'"warpgauge_format"' not in text


def test_the_bench_exports_a_run_without_a_baseline(repository: Repository) -> None:
    file = repository.root / "export.json"
    asked = [f"--export=bencher={file}", "--format=json=report.json"]
    assert repository.bench(*asked) is ExitStatus.NOT_MEASURED
    err = repository.output()[1]
    assert "--format json=report.json is not written: nothing is compared." in err
    assert "--export" not in err
    rows = json.loads(file.read_text())["benchmarks"]
    assert [one["name"] for one in rows] == ["host/copy", "sync/idle", "sync/busy"]


def test_of_a_run_alone_times_that_are_no_result_are_left_out_and_skips_are_not_asked(
    loaded: Loader,
) -> None:
    skipped = {"name": "a/d", "real_time": 0, "skipped": True, "skip_message": "needs two GPUs"}
    alone = loaded(run([row("a/b"), row("a/c", throttled=7.0), failed("a/e"), skipped]))
    found = format_options.unpaired_comparison(alone)
    one = EXPORTS["openmetrics"]
    assert [verdict.name for verdict in one.kept(found)] == ["a/b"]
    assert one.left_out(found) == "'a/c': INVALID; 'a/e': ERROR"
    allowed = format_options.unpaired_comparison(alone, {Override.THROTTLED})
    assert [verdict.name for verdict in one.kept(allowed)] == ["a/b", "a/c"]


def test_each_gpu_of_several_exports_to_a_file_of_its_own() -> None:
    named = Formats.parse([], ["bencher=a/x.json"]).of("GPU-1")
    assert [path for _, path in named.exports] == [Path("a/x-GPU-1.json")]
