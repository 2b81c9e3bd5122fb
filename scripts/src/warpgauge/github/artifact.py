# SPDX-License-Identifier: Apache-2.0
"""The artifacts of a workflow run's jobs, and the run files in them, which are untrusted.

A contributor's program ran where they were made. Only run files are read, by the ordinary reader,
in memory and within limits, and checked: one sentence for each fault. The checks find what belongs
to something else. Whether a time is true, none can find: whoever reads them judges them again.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from warpgauge.github.api import GitHub, at, number, text
from warpgauge.github.gpus import Gpu
from warpgauge.records.benchmark_filter import NOT_BUILT, SAME_CODE, normal
from warpgauge.records.load import load
from warpgauge.records.model import BUILD_DIR, FILE, ISOLATED, MANIFEST, PROGRAMS, Record, Source
from warpgauge.records.sessions import BASE, CANDIDATE, PAIR_SIDE, are_paired, only_session
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert, quoted

# In the artifacts of nights and of sessions, and in those of the gate, base first.
RUN_FILE = "run.json"
PAIR = "runs/run-base.json", "runs/run.json"
# What `warpgauge changed` found, and the artifact that holds it.
CHANGED_FILE, CHANGED = "changed.json", "warpgauge-changed"

T = TypeVar("T")

# All files of the full suite are a few MiB, compressed to a tenth; its run file is 0.5 MiB, and one
# of 10,000 benchmarks 8 MiB.
ARCHIVE_LIMIT_BYTES, LIMIT_BYTES = 32 * 1024 * 1024, 8 * 1024 * 1024
MOST_ROWS = 10_000
# CPU seconds to read and judge one GPU's result; 10,000 rows in pairs take four seconds.
CPU_LIMIT_S = 20.0
ENTRIES_LIMIT = 1000  # of an archive; a session of all benchmarks leaves a dozen files
_ENTRY_MARK = b"PK\x01\x02"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others take memory as the archive likes
MOST_ARTIFACTS = 20  # with run files to record, one for each GPU job


class MissingEntry(UserError):
    """The archive is sound but lacks the file."""


def entry(archive: bytes, name: str, limit_bytes: int, what: str) -> bytes:
    """Return the content of the file `name` of an archive, at most `limit_bytes`.

    Nothing is extracted, so that the names and kinds of other entries do no harm. Raise
    MissingEntry if there is no such file, and UserError, a sentence that begins with `what`, if it
    or the archive is faulty.
    """
    # Counted before zipfile creates an object for each.
    if (count := archive.count(_ENTRY_MARK)) > ENTRIES_LIMIT:
        raise UserError(f"{what} holds {count} entries, more than {ENTRIES_LIMIT}; it is refused")
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            found = [one for one in opened.infolist() if one.filename == name]
            if not found:
                raise MissingEntry(inert(f"{what} holds no {name}"))
            if len(found) > 1:
                raise UserError(inert(f"{what} holds {name} twice; it is refused"))
            if found[0].compress_type not in _METHODS:
                raise zipfile.BadZipFile
            with opened.open(found[0]) as stream:
                content = stream.read(limit_bytes + 1)  # without a number there is no limit
    except UserError:
        raise
    except Exception:  # zipfile raises many kinds for damaged or encrypted archives
        raise UserError(f"{what} is not a ZIP archive, or is damaged; it is refused") from None
    if len(content) > limit_bytes:
        why = f"holds {name} of more than {limit_bytes} bytes; it is refused"
        raise UserError(inert(f"{what} {why}"))
    return content


@dataclass(frozen=True)
class Artifact:
    """An artifact of a job. `created` is GitHub's time; later times sort later."""

    api: GitHub
    repository: str
    id: int
    name: str
    size: int
    is_expired: bool
    created: str

    @cached_property
    def _content(self) -> bytes:
        what, most = f"the artifact {self.name}", ARCHIVE_LIMIT_BYTES
        if self.is_expired:
            raise UserError(f"{what} has expired; run the workflow again")
        if self.size > most:
            raise UserError(f"{what} is larger than {most // 2**20} MiB; it is refused")
        path = f"/repos/{self.repository}/actions/artifacts/{self.id}/zip"
        return self.api.download(path, most)

    def run(self, member: str, folder: Path) -> Record:
        """Return the run file `member`, as `file` does."""
        record = self.file(member, folder, load)
        if len(record.rows) > MOST_ROWS:
            raise UserError(f"{self.name}/{member} holds more than {MOST_ROWS} benchmarks")
        return record

    def file(self, member: str, folder: Path, reader: Callable[[Path], T]) -> T:
        """Return the file `member`, and leave it in `folder`, below the artifact's name.

        Raise UserError, or MissingEntry if there is none.
        """
        content = entry(self._content, member, LIMIT_BYTES, f"the artifact {self.name}")
        path = folder / self.name / member
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        try:
            return reader(path)
        except UserError as fault:
            raise UserError(str(fault).replace(f"{folder}/", "")) from None


def of_run(
    api: GitHub, repository: str, run_id: int, wanted: Callable[[str], object]
) -> list[Artifact]:
    """Return the artifacts of a run's jobs with `wanted` names, the oldest first."""
    found = [
        Artifact(
            api,
            repository,
            number(answer, "id"),
            text(answer, "name"),
            number(answer, "size_in_bytes", least=0),
            at(answer, "expired") is not False,
            text(answer, "created_at"),
        )
        for answer in api.listed(
            f"/repos/{repository}/actions/runs/{run_id}/artifacts", "artifacts"
        )
        if wanted(text(answer, "name"))
    ]
    return sorted(found, key=lambda made: made.id)


def newest(
    api: GitHub, repository: str, run_id: int, wanted: Callable[[str], object]
) -> dict[str, Artifact]:
    """Return the last attempt's artifact of each name, sorted, without expired ones."""
    found = {made.name: made for made in of_run(api, repository, run_id, wanted)}
    if len(found) > MOST_ARTIFACTS:
        raise UserError(f"run {run_id} has more than {MOST_ARTIFACTS} run files; none was read")
    return {name: found[name] for name in sorted(found) if not found[name].is_expired}


# A baseline repeats its context, of 2,000 characters, in every file.
_CONTEXT_LIMIT = 32 * 1024
# What two processes that ran beside each other have in common.
_SHARED = ("gpu_name", "gpu_uuid", "boot_id", "driver_version", "suite", ISOLATED, SAME_CODE)


def require_session(record: Record, gpu: Gpu, commit: str, root: Path) -> None:
    """Raise UserError unless it is a run of the suite in `root`, measured on `gpu` at `commit`."""
    families = {file.stem for file in (root / "benchmarks").iterdir()
                if file.suffix in (".cu", ".cpp")}  # fmt: skip
    context = only_session(record).context
    faults = [*_no_run(record), *_other(context, {"gpu_name": gpu.name, "commit": commit}, "it")]
    if sum(len(key) + len(value) for key, value in context.items()) > _CONTEXT_LIMIT:
        faults.append(f"its context is longer than {_CONTEXT_LIMIT} characters")
    if not record.rows:
        faults.append("it holds no benchmark")
    foreign = (quoted(row.name) for row in record.rows.values() if row.family not in families)
    faults += [f"benchmarks/ does not have the family of {name}" for name in foreign]
    for fault in faults[:1]:
        name = record.path.parent.name
        raise UserError(inert(f"the artifact {name} is refused: {fault}; nothing was written"))


def fault_of_pair(
    pair: tuple[Record, Record], gpu: Gpu, commits: tuple[str, str], filter: str, *, ours: bool
) -> str:
    """Return why two run files, base first, cannot be the pairs that GitHub speaks of, or "".

    `ours`: of this suite, not of another project's programs, which may use no GPU.
    """
    faults = [fault for record in pair for fault in _no_run(record)]
    if not are_paired(*pair):
        faults.append("its two run files are not of one pair")
    contexts = [only_session(record).context for record in pair]
    base, candidate = ({key: context.get(key, "") for key in _SHARED} for context in contexts)
    faults += _other(base, candidate, f"its {BASE}")
    for side, context, commit in zip((BASE, CANDIDATE), contexts, commits, strict=True):
        required = {
            **{PAIR_SIDE: side, "commit": commit, "filter": filter, "dirty": "false"},
            "gpu_name": gpu.name if ours or context.get("gpu_name") else "",
            **dict.fromkeys(("inject", NOT_BUILT), ""),
            **dict.fromkeys((BUILD_DIR, MANIFEST, FILE), ""),
        }
        stated = {"dirty": "false", **context, "filter": normal(context.get("filter", ""))}
        faults += _other(stated, required, f"its {side}")
        for key in ("gpu_uuid", "boot_id") if ours else ():
            if not context.get(key):
                faults.append(f"its {side} does not state {key}")
        if (PROGRAMS in context) is ours:
            faults.append(f"its {side} is {'' if ours else 'not '}of another project's programs")
    return faults[0] if faults else ""


def _other(context: Mapping[str, str], required: Mapping[str, str], what: str) -> Iterator[str]:
    for key, value in required.items():
        if (stated := context.get(key, "")) != value:
            yield f"{what} states {key} {quoted(stated)}, not {quoted(value)}"


def _no_run(record: Record) -> Iterator[str]:
    if record.source is not Source.RUN:
        yield f"{record.path.name} is a {record.source.value}, not a run file"
