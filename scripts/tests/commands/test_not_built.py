# SPDX-License-Identifier: Apache-2.0
"""Programs that are not built: one line, no error row, and never a pass."""

from __future__ import annotations

import json

import pytest
from test_unseen_gpu import recorded_elsewhere

from clone import HOST_TIMES, SLOW, TIMES, GitRepository, Repository
from warpgauge.commands import compare
from warpgauge.measure import build
from warpgauge.system.errors import ExitStatus, UserError

MORE = {family: {f"{family}/a": 2000.0, f"{family}/b": 3000.0} for family in ("cache", "gemm")}
LINE = "Not built: cache, gemm (omit --no-build)"


def without_more(repository: Repository) -> Repository:
    """`repository` once two of its programs are gone from its build."""
    for family in MORE:
        (repository.built / f"bench_{family}").unlink()
    return repository


@pytest.fixture
def recorded(repository: Repository) -> Repository:
    """With a baseline of four families, two of which are not built any more."""
    for family, times in MORE.items():
        repository.binary(family, times)
    repository.record()
    repository.output()
    return without_more(repository)


def test_they_are_one_line_and_no_row(recorded: Repository) -> None:
    out = recorded.root / "run.json"
    argv = ("--no-build", "--no-confirm", f"--out={out}")
    assert recorded.bench(*argv) is ExitStatus.NOT_MEASURED
    shown, err = recorded.capsys.readouterr()
    assert err.splitlines().count(LINE) == 1
    assert err.count("cache") == 1
    assert "Not built: cache, gemm (4 benchmarks)." in shown
    assert "missing" not in shown
    assert "3 within tolerance" in shown
    rows = json.loads(out.read_text())["benchmarks"]
    assert {row["name"] for row in rows} == {*HOST_TIMES, *TIMES}


def test_their_run_is_no_pass_for_compare_either_and_a_regression_outranks_them(
    recorded: Repository,
) -> None:
    out, slow = recorded.root / "run.json", recorded.root / "slow.json"
    (baseline,) = recorded.root.glob("baselines/*/")
    argv = ("--no-build", "--no-confirm")
    recorded.bench(*argv, f"--out={out}")
    assert compare.main([str(baseline), str(out)], recorded.root) == ExitStatus.NOT_MEASURED
    recorded.binary("sync", SLOW)
    assert recorded.bench(*argv, f"--out={slow}") is ExitStatus.REGRESSION


def test_they_are_not_recorded(recorded: Repository) -> None:
    with pytest.raises(UserError, match="nothing to record: not built: cache, gemm"):
        recorded.bench("--record", "--build-dir", str(recorded.built))


def test_where_nothing_of_a_filter_is_built_nothing_is_measured(recorded: Repository) -> None:
    with pytest.raises(UserError, match="bench_gemm is not built") as caught:
        recorded.bench("--no-build", "--filter=^gemm/")
    assert caught.value.status is ExitStatus.NOT_MEASURED


@pytest.mark.parametrize("unseen", [False, True])
def test_pairs_with_the_baseline_do_not_hide_them(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch, unseen: bool
) -> None:
    clone.commit({"host": HOST_TIMES, "sync": TIMES, **MORE})
    if unseen:
        recorded_elsewhere(clone)
    else:
        clone.record()
    builds = build.build

    def all_but_more(*arguments: object) -> None:
        builds(*arguments)  # type: ignore[arg-type] # as it was called
        if arguments[0] == clone.root:
            without_more(clone)

    monkeypatch.setattr(build, "build", all_but_more)
    clone.write({"host": HOST_TIMES, "sync": {**TIMES, "sync/busy": 2000.0}, **MORE})
    clone.output()
    assert clone.bench() is ExitStatus.NOT_MEASURED  # not OK, which a faster benchmark is
    assert "Not built: cache, gemm (4 benchmarks)." in clone.output()[0]
