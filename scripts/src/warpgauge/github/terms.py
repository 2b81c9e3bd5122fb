# SPDX-License-Identifier: Apache-2.0
"""The terms for a pull request's result: the head's policy, and the known benchmarks.

Both are read as data, from GitHub and from the default branch's checkout.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from warpgauge.github.api import GitHub, Unanswered
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import Base, Run
from warpgauge.records.benchmark_filter import SEARCH_LIMIT_S, cpu_limit, matches
from warpgauge.records.counters import FULL_SUITE
from warpgauge.records.load import load
from warpgauge.records.model import Row
from warpgauge.system.errors import UserError
from warpgauge.verdict import policy
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.policy import Policy

_T = TypeVar("_T")

POLICY = f"baselines/{policy.FILE_NAME}"
_POLICY_LIMIT_BYTES, _BASELINE_LIMIT_BYTES = 256 << 10, 32 << 20


@dataclass(frozen=True)
class Terms:
    """`root` is a checkout of the default branch, `policy` a path in the repository, or ""."""

    api: GitHub
    run: Run
    base: Base
    root: Path
    policy: str = POLICY
    filter: str = ""

    def settings(self, judged: str) -> ComparisonSettings:
        """Return the settings of the job that judged at GitHub's time `judged`.

        Raise UserError if the head's policy cannot be read.
        """
        rules = self._policy(self.run.head)
        if rules is not None:
            try:
                before = self._policy(self.base.commit)
            except Unanswered:
                raise
            except UserError:  # written by an older warpgauge
                before = None
            rules = rules.without(rules.used_up(before)) if before else rules
        day = date.fromisoformat(judged[:10])  # an entry may have expired since
        return ComparisonSettings(filter=self.filter or None, policy=rules, today=day)

    def known(self, gpu: Gpu) -> Mapping[str, Row]:
        """Return our baseline's benchmarks for this GPU by name; none without a baseline."""
        folder = self._folder(gpu)
        return load(folder).rows if folder.is_dir() else {}

    def expected(self, gpu: Gpu, absent: Iterable[Row]) -> list[str]:
        """Return the absent benchmarks that are in the default suite and in the head's baseline."""
        with cpu_limit(SEARCH_LIMIT_S, "the requested filter takes too long; simplify it"):
            rows = [*filter(self._is_asked_for, absent)]
        kept = {family: self._of_head(gpu, family) for family in {row.family for row in rows}}
        return [row.name for row in rows if row.name in kept[row.family]]

    def _folder(self, gpu: Gpu) -> Path:
        return self.root / "baselines" / gpu.slug

    def _is_asked_for(self, row: Row) -> bool:
        in_suite = not row.counters.get(FULL_SUITE) and row.error is None
        return in_suite and matches(self.filter, row.name)

    def _of_head(self, gpu: Gpu, family: str) -> Collection[str]:
        """Return the benchmarks of a family in the head's baseline."""
        path = (self._folder(gpu) / f"{family}.json").relative_to(self.root).as_posix()
        found = self._read(path, self.run.head, _BASELINE_LIMIT_BYTES, load)
        return found.rows.keys() if found is not None else ()

    def _policy(self, commit: str) -> Policy | None:
        if not self.policy:
            return None
        return self._read(self.policy, commit, _POLICY_LIMIT_BYTES, policy.load)

    def _read(self, path: str, commit: str, limit: int, reader: Callable[[Path], _T]) -> _T | None:
        """Return the content of a commit's file, read by `reader`, or None. Raise UserError."""
        content = self.api.file(self.run.repository, path, commit, limit)
        if content is None:
            return None
        with TemporaryDirectory(prefix="warpgauge-") as scratch:
            copy = Path(scratch, path)
            copy.parent.mkdir(parents=True)
            copy.write_bytes(content)
            return reader(copy)
