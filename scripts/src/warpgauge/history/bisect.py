# SPDX-License-Identifier: Apache-2.0
"""Searches the commits from GOOD to BAD for the one that made a benchmark slower.

Commits are numbered from GOOD (0) to BAD. Commits with the same key have equal programs and share a
state. A commit equal to GOOD is good, so neither a revert in between nor what it reverts is blamed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path

from warpgauge.history.commit_builds import CommitBuilds
from warpgauge.history.commit_pairs import CommitPairs, Seen, State
from warpgauge.records import load
from warpgauge.system.errors import UserError
from warpgauge.system.git import short
from warpgauge.system.text import listed, percent
from warpgauge.verdict.resource_changes import resource_changes

_TIME_IS_UP = "the time is up"


def suspects(keys: Sequence[str], states: Mapping[str, State]) -> list[int]:
    """The commits that may be to blame: one, once that is certain.

    These are the commits after the last known good one, up to the first known bad one after it,
    whose programs differ from the commit before. The states of both ends must be known.
    """
    good = max(i for i, key in enumerate(keys) if states.get(key) is State.GOOD)
    bad = next(i for i, key in enumerate(keys) if i > good and states.get(key) is State.BAD)
    return [i for i in range(good + 1, bad + 1) if keys[i] != keys[i - 1]]


def following(
    keys: Sequence[str], states: Mapping[str, State], weights: Sequence[float]
) -> int | None:
    """The commit to test next; None if no test can narrow the suspects.

    `weights` say how likely each commit is to blame. The commit that halves their sum best is next.
    """
    left = suspects(keys, states)
    before = [*accumulate(weights[i] for i in left)]  # sums, each including its commit
    untested = [at for at, i in enumerate(left[:-1]) if keys[i] not in states]
    if not untested:
        return None
    return left[min(untested, key=lambda at: abs(before[at] - before[-1] / 2))]


def most_steps(commits: int) -> int:
    """The most commits that may be measured; the error probability is divided among them.

    This is twice the number needed if each one gives an answer.
    """
    return 2 * (1 + math.ceil(math.log2(max(commits, 1))))


@dataclass(frozen=True)
class Found:
    """The result for one benchmark: the commits that may be to blame, and `why` if not certain.

    `whole` is the change from GOOD to BAD. If one commit is certain, `slower` is its comparison
    with GOOD and `before` that of the commit before it (None if that equals GOOD); `causes` are the
    differences between these two commits, and `files` is the pair of run files.
    """

    row: str
    whole: Seen
    suspects: tuple[str, ...]
    why: str = ""
    slower: Seen | None = None
    before: Seen | None = None
    causes: tuple[str, ...] = ()
    files: tuple[Path, Path] | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)  # reasons by commit


def find(builds: CommitBuilds, pairs: CommitPairs) -> list[Found]:
    """The result for each row that may be slower in BAD. Raises UserError if none is."""
    builds.require_difference()
    found = [_Search(builds, pairs, row).run() for row in builds.rows]
    slower = [one for one in found if not one.whole.is_no_slower]
    if not slower:
        good, bad = short(builds.commits[0]), short(builds.commits[-1])
        rows = listed([f"{one.row} {one.whole}" for one in found])
        raise UserError(f"nothing is slower in {bad} than in {good}: {rows}")
    return slower


@dataclass
class _Search:
    """Builds commits and measures each beside GOOD, until one is to blame for `row`."""

    builds: CommitBuilds
    pairs: CommitPairs
    row: str
    # By key:
    _states: dict[str, State] = field(default_factory=dict)
    _seen: dict[str, Seen] = field(default_factory=dict)
    _files: dict[str, tuple[Path, Path]] = field(default_factory=dict)
    _skipped: dict[str, str] = field(default_factory=dict)  # reasons

    def run(self) -> Found:
        commits, keys = self.builds.commits, self.builds.keys
        whole, _ = self._measured(len(commits) - 1, lambda one: one.is_slower or one.is_no_slower)
        if not whole.is_slower:
            limits = f"{percent(whole.least)} to {percent(whole.most)}"
            why = whole.fault or f"it may or may not be slower: {limits}"
            return Found(self.row, whole, tuple(commits[1:]), why)
        self._states = {keys[0]: State.GOOD, keys[-1]: State.BAD}
        why = self._narrow(whole.half)
        left = suspects(keys, self._states)
        skipped = {
            commits[i]: self._skipped[keys[i]]
            for i in range(left[0], left[-1])
            if keys[i] in self._skipped
        }
        found = Found(self.row, whole, tuple(commits[i] for i in left), why, skipped=skipped)
        if len(left) > 1:
            return found
        key, before = keys[left[0]], keys[left[0] - 1]
        return replace(
            found,
            why="",
            slower=self._seen[key],
            before=self._seen.get(before),
            causes=self._causes(before, key),
            files=self._files[key],
        )

    def _narrow(self, threshold: float) -> str:
        """Test commits until one is to blame. Returns why none is certain, or empty."""
        keys, most = self.builds.keys, most_steps(len(self.builds.commits) - 1)
        while (index := following(keys, self._states, self.builds.weights)) is not None:
            if self.pairs.left <= 0.0:
                return _TIME_IS_UP
            if len(self._seen) >= most:
                return f"{most} commits were measured, which is the limit"
            key = keys[index]
            if fault := self.builds.build(index):
                self._skip(key, fault)
            elif keys[index] == key:  # it does not equal a commit that was built before
                one, is_final = self._measured(index, lambda one: one.state(threshold) is not None)
                if not is_final:
                    return _TIME_IS_UP
                state = one.state(threshold)
                if state is None or one.fault:
                    why = one.fault or f"{one}, too close to half of the change"
                    self._skip(key, f"commit {short(self.builds.commits[index])}: {why}")
                else:
                    self._states[key] = state
        return "" if len(suspects(keys, self._states)) == 1 else "commits in between are unknown"

    def _skip(self, key: str, why: str) -> None:
        self.builds.measuring.note(f"Skipped: {why}")
        self._states[key], self._skipped[key] = State.UNKNOWN, why

    def _measured(self, index: int, settled: Callable[[Seen], bool]) -> tuple[Seen, bool]:
        """Measure a commit beside GOOD until settled; False if the time ends before."""
        commit, key = self.builds.commits[index], self.builds.keys[index]
        one, is_final = self.pairs.measured(commit, self.row, settled)
        self._seen[key], self._files[key] = one, self.pairs.files(commit, self.row)
        self.builds.measuring.note(f"Commit {short(commit)}: {self.row} {one}")
        return one, is_final

    def _causes(self, before: str, key: str) -> tuple[str, ...]:
        """The differences between the programs of two keys. GOOD was measured with every commit."""
        base, candidate = self._files[key]
        if before != self.builds.keys[0]:
            base = self._files[before][1]
        changes = resource_changes(*(load.load(path).rows[self.row] for path in (base, candidate)))
        causes = [*map(str, changes)]
        one, other = (self.builds.identities[either] for either in (before, key))
        if one.kernels == other.kernels:
            causes.append("the kernels are equal: the host code differs")
        if one.host == other.host:
            causes.append("the host code is equal: the kernels differ")
        return tuple(causes)
