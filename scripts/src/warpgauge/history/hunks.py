# SPDX-License-Identifier: Apache-2.0
"""Which lines of a change made benchmarks slower: parts of it are put back, and measured.

A variant is the candidate with some hunks as they are in the base. In pairs with the candidate it
tells the share of these hunks in the slowdown of a row, in log time. Halves of the change are tried
for all rows together, and what accounts for a slowdown is halved again (delta debugging: Zeller and
Hildebrandt 2002, "Simplifying and isolating failure-inducing input"). A hunk is named
if its share is certainly above zero: wrong with probability ALPHA / (variants · rows) for each.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import msgspec

from warpgauge.history import bisect
from warpgauge.history.bisect import WHOLE, CommitPairs, Ends, Seen, Share, counting
from warpgauge.history.commit_builds import SameCode, Variants, is_source
from warpgauge.measure.discovery import Suite
from warpgauge.records.row import MOST_LINES
from warpgauge.statistics.error_rates import ALPHA
from warpgauge.system import git
from warpgauge.system.git import short
from warpgauge.system.text import listed

SEARCH_S = 600.0  # of building and measuring variants
# Of measuring several hunks, and a single one, unless the first look takes longer.
_STEP_S, _LAST_STEP_S = 30.0, 60.0

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$", re.MULTILINE)
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_COMMENT = re.compile(r"//.*")
_NO_CODE = re.compile(r"\s*(?://.*[^\\])?$")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_QUOTED = re.compile(r"""["'`‘“](.*?)["'’”]""")
_TOKEN = re.compile(r"[\w.]+|\S")
_TEXT_MODES = ("100644", "100755")

Lines: TypeAlias = tuple[int, int]  # index of the first, and how many
Hunks: TypeAlias = "tuple[Hunk, ...]"


class Hunk(msgspec.Struct, frozen=True):
    """Lines that differ, `old` in the base and `new` in the candidate; or a `whole` file.

    `whole` says why it is not cut further.
    """

    path: str
    function: str = ""
    old: Lines = (0, 0)
    new: Lines = (0, 0)
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    whole: str = ""

    @property
    def place(self) -> str:
        return self.path if self.whole else f"{self.path}:{max(self.new[0] + bool(self.new[1]), 1)}"

    @property
    def words(self) -> str:
        """The change in a few words, if it is of one token or of a file; else empty."""
        if self.whole or len(self.removed) != 1 or len(self.added) != 1:
            return self.whole
        old, new = (_TOKEN.findall(lines[0]) for lines in (self.removed, self.added))
        differ = [at for at, (was, now) in enumerate(zip(old, new, strict=False)) if was != now]
        if len(old) != len(new) or len(differ) != 1:
            return ""
        at = differ[0]
        names = [token for token in new[:at] if _IDENTIFIER.fullmatch(token)]
        if _IDENTIFIER.match(new[at]):
            return f"{old[at]} → {new[at]}"
        return f"{names[-1]} {old[at]} → {new[at]}" if names and names[-1] != "return" else ""

    @property
    def lines(self) -> list[str]:
        """Its first lines, as a diff shows them."""
        removed, added = (
            [f"{mark} {line.strip()}" for line in lines if line.strip()]
            for mark, lines in (("-", self.removed), ("+", self.added))
        )
        few = max(MOST_LINES - len(added), 1)
        return [*removed[:few], *added][:MOST_LINES]


def spliced(base: Sequence[bytes], candidate: Sequence[bytes], back: Sequence[Hunk]) -> bytes:
    """The candidate's lines, with those of the base in the place of these hunks."""
    made, at = list[bytes](), 0
    for hunk in sorted(back, key=lambda hunk: hunk.new):
        (old, removed), (new, added) = hunk.old, hunk.new
        made += [*candidate[at:new], *base[old : old + removed]]
        at = new + added
    return b"".join([*made, *candidate[at:]])


@dataclass(frozen=True)
class _File:
    """A file that differs: its modes and contents on both sides, and its object in the base."""

    modes: tuple[str, str]
    old: str
    contents: tuple[bytes, bytes]
    hunks: tuple[Hunk, ...]


@dataclass(frozen=True)
class Difference:
    """What differs between two commits, in files below `root`."""

    root: Path
    candidate: str
    files: Mapping[str, _File]

    @staticmethod
    def between(root: Path, base: str, candidate: str) -> Difference:
        """Compare two commits. Raises UserError."""
        compare = partial(git.require, root, "diff-tree", "-r", "--no-renames", "--relative")
        fields = compare("-z", base, candidate).split("\0")
        files = {}
        for head, path in zip(fields[::2], fields[1::2], strict=False):
            old_mode, new_mode, old, new, _ = head.removeprefix(":").split()
            contents = _content(root, old_mode, old), _content(root, new_mode, new)
            hunks: Sequence[Hunk] = ()
            if old_mode == new_mode in _TEXT_MODES:
                text = compare("-p", "-U0", base, candidate, "--", f":(literal){path}")
                hunks = [_hunk(path, header, contents) for header in _HUNK.findall(text)]
            modes = old_mode, new_mode
            whole = Hunk(path, whole=_why_whole(modes, contents))
            files[path] = _File(modes, old, contents, tuple(hunks) or (whole,))
        return Difference(root, candidate, files)

    def hunks(self, paths: Iterable[str]) -> Hunks:
        """The hunks of these files, without those of comments and blank lines."""
        return tuple(
            hunk
            for path in paths
            for hunk in self.files[path].hunks
            if hunk.whole or not all(map(_NO_CODE.match, (*hunk.removed, *hunk.added)))
        )

    def named(self, hunks: Hunks) -> tuple[dict[str, set[Hunk]], list[set[Hunk]]]:
        """The hunks with each name in their lines, and those that share a new or removed one."""
        by_name: dict[str, set[Hunk]] = {}
        for hunk in hunks:
            for name in self._names_in(hunk):
                by_name.setdefault(name, set()).add(hunk)
        sides = zip(
            *(self.files[path].contents for path in {hunk.path for hunk in hunks}), strict=True
        )
        old, new = (set[str]().union(*map(_names, contents)) for contents in sides)
        return by_name, [
            group for name, group in by_name.items() if len(group) > 1 and name not in old & new
        ]

    def _names_in(self, hunk: Hunk) -> set[str]:
        """The names in the lines of a hunk; a whole file's own name counts as one."""
        if hunk.whole:
            return {Path(hunk.path).stem}.union(*map(_names, self.files[hunk.path].contents))
        return _names("\n".join((*hunk.removed, *hunk.added)).encode())

    def without(self, back: Sequence[Hunk], scratch: Path) -> str:
        """A commit: the candidate with these hunks as in the base. Raises UserError."""
        by_path: dict[str, list[Hunk]] = {}
        for hunk in back:
            by_path.setdefault(hunk.path, []).append(hunk)
        prefix = git.require(self.root, "rev-parse", "--show-prefix")
        top = Path(git.require(self.root, "rev-parse", "--show-toplevel"))
        gone, changed = list[str](), list[str]()
        for path, hunks in by_path.items():
            file, made = self.files[path], scratch / "spliced"
            mode, name = file.modes[0], file.old
            if not hunks[0].whole:
                base, candidate = map(_LINE.findall, file.contents)
                made.write_bytes(spliced(base, candidate, hunks))
                name = git.require(top, "hash-object", "-w", "--no-filters", "--", str(made))
            if int(mode):
                changed += ["--cacheinfo", f"{mode},{name},{prefix}{path}"]
            else:
                gone.append(f"{prefix}{path}")
        changes = [["update-index", "--force-remove", "--", *gone]] if gone else []
        changes += [["update-index", "--add", "--replace", *changed]] if changed else []
        return git.variant(top, self.candidate, *changes)


def _content(root: Path, mode: str, name: str) -> bytes:
    """The content of a regular file; empty for anything else."""
    return next(git.blobs(root, [name])) if mode in _TEXT_MODES else b""


def _hunk(path: str, header: Sequence[str], contents: tuple[bytes, bytes]) -> Hunk:
    numbers = [int(number or 1) for number in header[:4]]
    old, new = ((first - bool(count), count) for first, count in (numbers[:2], numbers[2:]))
    removed, added = (
        tuple(
            line.decode(errors="replace").rstrip("\r\n")
            for line in _LINE.findall(content)[first : first + count]
        )
        for content, (first, count) in zip(contents, (old, new), strict=True)
    )
    return Hunk(path, header[4], old, new, removed, added)


def _why_whole(modes: tuple[str, str], contents: tuple[bytes, bytes]) -> str:
    if "160000" in modes:
        return "submodule"
    if not all(map(int, modes)):
        return "new file" if int(modes[1]) else "deleted file"
    if modes[0] != modes[1]:
        return f"mode {modes[0]} → {modes[1]}"
    return "binary file" if any(b"\0" in content for content in contents) else "file"


def _names(content: bytes) -> set[str]:
    text = "" if b"\0" in content else content.decode(errors="replace")
    return {*_IDENTIFIER.findall(_COMMENT.sub("", text))}


class Cause(msgspec.Struct, frozen=True):
    """Hunks that account for a share; `note` says why there are several, or what is not certain."""

    hunks: Hunks
    share: Share
    note: str = ""


class RowCauses(msgspec.Struct):
    """What made a row slower, no causes if it is not; and what the largest cause `did`."""

    name: str
    whole: Seen
    causes: list[Cause] = []
    did: str = ""

    @property
    def largest(self) -> Cause | None:
        return max(self.causes, key=lambda cause: cause.share.part, default=None)

    @property
    def unexplained(self) -> float:
        """The share without a cause."""
        return 1.0 - sum(cause.share.part for cause in self.causes)


class Answer(msgspec.Struct):
    """The causes of each row, the files that cannot matter, and what could not be put back.

    `code` says what both sides share. If `stopped` (why), `following` are put back next, if any.
    """

    base: str = ""
    rows: list[RowCauses] = []
    left_out: list[str] = []
    code: Sequence[str] = ()
    broken: list[tuple[Hunks, str]] = []
    stopped: str = ""
    following: Hunks = ()


class _Stopped(Exception):
    """No more variants may be made: why, and which hunks a search that goes on puts back next."""


@dataclass(frozen=True)
class _Node:
    """Hunks that account for these shares of rows, and are to be halved.

    They do so with `needed` put back, too. The `context`, which does not account for much, is put
    back while they are searched: of two hunks, each of which slows a row, the second is found so.
    The shares of that are `beside`. `is_final` if the shares were measured without a context.
    """

    hunks: Hunks
    shares: Mapping[str, Share]
    is_final: bool = False
    context: Hunks = ()
    beside: Mapping[str, Share] = field(default_factory=dict)
    needed: Hunks = ()


def find(builds: Variants, suite: Suite, folder: Path, until: float, ends: Ends = None) -> Answer:
    """Search what differs between the base and the only commit of `builds`, the candidate.

    It ends at `until`, in seconds of the monotonic clock, or after SEARCH_S. `ends` are their pairs
    if measured before. Run files go to `folder`. Raises UserError.
    """
    measuring, base, candidate = builds.measuring, builds.base, builds.names[0]
    difference = Difference.between(measuring.root, base, candidate)
    sources, paths = [*filter(is_source, difference.files)], set[str]()
    if sources:
        builds.build(0)
        paths |= {*builds.that_matter(sources)}
        builds.add(difference.without(difference.hunks(sources), measuring.scratch))
        builds.build(0)
        paths |= {*builds.that_matter(sources)}
    if not paths:
        programs = ", ".join(builds.targets)
        raise SameCode(f"nothing that differs from {short(base)} goes into {programs}")
    hunks = difference.hunks(path for path in sources if path in paths)
    most = 2 * bisect.most_steps(len(hunks))
    if builds.keys[0] == builds.keys[-1]:
        raise SameCode(f"{', '.join(builds.targets)} of {short(base)} and of this tree are equal")
    searched = builds.of_other_code([*paths])
    error, until = ALPHA / (most * len(builds.rows)), min(until, time.monotonic() + SEARCH_S)
    pairs = CommitPairs(measuring, suite, builds, builds.journal, folder, error, until, ends)
    wholes, _ = pairs.measured(
        builds.names[0], candidate, builds.rows, lambda _, one: one.is_slower or one.is_no_slower
    )
    left_out = [path for path in difference.files if path not in paths]
    rows, code = [RowCauses(*both) for both in wholes.items()], builds.equal_code(*builds.keys)
    answer = Answer(short(base), rows, left_out, code)
    _Search(pairs, builds, difference, hunks, most, answer).run(searched)
    return answer


@dataclass
class _Search:
    """Halves the hunks until each cause is one, or does not build in smaller parts."""

    pairs: CommitPairs
    builds: Variants
    difference: Difference
    hunks: Hunks
    most: int  # variants that may be measured; the error probability is divided among them
    answer: Answer
    _rows: dict[str, RowCauses] = field(default_factory=dict)
    _shares: dict[str, dict[str, Share]] = field(default_factory=dict)  # by key and row
    _named: dict[str, set[Hunk]] = field(default_factory=dict)  # hunks by the names in them
    _groups: list[set[Hunk]] = field(default_factory=list)  # that may build only together
    _certain: list[set[Hunk]] = field(default_factory=list)  # groups, as the compiler says

    def run(self, paths: Collection[str]) -> None:
        """Search the hunks of these files, and what builds only with them."""
        self._named, self._groups = self.difference.named(self.hunks)
        self._rows = {row.name: row for row in self.answer.rows}
        slower = {row.name: WHOLE for row in self.answer.rows if row.whole.is_slower}
        searched = self._together({hunk for hunk in self.hunks if hunk.path in paths})
        nodes = [_Node(self._sorted(searched), slower, is_final=True)]
        while nodes:
            node = nodes.pop()
            try:
                nodes += self._step(node) if node.shares else []
            except _Stopped as stop:
                self.answer.stopped, self.answer.following = stop.args
                for left in (*nodes, node):
                    is_known = left.is_final and len(left.hunks) == 1
                    self._blame(left, left.shares, "" if is_known else "not searched further")
                break
        rows = self.answer.rows
        sure = {its.hunks for row in rows for its in row.causes if its.share.least > 0.0}
        for row in rows:
            row.causes = [cause for cause in row.causes if cause.hunks in sure]

    def _step(self, node: _Node) -> list[_Node]:
        """Measure a part of the node; return what is to be searched further."""
        hunks, shares = {*node.hunks}, node.shares
        tried = [set[Hunk](), hunks]
        for half in map(set, _halves(node.hunks)):
            first = self._together(half) & hunks
            if first == hunks and not (len(hunks) == 2 and hunks in self._certain):
                first = half  # the others may build without it
            if first in tried:
                continue
            tried.append(first)
            others = {*node.needed, *node.context}
            back, found = self._measured(first | others, shares, hunks | others)
            first = back & hunks  # with what the compiler has missed
            if found is None or first == hunks:
                continue
            part = {row: found[row] - node.beside.get(row, Share()) for row in shares}
            guilty, left = counting(part, {row: shares[row] - part[row] for row in shares})
            lost = shares.keys() - guilty.keys() - left.keys()
            self._blame(node, lost, "not in one half of them alone")
            own, rest = self._sorted(first), self._sorted(hunks - first)
            aside = (node.context, node.beside) if guilty else ((*node.context, *own), found)
            return [
                _Node(rest, left, False, *aside, node.needed),
                replace(node, hunks=own, shares=guilty, is_final=back == first.union(node.needed)),
            ]
        if not node.is_final:
            return self._alone(node)
        self._blame(node, shares, "they build only together" if len(hunks) > 1 else "")
        return []

    def _together(self, hunks: set[Hunk]) -> set[Hunk]:
        """These hunks, and those which may build only with them."""
        more = hunks.union(*(group for group in (*self._groups, *self._certain) if group & hunks))
        return hunks if more == hunks else self._together(more)

    def _alone(self, node: _Node) -> list[_Node]:
        """Measure what is not split further without the context."""
        back, found = self._measured({*node.needed, *node.hunks}, node.shares, {*self.hunks})
        if found is None:
            self._blame(node, node.shares, "what others leave: it does not build alone")
            return []
        for row in found:  # others are put back, too, if it does not build without them
            for cause in self._rows[row].causes:
                found[row] -= cause.share if {*cause.hunks} < back else Share()
        guilty = {row: share for row, share in found.items() if share.counts}
        sure = {row: share for row, share in node.shares.items() if share.least > 0.0}
        lost = {row: share for row, share in sure.items() if row not in guilty}
        if not node.context:
            self._blame(node, lost, "what others leave: alone it has less")
            lost = {}
        own = self._sorted(back.difference(node.needed))
        return [
            replace(node, hunks=own, shares=guilty, context=(), beside={}, is_final=True),
            _Node(node.context, lost, needed=self._sorted(back)),
        ]

    def _blame(self, node: _Node, rows: Iterable[str], note: str = "") -> None:
        note = note or ("only together" if node.needed else "")
        hunks = self._sorted({*node.needed, *node.hunks})
        for row in rows:
            share = node.shares[row]
            why = note or ("" if share.least > 0.0 else "not certain")
            if max(share.low, share.least) > 0.0:  # else noise may be all of it
                self._rows[row].causes.append(Cause(hunks, share, why))

    def _measured(
        self, back: set[Hunk], rows: Iterable[str], within: Set[Hunk]
    ) -> tuple[set[Hunk], dict[str, Share] | None]:
        """The share of these hunks in each row; None if it is no program that runs.

        With the hunks that are put back: what the compiler misses of those `within`, too.
        """
        builds = self.builds
        index, back = self._built(back, within)
        if not index:
            return back, None
        key = builds.keys[index]
        if key in (builds.keys[0], builds.keys[-1]):  # equal programs need no measurement
            return back, dict.fromkeys(rows, WHOLE if key == builds.keys[0] else Share())
        known = self._shares.setdefault(key, {})
        if missing := [row for row in rows if row not in known]:
            limit = _STEP_S if len(back) > 1 else _LAST_STEP_S
            until = min(self.pairs.until, time.monotonic() + limit)
            pairs, sides = replace(self.pairs, until=until), (builds.names[index], builds.names[-1])
            seen, _ = pairs.measured(*sides, missing, self._is_settled)
            if until < self.pairs.until:  # the same command goes on from here
                builds.journal.keep(["seen", *sides, *missing], seen)
            if faults := [f"{row} {its.fault}" for row, its in seen.items() if its.fault]:
                self.answer.broken.append((self._sorted(back), faults[0]))
                return back, None
            known.update((row, Share.of(its, self._rows[row].whole)) for row, its in seen.items())
        return back, {row: known[row] for row in rows}

    def _sorted(self, hunks: Set[Hunk]) -> Hunks:
        return tuple(hunk for hunk in self.hunks if hunk in hunks)

    def _built(self, back: set[Hunk], within: Set[Hunk]) -> tuple[int, set[Hunk]]:
        """Build the candidate without these hunks; with what the compiler misses, if it says so.

        Return its index, 0 if it does not build, and all hunks that are put back.
        """
        builds = self.builds
        while True:
            hunks = self._sorted(back)
            if self.pairs.left <= 0.0:
                raise _Stopped("the time is up", hunks)
            if len(self._shares) >= self.most or len(builds.names) > 2 * self.most:
                raise _Stopped(f"{self.most} variants were measured, which is the limit", ())
            builds.measuring.note(f"Putting back {listed([hunk.place for hunk in hunks])}")
            index = builds.add(self.difference.without(hunks, builds.measuring.scratch))
            if builds.keys[index] in builds.identities or not (fault := builds.build(index)):
                return index, back
            self.answer.broken.append((hunks, fault))
            group = self._missed(back, fault)
            if not group or group in self._certain:
                return 0, back
            self._certain.append(group)
            if not (more := self._together(back)) <= within:
                return 0, back
            back = more

    def _missed(self, back: set[Hunk], fault: str) -> set[Hunk]:
        """The hunks with the rarest name in a compiler's message that only some put back have."""
        for text in (" ".join(_QUOTED.findall(fault)), fault.partition("error:")[2]):
            names = sorted({*_IDENTIFIER.findall(text)} & self._named.keys())
            groups = [self._named[name] for name in names]
            if groups := [group for group in groups if group & back and group - back]:
                return min(groups, key=len)
        return set()

    def _is_settled(self, row: str, seen: Seen) -> bool:
        share = Share.of(seen, self._rows[row].whole)
        return share.least > bisect.LITTLE or share.most < bisect.LITTLE


def _halves(hunks: Hunks) -> Iterator[Hunks]:
    """The ways to halve hunks, the best first: halves, every other one, and each alone."""
    middle = len(hunks) // 2
    yield from (hunks[:middle], hunks[middle:], hunks[::2], hunks[1::2], *zip(hunks, strict=True))
