# SPDX-License-Identifier: Apache-2.0
"""The builds of a bisect, by commits or versions: making their programs, and finding equal ones."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import ClassVar

import msgspec

from warpgauge.measure import (
    any_command,
    build,
    cubins,
    machine_context,
    manifest,
    progress,
    selection,
    toolkit,
)
from warpgauge.measure.cubins import Identity
from warpgauge.measure.discovery import Binary
from warpgauge.measure.journal import Journal
from warpgauge.measure.measuring import Measuring
from warpgauge.measure.program_code import is_same_code, read_by
from warpgauge.records.benchmark_filter import hint
from warpgauge.records.model import Record
from warpgauge.system import git
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.text import file_name, typed

# Files that may go into a program. The same folders also hold documents, Python and tests.
_BUILD_FILE = re.compile(r"\.cmake/.*|(?:.*/)?(?:CMakeLists\.txt|CMakePresets\.json|[^/]*\.cmake)")
_SOURCE = re.compile(rf"(?:kernels|benchmarks|fixtures)/|(?:{_BUILD_FILE.pattern})$")
_NO_SOURCE = re.compile(r".*(?:\.md|\.py|\.svg|_test\.cpp|_test\.cu)$")
_BUILD = Path("build", "release")
_BUILD_FILES = ("*CMakeLists.txt", "*CMakePresets.json", "*.cmake")  # for git
_CHANGED = re.compile(r"^[-+].*", re.MULTILINE)  # lines of a diff
_ERROR = re.compile(r"error:|CMake Error|undefined reference")  # of a compiler, CMake, the linker


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


def is_source(path: str) -> bool:
    """Whether this file of the tree may go into a program."""
    return bool(_SOURCE.match(path) and not _NO_SOURCE.match(path))


def _sources(root: Path, commit: str, *, is_python: bool) -> str:
    """A hash of the files that may go into a program, the same for equal ones."""
    if is_python:  # a file may import any other
        return git.require(root, "rev-parse", f"{commit}^{{tree}}")
    lines = git.require(root, "ls-tree", "-r", "-z", commit).split("\0")
    paths = {line: line.partition("\t")[2] for line in lines}
    kept = [one for one, path in paths.items() if is_source(path)]
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()


class SameCode(UserError):
    """The programs of both sides are made of the same code."""


class _Built(msgspec.Struct, frozen=True):
    """The programs of a commit, or why there are none."""

    identity: Identity = Identity("", "")
    fault: str = ""


@dataclass
class Builds(ABC):
    """The programs that contain `rows`, of builds with `names` from GOOD to BAD.

    `keys` has a key per build; those of equal sources or programs share one. `identities` of the
    programs are by key, the newest `pairs` in which two builds were measured by name.
    """

    measuring: Measuring
    journal: Journal
    names: Sequence[str]
    rows: Sequence[str]
    what: ClassVar[str]  # a build is made of
    keys: list[str] = field(init=False)
    identities: dict[str, Identity] = field(default_factory=dict)
    pairs: dict[tuple[str, str], tuple[Record, Record]] = field(default_factory=dict)
    _programs: dict[str, list[Binary]] = field(default_factory=dict)  # by name

    def __post_init__(self) -> None:
        self.keys = [*self.names]

    @abstractmethod
    def shown(self, name: str) -> str:
        """What messages call a build."""

    @abstractmethod
    def facts(self, name: str) -> Mapping[str, str]:
        """What a run file says of a build."""

    @abstractmethod
    def made(self, name: str, targets: Sequence[str]) -> Sequence[Binary]:
        """The programs of a build, of which `targets`, if any, suffice. Raises UserError."""

    @abstractmethod
    def _folder(self, name: str) -> tuple[Path, Sequence[str]]:
        """The folder of a build, and texts in its programs that do not count."""

    def require_difference(self) -> None:
        """Build GOOD and BAD. Raises UserError if that fails, or if their programs are equal."""
        self.build(0)
        if self.keys[0] != self.keys[-1]:
            self.build(-1)
        if self.keys[0] == self.keys[-1]:
            good, bad = (self.shown(self.names[index]) for index in (0, -1))
            raise UserError(f"the programs of {good} and {bad} are equal: nothing to bisect")

    def build(self, index: int) -> str:
        """Build one. Returns why it cannot be built, or empty; raises UserError for the ends.

        If its programs equal earlier ones, it gets the key of those.
        """
        key, name = self.keys[index], self.names[index]
        built = self.journal.find(["built", name], _Built)
        if built is None:
            try:
                built = _Built(self._identity(name, key))
            except UserError as fault:
                if name in (self.names[0], self.names[-1]):
                    raise
                built = _Built(fault=str(fault))
            self.journal.keep(["built", name], built)
        if built.fault:
            return built.fault
        same = next((one for one, old in self.identities.items() if old == built.identity), key)
        self.identities[same] = built.identity
        if same != key:
            self.measuring.note(f"{self.shown(name)} has the programs of an earlier one.")
            self.keys[:] = [same if one == key else one for one in self.keys]
        return ""

    def equal_code(self, key: str, other: str) -> Sequence[str]:
        """In words, which code of the different programs of two keys is equal."""
        one, two = self.identities[key], self.identities[other]
        if one.kernels == two.kernels:
            return ["the kernels are equal: the host code differs"]
        return ["the host code is equal: the kernels differ"] if one.host == two.host else []

    def programs(self, name: str) -> list[Binary]:
        """The programs of a build, limited to these rows. Raises UserError."""
        if name not in self._programs:
            usual = sorted({f"bench_{row.partition('/')[0]}" for row in self.rows})
            try:
                self._programs[name] = self._having(name, *usual)
            except UserError:  # other programs may contain the rows
                self._programs[name] = self._having(name)
        return self._programs[name]

    def _having(self, name: str, *targets: str) -> list[Binary]:
        built = self.made(name, targets)
        having = [program for program in selection.only(built, self.rows) if program.names]
        there = {row for program in having for row in program.names}
        if missing := [row for row in self.rows if row not in there]:
            if faults := [f"{its.path.name} {its.fault}" for its in built if its.fault is not None]:
                raise UserError(f"of {self.shown(name)}, {faults[0]}", ExitStatus.NOT_MEASURED)
            rows = [row for program in built for row in program.names]
            what = f"{self.shown(name)} has no benchmark {typed(missing[0])}"
            raise UserError(f"{what}{hint(missing[0], rows)}")
        return having

    def _identity(self, name: str, key: str) -> Identity:
        programs = self.programs(name)
        if self.measuring.options.file is not None:
            return Identity("", key)
        folder, texts = self._folder(name)
        files = [path for program in programs for path in (program.path, *program.inputs)]
        return cubins.identity_of([*files, *sorted(folder.rglob("*.so*"))], texts)


@dataclass
class CommitBuilds(Builds):
    """The builds of commits, of which the newest `kept` stay on disk."""

    kept: int = 0
    what = "commit"

    def __post_init__(self) -> None:
        root, is_python = self.measuring.root, self.measuring.options.file is not None
        self.keys = [_sources(root, commit, is_python=is_python) for commit in self.names]

    def shown(self, name: str) -> str:
        return f"commit {short(name)}"

    def facts(self, name: str) -> Mapping[str, str]:
        return {"commit": name, "dirty": "false"}

    def made(self, name: str, targets: Sequence[str]) -> Sequence[Binary]:
        return self.measuring.of_commit(name, "Building", kept=self.kept, targets=targets)

    def _folder(self, name: str) -> tuple[Path, Sequence[str]]:
        root = self._root(name)
        described = git.run(root, "describe", "--always", "--dirty").stdout.strip()
        return root / _BUILD, (described, short(name))

    def _root(self, name: str) -> Path:
        """The tree in which a commit was built."""
        return git.folder_of(self.measuring.root, name)


@dataclass
class Variants(CommitBuilds):
    """Builds commits one after the other in one folder, so that each builds what differs.

    Only the programs `targets` are built. They are copied, because the next build replaces them.
    The settings of this build are used, but for those that `base` has in other build files.
    """

    base: str = ""
    targets: Sequence[str] = ()
    _made_of: list[dict[str, set[str]]] = field(default_factory=list)  # paths by object, by build
    _objects: dict[str, Path] = field(default_factory=dict)  # copies of the candidate's

    def __post_init__(self) -> None:
        super().__post_init__()
        if not any(self.journal.folder.glob("*")):  # the search does not go on
            shutil.rmtree(self._copies, ignore_errors=True)

    @property
    def _copies(self) -> Path:
        return self.measuring.root / "build" / "variants"

    @cached_property
    def root(self) -> Path:
        """The tree in which all are built."""
        here = self.measuring.root
        return here / "build" / "hunks" / git.require(here, "rev-parse", "--show-prefix")

    def shown(self, name: str) -> str:
        return f"variant {short(name)}"

    def that_matter(self, paths: Iterable[str]) -> list[str]:
        """Those of these files that the programs of the first commit, built last, are made of.

        Objects that are made of them are copied, to be compared with those of the next build.
        """
        key = ["paths", self.names[0]]
        if (known := self.journal.find(key, list[str])) is not None:
            return known
        by_object: dict[str, set[str]] = {}
        with suppress(UserError):  # another tool than Ninja made them
            by_object = read_by(self.root / _BUILD, self.targets)
        read = set[str]().union(*by_object.values())
        matter = [
            path
            for path in paths
            if not read or _BUILD_FILE.fullmatch(path) or os.path.realpath(self.root / path) in read
        ]
        differ = {os.path.realpath(self.root / path) for path in matter}
        self._made_of.append(
            {file: its for file, its in by_object.items() if file and its & differ}
        )
        for file in self._made_of[0] if len(self._made_of) == 1 else ():
            self._objects[file] = self.measuring.scratch / f"{len(self._objects)}.o"
            shutil.copyfile(self.root / _BUILD / file, self._objects[file])
        self.journal.keep(key, matter)
        return matter

    def of_other_code(self, paths: Sequence[str]) -> list[str]:
        """Those of these files without which both commits built so far have the same code.

        An object with the same code does not count for what it is made of.
        """
        if (known := self.journal.find(["other code"], list[str])) is not None:
            return known
        same, other = set[str](), set[str]()
        for file in {*chain.from_iterable(self._made_of)}:
            its = [made[file] for made in self._made_of if file in made]
            here = self.root / _BUILD / file
            is_same = len(its) == 2 and is_same_code(here, self._objects[file])
            (same if is_same else other).update(*its)
        real = {path: os.path.realpath(self.root / path) for path in paths}
        left = [path for path in paths if real[path] in other or real[path] not in same]
        self.journal.keep(["other code"], left or [*paths])
        return left or [*paths]

    def add(self, commit: str) -> int:
        """Add a commit before the last one, unless it is there; return its index."""
        if commit not in self.names:
            self.names = [*self.names[:-1], commit, self.names[-1]]
            self.keys.insert(-1, _sources(self.measuring.root, commit, is_python=False))
        return self.names.index(commit)

    def programs(self, name: str) -> list[Binary]:
        if name not in self._programs:
            self._programs[name] = self._having(name, *self.targets)
        return self._programs[name]

    def made(self, name: str, targets: Sequence[str]) -> Sequence[Binary]:
        measuring, copy = self.measuring, self._copies / file_name(short(name), *self.targets)
        if (copy / manifest.FILE).exists():  # of a search that goes on
            return measuring.found(copy)
        root = git.fill(measuring.root / "build" / "hunks", measuring.root, name)
        git.require(root, "update-ref", "--no-deref", "HEAD", name)  # programs state their commit
        here = measuring.root
        differ = git.require(
            here, "diff-tree", "-p", "-r", self.base, self.names[-1], "--", *_BUILD_FILES
        )
        names = {*re.findall(r"\w+", " ".join(_CHANGED.findall(differ)))}
        pins = [pin for pin in build.settings(here / _BUILD) if pin[2:].split("=")[0] not in names]
        settings = [*build.anew(here), *pins]
        try:
            with progress.build_status(measuring.notes) as say:
                build.build(root, "release", say, settings, targets)
        except UserError as fault:
            lines = str(fault).splitlines()
            at = next((at for at, line in enumerate(lines) if _ERROR.search(line)), 0)
            why = " ".join(line.strip() for line in lines[at : at + 2])  # the code is in the second
            raise UserError(f"it does not build: {why}", ExitStatus.NOT_MEASURED) from fault
        return measuring.found(self._copied(root / _BUILD, copy))

    def _root(self, name: str) -> Path:
        return self.root

    def _copied(self, folder: Path, copy: Path) -> Path:
        """Copy the programs, and their inputs that were built."""

        def at(path: Path) -> Path:
            """The path of a file in the copy; of one from elsewhere, its own."""
            if folder not in path.parents:
                return path
            to = copy / path.relative_to(folder)
            if path.exists() and not to.exists():
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, to)
            return to

        shutil.rmtree(copy, ignore_errors=True)  # a part, if it was interrupted
        listed = manifest.read(folder)
        programs = tuple(
            msgspec.structs.replace(one, path=at(one.path), inputs=tuple(map(at, one.inputs)))
            for one in listed.programs
            if one.path.name in self.targets
        )
        copy.mkdir(parents=True, exist_ok=True)
        manifest.write(copy, msgspec.structs.replace(listed, programs=programs))
        return copy


@dataclass
class VersionBuilds(Builds):
    """This tree with versions of nvcc, a file in Python with those of a package, or values of a
    variable for either.
    """

    axis: str = ""
    what = "version"
    _folders: dict[str, tuple[Path, str]] = field(default_factory=dict)  # and exact versions

    def shown(self, name: str) -> str:
        return toolkit.shown(self.axis, name)

    def facts(self, name: str) -> Mapping[str, str]:
        return machine_context.source(self.measuring.root)

    def made(self, name: str, targets: Sequence[str]) -> Sequence[Binary]:
        measuring = self.measuring
        work = (measuring.options.build_dir or measuring.root / "build").absolute()
        measuring.note(f"Preparing {self.shown(name)}")
        if self.axis == toolkit.NVCC:
            asked = f"^({'|'.join(targets)})$" if targets else ""
            with progress.build_status(measuring.notes) as say:
                self._folders[name] = toolkit.project(measuring.root, name, work, asked, say)
            return measuring.found(self._folders[name][0] / toolkit.BUILT)
        variable = any_command.variable(work, self.axis, name)
        folder = measuring.built(targets).programs
        listed = manifest.read(folder)
        paths = {one.path.name: one.path for one in listed.programs}
        built = [path for path in paths.values() if path.exists()]
        made = any_command.with_variable(work, folder, built, *variable)
        programs = [
            msgspec.structs.replace(one, path=made / one.path.name) for one in listed.programs
        ]
        manifest.write(made, msgspec.structs.replace(listed, programs=tuple(programs)))
        self._folders[name] = made, name
        return [replace(one, wraps=paths[one.path.name]) for one in measuring.found(made)]

    def _folder(self, name: str) -> tuple[Path, Sequence[str]]:
        folder, version = self._folders[name]
        return folder, (str(folder), version)
