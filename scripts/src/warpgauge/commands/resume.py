# SPDX-License-Identifier: Apache-2.0
"""Resumes an interrupted run: the same command, with the results in its journal."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from warpgauge.commands.bench_options import Options, parse
from warpgauge.measure import journal
from warpgauge.measure.discovery import Suite
from warpgauge.measure.input_files import InputFiles
from warpgauge.measure.journal import Journal, Start
from warpgauge.records.counters import GPUS_AT_ONCE
from warpgauge.system.errors import UserError

# Fields of a run that must not have changed, and their names in messages.
_SAME = {
    "programs": "programs",
    "gpu": "GPU",
    "source": "commit",
    "at_once": "number of GPUs that are measured at once",
}


def facts(
    argv: Sequence[str],
    seed: int,
    run: Path,
    suite: Suite,
    source: Mapping[str, str],
    inputs: InputFiles,
) -> Start:
    """Return how a run on one GPU was called, and what it measures."""
    digest = hashlib.sha256()
    for path in (path for one in suite.binaries for path in (one.path, *one.inputs)):
        digest.update(os.fsencode(path.name))
        digest.update(inputs.digest(path).encode())  # "" if missing: its rows will say so
    return msgspec.structs.replace(
        called(argv, seed, run),
        programs=digest.hexdigest(),
        gpu=suite.known.get("gpu_uuid", ""),
        at_once=suite.known.get(GPUS_AT_ONCE, ""),
        source=dict(source),
    )


def called(argv: Sequence[str], seed: int, run: Path) -> Start:
    return Start(tuple(argv), seed, str(run.absolute()), str(Path.cwd()))


@dataclass(frozen=True)
class Interrupted:
    """A run to resume: its options, its journal, and how it was called."""

    options: Options
    journal: Journal
    began: Start


def interrupted(given: Options, runs: Path) -> Interrupted:
    """Return the run that `given` asks to resume, by default the latest in `runs`.

    Raises UserError.
    """
    folder = given.resume if given.resume and given.resume.name else journal.newest(runs)
    there, began = journal.opened(folder)
    if began.folder != str(Path.cwd()):
        raise UserError(f"{folder} belongs to a run in {began.folder}: resume it there")
    options = replace(parse(began.argv), seed=began.seed, out=Path(began.run))
    shown = replace(options, wait=given.wait, verbose=given.verbose)
    return Interrupted(shown, there, began)


def begun(folder: Path, options: Options) -> Interrupted | None:
    """Return the run whose journal is `folder`; None if none was begun. Raises UserError."""
    if not journal.is_begun(folder):
        return None
    there, began = journal.opened(folder)
    return Interrupted(options, there, began)


def journal_of(folder: Path, now: Start, before: Interrupted | None) -> Journal:
    """Return a new journal, or that of the resumed run. Raises UserError if runs differ."""
    if before is None:
        return journal.begin(folder, now)
    began = before.began
    changed = [name for key, name in _SAME.items() if getattr(began, key) != getattr(now, key)]
    if changed:
        what = " and the ".join(changed)
        raise UserError(
            f"the interrupted run cannot be resumed: the {what} changed since; start a new run"
        )
    return before.journal


@contextlib.contextmanager
def goes_on(
    there: Journal, say: Callable[[str], None], named: Path | None = None
) -> Iterator[None]:
    """Remove the journal of a complete run; otherwise print how to resume it, or `named`."""
    try:
        yield
    except BaseException:
        if there.is_empty:
            there.remove()
        else:
            again = command(named or there.folder)
            say(f"What was measured is kept: `{again}` resumes from there.")
        raise
    there.remove()


def command(folder: Path) -> str:
    """Return the command line that resumes the run with the journal `folder`."""
    return f"scripts/bench --resume {shlex.quote(os.path.relpath(folder))}"
