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


def test_the_full_suite_has_everything_and_says_so_which_the_default_leaves_out(
    repository: Repository,
) -> None:
    default, full = (repository.root / f"{suite}.json" for suite in ("default", "full"))
    # Programs that know no suites run whole.
    repository.bench("--processes=3", "--suite=full", "--out", str(full))
    assert set(TIMES) < set(_rows(full))
    _binaries(repository)
    repository.bench("--processes=3", "--suite=full", "--out", str(full))
    repository.bench("--processes=3", "--out", str(default))
    rows = _rows(full)
    assert rows[BIG]["full_suite"] == 1
    assert set(TIMES) < set(rows)
    assert BIG not in _rows(default)
    assert json.loads(full.read_text())["context"]["suite"] == "full"
    assert "suite" not in json.loads(default.read_text())["context"]


def test_a_default_run_does_not_miss_what_a_baseline_has_of_the_full_suite(
    repository: Repository,
) -> None:
    _recorded(repository)
    _binaries(repository)
    again = repository.root / "again.json"
    assert repository.bench("--no-confirm", "--out", str(again)) is ExitStatus.OK
    assert "1 benchmark of the full suite skipped." in repository.output()[0]


@pytest.mark.parametrize("how", ["vanished", "cannot run"])
def test_what_the_full_suite_lost_is_missed_and_the_rest_is_not_recorded(
    repository: Repository, how: str
) -> None:
    _recorded(repository)
    if how == "vanished":
        repository.binary("sync", {**TIMES, "sync/other": 1.0}, full_suite=["sync/other"])
    else:
        _binaries(repository, big="skipped")
    assert _full_run(repository) is ExitStatus.NOT_MEASURED
    assert ("big" if how == "vanished" else "needs another GPU") in repository.output()[0]
    with pytest.raises(UserError, match=f"it lacks '{BIG}' of .*; measure all, or remove"):
        repository.bench("--record", "--suite=full")


def test_a_baseline_leaves_out_what_its_machine_cannot_run_and_then_nobody_misses_it(
    repository: Repository,
) -> None:
    _binaries(repository, big="skipped")
    assert repository.bench("--record", "--suite=full") is ExitStatus.OK
    assert "needs another GPU" in repository.output()[0]
    _binaries(repository, big="skipped")
    assert _full_run(repository) is ExitStatus.OK
    assert "needs another GPU" in repository.output()[0]


def test_what_a_baseline_of_the_full_suite_asks_for_is_what_records_it(
    repository: Repository,
) -> None:
    def record(*argv: str) -> ExitStatus:
        _binaries(repository)
        return repository.bench("--record", *argv)

    assert record("--suite=full") is ExitStatus.OK
    told = f"it lacks '{BIG}' of .*; measure with --suite full, or remove"
    with pytest.raises(UserError, match=told):
        record()
    out = repository.root / "default.json"
    repository.bench("--no-confirm", "--out", str(out))
    with pytest.raises(UserError, match=told):
        baseline.main(["add-session", str(out)], repository.root)
    assert record("--suite", "full") is ExitStatus.OK
