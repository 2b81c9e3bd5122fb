# SPDX-License-Identifier: Apache-2.0
"""One night of the history, a line of JSON: what was measured where, each benchmark's time."""

from __future__ import annotations

import json
from statistics import median
from typing import Annotated

import msgspec
from msgspec import Meta

from warpgauge.files import contract
from warpgauge.files.location import Place
from warpgauge.records.fields import NAME_LIMIT
from warpgauge.records.model import Record
from warpgauge.records.sessions import only_session
from warpgauge.system.errors import UserError
from warpgauge.system.text import cut, quoted
from warpgauge.verdict import disturbance

# What may explain a step in the times, and what tells one machine from another.
_FACTS = tuple(
    "gpu_name gpu_uuid boot_id driver_version runtime_version cublas_version nvcc_version "
    "kernel_release cpu_model power_limit_watts".split()
)

_DIGITS = 7  # a hundred times below what any benchmark repeats to
_REMEDY = "update warpgauge, or mend the line"

# Seconds. What is shorter or longer no benchmark takes, and a ratio of such times may overflow.
_SHORTEST, _LONGEST = 1e-12, 1e6
Seconds = Annotated[float, Meta(ge=_SHORTEST, le=_LONGEST)]
Name = Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]


class Night(contract.Document, frozen=True, tag="history/1"):
    """`seconds` are the medians of processes; `unmeasured` says why a benchmark has none.

    `date` is GitHub's, when the run began: a runner whose clock is wrong would order the nights.
    """

    date: str
    commit: str
    run: int  # its number on GitHub
    facts: dict[str, str]
    seconds: dict[Name, Seconds]
    unmeasured: dict[str, str]


def of(record: Record, date: str, commit: str, run: int) -> Night:
    """What a run file of the workflow run `run` tells; raises UserError.

    Times that something disturbed are none.
    """
    session = only_session(record)
    seconds, unmeasured = {}, {}
    for row in record.rows.values():
        reason = row.error
        if reason is None and (disturbed := disturbance.of(row, record.sessions)) is not None:
            reason = disturbed.fault
        if reason is not None:
            unmeasured[row.name] = cut(reason, 200)
            continue
        time = median(row.process_medians[session.key])
        if not _SHORTEST <= time <= _LONGEST:
            raise UserError(
                f"{record.path}: {quoted(row.name)} takes {time:g} s, which no benchmark does; "
                "nothing is added"
            )
        seconds[row.name] = float(f"{time:.{_DIGITS}g}")
    facts = {key: session.context[key] for key in _FACTS if session.context.get(key)}
    return Night(date, commit, run, facts, seconds, unmeasured)


def line(night: Night) -> str:
    """With its line break."""
    return json.dumps(msgspec.to_builtins(night), allow_nan=False) + "\n"


def read(text: str, place: Place) -> Night:
    """The night of a line. Raises UserError for what `line` never wrote."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise place.error("is no JSON", _REMEDY) from None
    return contract.decoded(value, Night, place, _REMEDY)
