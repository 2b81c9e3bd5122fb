# SPDX-License-Identifier: Apache-2.0
"""A comparison as JSON for programs; its published schema is made from the types here.

Docstrings of the types are the schema's descriptions. Text is written as the files have it, in
ASCII with JSON escapes. Nothing reads it back: whoever wants another verdict judges the run files.
"""

from __future__ import annotations

import json
import re
from typing import Annotated

import msgspec
from msgspec import Meta

from warpgauge.records.counters import Clock
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.row import Why
from warpgauge.records.sessions import newest_last
from warpgauge.reports.format import Format
from warpgauge.reports.view import headline, worst
from warpgauge.system import contract
from warpgauge.system.errors import ExitStatus
from warpgauge.system.text import nearby, plain
from warpgauge.verdict import comparison as judged
from warpgauge.verdict.comparison import (
    ContextDifference,
    Evidence,
    Outcome,
    ResourceChange,
    exit_status,
)

Fraction = Annotated[float, Meta(ge=0)]
Ratio = Annotated[float, Meta(ge=-1)]
Seconds = Annotated[float, Meta(gt=0)]
Chance = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0, le=10**9)]


class Side(msgspec.Struct, frozen=True):
    """One side of the comparison; its rows are in the file. The newest session is the last.

    `path` is relative to the folder in which the comparison was made, if it lies in that folder.
    """

    path: str
    source: Source
    sessions: Annotated[tuple[Session, ...], Meta(min_length=1)]


class Change(msgspec.Struct, frozen=True):
    """A relative change of time, above zero if slower, and the ends of its 95 % interval.

    Of energy, the ends are what the meter's largest error leaves possible.
    """

    ratio: Ratio | None
    low: Ratio | None
    high: Ratio | None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark: `name` is its key in the baseline, `family` the part before the first slash.

    `outcome`: docs/pages/verdicts.md explains each. A control of the host that was measured
    is always a PASS. `by_time`: the outcome by time alone if resources or energy made the outcome
    REGRESSION, else null. `clock`: the clock that took the time. `evidence`: the basis of the
    verdict: nothing, the sessions of a baseline, or pairs of both builds on one GPU, in alternating
    processes or in lock-step (two processes that take turns, slice by slice).

    `change` is null unless both times exist. `p` is the probability of such a difference without a
    cause, adjusted for the number of benchmarks judged together. `minimum_effect` is the smallest
    change that counts. `bound`: the candidate is slower by at most this, with 99 % confidence; if
    negative, it is faster. A PASS has a bound within the `tolerance`; a control of the host has
    none. `energy`: the change of an operation's energy if both sides measured it on one GPU and it
    exceeds the meter's error, else null. `processes`: how many of the baseline and of the candidate
    were compared.

    `reason`: why the outcome is what it is, if that needs words, else empty. `accepted`: a policy's
    reason for not counting a change, else empty. `resources`: resources of an operation that
    differ, likely causes that have no noise. `same_machine_code`: whether both sides run the same
    kernels, launched alike. If so, the cause is outside them, and the outcome stands; null if
    unknown. `control`: it measures the machine, not the code, and is not judged. `why`: the cause
    of a regression that was investigated, else null. `counters` are the candidate's, each
    in the unit that ends its name (bytes_per_second, sm_clock_hz); limit_fraction is a fraction.
    `baseline_counters` are the baseline's, empty if nothing was compared.
    """

    name: Annotated[str, Meta(min_length=1)]
    family: str
    outcome: Outcome
    by_time: Outcome | None
    clock: Clock
    evidence: Evidence
    baseline_seconds: Seconds | None
    candidate_seconds: Seconds | None
    change: Change | None
    p: Chance | None
    minimum_effect: Fraction | None
    bound: Ratio | None
    tolerance: Fraction | None
    energy: Change | None
    processes: tuple[Count, Count] | None
    reason: str
    accepted: str
    resources: tuple[ResourceChange, ...]
    same_machine_code: bool | None
    control: bool
    why: Why | None
    counters: dict[str, float | None]
    baseline_counters: dict[str, float | None]


class Note(msgspec.Struct, frozen=True):
    """A fact that a reader of the verdicts should know: its kind, one word, and sentences.

    A later warpgauge may add kinds within a version of the format.
    """

    kind: str
    text: str


class Comparison(contract.Document, frozen=True, kw_only=True, tag="comparison/4"):
    """The output of warpgauge compare --format json and warpgauge bench --format json.

    Times are seconds per operation, ratios are fractions (0.05 is 5 %), and unknown or non-finite
    numbers are null. A later warpgauge may add keys within a version of the format: ignore unknown
    keys. The version grows when something is removed or changes its meaning.

    `headline`: the verdict in one line, without the host's controls. `exit_status`: 0 nothing
    regressed and every benchmark is bounded; 1 at least one regression; 3 nothing regressed, but
    something is inconclusive, was not measured or is not comparable. `refusal`: why nothing was
    compared, as a sentence, else null. `alpha`: the probability that unchanged code shows any
    change, over all benchmarks together. `counts`: the number of verdicts with each outcome.
    `differences`: the differences between the contexts of the two sides; they are not judged.
    `notes`: the most important first. `method`: how it was measured, in pairs or against a baseline
    and then in pairs, which is not among the notes; null if unknown. `worst`: the name of the worst
    regression, or null.
    """

    headline: str
    exit_status: ExitStatus | None
    refusal: str | None
    alpha: Annotated[float, Meta(gt=0, lt=1)] | None
    counts: dict[Outcome, Count]
    baseline: Side
    candidate: Side
    verdicts: tuple[Verdict, ...]
    differences: tuple[ContextDifference, ...]
    notes: tuple[Note, ...]
    method: Note | None
    worst: str | None


def render(comparison: judged.Comparison) -> str:
    """Return the document as indented JSON with a final newline."""
    slowest, method = worst(comparison), comparison.method
    document = Comparison(
        headline=plain(headline(comparison)),
        exit_status=exit_status(comparison),
        refusal=comparison.refusal,
        alpha=comparison.alpha,
        counts={outcome: comparison.count(outcome) for outcome in Outcome},
        baseline=_side(comparison.baseline),
        candidate=_side(comparison.candidate),
        verdicts=tuple(map(verdict_of, comparison.verdicts)),
        differences=comparison.differences,
        notes=tuple(Note(note.kind, str(note)) for note in comparison.notes),
        method=None if method is None else Note(method.kind, str(method)),
        worst=slowest.name if slowest is not None else None,
    )
    return written(document)


def written(document: contract.Document) -> str:
    """Return the JSON text of a document of any format."""
    told = json.dumps(msgspec.to_builtins(document))
    finite = json.loads(told, parse_constant=lambda constant: None)  # infinity and NaN are null
    text = json.dumps(finite, indent=1, allow_nan=False)
    # "##" begins a command in a build server's log (`text.inert`); JSON can escape it.
    return text.replace("##", "#\\u0023") + "\n"


def _side(record: Record) -> Side:
    sessions = tuple(newest_last(record.sessions.values()))
    return Side(str(nearby(record.path)), record.source, sessions)


def verdict_of(verdict: judged.Verdict) -> Verdict:
    """Return the JSON of one benchmark."""
    return Verdict(**{key: getattr(verdict, key) for key in Verdict.__struct_fields__})


_OWN = re.compile(rb'"warpgauge_format"\s*:\s*"comparison/')
FORMAT = Format("json", render, "JSON of a comparison", _OWN)
