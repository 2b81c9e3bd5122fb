# SPDX-License-Identifier: Apache-2.0
"""--list prints what would be measured; nothing is measured and no file written."""

from __future__ import annotations

import shutil

import pytest

from clone import HOST_TIMES, TIMES, GitRepository, Repository
from warpgauge.measure import build, drive_lines
from warpgauge.system.errors import ExitStatus, UserError


def lines(repository: Repository) -> list[str]:
    return repository.capsys.readouterr().out.splitlines()


def test_a_list_is_a_name_a_line_of_what_is_asked_for(repository: Repository) -> None:
    repository.binary("sync", {**TIMES, "sync/big": 1.0}, full_suite=["sync/big"])
    assert repository.bench("--list", "--no-build") is ExitStatus.OK
    assert lines(repository) == [*HOST_TIMES, *TIMES]
    assert repository.bench("--list", "--filter=^sync/[bi]") is ExitStatus.OK
    assert lines(repository) == list(TIMES)
    assert repository.bench("--list", "--filter=big$", "--suite=full") is ExitStatus.OK
    assert lines(repository) == ["sync/big"]
    assert not repository.runs()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--list", "--filter=nothing"], "no benchmark matches --filter 'nothing'"),
        (["--against=nowhere"], "'nowhere' is not a commit of this clone"),
    ],
)
def test_what_is_not_there_is_refused_as_in_a_run(
    clone: GitRepository, argv: list[str], said: str
) -> None:
    clone.build(clone.root, "release", lambda line: None)
    with pytest.raises(UserError, match=said) as caught:
        clone.bench("--no-build", *argv)
    assert caught.value.status is ExitStatus.BAD_USAGE


def test_a_program_that_cannot_list_its_benchmarks_is_told_and_no_success(
    repository: Repository,
) -> None:
    repository.binary("sync", TIMES, listing_fault="exit")
    assert repository.bench("--list") is ExitStatus.NOT_MEASURED
    out, err = repository.output()
    assert out == "host/copy"
    assert "bench_sync: cannot list its benchmarks" in err


def test_a_list_builds_nothing_and_names_what_is_not_built_in_one_line(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(build, "build")
    for family in ("cache", "gemm"):
        repository.binary(family)
        (repository.built / f"bench_{family}").unlink()
    assert repository.bench("--list") is ExitStatus.NOT_MEASURED
    out, err = repository.capsys.readouterr()
    assert out.splitlines() == [*HOST_TIMES, *TIMES]
    assert err.splitlines() == [
        "Not built: cache, gemm (scripts/bench builds what this machine can run)"
    ]
    assert repository.bench("--list", "--filter=^gemm/") is ExitStatus.NOT_MEASURED
    out, err = repository.output()
    assert (out, err.partition(" (")[0]) == ("", "Not built: gemm")
    assert repository.bench("--list", "--filter=^sync/") is ExitStatus.OK
    assert repository.output() == ("sync/idle sync/busy", "")


def test_in_a_fresh_clone_nothing_is_built(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(build, "build")
    monkeypatch.setattr(drive_lines, "provide", None)  # which would build the driver
    shutil.rmtree(repository.built)
    with pytest.raises(UserError, match=r"nothing is built in .*build/release") as caught:
        repository.bench("--list")
    assert caught.value.status is ExitStatus.NOT_MEASURED
