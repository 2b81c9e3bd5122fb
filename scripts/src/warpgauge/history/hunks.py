# SPDX-License-Identifier: Apache-2.0
"""Which lines of a change made benchmarks slower: parts of it are put back, and measured.

A variant is the candidate with some hunks as they are in the base. In pairs with the candidate it
tells the share of these hunks in the slowdown of a row, in log time. Halves of the change are tried
for all rows together, and what accounts for a slowdown is halved again (delta debugging: Zeller and
Hildebrandt 2002, "Simplifying and isolating failure-inducing input"). Whether that is so is wrong
with probability ALPHA / (variants · rows) for each.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import msgspec

from warpgauge.history.bisect import CommitPairs, Ends, Seen, most_steps
from warpgauge.history.commit_builds import SameCode, Variants, is_source
from warpgauge.measure.discovery import Suite
from warpgauge.records.row import MOST_LINES
from warpgauge.statistics.error_rates import ALPHA
from warpgauge.system import git
from warpgauge.system.git import short
from warpgauge.system.text import listed, plural

SEARCH_S = 600.0  # of building and measuring variants
_STEP_S = 60.0  # of measuring one, unless its first look takes longer
_LITTLE = 0.15  # shares below are not searched

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$", re.MULTILINE)
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_COMMENT = re.compile(r"//.*")
_NO_CODE = re.compile(r"\s*(?://.*[^\\])?$")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_TOKEN = re.compile(r"[\w.]+|\S")
_SUBMODULE = "160000"
_TEXT_MODES = ("100644", "100755")

Lines: TypeAlias = tuple[int, int]  # index of the first, and how many


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
        differ = [at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other]
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


Part: TypeAlias = "Hunk | tuple[Part, ...]"  # of a change; a group is tried as one at first


def hunks_of(parts: Sequence[Part]) -> list[Hunk]:
    """All hunks of these parts."""
    return [
        hunk for part in parts for hunk in ([part] if isinstance(part, Hunk) else hunks_of(part))
    ]


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

    def parts(self, paths: Sequence[str]) -> tuple[Part, ...]:
        """The hunks of these files, by function; what shares a new or removed name is a group.

        Those of comments and blank lines are left out.
        """
        by_function: dict[tuple[str, str], list[Hunk]] = {}
        for path in paths:
            for hunk in self.files[path].hunks:
                if hunk.whole or not all(map(_NO_CODE.match, (*hunk.removed, *hunk.added))):
                    by_function.setdefault((path, hunk.function), []).append(hunk)
        known = [
            set[str]().union(*(_names(self.files[path].contents[side]) for path in paths))
            for side in (0, 1)
        ]
        groups: list[tuple[set[str], list[Part]]] = []
        for hunks in by_function.values():
            removed, added = map(set[str]().union, *(map(self._names_in, hunks)))
            own = removed - known[1] | added - known[0]
            joined = [group for group in groups if group[0] & own]
            groups = [group for group in groups if not group[0] & own]
            parts = [*chain.from_iterable(group[1] for group in joined)]
            names = own.union(*(group[0] for group in joined))
            groups.append((names, [*parts, _one(hunks)]))
        return tuple(_one(parts) for _, parts in groups)

    def _names_in(self, hunk: Hunk) -> tuple[set[str], set[str]]:
        """The names in the lines of a hunk on both sides; a file's own name counts as one."""
        file = self.files[hunk.path]
        if not hunk.whole:
            old, new = (("\n".join(lines)).encode() for lines in (hunk.removed, hunk.added))
            return _names(old), _names(new)
        own = {Path(hunk.path).stem}
        old_names, new_names = (
            _names(content) | own if int(mode) else set[str]()
            for content, mode in zip(file.contents, file.modes, strict=True)
        )
        return old_names, new_names

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
    if _SUBMODULE in modes:
        return "submodule"
    if not all(map(int, modes)):
        return "new file" if int(modes[1]) else "deleted file"
    if modes[0] != modes[1]:
        return f"mode {modes[0]} → {modes[1]}"
    return "binary file" if any(b"\0" in content for content in contents) else "file"


def _names(content: bytes) -> set[str]:
    if b"\0" in content:
        return set()
    return {*_IDENTIFIER.findall(_COMMENT.sub("", content.decode(errors="replace")))}


def _one(parts: Sequence[Part]) -> Part:
    return parts[0] if len(parts) == 1 else tuple(parts)


class Share(msgspec.Struct, frozen=True):
    """The part of a row's slowdown that hunks account for, with its 95 % interval.

    It is below `least`, and above `most`, each with at most a step's error probability.
    """

    part: float = 0.0
    low: float = 0.0
    high: float = 0.0
    least: float = 0.0
    most: float = 0.0

    @staticmethod
    def of(seen: Seen, whole: Seen) -> Share:
        """The share of what `seen` put back in the `whole` slowdown."""

        def ratio(change: float, widest: float, narrowest: float) -> float:
            own = math.log1p(max(change, -0.99))
            return own / math.log1p(widest if own < 0.0 else narrowest)

        # Both intervals at their ends: theirs together holds at least as often.
        return Share(
            ratio(seen.change, whole.change, whole.change),
            ratio(seen.low, whole.low, whole.high),
            ratio(seen.high, whole.high, whole.low),
            ratio(seen.least, whole.least, whole.most),
            ratio(seen.most, whole.most, whole.least),
        )

    def __sub__(self, other: Share) -> Share:
        low, high = self.low - other.high, self.high - other.low
        least, most = self.least - other.most, self.most - other.least
        return Share(self.part - other.part, low, high, least, most)

    @property
    def counts(self) -> bool:
        """Whether it is more than little: certainly, or as far as one knows."""
        return self.least > _LITTLE or (self.part > _LITTLE and self.most >= _LITTLE)


_WHOLE = Share(1.0, 1.0, 1.0, 1.0, 1.0)


class Cause(msgspec.Struct, frozen=True):
    """Hunks that account for a share; `note` says why there are several, or what is not certain."""

    hunks: tuple[Hunk, ...]
    share: Share
    note: str = ""


class RowCauses(msgspec.Struct):
    """What made a row slower; no causes if it is not."""

    name: str
    whole: Seen
    causes: list[Cause] = []

    @property
    def unexplained(self) -> float:
        """The share without a cause."""
        return 1.0 - sum(cause.share.part for cause in self.causes)


class Answer(msgspec.Struct):
    """The causes of each row, the files that cannot matter, and what could not be put back."""

    base: str = ""
    rows: list[RowCauses] = []
    left_out: list[str] = []
    broken: list[tuple[tuple[Hunk, ...], str]] = []


class _Stopped(Exception):
    """No more variants may be made."""


@dataclass(frozen=True)
class _Node:
    """Parts of the change that account for these shares of rows, and are to be halved.

    They do so with `needed` put back, too. The `context`, which does not account for much, is put
    back while they are searched: of two parts, each of which slows a row, the second is found so.
    `is_final` if the shares were measured without a context.
    """

    parts: tuple[Part, ...]
    shares: Mapping[str, Share]
    is_final: bool = False
    context: tuple[Part, ...] = ()
    needed: tuple[Part, ...] = ()


def find(
    builds: Variants, suite: Suite, folder: Path, base: str, until: float, ends: Ends = None
) -> Answer:
    """Search what differs between `base` and the only commit of `builds`, the candidate.

    It ends at `until`, in seconds of the monotonic clock, or after SEARCH_S. `ends` are their pairs
    if measured before. Run files go to `folder`. Raises UserError.
    """
    measuring, candidate = builds.measuring, builds.names[0]
    difference = Difference.between(measuring.root, base, candidate)
    paths = [*filter(is_source, difference.files)]
    if paths:
        builds.build(0)
        paths = builds.that_matter(paths)
    if not paths:
        raise SameCode(
            f"nothing that differs from {short(base)} goes into {', '.join(builds.targets)}: "
            "there is nothing to put back"
        )
    parts = difference.parts(paths)
    most = 2 * most_steps(len(hunks_of(parts)))
    builds.add(difference.without(hunks_of(parts), measuring.scratch))
    builds.build(0)
    if builds.keys[0] == builds.keys[-1]:
        raise SameCode(f"{', '.join(builds.targets)} of {short(base)} and of this tree are equal")
    error, until = ALPHA / (most * len(builds.rows)), min(until, time.monotonic() + SEARCH_S)
    pairs = CommitPairs(measuring, suite, builds, builds.journal, folder, error, until, ends)
    wholes, _ = pairs.measured(
        builds.names[0], candidate, builds.rows, lambda _, one: one.is_slower or one.is_no_slower
    )
    slower = {row: whole for row, whole in wholes.items() if whole.is_slower}
    search = _Search(pairs, builds, difference, most, slower)
    search.run(parts)
    rows = [RowCauses(row, whole, search.causes.get(row, [])) for row, whole in wholes.items()]
    left_out = [path for path in difference.files if path not in paths]
    return Answer(short(base), rows, left_out, search.broken)


@dataclass
class _Search:
    """Halves parts until each cause is one hunk, or does not build in smaller parts."""

    pairs: CommitPairs
    builds: Variants
    difference: Difference
    most: int  # variants that may be measured; the error probability is divided among them
    wholes: Mapping[str, Seen]
    causes: dict[str, list[Cause]] = field(default_factory=dict)
    broken: list[tuple[tuple[Hunk, ...], str]] = field(default_factory=list)
    _shares: dict[str, dict[str, Share]] = field(default_factory=dict)  # by key and row

    def run(self, parts: tuple[Part, ...]) -> None:
        nodes = [_Node(parts, dict.fromkeys(self.wholes, _WHOLE), is_final=True)]
        while nodes:
            node = nodes.pop()
            try:
                nodes += self._step(node) if node.shares else []
            except _Stopped as stop:
                for left in (*nodes, node):
                    self._blame(left, left.shares, f"not searched further: {stop}")
                return

    def _step(self, node: _Node) -> list[_Node]:
        """Measure a part of the node; return what is to be searched further."""
        parts, shares = node.parts, node.shares
        if len(parts) == 1:
            if not node.is_final:
                return self._alone(node)
            if isinstance(parts[0], Hunk):
                self._blame(node, shares)
                return []
            parts = parts[0]
        for half, rest in _splits(parts):
            found = self._measured((*node.needed, *node.context, *half), shares)
            if found is None:
                continue
            others = {row: shares[row] - found[row] for row in shares}
            guilty, left = map(_counting, (found, others))
            lost = [row for row in shares if row not in guilty and row not in left]
            self._blame(node, lost, "not in one half of them alone")
            context = node.context if guilty else (*node.context, *half)
            return [
                replace(node, parts=rest, shares=left, context=context, is_final=False),
                replace(node, parts=half, shares=guilty, is_final=not node.context),
            ]
        self._blame(node, shares, "they build only together")
        return []

    def _alone(self, node: _Node) -> list[_Node]:
        """Measure the last part without the context."""
        both = (*node.needed, *node.parts)
        found = self._measured(both, node.shares)
        if found is None:
            self._blame(node, node.shares, "what others leave: it does not build alone")
            return []
        guilty = _counting(found)
        lost = {row: share for row, share in node.shares.items() if row not in guilty}
        if not node.context:
            self._blame(node, lost, "what others leave: alone it has less")
            lost = {}
        return [
            replace(node, shares=guilty, context=(), is_final=True),
            _Node(node.context, lost, needed=both),
        ]

    def _blame(self, node: _Node, rows: Iterable[str], note: str = "") -> None:
        hunks = tuple(hunks_of((*node.needed, *node.parts)))
        note = note or ("only together" if node.needed else "")
        for row in rows:
            self.causes.setdefault(row, []).append(Cause(hunks, node.shares[row], note))

    def _measured(self, parts: Sequence[Part], rows: Iterable[str]) -> dict[str, Share] | None:
        """The share of these parts in each row; None if the rest is no program that runs."""
        builds, hunks = self.builds, hunks_of(parts)
        if self.pairs.left <= 0.0:
            raise _Stopped("the time is up")
        if len(self._shares) >= self.most or len(builds.names) > 2 * self.most:
            raise _Stopped(f"{self.most} variants were measured, which is the limit")
        places = listed([hunk.place for hunk in hunks])
        builds.measuring.note(f"Putting back {plural(len(hunks), 'hunk')}: {places}")
        commit = self.difference.without(hunks, builds.measuring.scratch)
        index = builds.add(commit)
        if builds.keys[index] not in builds.identities and (fault := builds.build(index)):
            self.broken.append((tuple(hunks), fault))
            return None
        key = builds.keys[index]
        if key in (builds.keys[0], builds.keys[-1]):  # equal programs need no measurement
            return dict.fromkeys(rows, _WHOLE if key == builds.keys[0] else Share())
        known = self._shares.setdefault(key, {})
        if missing := [row for row in rows if row not in known]:
            until = min(self.pairs.until, time.monotonic() + _STEP_S)
            seen, _ = replace(self.pairs, until=until).measured(
                commit, builds.names[-1], missing, self._is_settled
            )
            faults = [f"{row} {one.fault}" for row, one in seen.items() if one.fault]
            if faults:
                self.broken.append((tuple(hunks), faults[0]))
                return None
            known.update((row, Share.of(one, self.wholes[row])) for row, one in seen.items())
        return {row: known[row] for row in rows}

    def _is_settled(self, row: str, seen: Seen) -> bool:
        share = Share.of(seen, self.wholes[row])
        return share.least > _LITTLE or share.most < _LITTLE


def _counting(shares: Mapping[str, Share]) -> dict[str, Share]:
    return {row: share for row, share in shares.items() if share.counts}


def _splits(parts: tuple[Part, ...]) -> Iterator[tuple[tuple[Part, ...], tuple[Part, ...]]]:
    """The ways to split parts, the best first: halves, every other one, and each alone."""
    half = len(parts) // 2
    firsts = [parts[:half], parts[half:], parts[::2], parts[1::2], *((part,) for part in parts)]
    for first in dict.fromkeys(firsts):
        yield first, tuple(part for part in parts if part not in first)
