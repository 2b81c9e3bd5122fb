# SPDX-License-Identifier: Apache-2.0
"""The comparisons that a run of the GPU workflow has left: written by whoever wrote its code.

A contributor's program ran where they were made. So nothing in them is believed that can be known
otherwise, only comparison.json is read, and what is not as warpgauge writes it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge import published, report, zip_file
from warpgauge.comparison import Comparison
from warpgauge.errors import UserError
from warpgauge.fields import CONTEXT_LIMIT, is_name
from warpgauge.github_api import GitHub, Json
from warpgauge.github_fields import at, number, text
from warpgauge.gpus import Gpu
from warpgauge.json_file import VALUES_LIMIT, parsed
from warpgauge.place import Place
from warpgauge.provenance import gpu_name
from warpgauge.pull_request import Run
from warpgauge.text import quoted
from warpgauge.zip_file import MissingEntry

MEMBER = "comparison.json"

# Run files, reports, pictures and the log of the full suite are some MiB, and shrink to a tenth.
ARCHIVE_LIMIT_BYTES = 32 * 1024 * 1024
# Of 10,000 benchmarks the comparison is 15 MiB.
MEMBER_LIMIT_BYTES = 16 * 1024 * 1024
_DEPTH_LIMIT = 12

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


def newest(api: GitHub, run: Run) -> dict[str, Artifact]:
    """The run's artifacts by name. Each attempt leaves its own, and the last one counts."""
    path = f"/repos/{run.repository}/actions/runs/{run.id}/artifacts"
    found = sorted(map(_artifact, api.listed(path, key="artifacts")), key=lambda one: one.id)
    return {one.name: one for one in found}


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
    return Artifact(
        number(answer, "id"),
        text(answer, "name"),
        number(answer, "size_in_bytes"),
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
    # Before the schema, whose complaint would quote what is too deep or too long for that.
    _require_modest(parsed(place, told, _REMEDY)[0], place)
    comparison = published.load(told, place)
    document: Mapping[str, object] = json.loads(told, strict=False)
    again = report.document(comparison)
    for key in ("counts", "exit_status", "headline"):
        if document[key] != again[key]:
            raise place.error(f"its {key!r} contradicts its verdicts", _REMEDY)
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


def _require_own(comparison: Comparison, run: Run, gpu: Gpu, place: Place) -> Comparison:
    """Refuse what says itself that it is of another commit, or of another GPU."""
    for session in comparison.candidate.sessions.values():
        if session.context.get("commit") != run.head:
            told = quoted(session.context.get("commit", ""))
            raise place.error(f"is of commit {told}, not of {run.head}", _REMEDY)
    if (name := gpu_name(comparison.candidate)) not in ("", gpu.name):
        raise place.error(f"is of the GPU {quoted(name)}, not of {quoted(gpu.name)}", _REMEDY)
    return comparison
