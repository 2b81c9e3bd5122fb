# SPDX-License-Identifier: Apache-2.0
"""The command lines of Google Benchmark's own compare.py, as `warpgauge compare` reads them.

``benchmarks A B``, ``filters A REGEX REGEX`` and ``benchmarksfiltered A REGEX B REGEX``: A and B
are results or programs, and what follows them is for the programs.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import msgspec

from warpgauge.commands.arguments import Parser
from warpgauge.records.benchmark_filter import replaced
from warpgauge.records.load import load as read
from warpgauge.records.model import Record
from warpgauge.records.row import Row
from warpgauge.system import process
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert, plural, quoted, typed
from warpgauge.verdict.comparison_settings import FEWEST_PROCESSES

REGEX = "REGEX"
# Of each mode the words behind it.
MODES = {
    "benchmarks": ("A", "B"),
    "filters": ("A", REGEX, REGEX),
    "benchmarksfiltered": ("A", REGEX, "B", REGEX),
}
FOR_PROGRAMS, FILTER = "--benchmark_", "--benchmark_filter="

_MAGIC = (b"\x7fELF", b"#!")  # of a program and of a script


@dataclass(frozen=True)
class Side:
    path: Path
    filter: str  # a regular expression, not yet checked; empty for all
    arguments: tuple[str, ...]

    @property
    def is_program(self) -> bool:
        if not self.path.is_file() or not os.access(self.path, os.X_OK):
            return False
        with self.path.open("rb") as file:
            return file.read(4).startswith(_MAGIC)

    @property
    def command(self) -> list[str]:
        """The command that runs a program; absolute, because a bare name is looked up in PATH."""
        chosen = [f"{FILTER}{self.filter}"] if self.filter else []
        return [str(self.path.absolute()), *self.arguments, *chosen]


def split(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str], list[str]]:
    """Return upstream's own options, our words, and those for the programs.

    The last are --benchmark_…, and what follows a ``--``. Raises UserError.
    """
    ends = "--" in argv and not MODES.keys().isdisjoint(argv)
    end = argv.index("--") if ends else len(argv)
    ours = [word for word in argv[:end] if not word.startswith(FOR_PROGRAMS)]
    theirs = [word for word in argv[:end] if word.startswith(FOR_PROGRAMS)]
    options, ours = _options().parse_known_args(ours)
    return options, ours, [*theirs, *argv[end + 1 :]]


def _options() -> Parser:
    """Return the parser of upstream's options; the first three have no effect here."""
    parser = Parser(add_help=False)
    parser.add_argument("-a", "--display_aggregates_only", action="store_true")
    parser.add_argument("-u", "--utest", "--no-utest", action="store_true")
    parser.add_argument("--alpha", type=float)
    parser.add_argument("-d", "--dump_to_json", type=Path)
    return parser


def is_mode(words: Sequence[str]) -> bool:
    """Return whether these are not the names of results, one of which is called as a mode.

    Raises UserError for what is nearly a mode.
    """
    if len(words) > 2 and (near := get_close_matches(words[0], MODES, 1)) and near[0] != words[0]:
        raise UserError(f"there is no mode {typed(words[0])}: did you mean {near[0]}?")
    return words[:1] != [] and words[0] in MODES and (len(words) > 2 or not Path(words[0]).exists())


def sides(words: Sequence[str], arguments: Sequence[str], parser: Parser) -> tuple[Side, Side]:
    """Return both sides by the mode and its words. Raises UserError for too few of them."""
    mode, *given = words
    wanted = MODES[mode]
    if len(given) < len(wanted):
        parser.error(f"{mode} needs {' '.join(wanted)}")
    for_programs = (*given[len(wanted) :], *arguments)
    named = [*zip(wanted, given, strict=False)]
    paths = [Path(word) for what, word in named if what != REGEX]
    filters = [word for what, word in named if what == REGEX] or [""]
    base, candidate = (Side(paths[at], filters[at], for_programs) for at in (0, -1))
    return base, candidate


def filter_of(both: tuple[Side, Side]) -> str:
    """Return what --benchmark_filter asks of sides that are no programs; "" for all of them."""
    asked = [word.removeprefix(FILTER) for word in both[0].arguments if word.startswith(FILTER)]
    measured = all(side.is_program or side.filter for side in both)
    return "" if measured or not asked else asked[-1]


def load(both: tuple[Side, Side]) -> tuple[Record, Record]:
    """Return the records of both sides; programs run in several processes each, in turns.

    With filters, both sides' benchmarks get common names, as upstream makes them. Raises UserError.
    """
    with tempfile.TemporaryDirectory(prefix="warpgauge-compare-") as scratch:
        ran = _run(both, Path(scratch))
    found = [record or read(side.path) for side, record in zip(both, ran, strict=True)]
    if all(side.filter for side in both):
        common = f"[{both[0].filter} vs. {both[1].filter}]"
        found = [_renamed(one, side.filter, common) for one, side in zip(found, both, strict=True)]
    base, candidate = found
    return base, candidate


def remarks(both: tuple[Side, Side]) -> Iterator[str]:
    """Yield a sentence on the programs that `load` runs."""
    programs = [side for side in both if side.is_program]
    if programs:
        names = " and ".join(dict.fromkeys(inert(str(side.path)) for side in programs))
        times = f"in {plural(FEWEST_PROCESSES, 'process', 'processes')} a side, in turns"
        more = "warpgauge ab OLD_FOLDER NEW_FOLDER measures in pairs until every row is decided"
        yield f"Running {names} {times}; {more}."


def _run(both: tuple[Side, Side], scratch: Path) -> list[Record | None]:
    """Return the record of each side that is a program. Raises UserError if one fails."""
    programs = [(at, side) for at, side in enumerate(both) if side.is_program]
    for turn in range(FEWEST_PROCESSES):
        for at, side in programs:
            file = scratch / str(at) / f"{turn}.json"
            file.parent.mkdir(exist_ok=True)
            out = [f"--benchmark_out={file}", "--benchmark_out_format=json"]
            ending = process.run([*side.command, *out], math.inf, scratch)
            if ending.status != 0:
                raise UserError(f"{side.path}: {ending.described()}; run it by hand")
            if not file.exists():
                raise UserError(f"{side.path}: wrote no result; give a Google Benchmark program")
    return [
        replace(read(scratch / str(at)), path=side.path) if side.is_program else None
        for at, side in enumerate(both)
    ]


def _renamed(record: Record, filter: str, common: str) -> Record:
    """Return the benchmarks in whose name `filter` is found, with what it finds as `common`."""
    if not record.source.is_plain:
        raise UserError(
            f"{record.path}: is a {record.source.value}, and filters compare benchmarks of other "
            "tools only; leave the filters out"
        )
    names = replaced(filter, common, record.rows)
    if not names:
        raise UserError(f"{record.path}: no benchmark matches {typed(filter)}; correct it")
    rows: dict[str, Row] = {}
    for old, new in names.items():
        row = msgspec.structs.replace(record.rows[old], name=new)
        if new in rows:
            error = f"{quoted(filter)} gives several benchmarks this name: use a narrower one"
            row = Row(new, {}, row.clock, error=error)
        rows[new] = row
    return replace(record, rows=rows)
