# SPDX-License-Identifier: Apache-2.0
"""Rejects what must not become a baseline, before measuring if possible."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime

from warpgauge.measure.discovery import Suite
from warpgauge.records import counters
from warpgauge.records.benchmark_filter import NOT_BUILT
from warpgauge.records.counters import OTHER_PROCESSES
from warpgauge.records.load import result_files
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.names import FULL_SUITE
from warpgauge.records.row import Row
from warpgauge.records.sessions import PAIR_KEY, only_session
from warpgauge.system.environment import started
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert, plural, quoted
from warpgauge.verdict.incompatibility import disturbed
from warpgauge.verdict.staleness import is_future, measured

# Fewer processes say too little about the scatter, on which every later comparison depends.
FEWEST_PROCESSES = 5

_FAMILY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_Faults = Iterator[tuple[str, str]]  # reasons, each with a remedy


def require_suite(suite: Suite, old: Record | None) -> None:
    """Raise UserError for problems that are known before a recording, which will extend `old`."""
    binaries, context = suite.binaries, suite.known
    broken = (f"{binary.path.name} {binary.fault}" for binary in binaries if binary.fault)
    refuse("this build", ((fault, "correct it first") for fault in (*broken, *suite.probe.faults)))
    refuse("this build", _of_context({"dirty": "false", **context}))  # `dirty` was checked already
    names = [name for binary in binaries for name in binary.names]
    refuse("this build", of_names(names, old, context.get("suite", "")))


def require_run(run: Record, now: datetime | None = None) -> Session:
    """Return the session of a run that may become a baseline. Raises UserError with the reason.

    If `now`, with a time zone, is given, a run dated later is rejected.
    """
    refuse(str(run.path), _of_run(run, only_session(run), now))
    return only_session(run)


def refuse(what: str, faults: Iterable[tuple[str, str]]) -> None:
    """Raise UserError for the first fault, if there is one."""
    for reason, remedy in faults:
        raise UserError(inert(f"{what} is not recorded: {reason}; {remedy}"))


def _of_run(run: Record, session: Session, now: datetime | None) -> _Faults:
    if run.source is not Source.RUN:
        yield f"it is a {run.source.value}", "give a run file of warpgauge bench"
    context = session.context
    yield from _of_context(context)
    if PAIR_KEY in context:
        why = "it was measured in pairs, which times in a baseline are not"
        yield why, "measure with --record or --no-confirm"
    if not context.get("commit"):
        yield "its context has no commit", f"measure with {started('bench')}"
    date = quoted(context.get("date", ""))
    if measured(session) is None:
        yield f"its date {date} is not an ISO 8601 date", "measure again"
    if now is not None and is_future(session, now):
        remedy = "set the clock that is wrong, on this machine or the measuring machine, and "
        yield f"its date {date} is in the future", f"{remedy}measure again"
    for row in run.rows.values():
        if not row.skipped:
            yield from _of_row(row, run, len(row.process_medians.get(session.key, ())))


def _of_row(row: Row, run: Record, processes: int) -> _Faults:
    if row.error is not None:
        yield f"{row.name} failed ({row.error})", "correct it and measure again"
    if invalid := disturbed(row, run.sessions):
        yield f"{row.name}: {invalid[0]}", invalid[1]
    if processes < FEWEST_PROCESSES:
        count = plural(processes, "process", "processes")
        least = f"measure again in at least {FEWEST_PROCESSES}"
        yield f"{row.name} was measured in {count}", least


def _of_context(context: Mapping[str, str]) -> _Faults:
    for key in ("gpu_name", "gpu_uuid", "boot_id"):
        if not context.get(key):
            yield f"its context has no {key}", f"measure on a GPU with {started('bench')}"
    yield from spoilt(context)
    if context.get(OTHER_PROCESSES, "0") != "0":
        others = f"others used the GPU at the start (other_processes {context[OTHER_PROCESSES]})"
        yield others, "end other processes that use the GPU and measure again"


def spoilt(context: Mapping[str, str]) -> _Faults:
    """Yield reasons why a run with this context cannot be a baseline, each with a remedy."""
    if context.get("build_type") != "Release":
        build = quoted(context.get("build_type") or "unknown")
        yield f"its build type is {build}", "build Release and measure again"
    if context.get("dirty") != "false":
        yield "the working tree had uncommitted changes", "commit them and measure again"
    if context.get("inject"):
        yield "extra work was injected", "measure again without --inject"
    if context.get("filter"):
        yield "only part of the suite was measured", "measure again without --filter"
    if context.get(NOT_BUILT):
        yield "programs were not built", "measure again without --no-build"


def of_names(names: Collection[str], old: Record | None, suite: str) -> _Faults:
    """Yield why these benchmarks cannot extend the baseline `old`, which only grows by recording.

    If `suite`, which was run, does not have all of its benchmarks, suggest the full suite.
    """
    families = {name.split("/", 1)[0]: name for name in names}
    for family, name in families.items():
        if not _FAMILY.fullmatch(family):
            yield f"the family of {quoted(name)} cannot be a file name", "rename it"
    if old is None:
        return
    if lost := [name for name in old.rows if name not in names]:
        is_full = any(old.rows[name].counters.get(counters.FULL_SUITE) for name in lost)
        everything = f"with --suite {FULL_SUITE}" if is_full and suite != FULL_SUITE else "all"
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        remedy = f"measure {everything}, or remove retired benchmarks from the baseline"
        yield f"it lacks {quoted(lost[0])}{more} of {old.path}", remedy
    for path in result_files(old.path):
        if path.stem not in families:
            yield f"{path} is not named after the family it holds", "rename it"
