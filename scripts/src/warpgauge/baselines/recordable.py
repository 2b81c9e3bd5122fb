# SPDX-License-Identifier: Apache-2.0
"""Rejects what must not become a baseline, before measuring if possible."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from warpgauge.measure.discovery import Binary
from warpgauge.records import counters
from warpgauge.records.counters import OTHER_PROCESSES
from warpgauge.records.load import json_files
from warpgauge.records.model import FULL_SUITE, Record, Session, Source
from warpgauge.records.sessions import PAIR_KEY, only_session
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert, plural, quoted
from warpgauge.verdict import disturbance
from warpgauge.verdict.staleness import is_future, measured

# Fewer processes say too little about the scatter, on which every later comparison depends.
FEWEST_PROCESSES = 5

_FAMILY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def require_suite(
    context: Mapping[str, str],
    binaries: Sequence[Binary],
    faults: Sequence[str],
    folder: Path,
    old: Record | None,
) -> None:
    """Raise UserError for problems that are known before a recording begins.

    `context` and `faults` come from a short first process; `old` is the baseline in `folder`, which
    the recording will extend.
    """
    for fault in (*(f"{b.path.name} {b.fault}" for b in binaries if b.fault), *faults):
        raise _refusal("this build", fault, "correct it first")
    _require_context("this build", {"dirty": "false", **context})  # `dirty` was checked already
    names = [name for binary in binaries for name in binary.names]
    for name in names:
        require_family(name)
    if old is not None:
        require_no_losses("this build", names, folder, old, context.get("suite", ""))


def require_run(run: Record, now: datetime | None = None) -> Session:
    """Return the session of a run that may become a baseline. Raises UserError with the reason.

    If `now`, with a time zone, is given, a run dated later is rejected.
    """
    what = str(run.path)
    if run.source is not Source.RUN:
        raise _refusal(what, f"it is a {run.source.value}", "give a run file of scripts/bench")
    session = only_session(run)
    context = session.context
    _require_context(what, context)
    if PAIR_KEY in context:
        why = "it was measured in pairs, which times in a baseline are not"
        raise _refusal(what, why, "measure with --record or --no-confirm")
    for key in ("commit", "date"):
        if not context.get(key):
            raise _refusal(what, f"its context has no {key}", "measure with scripts/bench")
    if measured(session) is None:
        date = quoted(context["date"])
        raise _refusal(what, f"its date {date} is not an ISO 8601 date", "measure again")
    if now is not None and is_future(session, now):
        remedy = (
            "set the clock that is wrong, on this machine or the measuring machine, and "
            "measure again"
        )
        raise _refusal(what, f"its date {quoted(context['date'])} is in the future", remedy)
    for row in run.rows.values():
        if row.skipped:
            continue
        if row.error is not None:
            raise _refusal(what, f"{row.name} failed ({row.error})", "correct it and measure again")
        disturbed = disturbance.of(row, run.sessions)
        if disturbed is not None:
            raise _refusal(what, f"{row.name}: {disturbed.fault}", disturbed.remedy)
        processes = len(row.process_medians[session.key])
        if processes < FEWEST_PROCESSES:
            count = plural(processes, "process", "processes")
            least = f"measure again in at least {FEWEST_PROCESSES}"
            raise _refusal(what, f"{row.name} was measured in {count}", least)
    return session


def spoilt(context: Mapping[str, str]) -> Iterator[tuple[str, str]]:
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


def require_family(name: str) -> None:
    """Raise UserError unless the benchmark's family can be a file name."""
    if not _FAMILY.fullmatch(name.split("/", 1)[0]):
        raise UserError(inert(f"the family of {quoted(name)} cannot be a file name; rename it"))


def require_gpu(what: str, gpu_name: str, folder: Path, there: Collection[str]) -> None:
    """Raise UserError if the GPU models `there`, of the baseline in `folder`, differ."""
    for other in set(there) - {gpu_name}:
        reason = f"it was measured on {quoted(gpu_name)}, but {folder} holds {quoted(other)}"
        raise _refusal(what, reason, "move the existing files to another folder")


def require_no_losses(
    what: str, names: Collection[str], folder: Path, old: Record, suite: str
) -> None:
    """Raise UserError if `names` lacks benchmarks of the baseline, which only grows by recording.

    If `suite`, which was run, does not have them, the message suggests the full suite.
    """
    lost = [name for name in old.rows if name not in names]
    if lost:
        left_out = suite != FULL_SUITE and any(
            old.rows[name].counters.get(counters.FULL_SUITE) for name in lost
        )
        everything = f"with --suite {FULL_SUITE}" if left_out else "all"
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        remedy = f"measure {everything}, or remove retired benchmarks from the baseline"
        raise _refusal(what, f"it lacks {quoted(lost[0])}{more} of {folder}", remedy)
    families = {name.split("/", 1)[0] for name in names}
    for path in json_files(folder):
        if path.stem not in families:
            raise _refusal(what, f"{path} is not named after the family it holds", "rename it")


def _require_context(what: str, context: Mapping[str, str]) -> None:
    for key in ("gpu_name", "gpu_uuid", "boot_id"):
        if not context.get(key):
            raise _refusal(what, f"its context has no {key}", "measure on a GPU with scripts/bench")
    for reason, remedy in spoilt(context):
        raise _refusal(what, reason, remedy)
    if context.get(OTHER_PROCESSES, "0") != "0":
        others = f"others used the GPU at the start (other_processes {context[OTHER_PROCESSES]})"
        raise _refusal(what, others, "end other processes that use the GPU and measure again")


def _refusal(what: str, reason: str, remedy: str) -> UserError:
    return UserError(inert(f"{what} is not recorded: {reason}; {remedy}"))
