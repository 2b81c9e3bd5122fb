# SPDX-License-Identifier: Apache-2.0
"""Builds commits between GOOD and BAD and measures each beside GOOD, until one is to blame."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import msgspec

from warpgauge.history import commit_builds
from warpgauge.history.bisect import State, following, most_steps, suspects
from warpgauge.history.commit_builds import CommitBuilds, Tree
from warpgauge.history.commit_pairs import CommitPairs, Seen
from warpgauge.measure.journal import Journal
from warpgauge.measure.measuring import Measuring
from warpgauge.measure.program_identity import Identity
from warpgauge.records import load
from warpgauge.records.model import Row
from warpgauge.system.errors import UserError
from warpgauge.system.git import short
from warpgauge.system.text import listed, percent
from warpgauge.verdict.resource_changes import resource_changes

_TIME_IS_UP = "the time is up"


class Built(msgspec.Struct, frozen=True):
    """The programs of a commit, or why there are none."""

    identity: tuple[str, str] = ("", "")
    made_of: list[str] = msgspec.field(default_factory=list)  # source files in the repository
    fault: str = ""


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


@dataclass
class Bisection:
    """The search in `commits`, GOOD first, for the ones that made `rows` slower."""

    measuring: Measuring
    builds: CommitBuilds
    pairs: CommitPairs
    commits: Sequence[str]
    rows: Sequence[str]
    journal: Journal
    _states: dict[str, dict[str, State]] = field(default_factory=lambda: defaultdict(dict))
    _seen: dict[tuple[str, str], Seen] = field(default_factory=dict)  # by row and key
    _files: dict[tuple[str, str], tuple[Path, Path]] = field(default_factory=dict)
    _skipped: dict[tuple[str, str], str] = field(default_factory=dict)  # reasons by row and key
    _by_identity: dict[Identity, str] = field(default_factory=dict)  # keys
    _identities: dict[str, Identity] = field(default_factory=dict)  # by key
    _steps: Counter[str] = field(default_factory=Counter)

    @cached_property
    def trees(self) -> list[Tree]:
        """The source files of each commit."""
        return commit_builds.trees(self.measuring.root, self.commits)

    @cached_property
    def keys(self) -> list[str]:
        """A key per commit; commits with equal programs share one."""
        return [commit_builds.key(tree) for tree in self.trees]

    @cached_property
    def weights(self) -> list[float]:
        """How likely each commit is to blame."""
        made_of = self._built(len(self.commits) - 1).made_of
        return commit_builds.likelihoods(self.trees, made_of)

    def run(self) -> list[Found]:
        """The result for each row. Raises UserError if no row is slower in BAD."""
        last = len(self.commits) - 1
        self._require_difference()
        whole = self._measured(last, self.rows, lambda row, one: _is_settled(one))
        if whole is None:  # the time ended after the first look
            whole = {row: self._seen[row, self.keys[last]] for row in self.rows}
        slower = [row for row, one in whole.items() if one.is_slower]
        if not slower:
            self._refuse(whole)
        thresholds = {row: whole[row].half for row in slower}
        for row in slower:
            self._states[row] |= {self.keys[0]: State.GOOD, self.keys[last]: State.BAD}
        why = {row: self._search(row, thresholds) for row in slower}
        return [self._found(row, whole[row], why[row]) for row in slower] + [
            Found(row, one, tuple(self.commits[1:]), self._unclear(one))
            for row, one in whole.items()
            if row not in slower and not one.is_no_slower
        ]

    def _require_difference(self) -> None:
        self._built(0)
        if self.keys[-1] != self.keys[0]:
            self._built(len(self.commits) - 1)
        if self.keys[0] == self.keys[-1]:
            good, bad = (short(self.commits[i]) for i in (0, -1))
            raise UserError(f"the programs of {good} and {bad} are equal: nothing to bisect")

    def _refuse(self, whole: Mapping[str, Seen]) -> None:
        """Raises UserError if every row is shown not to be slower."""
        no_slower = [f"{row} {one}" for row, one in whole.items() if one.is_no_slower]
        if len(no_slower) == len(whole):
            bad, good = short(self.commits[-1]), short(self.commits[0])
            raise UserError(f"nothing is slower in {bad} than in {good}: {listed(no_slower)}")

    def _unclear(self, one: Seen) -> str:
        if one.fault:
            return one.fault
        return f"it may or may not be slower: {percent(one.least)} to {percent(one.most)}"

    def _search(self, row: str, thresholds: Mapping[str, float]) -> str:
        """Test commits until one is to blame for `row`. Returns why none is certain, or empty."""
        states = self._states[row]
        while (index := following(self.keys, states, self.weights)) is not None:
            if self.pairs.left <= 0.0:
                return _TIME_IS_UP
            if self._steps[row] >= (most := most_steps(len(self.commits) - 1)):
                return f"{most} commits were measured, which is the limit"
            rows = [one for one in thresholds if self._is_open(one, index)]
            if not self._test(index, rows, thresholds):
                return _TIME_IS_UP
        return "" if len(suspects(self.keys, states)) == 1 else "commits in between are unknown"

    def _is_open(self, row: str, index: int) -> bool:
        """Whether testing this commit would narrow the suspects of the row."""
        states = self._states[row]
        left = suspects(self.keys, states)
        return left[0] <= index < left[-1] and self.keys[index] not in states

    def _test(self, index: int, rows: Sequence[str], thresholds: Mapping[str, float]) -> bool:
        """Find the states of these rows in a commit. Returns False if the time ends before."""
        key, built = self.keys[index], self._built(index)
        if built.fault:
            return self._skip(index, rows, built.fault)
        if self.keys[index] != key:  # it equals a commit that was built before
            return True
        found = self._measured(index, rows, lambda row, one: one.state(thresholds[row]) is not None)
        if found is None:
            return False
        for row, one in found.items():
            state = one.state(thresholds[row])
            if state is None or one.fault:
                why = one.fault or f"{one}, too close to half of the change"
                self._skip(index, [row], f"commit {short(self.commits[index])}: {why}")
            else:
                self._states[row][key] = state
        return True

    def _skip(self, index: int, rows: Sequence[str], why: str) -> bool:
        self.measuring.note(f"Skipped: {why}")
        for row in rows:
            self._states[row][self.keys[index]] = State.UNKNOWN
            self._skipped[row, self.keys[index]] = why
        return True

    def _built(self, index: int) -> Built:
        """Build a commit. If its programs equal earlier ones, it gets the key of those.

        Commits for which ninja would not rebuild the programs get the same key.
        """
        commit, key = self.commits[index], self.keys[index]
        built = self.journal.find(["built", commit], Built)
        if built is None:
            try:
                built = Built(self.builds.identity(commit), self.builds.made_of(commit))
            except UserError as fault:
                if index in (0, len(self.commits) - 1):
                    raise
                built = Built(fault=str(fault))
            self.journal.keep(["built", commit], built)
        if not built.fault:
            identity = Identity(*built.identity)
            self._identities[key] = identity
            same = self._by_identity.setdefault(identity, key)
            if same != key:
                self.measuring.note(f"Commit {short(commit)} has the programs of an earlier one.")
                self.keys[:] = [same if one == key else one for one in self.keys]
            self._share(index, built.made_of)
        return built

    def _share(self, index: int, made_of: Sequence[str]) -> None:
        """Give this commit's key to unbuilt commits that have the same `made_of` files."""
        if made_of:
            for i, key in enumerate(self.keys):
                same = commit_builds.is_same(self.trees[i], self.trees[index], made_of)
                if same and key not in self._identities:
                    self.keys[i] = self.keys[index]

    def _measured(
        self, index: int, rows: Sequence[str], settled: Callable[[str, Seen], bool]
    ) -> dict[str, Seen] | None:
        """Measure rows of a commit beside GOOD until settled; None if the time ends before."""
        commit, key = self.commits[index], self.keys[index]
        self._steps.update(rows)
        found, is_final = self.pairs.measured(commit, rows, settled)
        for row, one in found.items():
            self._files[row, key] = self.pairs.files(commit, rows)
            self._seen[row, key] = one
            self.measuring.note(f"Commit {short(commit)}: {row} {one}")
        return found if is_final else None

    def _found(self, row: str, whole: Seen, why: str) -> Found:
        left = suspects(self.keys, self._states[row])
        skipped = {
            self.commits[i]: self._skipped[row, self.keys[i]]
            for i in range(left[0], left[-1])
            if (row, self.keys[i]) in self._skipped
        }
        commits = tuple(self.commits[i] for i in left)
        found = Found(row, whole, commits, why, skipped=skipped)
        if len(left) > 1:
            return found
        key, before = self.keys[left[0]], self.keys[left[0] - 1]
        return replace(
            found,
            why="",
            slower=self._seen[row, key],
            before=self._seen.get((row, before)),
            causes=self._causes(row, before, key),
            files=self._files[row, key],
        )

    def _causes(self, row: str, before: str, key: str) -> tuple[str, ...]:
        changes = resource_changes(self._row(row, before, key), self._row(row, key, key))
        old, new = (self._identities[one] for one in (before, key))
        same = {
            "the kernels are equal: the host code differs": old.kernels == new.kernels,
            "the host code is equal: the kernels differ": old.host == new.host,
        }
        return (*map(str, changes), *(words for words, is_so in same.items() if is_so))

    def _row(self, row: str, key: str, beside: str) -> Row:
        """The row of a key; for GOOD, the one measured with the commit of key `beside`."""
        if key == self.keys[0]:
            return load.load(self._files[row, beside][0]).rows[row]
        return load.load(self._files[row, key][1]).rows[row]


def _is_settled(one: Seen) -> bool:
    return one.is_slower or one.is_no_slower
