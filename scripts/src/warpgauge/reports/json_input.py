# SPDX-License-Identifier: Apache-2.0
"""A comparison read back from its JSON (`json_output`): all of it that another format shows.

Whoever wrote the file may be a stranger. What its schema allows is read, the rest is one sentence.
What follows from the verdicts (counts, headline, exit status) is made again, and a file whose own
contradicts that is refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from warpgauge.files.document import Failure
from warpgauge.files.json_file import parsed
from warpgauge.files.location import Place
from warpgauge.records.model import Clock, Record, Row, Session, Source
from warpgauge.reports import json_output
from warpgauge.reports.json_output import State
from warpgauge.system.text import cut, quoted
from warpgauge.verdict.comparison import (
    Change,
    Comparison,
    ContextDifference,
    Evidence,
    Outcome,
    ResourceChange,
    Verdict,
)
from warpgauge.verdict.controls import is_control

_SCHEMA = Path(__file__).with_name("comparison.schema.json")
_PLACE = Place(Path("comparison.json"))
_REMEDY = "give what --format json of the same warpgauge wrote"

# What the schema says of a value may quote all of it.
_LONGEST_FAULT = 200

Json = Mapping[str, Any]
T = TypeVar("T")

# Why a row failed is the verdict's reason: of the row itself it only counts that it did.
_FAILURES = {
    State.FAILED.value: Failure("failed"),
    State.SKIPPED.value: Failure("on that machine", skipped=True),
}


def load(text: str, place: Place = _PLACE) -> Comparison:
    """The comparison in a file's text. Raises UserError, a sentence that begins with `place`."""
    from jsonschema import Draft202012Validator  # takes a while, and few need it

    document, repeated = parsed(place, text, _REMEDY)
    if repeated is not None:
        raise place.error(f"holds the key {quoted(repeated[1])} twice in one object", _REMEDY)
    if (where := _infinite(document)) is not None:
        raise place.error(f"holds a number that is not finite in {where}", _REMEDY)
    schema = json.loads(_SCHEMA.read_text(encoding="utf-8"))
    fault = next(Draft202012Validator(schema).iter_errors(document), None)
    if fault is not None:
        told = f"{_path(fault.absolute_path)}: {fault.message}"
        raise place.error(f"is no comparison ({cut(told, _LONGEST_FAULT)})", _REMEDY)
    assert isinstance(document, dict)  # says the schema
    comparison = read(document, place)
    _require_consistent(document, comparison, place)
    return comparison


def _require_consistent(document: Json, comparison: Comparison, place: Place) -> None:
    """Refuse what says two things: who changed one of them may have meant either."""
    again = json_output.document(comparison)
    for key in ("counts", "exit_status"):
        if document[key] != again[key]:
            raise place.error(f"its {key!r} contradicts its verdicts", _REMEDY)
    for verdict in comparison.verdicts:
        if contradicts_itself(verdict, comparison.alpha):
            fault = f"{quoted(verdict.name)} is {verdict.outcome.value}, and slower by its numbers"
            raise place.error(fault, _REMEDY)


def contradicts_itself(verdict: Verdict, alpha: float) -> bool:
    """Whether a pass is slower by the rule of `outcomes`, wherever in its interval the truth lies.

    A control passes whatever it did, and what a policy accepts is shown as accepted.
    """
    if verdict.outcome not in (Outcome.PASS, Outcome.IMPROVED) or verdict.accepted:
        return False
    numbers = (verdict.change, verdict.p, verdict.minimum_effect, verdict.noise_floor)
    change, p, minimum_effect, noise_floor = numbers
    if change is None or p is None or minimum_effect is None or noise_floor is None:
        return False
    slower = min(change.ratio, change.low) > max(minimum_effect, noise_floor)
    return slower and p < alpha and not is_control(verdict)


def read(document: Json, place: Place = _PLACE) -> Comparison:
    """The comparison in what the schema allows. Raises UserError for what stands there twice."""
    _require_unique((one["name"] for one in document["verdicts"]), "verdict", place)
    verdicts = tuple(map(_verdict, document["verdicts"]))
    states = [one["rows"] for one in document["verdicts"]]
    alpha = document["alpha"]
    return Comparison(
        _side(document["baseline"], _rows(verdicts, states, "baseline"), place),
        _side(document["candidate"], _rows(verdicts, states, "candidate"), place),
        verdicts,
        notes=tuple(document["notes"]),
        differences=tuple(ContextDifference(**one) for one in document["differences"]),
        refusal=document["refusal"],
        alpha=Comparison.alpha if alpha is None else float(alpha),
        beside=document["beside"],
    )


def _infinite(value: object, path: Sequence[object] = ()) -> str | None:
    """Where a number stands that no time can be: NaN, 1e999, an integer of 400 digits."""
    waiting = [(value, tuple(path))]
    while waiting:
        one, at = waiting.pop()
        if isinstance(one, dict):
            waiting.extend((inner, (*at, key)) for key, inner in one.items())
        elif isinstance(one, list):
            waiting.extend((inner, (*at, index)) for index, inner in enumerate(one))
        elif isinstance(one, (int, float)) and not _is_finite(one):
            return _path(at)
    return None


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer beyond every float
        return False


def _path(keys: Iterable[object]) -> str:
    """``verdicts[3].change.low``, cut where a stranger chose the keys."""
    words = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return cut(words.removeprefix("."), _LONGEST_FAULT // 2) or "the whole"


def _require_unique(keys: Iterable[str], what: str, place: Place) -> None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise place.error(f"holds the {what} {quoted(key)} twice", _REMEDY)
        seen.add(key)


def _side(side: Json, rows: Mapping[str, Row], place: Place) -> Record:
    _require_unique((one["key"] for one in side["sessions"]), "session", place)
    sessions = {one["key"]: Session(one["key"], one["context"]) for one in side["sessions"]}
    return Record(Path(side["path"]), Source(side["source"]), sessions, rows)


def _rows(verdicts: Sequence[Verdict], states: Sequence[Json], side: str) -> dict[str, Row]:
    """What is known of a side's rows: which there are, which failed, and their counters."""
    rows = {}
    for one, told in zip(verdicts, states, strict=True):
        state = told[side]
        if state != State.ABSENT.value:
            counters = one.counters if side == "candidate" else one.baseline_counters
            rows[one.name] = Row(
                one.name,
                {},
                one.clock,
                counters,
                error=str(_FAILURES[state]) if state in _FAILURES else None,
                skipped=state == State.SKIPPED.value,
            )
    return rows


def _verdict(one: Json) -> Verdict:
    return Verdict(
        one["name"],
        Outcome(one["outcome"]),
        Clock(one["clock"]),
        baseline_seconds=_number(one["baseline_seconds"]),
        candidate_seconds=_number(one["candidate_seconds"]),
        change=_change(one["change"]),
        p=_number(one["p"]),
        minimum_effect=_number(one["minimum_effect"]),
        noise_floor=_number(one["noise_floor"]),
        detectable=_number(one["detectable"]),
        evidence=Evidence(one["evidence"]),
        processes=_maybe(one["processes"], lambda of: (int(of["baseline"]), int(of["candidate"]))),
        reason=one["reason"],
        by_time=_maybe(one["by_time"], Outcome),
        accepted=one["accepted"],
        resources=tuple(ResourceChange(**each) for each in one["resources"]),
        counters=_counters(one["counters"]),
        baseline_counters=_counters(one["baseline_counters"]),
    )


def _maybe(value: Any, make: Callable[[Any], T]) -> T | None:  # noqa: ANN401
    return None if value is None else make(value)


def _change(change: Json | None) -> Change | None:
    """A change without one of its three numbers is none that could be shown."""
    if change is None or None in change.values():
        return None
    return Change(*(float(change[key]) for key in ("ratio", "low", "high")))


def _counters(counters: Json) -> dict[str, float]:
    return {name: float(value) for name, value in counters.items() if value is not None}


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)
