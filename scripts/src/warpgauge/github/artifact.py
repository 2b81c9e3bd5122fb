# SPDX-License-Identifier: Apache-2.0
"""The comparisons that a run of the GPU workflow has left: written by whoever wrote its code.

A contributor's program ran where they were made. So nothing in them is believed that can be known
otherwise, only comparison.json is read, and what is not as warpgauge writes it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
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

# Run files, reports, pictures and the log of the full suite are some MiB, and shrink to a tenth; of
# 10,000 benchmarks the comparison is 15 MiB.
ARCHIVE_LIMIT_BYTES, MEMBER_LIMIT_BYTES = 32 * 1024 * 1024, 16 * 1024 * 1024
_DEPTH_LIMIT = 12
_SESSIONS = (("baseline", "sessions"), ("candidate", "sessions"))
_REMEDY = "it is refused, and nothing is posted"


@dataclass(frozen=True)
class Artifact:
    """What a job has left. `created` is GitHub's time, of which later ones sort later."""

    id: int
    name: str
    size: int
    expired: bool
    created: str

    def entry(self, api: GitHub, repository: str, name: str, limits: tuple[int, int]) -> bytes:
        """The file `name` in it; `limits` are the bytes of the whole and of the file.

        Raises UserError, and MissingEntry where there is no such file.
        """
        what, most = f"the artifact {self.name}", limits[0] // 2**20
        if self.expired:
            raise UserError(f"{what} has expired; run the workflow again")
        if self.size > limits[0]:
            raise UserError(f"{what} is larger than {most} MiB; it is refused")
        path = f"/repos/{repository}/actions/artifacts/{self.id}/zip"
        return zip_file.entry(api.download(path, limits[0]), name, limits[1], what)


def name_of(gpu: Gpu) -> str:
    """The name that the workflow gives it; every other one is passed over."""
    return f"warpgauge-{gpu.slug}"


def newest(
    api: GitHub, repository: str, run_id: int, wanted: Callable[[str], object]
) -> dict[str, Artifact]:
    """What a run's jobs have left under `wanted` names; of several attempts' the last one's."""
    answers = api.listed(f"/repos/{repository}/actions/runs/{run_id}/artifacts", key="artifacts")
    found = [_artifact(answer) for answer in answers if wanted(text(answer, "name"))]
    return {artifact.name: artifact for artifact in sorted(found, key=lambda made: made.id)}


def read(api: GitHub, run: Run, artifact: Artifact, gpu: Gpu) -> Comparison | None:
    """The comparison in it; None where there is none, as when a build failed: then only the log is.

    Raises UserError for what is not the run's, or not as it should be.
    """
    limits = (ARCHIVE_LIMIT_BYTES, MEMBER_LIMIT_BYTES)
    try:
        content = artifact.entry(api, run.repository, MEMBER, limits)
    except MissingEntry:
        return None
    place = Place(Path(artifact.name, MEMBER))
    return _require_own(_comparison(content, place), run, gpu, place)


def _artifact(answer: Json) -> Artifact:
    return Artifact(
        number(answer, "id"),
        text(answer, "name"),
        number(answer, "size_in_bytes", least=0),
        at(answer, "expired") is not False,
        text(answer, "created_at"),
    )


def _comparison(content: bytes, place: Place) -> Comparison:
    """What the text holds, if it is as warpgauge writes it and says the same thing throughout."""
    try:
        decoded = content.decode("utf-8")
    except UnicodeDecodeError:
        raise place.error("is not UTF-8 text", _REMEDY) from None
    if sum(map(decoded.count, ",{[")) > VALUES_LIMIT:
        raise place.error(f"holds more than {VALUES_LIMIT:,} values", _REMEDY)
    # Before its types, for they pass over keys that they do not know.
    unchecked = parsed(place, decoded, _REMEDY)[0]
    _require_modest(unchecked, place)
    _require_few(unchecked, place)
    comparison = json_input.load(decoded, place)
    if at(unchecked, "headline") != str(headline(comparison)):
        raise place.error("its 'headline' contradicts its verdicts", _REMEDY)
    for verdict in comparison.verdicts:
        if not is_name(verdict.name):
            raise place.error(f"no benchmark can be called {quoted(verdict.name)}", _REMEDY)
    return comparison


def _require_modest(value: object, place: Place) -> None:
    """Refuse what is nested deeper, or holds a longer text, than any comparison."""
    level: Sequence[object] = [value]
    for _ in range(_DEPTH_LIMIT):
        if any(isinstance(one, str) and (len(one) > CONTEXT_LIMIT or "\0" in one) for one in level):
            fault = f"holds a text of more than {CONTEXT_LIMIT:,} characters, or with a NUL"
            raise place.error(fault, _REMEDY)
        objects = [value for value in level if isinstance(value, dict)]
        lists = [value for value in level if isinstance(value, list)]
        level = [*chain(*lists, *objects, *map(dict.values, objects))]
    if level:
        raise place.error(f"is nested deeper than {_DEPTH_LIMIT} levels", _REMEDY)


def _require_few(document: object, place: Place) -> None:
    """Refuse ten times what the largest comparison has: no work grows with a product of two."""
    verdicts = at(document, "verdicts")
    inner = verdicts if isinstance(verdicts, list) else []
    for what, most, lists in (
        ("verdicts", 20_000, [verdicts]),
        ("resources of a verdict", 100, [at(verdict, "resources") for verdict in inner]),
        ("notes", 1000, [at(document, "notes")]),
        ("differences", 1000, [at(document, "differences")]),
        ("sessions of a side", 1000, [at(document, *path) for path in _SESSIONS]),
    ):
        if any(isinstance(found, list) and len(found) > most for found in lists):
            raise place.error(f"has more than {most:,} {what}", _REMEDY)


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
            measured = quoted(session.context.get("commit", ""))
            raise place.error(f"is of commit {measured}, not of {run.head}", _REMEDY)
    if (name := gpu_name(comparison.candidate)) not in ("", gpu.name):
        raise place.error(f"is of the GPU {quoted(name)}, not of {quoted(gpu.name)}", _REMEDY)
    return comparison
