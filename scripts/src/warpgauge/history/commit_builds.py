# SPDX-License-Identifier: Apache-2.0
"""The commits of a bisect: listing them, building their programs, and finding equal ones."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from warpgauge.measure import cubins, selection
from warpgauge.measure.cubins import Identity
from warpgauge.measure.discovery import Binary
from warpgauge.measure.journal import Journal
from warpgauge.measure.measuring import Measuring
from warpgauge.records.benchmark_filter import hint
from warpgauge.system import git
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.text import typed

# Files that may go into a program. The same folders also hold documents, Python and tests.
_SOURCE = re.compile(
    r"(?:kernels|benchmarks|fixtures|\.cmake)/|"
    r"(?:.*/)?(?:CMakeLists\.txt|CMakePresets\.json|[^/]*\.cmake)$"
)
_NO_SOURCE = re.compile(r".*(?:\.md|\.py|\.svg|_test\.cpp|_test\.cu)$")
_BUILD = Path("build", "release")


def between(root: Path, good: str, bad: str) -> list[str]:
    """The commits from `good` to `bad` along first parents; a merge counts as one.

    Raises UserError if `bad` does not descend from `good`, or only through a merge of `good`'s
    branch: the first-parent commits before that merge do not contain `good`.
    """
    ends = [git.commit_of(root, ref) for ref in (good, bad)]
    if ends[0] == ends[1]:
        raise UserError(f"{typed(good)} and {typed(bad)} are the same commit: name two")
    if git.run(root, "merge-base", "--is-ancestor", *ends).returncode:
        raise UserError(f"{typed(bad)} does not descend from {typed(good)}: name GOOD, then BAD")
    ahead = git.require(root, "rev-list", "--first-parent", "--reverse", f"{ends[0]}..{ends[1]}")
    first, *others = ahead.split()
    before = git.require(root, "rev-parse", f"{first}^1")
    if before != ends[0]:
        raise UserError(
            f"{typed(good)} is on a branch that was merged before {typed(bad)}: name the merge, or "
            f"{short(before)}, where the branch began"
        )
    return [ends[0], first, *others]


def _sources(root: Path, commit: str, *, is_python: bool) -> str:
    """A hash of the files that may go into a program, the same for equal ones."""
    if is_python:  # a file may import any other
        return git.require(root, "rev-parse", f"{commit}^{{tree}}")
    lines = git.require(root, "ls-tree", "-r", commit).splitlines()
    paths = {line: line.partition("\t")[2] for line in lines}
    kept = [
        one for one, path in paths.items() if _SOURCE.match(path) and not _NO_SOURCE.match(path)
    ]
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()


class _Built(msgspec.Struct, frozen=True):
    """The programs of a commit, or why there are none."""

    identity: Identity = Identity("", "")
    fault: str = ""


@dataclass
class CommitBuilds:
    """The programs that contain `rows`, for `commits` from GOOD to BAD.

    `keys` has a key per commit; commits with equal sources or programs share one. `identities` of
    the programs are by key. The builds of `kept` commits stay on disk.
    """

    measuring: Measuring
    journal: Journal
    commits: Sequence[str]
    rows: Sequence[str]
    kept: int
    keys: list[str] = field(init=False)
    identities: dict[str, Identity] = field(default_factory=dict)
    _programs: dict[str, list[Binary]] = field(default_factory=dict)  # by commit

    def __post_init__(self) -> None:
        root, is_python = self.measuring.root, self.measuring.options.file is not None
        self.keys = [_sources(root, commit, is_python=is_python) for commit in self.commits]

    def require_difference(self) -> None:
        """Build GOOD and BAD. Raises UserError if that fails, or if their programs are equal."""
        self.build(0)
        if self.keys[0] != self.keys[-1]:
            self.build(-1)
        if self.keys[0] == self.keys[-1]:
            good, bad = (short(self.commits[index]) for index in (0, -1))
            raise UserError(f"the programs of {good} and {bad} are equal: nothing to bisect")

    def build(self, index: int) -> str:
        """Build a commit. Returns why it cannot be built, or empty; raises UserError for the ends.

        If its programs equal earlier ones, it gets the key of those.
        """
        key, commit = self.keys[index], self.commits[index]
        built = self.journal.find(["built", commit], _Built)
        if built is None:
            try:
                built = _Built(self._identity(commit, key))
            except UserError as fault:
                if commit in (self.commits[0], self.commits[-1]):
                    raise
                built = _Built(fault=str(fault))
            self.journal.keep(["built", commit], built)
        if built.fault:
            return built.fault
        same = next((one for one, old in self.identities.items() if old == built.identity), key)
        self.identities[same] = built.identity
        if same != key:
            self.measuring.note(f"Commit {short(commit)} has the programs of an earlier one.")
            self.keys[:] = [same if one == key else one for one in self.keys]
        return ""

    def programs(self, commit: str) -> list[Binary]:
        """The programs of a commit, limited to these rows. Raises UserError."""
        if commit not in self._programs:
            usual = sorted({f"bench_{row.partition('/')[0]}" for row in self.rows})
            try:
                self._programs[commit] = self._having(commit, *usual)
            except UserError:  # other programs may contain the rows
                self._programs[commit] = self._having(commit)
        return self._programs[commit]

    def _having(self, commit: str, *targets: str) -> list[Binary]:
        built = self.measuring.of_commit(commit, "Building", kept=self.kept, targets=targets)
        having = [program for program in selection.only(built, self.rows) if program.names]
        there = {name for program in having for name in program.names}
        if missing := [row for row in self.rows if row not in there]:
            if faults := [f"{its.path.name} {its.fault}" for its in built if its.fault is not None]:
                raise UserError(f"of commit {short(commit)}, {faults[0]}", ExitStatus.NOT_MEASURED)
            names = [name for program in built for name in program.names]
            what = f"commit {short(commit)} has no benchmark {typed(missing[0])}"
            raise UserError(f"{what}{hint(missing[0], names)}")
        return having

    def _identity(self, commit: str, key: str) -> Identity:
        programs = self.programs(commit)
        if self.measuring.options.file is not None:
            return Identity("", key)
        files = [path for program in programs for path in (program.path, *program.inputs)]
        root = git.folder_of(self.measuring.root, commit)
        files += sorted((root / _BUILD).rglob("*.so*"))
        described = git.run(root, "describe", "--always", "--dirty").stdout.strip()
        return cubins.identity_of(files, (described, short(commit)))
