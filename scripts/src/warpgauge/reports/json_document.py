# SPDX-License-Identifier: Apache-2.0
"""What the JSON of a comparison holds: its types, from which its published schema is made.

Docstrings are the schema's descriptions.
"""

from __future__ import annotations

import sys
from enum import Enum
from typing import Annotated

import msgspec
from msgspec import Meta

from warpgauge.files import contract
from warpgauge.records.model import Clock, Session, Source
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.comparison import ContextDifference, Evidence, Outcome, ResourceChange, Why
from warpgauge.verdict.note import Kind, Value

_MOST = sys.float_info.max  # infinity is more; NaN is within no limits
Number = Annotated[float, Meta(ge=-_MOST, le=_MOST)]
Fraction = Annotated[float, Meta(ge=0, le=_MOST)]
Ratio = Annotated[float, Meta(ge=-1, le=_MOST)]
Seconds = Annotated[float, Meta(gt=0, le=_MOST)]
Chance = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0, le=10**9)]


class State(Enum):
    """What a file has of a benchmark."""

    ABSENT = "absent"
    MEASURED = "measured"
    FAILED = "failed"
    SKIPPED = "skipped"


class Side(msgspec.Struct, frozen=True):
    """One side of the comparison; its rows are in the file. The newest session is the last.

    `path` is relative to the folder that the comparison was made in where it lies in that.
    """

    path: str
    source: Source
    sessions: Annotated[tuple[Session, ...], Meta(min_length=1)]


class Change(msgspec.Struct, frozen=True):
    """A relative change of time, and the ends of its 95 % interval; above zero is slower."""

    ratio: Ratio | None
    low: Ratio | None
    high: Ratio | None


class Processes(msgspec.Struct, frozen=True):
    """How many processes were compared."""

    baseline: Count
    candidate: Count


class Rows(msgspec.Struct, frozen=True):
    """What each side's file has of the benchmark."""

    baseline: State
    candidate: State


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark: `name` is the key of its baseline, `family` what its first slash ends.

    `outcome`: scripts/README.md, 'Verdicts', explains each. A control of the host that was measured
    is a PASS whatever it did. `by_time`: what the time alone says where resources made the outcome
    REGRESSION; else null. `clock`: what the time was taken with. `evidence`: what the verdict rests
    on: nothing, the sessions of a baseline, or pairs of both builds on one GPU, in alternating
    processes or in lock-step: two processes that take turns, slice by slice.

    `change` is null where there are not two times. `p` is the chance of such a difference without a
    cause, adjusted for the number of benchmarks judged together. `minimum_effect` is the smallest
    change that counts. `bound`: the candidate is slower by at most this, with 99 % confidence;
    below zero it is surely faster. A PASS has a bound within the `tolerance`; a control of the host
    has none.

    `reason`: why the outcome is what it is, where that needs words; else empty. `accepted`: a
    policy's reason why a change does not count; else empty. `resources`: what an operation takes
    and takes differently now: likely causes, free of noise. `same_machine_code`: whether both
    sides run the same kernels, launched alike: then the cause is outside them, and the outcome
    stands; null where a side does not tell. `why`: what a regression that was looked into
    (--why) comes from; else null. `counters` are the candidate's, each in
    the unit that its name ends with (bytes_per_second, sm_clock_hz), limit_fraction a fraction;
    `baseline_counters` likewise, empty where nothing was compared.
    """

    name: Annotated[str, Meta(min_length=1)]
    family: str = ""
    outcome: Outcome
    by_time: Outcome | None = None
    clock: Clock
    evidence: Evidence = Evidence.NONE
    baseline_seconds: Seconds | None = None
    candidate_seconds: Seconds | None = None
    change: Change | None = None
    p: Chance | None = None
    minimum_effect: Fraction | None = None
    bound: Ratio | None = None
    tolerance: Fraction | None = None
    processes: Processes | None = None
    reason: str = ""
    accepted: str = ""
    resources: tuple[ResourceChange, ...] = ()
    same_machine_code: bool | None = None
    why: Why | None = None
    counters: dict[str, Number | None] = msgspec.field(default_factory=dict)
    baseline_counters: dict[str, Number | None] = msgspec.field(default_factory=dict)
    rows: Rows


class Note(msgspec.Struct, frozen=True):
    """A fact that a reader of the verdicts has to know: what kind of fact, and its values.

    `text` says the same as sentences, for a program that only shows it: warpgauge itself does not
    read it. A later warpgauge may add kinds within a version of the format.
    """

    kind: Annotated[str, Meta(examples=[kind.word for kind in Kind])]
    values: dict[str, Value]
    text: str = ""


class Comparison(contract.Document, frozen=True, kw_only=True, tag="comparison/2"):
    """What scripts/compare.py --format json and scripts/bench --format json write.

    Times are seconds an operation, ratios are fractions (0.05 is 5 %), and a number that is not
    known or not finite is null. A later warpgauge may add keys within a version of the format: pass
    over those that you do not know. The version grows when something is removed or changes its
    meaning.

    `headline`: the verdict in one line; the host's controls are not counted. `exit_status`: 0
    nothing regressed and every benchmark is bounded; 1 at least one regression; 3 nothing
    regressed, but something is inconclusive, was not measured or not comparable. `refusal`: why
    nothing could be compared, as a sentence; null when something was. `alpha`: the chance that
    unchanged code shows any change at all, of all benchmarks together. `counts`: how many verdicts
    have each outcome. `differences`: what the contexts of the two sides say differently; told, not
    judged. `notes`: the weightiest first. `method`: how it was measured, in pairs or against a
    baseline and again, which is not among the notes; null where nothing is known of it.
    `worst`: the name of the worst regression; null where there is none.
    """

    headline: str = ""
    exit_status: ExitStatus | None = None
    refusal: str | None = None
    alpha: Annotated[float, Meta(gt=0, lt=1)] | None = None
    counts: dict[Outcome, Count] = msgspec.field(default_factory=dict)
    baseline: Side
    candidate: Side
    verdicts: tuple[Verdict, ...]
    differences: tuple[ContextDifference, ...] = ()
    notes: tuple[Note, ...] = ()
    method: Note | None = None
    worst: str | None = None
