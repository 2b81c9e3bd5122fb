# SPDX-License-Identifier: Apache-2.0
"""The default and the full suite, and benchmarks that a machine cannot run, from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clone import TIMES, Repository
from warpgauge.commands import baseline
from warpgauge.system.errors import ExitStatus, UserError

BIG = "sync/big"


def _binaries(repository: Repository, big: str = "") -> None:
    """Programs that know suites, as a first process finds them; `big` is what ails that one."""
    repository.binary("host", {"host/copy": 3000.0})
    ill = {BIG: big} if big else {}
    repository.binary("sync", {**TIMES, BIG: 5000.0}, full_suite=[BIG], ill=ill)


def _recorded(repository: Repository) -> None:
    """A baseline of the full suite."""
    _binaries(repository)
    assert repository.bench("--record", "--suite=full") is ExitStatus.OK


def _full_run(repository: Repository) -> ExitStatus:
    out = repository.root / "again.json"
    return repository.bench("--no-confirm", "--suite=full", "--out", str(out))


def _rows(path: Path) -> dict[str, dict[str, object]]:
    return {row["name"]: row for row in json.loads(path.read_text())["benchmarks"]}


def test_the_default_suite_leaves_out_what_is_of_the_full_one(repository: Repository) -> None:
    _binaries(repository)
    out = repository.root / "default.json"
    repository.bench("--quick", "--out", str(out))
    assert BIG not in _rows(out)
    assert "suite" not in json.loads(out.read_text())["context"]


def test_the_full_suite_has_everything_and_says_so(repository: Repository) -> None:
    _binaries(repository)
    out = repository.root / "full.json"
    repository.bench("--quick", "--suite=full", "--out", str(out))
    rows = _rows(out)
    assert rows[BIG]["full_suite"] == 1
    assert set(TIMES) < set(rows)
    assert json.loads(out.read_text())["context"]["suite"] == "full"


def test_a_default_run_does_not_miss_what_a_baseline_has_of_the_full_suite(
    repository: Repository,
) -> None:
    _recorded(repository)
    _binaries(repository)
    again = repository.root / "again.json"
    assert repository.bench("--no-confirm", "--out", str(again)) is ExitStatus.OK
    assert "1 benchmark was not asked for (of the full suite alone)" in repository.output()[0]


def test_a_full_run_misses_what_vanished_of_the_full_suite(repository: Repository) -> None:
    _recorded(repository)
    repository.binary("host", {"host/copy": 3000.0})
    repository.binary("sync", {**TIMES, "sync/other": 1.0}, full_suite=["sync/other"])
    assert _full_run(repository) is ExitStatus.NOT_MEASURED
    assert "big" in repository.output()[0]


def test_programs_that_know_no_suites_run_whole_in_the_full_one(repository: Repository) -> None:
    out = repository.root / "full.json"
    repository.bench("--quick", "--suite=full", "--out", str(out))
    assert set(TIMES) < set(_rows(out))


def test_what_the_machine_can_no_longer_run_is_not_measured_and_says_why(
    repository: Repository,
) -> None:
    _recorded(repository)
    _binaries(repository, big="skipped")
    assert _full_run(repository) is ExitStatus.NOT_MEASURED
    assert "skipped: needs another GPU" in repository.output()[0]


def test_a_baseline_leaves_out_what_its_machine_cannot_run_and_then_nobody_misses_it(
    repository: Repository,
) -> None:
    _binaries(repository, big="skipped")
    assert repository.bench("--record", "--suite=full") is ExitStatus.OK
    assert f"left out: {BIG}, skipped: needs another GPU" in repository.output()[0]
    _binaries(repository, big="skipped")
    assert _full_run(repository) is ExitStatus.OK
    told = "1 benchmark of which the baseline has no time was not measured ('sync/big'): skipped: "
    assert told in repository.output()[0]


def test_a_skip_does_not_lose_what_a_baseline_has(repository: Repository) -> None:
    _recorded(repository)
    _binaries(repository, big="skipped")
    with pytest.raises(UserError, match="it lacks 'sync/big' of"):
        repository.bench("--record", "--suite=full")


def test_what_a_baseline_of_the_full_suite_asks_for_is_what_records_it(
    repository: Repository,
) -> None:
    def record(*argv: str) -> ExitStatus:
        _binaries(repository)
        return baseline.main(["record", *argv], repository.root)

    assert record("--suite=full") is ExitStatus.OK
    told = f"it lacks '{BIG}' of .*; measure with --suite full, or remove"
    with pytest.raises(UserError, match=told):
        record()
    with pytest.raises(UserError, match=told):
        repository.bench("--record")
    out = repository.root / "default.json"
    repository.bench("--no-confirm", "--out", str(out))
    with pytest.raises(UserError, match=told):
        baseline.main(["add-session", str(out)], repository.root)
    assert record("--suite", "full") is ExitStatus.OK


def test_what_is_gone_of_the_full_suite_is_not_to_be_measured_with_it(
    repository: Repository,
) -> None:
    _recorded(repository)
    repository.binary("sync", {**TIMES, "sync/other": 1.0}, full_suite=["sync/other"])
    with pytest.raises(UserError, match=f"it lacks '{BIG}' of .*; measure all, or remove"):
        repository.bench("--record", "--suite=full")
