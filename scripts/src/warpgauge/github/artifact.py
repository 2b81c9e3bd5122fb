# SPDX-License-Identifier: Apache-2.0
"""The comparisons in the artifacts of a GPU workflow run, which are untrusted.

A contributor's program ran where they were made. So only comparison.json is read, and only for what
cannot be known otherwise; anything that warpgauge would not write is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from warpgauge.github.api import GitHub, Json, Unanswered
from warpgauge.github.fields import at, number, text
from warpgauge.github.gpus import Gpu
from warpgauge.github.terms import Terms
from warpgauge.records.benchmark_filter import FAMILIES_LEFT_OUT, normal
from warpgauge.records.fields import CONTEXT_LIMIT, is_name
from warpgauge.records.model import PROGRAMS, Source
from warpgauge.reports import comparison_json, json_document
from warpgauge.reports.provenance import gpu_name
from warpgauge.system import zip_file
from warpgauge.system.contract import format_of
from warpgauge.system.errors import UserError
from warpgauge.system.json_file import VALUES_LIMIT, parsed
from warpgauge.system.location import Place
from warpgauge.system.text import quoted
from warpgauge.system.zip_file import MissingEntry
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.note import Kind

MEMBER = "comparison.json"

# Run files, reports, pictures and the log of the full suite are a few MiB, and compress to a tenth.
# A comparison of 10,000 benchmarks is 15 MiB.
ARCHIVE_LIMIT_BYTES, MEMBER_LIMIT_BYTES = 32 * 1024 * 1024, 16 * 1024 * 1024
_DEPTH_LIMIT = 12
# CPU seconds for one GPU's result; 20,000 rows take three seconds.
CPU_LIMIT_S = 12.0
# Notes that only the pairs can give. Notes on the policy are recomputed.
_OF_PAIRS = frozenset(
    (
        *(Kind.INJECTED, Kind.ALTERNATED, Kind.LEFT_OUT, Kind.KERNELS_VARY, Kind.RESOURCES),
        *(Kind.FILTERED, Kind.OF_FULL_SUITE, Kind.USED_UP, Kind.REMOVED, Kind.NEWER),
    )
)
_SESSIONS = (("baseline", "sessions"), ("candidate", "sessions"))
_VERSION = re.compile(r"comparison/[0-9]{1,4}")
_REMEDY = "it is refused"


class Archive(NamedTuple):
    """A downloaded artifact; none of its files may have more than `limit_bytes`."""

    what: str
    content: bytes
    limit_bytes: int

    def file(self, name: str) -> bytes:
        """Return the file `name` in it. Raise UserError, or MissingEntry if there is none."""
        return zip_file.entry(self.content, name, self.limit_bytes, self.what)


@dataclass(frozen=True)
class Artifact:
    """An artifact of a job. `created` is GitHub's time; later times sort later."""

    id: int
    name: str
    size: int
    expired: bool
    created: str

    def archive(self, api: GitHub, repository: str, limits: tuple[int, int]) -> Archive:
        """Download it; `limits` are the bytes of the whole and of a file. Raise UserError."""
        what, most = f"the artifact {self.name}", limits[0] // 2**20
        if self.expired:
            fault = UserError(f"{what} has expired; run the workflow again")
            raise Refused("Its result has expired", fault)
        if self.size > limits[0]:
            raise UserError(f"{what} is larger than {most} MiB; it is refused")
        path = f"/repos/{repository}/actions/artifacts/{self.id}/zip"
        return Archive(what, api.download(path, limits[0]), limits[1])

    @property
    def place(self) -> Place:
        """The place of its comparison, for errors."""
        return Place(Path(self.name, MEMBER))

    def comparison(self, api: GitHub, repository: str) -> Comparison:
        """Return its comparison. Raise UserError, or MissingEntry if it has none."""
        archive = self.archive(api, repository, (ARCHIVE_LIMIT_BYTES, MEMBER_LIMIT_BYTES))
        return checked_comparison(archive.file(MEMBER), self.place)


class Refused(UserError):
    """`told` is our sentence for the comment; the error's own sentence has the details."""

    def __init__(self, told: str, fault: UserError) -> None:
        super().__init__(str(fault))
        self.told = told


@contextmanager
def refusing(told: str) -> Iterator[None]:
    """Turn a fault of an artifact into Refused; a fault of GitHub itself is passed on."""
    try:
        yield
    except (Refused, Unanswered, MissingEntry):
        raise
    except UserError as fault:
        raise Refused(told, fault) from None


DAMAGED = "Its result was refused: it is damaged, contradicts itself, or takes too long to check"
_FOREIGN = "Its result was refused: it belongs to another commit, GPU or suite"
OTHER_BASE = "It was measured against another base"


def name_of(gpu: Gpu) -> str:
    """Return the name that the workflow gives the artifact; others are ignored."""
    return f"warpgauge-{gpu.slug}"


def of_run(
    api: GitHub, repository: str, run_id: int, wanted: Callable[[str], object]
) -> list[Artifact]:
    """Return the artifacts of a run's jobs with `wanted` names, the oldest first."""
    answers = api.listed(f"/repos/{repository}/actions/runs/{run_id}/artifacts", key="artifacts")
    found = [_artifact(answer) for answer in answers if wanted(text(answer, "name"))]
    return sorted(found, key=lambda made: made.id)


def newest(
    api: GitHub, repository: str, run_id: int, wanted: Callable[[str], object]
) -> dict[str, Artifact]:
    """Return the last attempt's artifact of each name."""
    return {artifact.name: artifact for artifact in of_run(api, repository, run_id, wanted)}


def read(artifact: Artifact, terms: Terms, gpu: Gpu, ours: bool) -> Comparison | None:
    """Return its comparison, unjudged, or None if it has none, as after a failed build.

    `ours`: of this suite, not of another project's programs. Raise Refused.
    """
    try:
        with refusing(DAMAGED):
            found = artifact.comparison(terms.api, terms.run.repository)
    except MissingEntry:
        return None
    with refusing(_FOREIGN):
        _require_own(found, terms, gpu, artifact.place, ours)
    _require_base(found, terms, artifact.place)
    return _without_foreign_notes(found, terms, ours)


def _artifact(answer: Json) -> Artifact:
    return Artifact(
        number(answer, "id"),
        text(answer, "name"),
        number(answer, "size_in_bytes", least=0),
        at(answer, "expired") is not False,
        text(answer, "created_at"),
    )


def checked_comparison(content: bytes, place: Place) -> Comparison:
    """Return the comparison in `content` if warpgauge could have written it. Raise UserError."""
    try:
        decoded = content.decode("utf-8")
    except UnicodeDecodeError:
        raise place.error("is not UTF-8 text", _REMEDY) from None
    if sum(map(decoded.count, ",{[")) > VALUES_LIMIT:
        raise place.error(f"holds more than {VALUES_LIMIT:,} values", _REMEDY)
    # Checked before its types are, because these ignore unknown keys.
    unchecked = parsed(place, decoded, _REMEDY)
    _require_modest(unchecked, place)
    _require_few(unchecked, place)
    _require_version(unchecked, place)
    comparison = comparison_json.load(decoded, place)
    for verdict in comparison.verdicts:
        if not is_name(verdict.name):
            raise place.error(f"{quoted(verdict.name)} cannot be the name of a benchmark", _REMEDY)
    return comparison


def _require_modest(value: object, place: Place) -> None:
    """Refuse a value that is nested deeper, or holds a longer text, than any comparison."""
    level: Sequence[object] = [value]
    for _ in range(_DEPTH_LIMIT):
        if any(isinstance(one, str) and (len(one) > CONTEXT_LIMIT or "\0" in one) for one in level):
            fault = f"holds a text with more than {CONTEXT_LIMIT:,} characters, or with a NUL"
            raise place.error(fault, _REMEDY)
        objects = [value for value in level if isinstance(value, dict)]
        lists = [value for value in level if isinstance(value, list)]
        level = [*chain(*lists, *objects, *map(dict.values, objects))]
    if level:
        raise place.error(f"is nested deeper than {_DEPTH_LIMIT} levels", _REMEDY)


def _require_few(document: object, place: Place) -> None:
    """Refuse more than ten times the entries of the largest comparison."""
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


def _require_version(document: object, place: Place) -> None:
    told, ours = str(at(document, "warpgauge_format")), format_of(json_document.Comparison)
    if _VERSION.fullmatch(told) and told != ours:
        fault = f"has the format {told}, but the default branch reads {ours}"
        raise Refused(f"Its result {fault}", place.error(fault, _REMEDY))


def _require_own(comparison: Comparison, terms: Terms, gpu: Gpu, place: Place, ours: bool) -> None:
    """Refuse a comparison that names another commit, GPU or suite itself."""
    both = (comparison.baseline, comparison.candidate)
    for side in both:
        if side.source is not Source.RUN:
            raise place.error(f"is a {side.source.value}, not a {Source.RUN.value}", _REMEDY)
        # Another project's programs may use no GPU.
        if (name := gpu_name(side)) not in ((gpu.name,) if ours else ("", gpu.name)):
            raise place.error(
                f"was measured on the GPU {quoted(name)}, not on {quoted(gpu.name)}", _REMEDY
            )
    # Their folders would appear in a command that the comment tells a reader to paste.
    if ours and any(PROGRAMS in one.context for side in both for one in side.sessions.values()):
        raise place.error("belongs to another project's programs, not to this suite", _REMEDY)
    for session in comparison.candidate.sessions.values():
        if session.context.get("commit") != terms.run.head:
            measured = quoted(session.context.get("commit", ""))
            raise place.error(f"belongs to commit {measured}, not to {terms.run.head}", _REMEDY)
        if normal(session.context.get("filter", "")) != terms.filter:
            raise place.error("was measured with another filter than the requested one", _REMEDY)
        if session.context.get(FAMILIES_LEFT_OUT):
            raise place.error("was measured with --programs, so not in whole", _REMEDY)


def _without_foreign_notes(comparison: Comparison, terms: Terms, ours: bool) -> Comparison:
    """Return the comparison without notes that do not belong to pairs with this base."""
    method, base = comparison.method, terms.base.commit
    if method is not None and method.kind is not (Kind.PAIRED if ours else Kind.PAIRED_FOLDERS):
        method = None
    own = method is not None and method.values.get("commit", base) == base
    notes = tuple(note for note in comparison.notes if note.kind in _OF_PAIRS)
    return replace(comparison, method=method if own else None, notes=notes)


def _require_base(comparison: Comparison, terms: Terms, place: Place) -> None:
    """Refuse a comparison with another base commit than the pull request's own."""
    for session in comparison.baseline.sessions.values():
        if (commit := session.context.get("commit")) != terms.base.commit:
            fault = f"was measured against {quoted(commit or '')}, not against {terms.base.commit}"
            raise Refused(OTHER_BASE, place.error(fault, "push, or run the workflow again"))
