# SPDX-License-Identifier: Apache-2.0
"""A run file from a machine that nobody need trust: what it must be, before anything is made of it.

That it is a run file at all, and of a kind that may be recorded, `load` and `recordable` tell.
"""

from __future__ import annotations

from pathlib import Path

from warpgauge.github.gpus import Gpu
from warpgauge.records.load import load
from warpgauge.records.model import Record, Source
from warpgauge.records.sessions import only_session
from warpgauge.system.errors import UserError
from warpgauge.system.git import short
from warpgauge.system.text import inert, plural, quoted

# A baseline repeats its context in every file: our own take 2,000 characters.
_CONTEXT_LIMIT = 32 * 1024
# What a person may be expected to look through in a pull request; the full suite has 400.
_MOST_ROWS = 10_000

_SUFFIXES = (".cu", ".cpp")


def read(path: Path, what: str, gpu: Gpu, commit: str, root: Path) -> Record:
    """The record in `path`, which people know as `what`. Raises UserError of one sentence.

    It must be measured on the model `gpu`, at `commit`, and hold families of `root`/benchmarks
    only.
    """
    record = load(path)
    if record.source is not Source.RUN:
        raise _refusal(what, f"it is a {record.source.value}, and no run file")
    session = only_session(record)
    name = session.gpu_name or ""
    if name != gpu.name:
        raise _refusal(what, f"it was measured on {quoted(name)}, and {gpu.name} was asked for")
    told = session.context.get("commit", "")
    if told != commit:
        raise _refusal(
            what, f"it measured commit {quoted(short(told))}, and {short(commit)} was asked for"
        )
    size = sum(len(key) + len(value) for key, value in session.context.items())
    if size > _CONTEXT_LIMIT:
        raise _refusal(what, f"its context is longer than {_CONTEXT_LIMIT} characters")
    if not record.rows:
        raise _refusal(what, "it holds no benchmark")
    if len(record.rows) > _MOST_ROWS:
        raise _refusal(what, f"it holds more than {plural(_MOST_ROWS, 'benchmark')}")
    known = {entry.stem for entry in (root / "benchmarks").iterdir() if entry.suffix in _SUFFIXES}
    for row in record.rows.values():
        if row.family not in known:
            raise _refusal(what, f"benchmarks/ has no family of {quoted(row.name)}")
    return record


def _refusal(what: str, why: str) -> UserError:
    return UserError(inert(f"{what} is refused: {why}; nothing was written"))
