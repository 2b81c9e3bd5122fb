# SPDX-License-Identifier: Apache-2.0
"""--list and --dry-run tell what would be measured; nothing is measured and no file written."""

from __future__ import annotations

from pathlib import Path

import pytest

from clone import HOST_TIMES, TIMES, GitRepository, Repository
from two_folders import TwoFolders
from warpgauge.commands import ab
from warpgauge.system.errors import ExitStatus, UserError


def files(folder: Path) -> set[Path]:
    """All but what the fake programs count by."""
    return {path for path in folder.rglob("*") if path.suffix not in (".count", ".told")}


def lines(repository: Repository) -> list[str]:
    return repository.capsys.readouterr().out.splitlines()


def facts(out: list[str]) -> dict[str, str]:
    head, *lines = out
    assert head.startswith("Nothing is measured.")
    pairs = (line.strip().partition("  ") for line in lines)
    return {key: value.strip() for key, _, value in pairs}


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
        (["--dry-run", "--filter=nothing"], "no benchmark matches --filter 'nothing'"),
        (["--dry-run", "--against=nowhere"], "'nowhere' is not a commit of this clone"),
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


def test_a_dry_run_tells_sizes_baseline_and_files_and_leaves_none(repository: Repository) -> None:
    before = files(repository.root)
    assert repository.bench("--dry-run", "--quick", "--format=json=r.json") is ExitStatus.OK
    told = facts(lines(repository))
    assert told["programs"].startswith("host, sync, as last built in ")
    assert told["benchmarks"] == "3"
    assert told["processes"].startswith("6 (2 programs x 3)")
    assert told["if needed"].startswith("in pairs with the baseline's commit: ")
    assert "(available: none)" in told["against"]
    assert "<time>.json" in told["files"]
    assert told["files"].endswith("r.json")
    assert files(repository.root) == before


def test_a_dry_run_builds_nothing_and_says_so(clone: GitRepository) -> None:
    head = clone.git("rev-parse", "HEAD")
    assert clone.bench("--dry-run", "--against", "HEAD") is ExitStatus.OK
    told = facts(lines(clone))
    assert told["against"] == f"commit {head[:10]}, in pairs"
    assert told["programs"] == "unknown before the first build"
    assert "-base.json" in told["files"]
    assert not clone.built.exists()


def test_two_folders_list_what_either_has_and_measure_nothing(folders: TwoFolders) -> None:
    folders.both("both")
    folders.make("candidate", "new", {"BM_new": 1.0})
    assert folders.beside("--list") is ExitStatus.OK
    assert folders.capsys.readouterr().out.splitlines() == ["BM_copy/8", "BM_copy/64", "BM_new"]
    assert folders.beside("--dry-run") is ExitStatus.OK
    planned = facts(folders.capsys.readouterr().out.splitlines())
    assert planned["base"] == "base"
    assert planned["processes"].startswith("16 (2 programs x 4 x 2 sides)")
    assert not (folders.root / "build").exists()
    with pytest.raises(UserError, match=r"--list .* --dry-run"):
        ab.main(["base", "candidate", "--list", "--dry-run"], folders.root)
