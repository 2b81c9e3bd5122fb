# SPDX-License-Identifier: Apache-2.0
"""A SQLite cache of the history, built from the branch on demand.

The file records the commit it was built from. It is never modified in place: a new commit is added
to a copy, which then replaces it. Readers therefore need no lock, and a build that is killed leaves
the old file intact. A damaged or foreign file is rebuilt.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import sqlite3
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, repeat
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import msgspec

from warpgauge.history import lines
from warpgauge.history.lines import File, Point, Ratio
from warpgauge.system.errors import UserError
from warpgauge.system.locks import alone

_FOLDER, _NAME, _UNFINISHED = Path("build", "history"), "nights.sqlite", ".new"
# Fields of the file header that identify a file of this kind (sqlite.org/fileformat.html).
_APPLICATION, _VERSION = 0x77674831, 3

# A series is one range of keys, and so are all series of a GPU model. The file is written in this
# order, so pages are full and contiguous.
_TABLES = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
CREATE TABLE source (sha TEXT NOT NULL);
CREATE TABLE files (id INTEGER PRIMARY KEY, gpu INTEGER NOT NULL, path TEXT NOT NULL,
    blob TEXT NOT NULL);
CREATE TABLE gpus (id INTEGER PRIMARY KEY, slug TEXT NOT NULL UNIQUE);
CREATE TABLE benchmarks (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    host INTEGER NOT NULL DEFAULT 0);
CREATE TABLE nights (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, gpu INTEGER NOT NULL,
    date TEXT NOT NULL, sha TEXT NOT NULL, run INTEGER NOT NULL, facts TEXT NOT NULL,
    base TEXT NOT NULL);
CREATE TABLE points (gpu INTEGER, benchmark INTEGER, night INTEGER, seconds REAL NOT NULL, sd REAL,
    processes INTEGER NOT NULL, log_ratio REAL, ratio_sd REAL, pairs INTEGER NOT NULL,
    PRIMARY KEY (gpu, benchmark, night)) WITHOUT ROWID;
CREATE TABLE unmeasured (gpu INTEGER, benchmark INTEGER, night INTEGER, reason TEXT NOT NULL,
    PRIMARY KEY (gpu, benchmark, night)) WITHOUT ROWID;
CREATE TABLE faults (file INTEGER NOT NULL, sentence TEXT NOT NULL);
"""

T = TypeVar("T")


def ask(root: Path, ref: str, question: Callable[[sqlite3.Connection], T]) -> T:
    """Return question(connection) on the history at `ref` in the clone `root`.

    The connection is read-only. If the file turns out to be damaged, it is rebuilt and `question`
    is called again. Raises UserError if there is no such history.
    """
    commit = lines.commit_of(root, ref)
    with contextlib.ExitStack() as held:
        database = opened(root / _FOLDER / _NAME, commit) or _made(root, commit, held)
        try:
            with contextlib.closing(database):
                return question(database)
        except sqlite3.DatabaseError:
            with contextlib.closing(_made(root, commit, held, anew=True)) as database:
                return question(database)


def faults(database: sqlite3.Connection) -> list[str]:
    """A sentence for each unreadable line of the history: where it is and what is wrong."""
    found = database.execute(
        "SELECT sentence FROM faults JOIN files ON files.id = file ORDER BY path, faults.rowid"
    )
    return [sentence for (sentence,) in found]


def place_of(database: sqlite3.Connection) -> tuple[Path, str]:
    """The path and commit with which `opened` opens the same file in another process."""
    (_, _, path), *_ = database.execute("PRAGMA database_list")
    (commit,) = database.execute("SELECT sha FROM source").fetchone()
    return Path(path), commit


def opened(path: Path, commit: str | None = None) -> sqlite3.Connection | None:
    """Open the file if it is ours and was built from this commit (None: any); otherwise None.

    An open file does not change, even if another one replaces it.
    """
    if not path.is_file():  # missing, or a pipe
        return None
    # Existing files are never modified, so no lock is needed and the folder may be read-only.
    name = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    with contextlib.ExitStack() as held:
        try:
            database = held.enter_context(contextlib.closing(sqlite3.connect(name, uri=True)))
            keys = ("application_id", "user_version")
            kind = [database.execute(f"PRAGMA {key}").fetchone()[0] for key in keys]
            if kind != [_APPLICATION, _VERSION]:
                return None
            if database.execute("SELECT sha FROM source").fetchone() != (commit,) and commit:
                return None
        except sqlite3.DatabaseError:
            return None
        held.pop_all()  # keep it open
        return database


def _made(
    root: Path, commit: str, held: contextlib.ExitStack, *, anew: bool = False
) -> sqlite3.Connection:
    """Build and open the file; if `build/` is read-only, in a temporary folder kept by `held`."""
    folder = root / _FOLDER
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="warpgauge-")))
    path = folder / _NAME
    with alone(folder):
        # Another command may have built it meanwhile.
        database = None if anew else opened(path, commit)
        if database is None:
            _replace(root, commit, path, anew=anew)
            database = opened(path, commit)
    if database is None:  # the file system does not support locks
        raise UserError(f"{path} was replaced by another command: run this one again")
    return database


def _replace(root: Path, commit: str, path: Path, *, anew: bool) -> None:
    """Put the file of `commit` at `path`, from a copy of the old one if faster and not `anew`."""
    for left in path.parent.glob(f"*{_UNFINISHED}"):  # left by a build that was killed
        left.unlink(missing_ok=True)
    descriptor, name = tempfile.mkstemp(_UNFINISHED, dir=path.parent)
    os.close(descriptor)
    new = Path(name)
    try:
        if anew or not _completed(root, commit, path, new):
            new.write_bytes(b"")
            with _writing(new, _TABLES) as database:
                _add(database, root, lines.files(root, commit))
                database.execute("INSERT INTO source VALUES (?)", (commit,))
        new.chmod(0o644)
        new.replace(path)
    except OSError as fault:
        raise UserError(f"{path} cannot be written ({fault.strerror or fault})") from None
    except sqlite3.OperationalError as fault:
        raise UserError(f"{path} cannot be written ({fault})") from None
    finally:
        new.unlink(missing_ok=True)


def _completed(root: Path, commit: str, old: Path, new: Path) -> bool:
    """Copy `old` to `new` and apply the changes of `commit`. Returns whether that worked."""
    database = opened(old)
    if database is None:
        return False
    wanted = {file.path: file for file in lines.files(root, commit)}
    try:
        with contextlib.closing(database):
            known = dict(database.execute("SELECT path, blob FROM files").fetchall())
        gone = [path for path in known if path not in wanted or wanted[path].blob != known[path]]
        added = [file for path, file in wanted.items() if known.get(path) != file.blob]
        if len(gone) + len(added) > len(known):  # rebuilding is faster
            return False
        shutil.copyfile(old, new)
        with _writing(new) as copy:
            _remove(copy, gone)
            _add(copy, root, added)
            copy.execute("UPDATE source SET sha = ?", (commit,))
    except sqlite3.DatabaseError:
        return False
    return True


@contextlib.contextmanager
def _writing(path: Path, tables: str = "") -> Iterator[sqlite3.Connection]:
    """A connection to a file that nobody else uses; the caller discards it if this fails."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
            f"PRAGMA cache_size = -100000; {tables}"
        )
        database.execute("BEGIN")
        yield database
        database.execute("COMMIT")


def _remove(database: sqlite3.Connection, paths: Iterable[str]) -> None:
    of_night = "WHERE gpu = ? AND benchmark IN (SELECT id FROM benchmarks) AND night = ?"
    for path in paths:
        (file,) = database.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
        found = database.execute("SELECT gpu, id FROM nights WHERE file = ?", (file,)).fetchall()
        database.executemany(f"DELETE FROM points {of_night}", found)
        database.executemany(f"DELETE FROM unmeasured {of_night}", found)
        database.execute("DELETE FROM nights WHERE file = ?", (file,))
        database.execute("DELETE FROM faults WHERE file = ?", (file,))
        database.execute("DELETE FROM files WHERE id = ?", (file,))


class _Column:
    """The points of one benchmark in the order of nights, 48 bytes each. NaN is stored as NULL."""

    def __init__(self) -> None:
        self.night, self.processes, self.pairs = array("q"), array("i"), array("i")
        self.seconds, self.sd = array("d"), array("d")
        self.log_ratio, self.ratio_sd = array("d"), array("d")

    def add(self, night: int, point: Point, ratio: Ratio | None) -> None:
        self.night.append(night)
        self.seconds.append(point.seconds)
        self.sd.append(math.nan if point.sd is None else point.sd)
        self.processes.append(point.processes)
        self.log_ratio.append(ratio.log_ratio if ratio else math.nan)
        self.ratio_sd.append(math.nan if ratio is None or ratio.sd is None else ratio.sd)
        self.pairs.append(ratio.pairs if ratio else 0)

    def rows(self, gpu: int, benchmark: int) -> Iterator[tuple[float, ...]]:
        """Rows of the table `points`."""
        of_pairs = self.log_ratio, self.ratio_sd, self.pairs
        times = self.night, self.seconds, self.sd, self.processes
        return zip(repeat(gpu), repeat(benchmark), *times, *of_pairs)


def _add(database: sqlite3.Connection, root: Path, files: Iterable[File]) -> None:
    """Add the nights in these files. All nights of one GPU model are in memory at once."""
    ids = dict(database.execute("SELECT name, id FROM benchmarks").fetchall())
    known, host = len(ids), set[str]()
    for slug, group in groupby(sorted(files), key=lambda file: file.gpu):
        database.execute("INSERT OR IGNORE INTO gpus (slug) VALUES (?)", (slug,))
        (gpu,) = database.execute("SELECT id FROM gpus WHERE slug = ?", (slug,)).fetchone()
        columns: dict[int, _Column] = {}
        numbers: dict[str, int] = {}
        for file, night in lines.nights(root, group):
            if file.path not in numbers:
                told = (gpu, file.path, file.blob)
                at = database.execute("INSERT INTO files (gpu, path, blob) VALUES (?, ?, ?)", told)
                numbers[file.path] = at.lastrowid or 0
            if isinstance(night, UserError):
                fault = (numbers[file.path], str(night))
                database.execute("INSERT INTO faults VALUES (?, ?)", fault)
                continue
            facts = msgspec.json.encode(night.facts).decode()
            row = (numbers[file.path], gpu, night.date, night.commit, night.run, facts, night.base)
            at = database.execute("INSERT INTO nights VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", row)
            number = at.lastrowid or 0
            for name, point in night.benchmarks.items():
                key = ids.setdefault(name, len(ids) + 1)
                column = columns.get(key) or columns.setdefault(key, _Column())
                column.add(number, point, night.ratios.get(name))
            reasons = [
                (gpu, ids.setdefault(name, len(ids) + 1), number, reason)
                for name, reason in night.unmeasured.items()
            ]
            database.executemany("INSERT INTO unmeasured VALUES (?, ?, ?, ?)", reasons)
            host.update(night.host)
        insert = f"INSERT INTO points VALUES ({', '.join('?' * 9)})"
        for key in sorted(columns):
            database.executemany(insert, columns[key].rows(gpu, key))
    new = list(ids.items())[known:]
    database.executemany("INSERT INTO benchmarks (name, id) VALUES (?, ?)", new)
    timed = [(name,) for name in host]
    database.executemany("UPDATE benchmarks SET host = 1 WHERE name = ?", timed)
