# SPDX-License-Identifier: Apache-2.0
"""The results of the last nights: for each GPU the newest well-formed comparison.

Only runs of nightly.yml on the default branch count. Their machines are not trusted, so only
comparison.json is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from warpgauge.github import artifact
from warpgauge.github.api import Json, Unanswered
from warpgauge.github.artifact import Artifact
from warpgauge.github.branch import Repository
from warpgauge.github.fields import MOMENT, address, at, number, same, text
from warpgauge.github.gpus import Gpu
from warpgauge.records.benchmark_filter import cpu_limit
from warpgauge.records.model import Source
from warpgauge.reports.provenance import gpu_name
from warpgauge.system.errors import UserError
from warpgauge.system.git import FULL_COMMIT
from warpgauge.system.text import cut, inert, quoted
from warpgauge.system.zip_file import MissingEntry
from warpgauge.verdict.comparison import Comparison

WORKFLOW = "nightly.yml"
_EVENTS = ("schedule", "workflow_dispatch")
# The number of newest runs that are searched; older results are not shown.
_NIGHTS = 14


@dataclass(frozen=True)
class Newest:
    """The newest result of the workflow on a GPU."""

    found: Comparison
    day: str
    commit: str
    url: str


@dataclass
class NewestNights:
    """`refusals` are sentences for the log on results that are not shown."""

    repository: Repository
    refusals: list[str] = field(default_factory=list)

    def by_slug(self, models: Sequence[Gpu]) -> dict[str, Newest]:
        """Return the newest result of each GPU. Raise UserError if GitHub does not answer."""
        names = {f"nightly-{gpu.slug}": gpu for gpu in models}
        found: dict[str, Newest] = {}
        for run in self._runs():
            wanted = [name for name, gpu in names.items() if gpu.slug not in found]
            for name, left in self._left(run, wanted).items():
                if (night := self._night(run, left, names[name])) is not None:
                    found[names[name].slug] = night
            if len(found) == len(models):
                break
        return found

    def _runs(self) -> Iterator[Json]:
        """Yield the runs on the default branch, the newest first."""
        api, home = self.repository.github, self.repository.name
        branch = text(api.get(f"/repos/{home}"), "default_branch")
        asked = f"/repos/{home}/actions/workflows/{WORKFLOW}/runs?per_page={_NIGHTS}"
        answer = at(api.get(f"{asked}&status=completed"), "workflow_runs")
        for run in answer if isinstance(answer, list) else ():
            ours = same(at(run, "head_repository", "full_name"), home)
            if ours and at(run, "head_branch") == branch and at(run, "event") in _EVENTS:
                yield run

    def _left(self, run: Json, wanted: Sequence[str]) -> Mapping[str, Artifact]:
        api, home = self.repository.github, self.repository.name
        left = artifact.newest(api, home, number(run, "id"), wanted.__contains__)
        return {name: one for name, one in left.items() if not one.expired}

    def _night(self, run: Json, left: Artifact, gpu: Gpu) -> Newest | None:
        """Return the result, or None if nothing was compared or it is refused."""
        commit = text(run, "head_sha", pattern=FULL_COMMIT)
        try:
            with cpu_limit(artifact.CPU_LIMIT_S, "it takes too long to read"):
                found = self._comparison(left, gpu, commit)
        except MissingEntry:
            return None
        except Unanswered:
            raise
        except Exception as fault:  # a fault in one file must not hide the other GPUs
            what = f"{left.name} of run {number(run, 'id')} is not shown"
            self.refusals.append(f"{what}: {cut(inert(str(fault)), 300)}")
            return None
        day = text(run, "created_at", pattern=MOMENT).partition("T")[0]
        return Newest(found, day, commit, address(run, "html_url"))

    def _comparison(self, left: Artifact, gpu: Gpu, commit: str) -> Comparison:
        found = left.comparison(self.repository.github, self.repository.name)
        measured = found.candidate
        if measured.source is not Source.RUN or gpu_name(measured) != gpu.name:
            raise UserError(f"it is not a run on {gpu.name}")
        for session in measured.sessions.values():
            if (told := session.context.get("commit", "")) != commit:
                raise UserError(f"it belongs to commit {quoted(told)}, not to {commit}")
        return found
