# SPDX-License-Identifier: Apache-2.0
"""One night of the history: what was measured where, and the time of each benchmark, in a line.

A line of JSON, so that the files of a GPU model, one after the other, are JSON lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from warpgauge.records.fields import NAME_LIMIT
from warpgauge.records.model import Record
from warpgauge.records.sessions import only_session
from warpgauge.system.errors import UserError
from warpgauge.system.text import cut, quoted
from warpgauge.verdict import disturbance

FORMAT = "history/1"

# What may explain a step in the times, and what tells one machine from another.
FACTS = tuple(
    "gpu_name gpu_uuid boot_id driver_version runtime_version cublas_version nvcc_version "
    "kernel_release cpu_model power_limit_watts".split()
)

_DIGITS = 7  # a hundred times below what any benchmark repeats to
_LONGEST_REASON = 200

# Seconds. What is shorter or longer no benchmark takes, and a ratio of such times may overflow.
_SHORTEST, _LONGEST = 1e-12, 1e6


@dataclass(frozen=True)
class Night:
    """`seconds` are the medians of processes; `unmeasured` says why a benchmark has none.

    `date` is GitHub's, when the run began: a runner whose clock is wrong would order the nights.
    """

    date: str
    commit: str
    run: int  # its number on GitHub
    facts: Mapping[str, str]
    seconds: Mapping[str, float]
    unmeasured: Mapping[str, str]


def of(record: Record, date: str, commit: str, run: int) -> Night:
    """What a run file of the workflow run `run` tells; raises UserError.

    Times that something disturbed are none.
    """
    session = only_session(record)
    seconds, unmeasured = {}, {}
    for row in record.rows.values():
        disturbed = disturbance.of(row, record.sessions)
        reason = row.error if row.error is not None else disturbed.fault if disturbed else None
        if reason is not None:
            unmeasured[row.name] = cut(reason, _LONGEST_REASON)
            continue
        time = median(row.process_medians[session.key])
        if not _is_time(time):
            raise UserError(
                f"{record.path}: {quoted(row.name)} takes {time:g} s, which no benchmark does; "
                "nothing is added"
            )
        seconds[row.name] = float(f"{time:.{_DIGITS}g}")
    told = session.context
    facts = {key: told[key] for key in FACTS if told.get(key)}
    return Night(date, commit, run, facts, seconds, unmeasured)


def line(night: Night) -> str:
    """With its line break."""
    told = {"warpgauge_format": FORMAT, **vars(night)}
    return json.dumps(told, allow_nan=False) + "\n"


def read(text: str) -> Night:
    """The night of a line. Raises UserError for what `line` never wrote."""
    try:
        told = json.loads(text)
        facts, seconds, unmeasured = (told[key] for key in ("facts", "seconds", "unmeasured"))
        night = Night(told["date"], told["commit"], told["run"], facts, seconds, unmeasured)
        good = (
            told["warpgauge_format"] == FORMAT
            and isinstance(night.run, int)
            and all(isinstance(one, str) for one in (night.date, night.commit))
            and all(isinstance(one, str) for one in (*facts.values(), *unmeasured.values()))
            and all(isinstance(one, float) and _is_time(one) for one in seconds.values())
            and all(0 < len(name) <= NAME_LIMIT for name in seconds)
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        good = False
    if not good:
        raise UserError(f"it holds a line that is no {FORMAT}; update warpgauge, or mend it")
    return night


def _is_time(seconds: float) -> bool:
    return _SHORTEST <= seconds <= _LONGEST
