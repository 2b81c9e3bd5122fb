# SPDX-License-Identifier: Apache-2.0
"""warpgauge sweep over fake programs: what is measured, shown and written, and what is refused."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import fake_binary
import shell
from builders import failed, row, run, write
from clone import Repository
from warpgauge.commands import sweep
from warpgauge.commands.sweep import parse
from warpgauge.measure import build
from warpgauge.system.errors import ExitStatus, UserError

SUM = {f"reduce/{variant}/f32/n:{n}": 10.0 * n for variant in ("sum", "sum_cub") for n in (64, 128)}


@pytest.fixture
def reductions(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A clone that has a family with an axis, too."""
    monkeypatch.chdir(repository.root)
    repository.binary("reduce", {**SUM, "reduce/idle": 5.0})
    return repository


def swept(repository: Repository, *argv: str) -> ExitStatus:
    return sweep.main(argv, repository.root)


def rows(path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(path).read_text().splitlines()))


def names(repository: Repository) -> list[str]:
    """Of the rows of the only run file."""
    (path,) = repository.runs()
    return [one["name"] for one in json.loads(path.read_text())["benchmarks"]]


def test_variants_stand_side_by_side_and_the_run_is_kept(reductions: Repository) -> None:
    assert (
        swept(reductions, "reduce", "--axis=n", "--format=csv=a.csv", "--format=svg=a.svg")
        is ExitStatus.OK
    )
    shown = reductions.capsys.readouterr().out.splitlines()
    assert "n reduce/sum/f32 reduce/sum_cub/f32" in [" ".join(one.split()) for one in shown]
    first = next(one.split() for one in shown if one.split()[:1] == ["64"])
    assert first == "64 643.0 ns 1.000 GB/s 643.0 ns 1.000 GB/s".split()
    assert names(reductions) == list(SUM)
    told = rows("a.csv")
    assert [(one["variant"], one["x"]) for one in told] == [
        ("reduce/sum/f32", "64"), ("reduce/sum/f32", "128"),
        ("reduce/sum_cub/f32", "64"), ("reduce/sum_cub/f32", "128"),
    ]  # fmt: skip
    # Three processes, after one that looks for the GPU: 642, 643 and 644 ns.
    assert float(told[0]["time_ns"]) == pytest.approx(643.0)
    assert float(told[0]["low"]) < 642.0 < 644.0 < float(told[0]["high"])
    assert told[0]["bytes_per_second"] == "1e+09"
    assert told[0]["flops_per_second"] == ""
    ElementTree.fromstring(Path("a.svg").read_text())


def test_nobody_is_told_to_install_nvcc_for_what_needs_none(
    reductions: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    reductions.binary("host", {"host/copy/n:64": 3.0})
    for nvcc, told in (
        ("nvcc", "no selected program needs one"),
        (None, "because nvcc"),
    ):
        monkeypatch.setattr(build, "cuda_compiler", lambda nvcc=nvcc: nvcc)
        assert swept(reductions, "host", "--axis=n") is ExitStatus.OK
        err = reductions.output()[1]
        assert told in err


def test_a_report_on_standard_output_stands_there_alone(reductions: Repository) -> None:
    swept(reductions, "reduce", "--axis=n", "--format=csv", "--format=svg=a.svg")
    shown = reductions.capsys.readouterr().out
    assert [one["x"] for one in csv.DictReader(shown.splitlines())] == ["64", "128", "64", "128"]
    again = ["reduce", "--axis=n", str(*reductions.runs())]
    swept(reductions, *again, "--format=svg")
    assert reductions.capsys.readouterr().out == Path("a.svg").read_text()


def test_a_kept_run_is_shown_again_without_measuring(reductions: Repository) -> None:
    swept(reductions, "reduce", "--axis=n", "--format=csv=a.csv", "--format=svg=a.svg")
    first = reductions.capsys.readouterr().out
    (path,) = reductions.runs()
    again = ["reduce", "--axis=n", "--format=csv=b.csv", "--format=svg=b.svg", str(path)]
    assert swept(reductions, *again) is ExitStatus.OK
    assert reductions.capsys.readouterr().out == first
    for one, other in (("a.csv", "b.csv"), ("a.svg", "b.svg")):
        assert Path(one).read_bytes() == Path(other).read_bytes()
    assert swept(reductions, *again) is ExitStatus.OK  # they may be replaced
    assert len(reductions.runs()) == 1
    only = ["reduce/sum/", "--axis=n", "--format=csv=c.csv", str(path)]
    swept(reductions, *only)
    assert {one["variant"] for one in rows("c.csv")} == {"reduce/sum/f32"}


def test_values_replace_those_of_the_suite(reductions: Repository) -> None:
    swept(reductions, "reduce/sum/", "--axis=n=100,1Ki..4Ki")
    values = [100, 1024, 2048, 4096]
    assert names(reductions) == [f"reduce/sum/f32/n:{value}" for value in values]
    shown = reductions.capsys.readouterr().out.split()
    assert [
        one for one in shown if one in ("100", "1Ki", "2Ki", "4Ki")
    ] == "100 1Ki 2Ki 4Ki".split()


def test_an_axis_of_floating_point_is_shown_and_drawn(reductions: Repository) -> None:
    reductions.binary("scale", {f"scale/a/alpha:{text}": 50.0 for text in ("1e-9", "0.5", "1")})
    argv = ["scale", "--axis=alpha", "--format=csv=a.csv", "--format=svg=a.svg"]
    assert swept(reductions, *argv) is ExitStatus.OK
    assert [one["x"] for one in rows("a.csv")] == ["1e-09", "0.5", "1"]
    ElementTree.fromstring(Path("a.svg").read_text())
    argv[1] += "=2,0.25,-1"
    assert swept(reductions, *argv) is ExitStatus.OK
    assert [one["x"] for one in rows("a.csv")] == ["-1", "0.25", "2"]


def test_a_value_that_a_benchmark_refuses_is_a_gap_with_the_reason_below(
    reductions: Repository,
) -> None:
    bad = {"reduce/sum/f32/n:64": "wrong", "reduce/sum_cub/f32/n:128": "skipped"}
    reductions.binary("reduce", SUM, ill=bad)
    assert swept(reductions, "reduce", "--axis=n", "--format=csv=a.csv") is ExitStatus.NOT_MEASURED
    out, _ = reductions.output()
    assert "64 ERROR 643.0 ns" in out
    assert "128 1.283 µs 1.000 GB/s skipped" in out
    assert "reduce/sum/f32/n:64: in round 1: wrong \\x01 result" in out
    assert "reduce/sum_cub/f32/n:128: needs another GPU" in out
    assert [one["time_ns"] == "" for one in rows("a.csv")] == [True, False, False, True]


def test_families_are_measured_beside_each_other(reductions: Repository) -> None:
    reductions.binary("scan", {"scan/ours/n:64": 100.0})
    swept(reductions, "scan", "reduce/sum_cub", "--axis=n", "--format=csv=a.csv")
    assert {one["variant"] for one in rows("a.csv")} == {"scan/ours", "reduce/sum_cub/f32"}


def test_a_program_that_cannot_list_is_told_and_no_success(reductions: Repository) -> None:
    reductions.binary("scan", listing_fault="no such library")
    assert swept(reductions, "reduce", "--axis=n") is ExitStatus.OK
    reductions.output()
    assert swept(reductions, "reduce", "scan", "--axis=n") is ExitStatus.NOT_MEASURED
    assert "scan: bench_scan: cannot list its benchmarks" in reductions.output()[0]


def test_a_program_of_another_warpgauge_that_knows_no_values_says_so(
    reductions: Repository,
) -> None:
    program = reductions.built / "bench_reduce"
    program.rename(program.with_name("real"))
    Path(f"{program}.told").rename(program.with_name("real.told"))
    refuses = 'case "$*" in *--axis*) echo "unknown argument" >&2; exit 2;; esac'
    shell.script(program, f'{refuses}\nexec "{program.with_name("real")}" "$@"')
    assert swept(reductions, "reduce", "--axis=n") is ExitStatus.OK
    with pytest.raises(UserError, match="unknown argument") as refusal:
        swept(reductions, "reduce", "--axis=n=4")
    assert refusal.value.status is ExitStatus.NOT_MEASURED


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ("redcue --axis=n", "'redcue': the families are"),
        ("reduce --axis=m", "no benchmark of 'reduce' has the axis 'm': its axes are 'n'"),
        ("sync --axis=n", "it has no axis"),
        ("reduce", "--axis"),
        ("--axis=n", "WHAT"),
        ("reduce --axis=n:", "has the axis 'n:'"),
        ("/reduce --axis=n", "'/reduce': the families are"),
        ("reduce --axis=n=4k", "--axis: '4k'"),
        ("reduce --axis=n=8..4", "'8..4'"),
        ("reduce --axis=n=0..4", "'0..4'"),
        ("reduce --axis=n=nan", "'nan'"),
        ("reduce --axis=n=1e999", "'1e999'"),
        ("reduce --axis=n=0.5Ki", "'0.5Ki'"),
        ("reduce --axis=n=1,", "''"),
        ("words --axis=order", "the axis 'order' of 'words' holds text"),
        ("reduce --axis=n=9999Pi", "is larger than 2^63 - 1"),
        ("reduce --axis=n=4 a.json", "values of --axis n"),
        ("a.json --axis=n --device=0", "a run file (*.json) cannot be combined with --device"),
        ("a.json --axis=n --build-dir=.", "cannot be combined with --build-dir"),
        ("reduce --axis=n nowhere.json", "nowhere.json"),
        ("reduce --axis=n --format=svg --format=csv", "cannot share standard output"),
        ("reduce --axis=n --format=svg=suite.txt", "the file exists and is no SVG"),
        ("reduce --axis=n --format=csv=nowhere/a.csv", "cannot write nowhere/a.csv"),
    ],
)
def test_a_fault_is_one_sentence_before_anything_is_measured(
    reductions: Repository, argv: str, said: str
) -> None:
    Path("suite.txt").write_text("mine")
    reductions.binary("words", {"words/a/order:row": 3.0, "words/a/order:column": 3.0})
    with pytest.raises(UserError) as refusal:
        swept(reductions, *argv.split())
    assert refusal.value.status is ExitStatus.BAD_USAGE
    assert said in str(refusal.value)
    assert reductions.runs() == []
    assert Path("suite.txt").read_text() == "mine"


def test_all_of_the_full_suite_is_measured(reductions: Repository) -> None:
    reductions.binary("scan", {"scan/a/n:4": 9.0, "scan/b/m:4": 9.0}, full_suite=["scan/b/m:4"])
    assert swept(reductions, "scan", "--axis=m") is ExitStatus.OK


def test_without_a_gpu_nothing_is_measured(reductions: Repository) -> None:
    reductions.binary("reduce", SUM, no_gpu="no CUDA-capable device is detected")
    with pytest.raises(UserError, match="no CUDA-capable device") as refusal:
        swept(reductions, "reduce", "--axis=n")
    assert refusal.value.status is ExitStatus.NOT_MEASURED


def test_nothing_measured_is_no_success_and_the_run_is_kept(reductions: Repository) -> None:
    reductions.binary("reduce", SUM, ill=dict.fromkeys(SUM, "wrong"))
    with pytest.raises(UserError, match="nothing was measured") as refusal:
        swept(reductions, "reduce", "--axis=n")
    assert refusal.value.status is ExitStatus.NOT_MEASURED
    assert len(reductions.runs()) == 1


@pytest.mark.parametrize("width", ["40", "80", "200"])
def test_the_table_fits_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    many = [row(f"gemm/variant_{name}/bf16/n:{n}") for name in "abcdefgh" for n in (512, 1024)]
    many += [failed("gemm/variant_a/bf16/n:2048", "no memory")]
    path = write(tmp_path / "run.json", run(many))
    sweep.main(["gemm", "--axis=n", str(path)], tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= int(width)
    blocks = {"40": 8, "80": 3, "200": 1}
    assert sum(line.split()[:1] == ["1Ki"] for line in lines) == blocks[width]


@pytest.mark.parametrize("first", "=+-@")
def test_no_name_is_a_formula_of_a_spreadsheet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "run.json", run([row(f"{first}cmd|'/c calc'!A1/n:4"), row("a/n:4")]))
    sweep.main(["--axis=n", str(path), "--format=csv=a.csv"], tmp_path)
    assert [one["variant"] for one in rows("a.csv")] == [f"'{first}cmd|'/c calc'!A1", "a"]


def _ceilings(path: Path) -> list[str]:
    namespace = "{http://www.w3.org/2000/svg}"
    document = ElementTree.fromstring(path.read_text())
    return [
        one.text or ""
        for one in document.iter(f"{namespace}text")
        if (one.text or "").startswith("roofline")
    ]


def test_the_roofline_is_drawn_once_where_it_is_of_all(tmp_path: Path) -> None:
    def drawn(fractions: dict[str, float], **counters: float) -> list[str]:
        rows = [
            row(f"f/{name}/n:{n}", limit_fraction=fraction, **counters)
            for name, fraction in fractions.items()
            for n in (4, 8)
        ]
        svg = tmp_path / "a.svg"
        path = write(tmp_path / "run.json", run(rows))
        sweep.main(["f", "--axis=n", str(path), f"--format=svg={svg}"], tmp_path)
        return _ceilings(svg)

    rates = {"bytes_per_second": 1e12}
    assert drawn({"a": 0.5, "b": 0.501}, **rates) == ["roofline"]
    assert drawn({"a": 0.5, "b": 0.25, "c": 0.5}, **rates) == [
        "roofline of f/a",
        "roofline of f/b",
        "roofline of f/c",
    ]
    assert drawn({"a": 0.5}) == []  # of a time there is none


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("3,4Ki..16Ki,1Gi", (3, 4096, 8192, 16384, 2**30)),
        ("3..13", (3, 6, 12)),
        ("4,2..8,0.5,0.50", (4, 2, 8, 0.5)),
        ("-1,0.1,1e-9,1e300", (-1, 0.1, 1e-9, 1e300)),
        ("0.5..3", (0.5, 1.0, 2.0)),
        ("1e-150..1e150", tuple(1e-150 * 2**n for n in range(997))),
        ("4096.0,1e5,-0.0,2.5", (4096, 100000, 0, 2.5)),  # whole values are integers
    ],
)
def test_values_are_read_as_they_are_written(text: str, values: tuple[float, ...]) -> None:
    found = parse(["f", f"--axis=n={text}"]).own.values
    assert (found, [*map(type, found)]) == (values, [*map(type, values)])


_KERNELS = """\
version = 1
[kernels.scale]
cubin = "scale.cubin"
symbol = "scale"
type = "f32"
axes = { n = [64, 128] }
arguments = [{ input = "x", type = "f32", count = "n" },
  { output = "y", type = "f32", count = "n" }]
grid = ["ceil_div(n, 32)"]
block = [32]
verify.y = { reference = "slow" }
[kernels.slow]
cubin = "scale.cubin"
symbol = "slow"
reference_only = true
arguments = [{ input = "x", type = "f32", count = "n" },
  { output = "y", type = "f32", count = "n" }]
grid = [1]
block = [32]
"""


def test_kernels_of_a_manifest_stand_beside_a_family(reductions: Repository) -> None:
    Path("scale.cubin").write_bytes(b"\x7fELF")
    Path("kernels.toml").write_text(_KERNELS)
    times = {f"external/scale/f32/n:{n}": 9.0 * n for n in (64, 128)}
    fake_binary.make(reductions.built / "benchmarks", "external", times)
    asked = ["reduce/sum/", "kernels.toml", "--axis=n", "--format=csv=a.csv"]
    assert swept(reductions, *asked) is ExitStatus.OK
    assert {one["variant"] for one in rows("a.csv")} == {"reduce/sum/f32", "external/scale/f32"}
    (path,) = reductions.runs()
    log = path.with_suffix(".log").read_text()
    assert "bench_external --kernels=" in log
    assert swept(reductions, *asked, str(path)) is ExitStatus.OK
    with pytest.raises(UserError, match="has the axis 'm': its axes are 'n'"):
        swept(reductions, "kernels.toml", "--axis=m")
    with pytest.raises(UserError, match=r"nowhere\.toml"):
        swept(reductions, "nowhere.toml", "--axis=m")


def test_a_manifest_whose_program_fails_is_one_sentence(reductions: Repository) -> None:
    Path("scale.cubin").write_bytes(b"\x7fELF")
    Path("kernels.toml").write_text(_KERNELS)
    for said in (
        "bench_external .* build first",
        "measured: bench_external cannot list",
    ):
        with pytest.raises(UserError, match=said) as refusal:
            swept(reductions, "kernels.toml", "--axis=n")
        assert refusal.value.status is ExitStatus.NOT_MEASURED
        assert "--filter" not in str(refusal.value)
        folder = reductions.built / "benchmarks"
        fake_binary.make(folder, "external", listing_fault="it broke")


def test_values_of_a_manifests_axis_are_in_its_plan(reductions: Repository) -> None:
    Path("scale.cubin").write_bytes(b"\x7fELF")
    Path("kernels.toml").write_text(_KERNELS)
    program = reductions.built / "benchmarks" / "bench_external"
    fake_binary.make(program.parent, "external", {"external/scale/f32/n:32": 9.0})
    real = program.rename(program.with_name("real"))
    Path(f"{program}.told").rename(f"{real}.told")
    keep = 'for one; do case "$one" in --kernels=*) cp "${one#*=}" plan;; esac; done'
    shell.script(program, f'cd "{reductions.root}"\n{keep}\nexec "{real}" "$@"')
    assert swept(reductions, "kernels.toml", "--axis=n=32") is ExitStatus.OK
    cases = [line for line in Path("plan").read_text().splitlines() if line.startswith("case ")]
    assert cases == ["case external/scale/f32/n:32"]
    for values in ("0.5", "-4"):
        with pytest.raises(UserError, match="the axis 'n' of a manifest takes non-negative int"):
            swept(reductions, "kernels.toml", f"--axis=n={values}")
