# SPDX-License-Identifier: Apache-2.0
"""The comparisons that a run of the GPU workflow has left: written by whoever wrote its code.

A contributor's program ran where they were made. So nothing in them is believed that can be known
otherwise, only comparison.json is read, and what is not as warpgauge writes it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.files import zip_file
from warpgauge.files.json_file import VALUES_LIMIT, parsed
from warpgauge.files.location import Place
from warpgauge.files.zip_file import MissingEntry
from warpgauge.github.api import GitHub, Json
from warpgauge.github.fields import at, number, text
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import Run
from warpgauge.records.fields import CONTEXT_LIMIT, is_name
from warpgauge.records.model import Source
from warpgauge.reports import json_input
from warpgauge.reports.headline import headline
from warpgauge.reports.provenance import gpu_name
from warpgauge.system.errors import UserError
from warpgauge.system.text import quoted
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.context import PROGRAMS

MEMBER = "comparison.json"

# Run files, reports, pictures and the log of the full suite are some MiB, and shrink to a tenth.
ARCHIVE_LIMIT_BYTES = 32 * 1024 * 1024
# Of 10,000 benchmarks the comparison is 15 MiB.
MEMBER_LIMIT_BYTES = 16 * 1024 * 1024
_DEPTH_LIMIT = 12

# Ten times what the largest comparison has, so that no work grows with the product of two of them.
_MOST_VERDICTS, _MOST_RESOURCES = 20_000, 100
_SIDES = ("baseline", "candidate")
_MOST_NOTES = _MOST_DIFFERENCES = _MOST_SESSIONS = 1000

_REMEDY = "it is refused, and nothing is posted"


@dataclass(frozen=True)
class Artifact:
    """What one GPU's job has left. `created` is GitHub's time, of which later ones sort later."""

    id: int
    name: str
    size: int
    expired: bool
    created: str


def name_of(gpu: Gpu) -> str:
    """The name that the workflow gives it; every other one is passed over."""
    return f"warpgauge-{gpu.slug}"


def newest(api: GitHub, run: Run, gpus: Iterable[Gpu]) -> dict[str, Artifact]:
    """What these GPUs' jobs have left, by name: of several attempts' the last one counts."""
    path = f"/repos/{run.repository}/actions/runs/{run.id}/artifacts"
    names = frozenset(map(name_of, gpus))
    ours = [one for one in api.listed(path, key="artifacts") if text(one, "name") in names]
    return {one.name: one for one in sorted(map(_artifact, ours), key=lambda one: one.id)}


def read(api: GitHub, run: Run, artifact: Artifact, gpu: Gpu) -> Comparison | None:
    """The comparison in it; None where there is none, as when a build failed: then only the log is.

    Raises UserError for what is not the run's, or not as it should be.
    """
    what = f"artifact {artifact.name} of run {run.id}"
    if artifact.expired:
        raise UserError(f"{what} has expired; run the workflow again")
    if artifact.size > ARCHIVE_LIMIT_BYTES:
        raise UserError(f"{what} has more than {ARCHIVE_LIMIT_BYTES} bytes; it is refused")
    path = f"/repos/{run.repository}/actions/artifacts/{artifact.id}/zip"
    archive = api.download(path, ARCHIVE_LIMIT_BYTES)
    try:
        content = zip_file.entry(archive, MEMBER, MEMBER_LIMIT_BYTES, what)
    except MissingEntry:
        return None
    place = Place(Path(artifact.name, MEMBER))
    return _require_own(_comparison(content, place), run, gpu, place)


def _artifact(answer: Json) -> Artifact:
    empty = at(answer, "size_in_bytes") == 0
    return Artifact(
        number(answer, "id"),
        text(answer, "name"),
        0 if empty else number(answer, "size_in_bytes"),
        at(answer, "expired") is not False,
        text(answer, "created_at"),
    )


def _comparison(content: bytes, place: Place) -> Comparison:
    """What the text holds, if it is as warpgauge writes it and says the same thing throughout."""
    try:
        told = content.decode("utf-8")
    except UnicodeDecodeError:
        raise place.error("is not UTF-8 text", _REMEDY) from None
    if sum(map(told.count, ",{[")) > VALUES_LIMIT:
        raise place.error(f"holds more than {VALUES_LIMIT:,} values", _REMEDY)
    # Before its types, for they pass over keys that they do not know.
    unchecked = parsed(place, told, _REMEDY)[0]
    _require_modest(unchecked, place)
    _require_few(unchecked, place)
    comparison = json_input.load(told, place)
    assert isinstance(unchecked, dict)  # or it would have no types
    if unchecked["headline"] != str(headline(comparison)):
        raise place.error("its 'headline' contradicts its verdicts", _REMEDY)
    for verdict in comparison.verdicts:
        if not is_name(verdict.name):
            raise place.error(f"no benchmark can be called {quoted(verdict.name)}", _REMEDY)
    return comparison


def _require_modest(value: object, place: Place) -> None:
    """Refuse what is nested deeper, or holds a longer text, than any comparison."""
    level: Sequence[object] = [value]
    for _ in range(_DEPTH_LIMIT):
        for one in level:
            if isinstance(one, str) and (len(one) > CONTEXT_LIMIT or "\0" in one):
                fault = f"holds a text of more than {CONTEXT_LIMIT:,} characters, or with a NUL"
                raise place.error(fault, _REMEDY)
        level = [inner for one in level for inner in _inside(one)]
    if level:
        raise place.error(f"is nested deeper than {_DEPTH_LIMIT} levels", _REMEDY)


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else ()


def _require_few(document: object, place: Place) -> None:
    """Refuse what has more of something than any comparison."""
    verdicts = _list(document, "verdicts")
    sides = [document.get(one) for one in _SIDES] if isinstance(document, dict) else []
    for what, there, most in (
        ("verdicts", len(verdicts), _MOST_VERDICTS),
        ("resources of a verdict", _longest(verdicts, "resources"), _MOST_RESOURCES),
        ("notes", len(_list(document, "notes")), _MOST_NOTES),
        ("differences", len(_list(document, "differences")), _MOST_DIFFERENCES),
        ("sessions of a side", _longest(sides, "sessions"), _MOST_SESSIONS),
    ):
        if there > most:
            raise place.error(f"has more than {most:,} {what}", _REMEDY)


def _longest(values: Sequence[object], key: str) -> int:
    return max((len(_list(one, key)) for one in values), default=0)


def _list(value: object, key: str) -> Sequence[object]:
    """The list of this key, if there is one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else ()


def _require_own(comparison: Comparison, run: Run, gpu: Gpu, place: Place) -> Comparison:
    """Refuse what says itself that it is of another commit, another GPU, or other programs."""
    if (source := comparison.candidate.source) is not Source.RUN:
        raise place.error(f"is of a {source.value}, not of a {Source.RUN.value}", _REMEDY)
    both = (comparison.baseline, comparison.candidate)
    # Their folders would stand in a command that the comment tells a reader to paste.
    if any(PROGRAMS in session.context for side in both for session in side.sessions.values()):
        raise place.error("is of another project's programs, not of this suite", _REMEDY)
    for session in comparison.candidate.sessions.values():
        if session.context.get("commit") != run.head:
            told = quoted(session.context.get("commit", ""))
            raise place.error(f"is of commit {told}, not of {run.head}", _REMEDY)
    if (name := gpu_name(comparison.candidate)) not in ("", gpu.name):
        raise place.error(f"is of the GPU {quoted(name)}, not of {quoted(gpu.name)}", _REMEDY)
    return comparison
