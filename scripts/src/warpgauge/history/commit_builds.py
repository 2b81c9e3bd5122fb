# SPDX-License-Identifier: Apache-2.0
"""The commits of a bisect: listing them, finding equal sources, and building their programs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from warpgauge.measure import build, program_identity, selection
from warpgauge.measure.discovery import Binary
from warpgauge.measure.measuring import Measuring
from warpgauge.measure.program_identity import Identity
from warpgauge.records.benchmark_filter import hint
from warpgauge.system import git, worktree
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.text import typed

# Files that go into a program. The same folders also hold documents, Python and tests.
_BUILD_FILE = re.compile(r"\.cmake/|(?:.*/)?(?:CMakeLists\.txt|CMakePresets\.json|[^/]*\.cmake)$")
_SOURCE = re.compile(rf"(?:kernels|benchmarks|fixtures)/|{_BUILD_FILE.pattern}")
_NO_SOURCE = re.compile(r".*(?:\.md|\.py|\.svg|_test\.cpp|_test\.cu)$")
# The weight of a commit that changes no file of the program; other commits have weight 1.
_UNLIKELY = 0.1


def between(root: Path, good: str, bad: str) -> list[str]:
    """The commits from `good` to `bad` along first parents; a merge counts as one.

    Raises UserError if `bad` does not descend from `good`, or only through a merge of `good`'s
    branch: the first-parent commits before that merge do not contain `good`.
    """
    ends = [worktree.commit_of(root, ref) for ref in (good, bad)]
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


Tree = Mapping[str, str]  # git's entry of each file that may go into a program, by path


def trees(root: Path, commits: Sequence[str]) -> list[Tree]:
    """The source files of each commit."""
    return [_tree(git.require(root, "ls-tree", "-r", commit)) for commit in commits]


def _tree(listed: str) -> Tree:
    entries = (line.partition("\t") for line in listed.splitlines())
    return {path: known for known, _, path in entries if _is_source(path)}


def _is_source(path: str) -> bool:
    return _SOURCE.match(path) is not None and _NO_SOURCE.match(path) is None


def key(tree: Tree) -> str:
    """A key of the sources; commits with the same key build the same programs."""
    return hashlib.sha256(repr(sorted(tree.items())).encode()).hexdigest()


def is_same(one: Tree, other: Tree, made_of: Collection[str]) -> bool:
    """Whether a program `made_of` these files would not be rebuilt between the two trees.

    CMake files count as well.
    """
    build_files = (path for path in {*one, *other} if _BUILD_FILE.match(path))
    return all(one.get(path) == other.get(path) for path in (*made_of, *build_files))


def likelihoods(found: Sequence[Tree], made_of: Collection[str]) -> list[float]:
    """How likely each commit is to blame, by whether it changes a file of the program.

    No commit is excluded; this only decides which are tested first.
    """
    if not made_of:
        return [1.0] * len(found)
    changes = (any(a.get(path) != b.get(path) for path in made_of) for a, b in pairwise(found))
    return [1.0, *(1.0 if changed else _UNLIKELY for changed in changes)]


@dataclass
class CommitBuilds:
    """The programs that contain `rows`, by commit; the builds of `kept` commits stay on disk."""

    measuring: Measuring
    rows: Sequence[str]
    kept: int
    _targets: tuple[str, ...] = ()  # names of these programs
    _found: dict[str, list[Binary]] = field(default_factory=dict)

    def of(self, commit: str) -> list[Binary]:
        """The programs of a commit, limited to these rows. Raises UserError."""
        if commit not in self._found:
            self._found[commit] = self._built(commit)
            self._targets = tuple(one.path.name for one in self._found[commit])
        return self._found[commit]

    def _built(self, commit: str) -> list[Binary]:
        usual = {f"bench_{row.partition('/')[0]}" for row in self.rows}
        try:
            return self._having(commit, self._targets or sorted(usual))
        except UserError:  # other programs may contain the rows
            return self._having(commit, ())

    def _having(self, commit: str, targets: Sequence[str]) -> list[Binary]:
        built = self.measuring.of_commit(commit, "Building", kept=self.kept, targets=targets)
        having = [one for one in selection.only(built, self.rows) if one.names]
        there = {name for one in having for name in one.names}
        if missing := [row for row in self.rows if row not in there]:
            names = [name for one in built for name in one.names]
            what = f"commit {short(commit)} has no benchmark {typed(missing[0])}"
            raise UserError(f"{what}{hint(missing[0], names)}")
        return having

    def identity(self, commit: str) -> Identity:
        """The identity of a commit's programs. Raises UserError."""
        files = [path for one in self.of(commit) for path in (one.path, *one.inputs)]
        files += sorted(self._folder(commit).rglob("*.so*"))
        described = git.run(self._root(commit), "describe", "--always", "--dirty").stdout.strip()
        try:
            return program_identity.of(files, (described, short(commit)))
        except OSError as fault:
            raise UserError(
                f"{fault.filename}: {fault.strerror}", ExitStatus.NOT_MEASURED
            ) from fault

    def made_of(self, commit: str) -> list[str]:
        """The repository files of a commit's programs; empty if ninja does not list them."""
        root = self._root(commit).resolve()
        found = build.sources(self._folder(commit).resolve())
        inside = (path.relative_to(root) for path in found if path.is_relative_to(root))
        return sorted(str(path) for path in inside if path.parts[0] != "build")

    def _root(self, commit: str) -> Path:
        return worktree.folder_of(self.measuring.root, commit)

    def _folder(self, commit: str) -> Path:
        return self._root(commit) / "build" / "release"
