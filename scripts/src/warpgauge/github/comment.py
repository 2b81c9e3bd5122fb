# SPDX-License-Identifier: Apache-2.0
"""The one comment on a pull request: the verdict of each GPU on top, then the details of each.

It is found again, edited in place, and marked when it is outdated.

All of it is made here from data: Markdown that a run left is never posted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from warpgauge.github.api import GitHub, Json, address, at, is_ours, number
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import Base, Run
from warpgauge.reports.formats import markdown as report
from warpgauge.reports.formats.markdown import MARK
from warpgauge.reports.markdown_text import (
    code,
    finished,
    link,
    name,
    prose,
    summary,
    table_head,
    table_row,
)
from warpgauge.reports.view import Row, View, check_word, rank, worst
from warpgauge.system.errors import ExitStatus
from warpgauge.system.git import short
from warpgauge.system.text import clause, cut, plural
from warpgauge.verdict.comparison import (
    CHANGED,
    UNMEASURED,
    Comparison,
    Outcome,
    Verdict,
    exit_status,
)
from warpgauge.why import changes
from warpgauge.why.changes import Changes

LENGTH_LIMIT = 65_536  # GitHub's limit
_LIMIT = LENGTH_LIMIT - 536  # leaves room for the note that the comment is outdated

_KERNELS, _LONGEST_CHANGED = 10, 16_000  # of what changed: kernels, and characters
_ROWS = 24  # of the table with a column for each GPU
_LISTED, _LONGEST_LISTED = 3, 100  # names in a remark, more are counted; characters of each


# For what passes by the policy of the pull request alone: neither PASS nor FAIL, a person decides.
REVIEW = "NEEDS REVIEW"
PASS, NOT_DECIDED, FAIL = map(
    check_word, (ExitStatus.OK, ExitStatus.NOT_MEASURED, ExitStatus.REGRESSION)
)
_GRAVITY = (PASS, REVIEW, NOT_DECIDED, FAIL)


@dataclass(frozen=True)
class Part:
    """The result of one GPU, or our sentence on why there is none, with links.

    `report_url` leads to our page of it, `artifact_url` to the job's files. `sources` are links to
    the source lines that register benchmarks, by benchmark name. `conclusion` is GitHub's word for
    how its job ended. `found` is judged by the base's policy, `by_head` by the pull request's, if
    that differs. `removed` are benchmarks that the pull request takes out of the baseline.
    """

    gpu: Gpu
    found: Comparison | str
    job_url: str = ""
    artifact_url: str = ""
    history_url: str = ""
    report_url: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    conclusion: str = ""
    by_head: Comparison | None = None
    removed: Sequence[str] = ()

    @property
    def judged(self) -> str:
        """Our verdict on the times."""
        if isinstance(self.found, str):
            return NOT_DECIDED
        passes = self.by_head is not None and exit_status(self.by_head) is ExitStatus.OK
        word = check_word(exit_status(self.found))
        return REVIEW if passes and word != PASS else word

    @property
    def is_contradicted(self) -> bool:
        """Whether its job ended otherwise. What needs a review passes in the job."""
        passed = self.conclusion == "success"
        return bool(self.conclusion) and passed is not (self.judged in (PASS, REVIEW))

    @property
    def word(self) -> str:
        """Our verdict on the commit: a job that failed has not passed."""
        failed = self.is_contradicted and self.conclusion != "success"
        return NOT_DECIDED if failed else self.judged

    @property
    def remarks(self) -> list[str]:
        """What a reader must know beside the verdict."""
        if isinstance(self.found, str):
            return []
        lines = []
        if excused := self._excused(self.found):
            passes = f"{plural(len(excused), 'benchmark')} {'pass' if excused[1:] else 'passes'}"
            policy = "only by the policy that this pull request changes"
            lines.append(f"**{passes} {policy}**; review it: {_listed(excused)}.")
        if self.removed:
            what = f"**This pull request removes {plural(len(self.removed), 'benchmark')}**"
            lines.append(f"{what} from the baseline: {_listed([*map(_short, self.removed)])}.")
        if self.is_contradicted:
            lines.append(
                f"Its job ended with {code(self.conclusion)}, but the rules of the default branch "
                f"and the base's policy judge its times as {self.judged}."
            )
        return lines

    def _excused(self, found: Comparison) -> list[str]:
        """Return the faults by the base's policy that are none by the pull request's."""
        rows = {row.name: row for row in self.by_head.verdicts} if self.by_head else {}
        excused = []
        for row in filter(_is_fault, found.verdicts if self.by_head else ()):
            other = rows.get(row.name)  # None: no longer required
            if other is None or not _is_fault(other):
                after = other.outcome.value if other else "not required"
                why = f": {_short(other.accepted)}" if other and other.accepted else ""
                both = f"{row.outcome.value} without it, {after} with it{why}"
                excused.append(f"{_short(row.name)} ({both})")
        return excused

    @property
    def top(self) -> list[str]:
        """The decisive row, if any, and the verdict, or why there is no result."""
        if isinstance(self.found, str):
            return [f"{prose(clause(self.found))}."]
        return report.top(self.found, self.sources)

    @property
    def links(self) -> list[str]:
        """Links to the report, the job, its files and the GPU's history, if known."""
        words = "report job files history".split()
        urls = (self.report_url, self.job_url, self.artifact_url, self.history_url)
        return [*filter(None, map(link, words, urls))]


def _is_fault(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.REGRESSION or verdict.is_unmeasured


def _short(text: str) -> str:
    return code(cut(text, _LONGEST_LISTED))


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - _LISTED} more" if len(words) > _LISTED else ""
    return ", ".join(words[:_LISTED]) + more


def body(
    run: Run,
    base: Base,
    parts: Sequence[Part],
    judging: Sequence[str] = (),
    what_changed: Changes | str = "",
) -> str:
    """Return the comment within GitHub's limit; what does not fit is named and linked.

    `judging` are the changed files that decide how the pull request is judged.
    """
    several = len(parts) > 1
    first = max(parts, key=_gravity, default=None)
    row, *numbers = first.top if first else ["nothing was measured"]
    where = f"{_name(first)}: " if first and several else ""
    of_each = [(f"{_name(part)}: " if several else "", part) for part in parts]
    files = _listed([*map(_short, judging)])
    head = [
        f"{MARK}**{first.word if first else NOT_DECIDED}** · {where}{row}",
        *([] if several else numbers),
        *(f"{gpu}{remark}" for gpu, part in of_each for remark in part.remarks),
        *([f"This pull request changes how it is judged: {files}."] if judging else []),
        _origin(run, base, parts),
    ]
    if several:
        said = [] if numbers else [row]  # a sentence in the first line is not repeated
        head += ["\n".join(_line(part, said) for part in parts), *_beside_each_other(parts)]
    text = "\n\n".join([*head, ""])
    compared = [(part, part.found) for part in parts if isinstance(part.found, Comparison)]
    foot = _changed(run, what_changed)
    # Reserve room for the links that replace tables.
    room = _LIMIT - len(text) - len(foot) - sum(len(_elsewhere(run, part)) for part, _ in compared)
    share = min(room // max(len(compared), 1), report.LIMIT)
    for part, found in compared:
        title = summary(f"{part.gpu.name}: all results")
        begin, end = (f"<details>{title}\n\n", "\n</details>\n\n") if several else ("", "")
        begin += "".join(f"{line}\n\n" for line in part.top[:-1]) if several else ""
        tables = report.tables(found, share - len(begin) - len(end), part.sources)
        section = f"{begin}{tables}{end}"
        text += section if len(section) <= share else _elsewhere(run, part)
    return finished(f"{text.rstrip()}\n{foot}")


def _changed(run: Run, found: Changes | str) -> str:
    """Return what changed in the code, behind a line unless it exceeds a limit of the policy."""
    if isinstance(found, str):
        return f"\n{prose(found)}\n" if found else ""
    text = changes.markdown(found, _KERNELS)
    if len(text) > _LONGEST_CHANGED:
        text = f"It does not fit here: {link('see the run', run.url)}.\n"
    state = " open" if found.beyond_policy else ""
    same = plural(len(found.cannot_have_changed), "benchmark")
    line = summary(f"{same} cannot have changed, {plural(len(found.kernels), 'kernel')} did")
    return f"\n<details{state}>{line}\n\n{text}\n</details>\n"


def _gravity(part: Part) -> tuple[int, float]:
    """Order parts so that the decisive one is last: the FAIL with the largest change."""
    row = None if isinstance(part.found, str) else worst(part.found)
    return _GRAVITY.index(part.word), row.change.ratio if row and row.change else 0.0


def _line(part: Part, said: Sequence[str]) -> str:
    """Return the verdict of one of several GPUs, without what was `said` before."""
    verdict = f"**{prose(part.gpu.name)}: {part.word}**"
    words = [part.top[-1]] if part.top != said else []
    return f"- {' · '.join([verdict, *words, *part.links])}"


def _beside_each_other(parts: Sequence[Part]) -> list[str]:
    """Return a table with a column per GPU, of rows that any GPU found changed or undecided."""
    of_gpus = {
        part.gpu.name: {row.name: row for row in View(part.found).rows}
        for part in parts
        if isinstance(part.found, Comparison)
    }
    verdicts = [row.verdict for rows in of_gpus.values() for row in rows.values()]
    shown = [verdict for verdict in verdicts if verdict.outcome in (*CHANGED, *UNMEASURED)]
    names = [*dict.fromkeys(verdict.name for verdict in sorted(shown, key=rank))]
    urls = {benchmark: url for part in parts for benchmark, url in part.sources.items()}
    head = table_head(["benchmark", *map(prose, of_gpus)], range(1, 1 + len(of_gpus)))
    lines = (
        table_row([name(key, urls.get(key, "")), *(_cell(of.get(key)) for of in of_gpus.values())])
        for key in names[:_ROWS]
    )
    more = [f"and {plural(len(names) - _ROWS, 'row')} more"] if len(names) > _ROWS else []
    return [head + "\n".join(lines), *more] if names else []


def _cell(row: Row | None) -> str:
    """Return the verdict and the change or bound, or "" if this GPU has no such row."""
    if row is None:
        return ""
    if row.verdict.is_changed:
        return f"**{row.word}** {row.size}"
    return ", ".join(dict.fromkeys((row.word, row.size)))


def to_be_measured(run: Run) -> str:
    """Return the note on an outdated comment."""
    return f"Commit {code(short(run.head))} is not measured yet ([run]({run.url}))."


def not_measured(run: Run, why: str) -> str:
    """Return the note for a run without a result; an empty `why` says how the run ended."""
    ended = why or f"the run ended without a job for any GPU ({code(run.conclusion or 'unknown')})"
    return f"Commit {code(short(run.head))} was not measured: {ended} ([run]({run.url}))."


def not_readable(run: Run) -> str:
    """Return the note for results that GitHub, or this repository's files, kept us from reading."""
    return f"The results for commit {code(short(run.head))} could not be read ([run]({run.url}))."


def _origin(run: Run, base: Base, parts: Sequence[Part]) -> str:
    """Return what was measured against what, and where to find more."""
    attempt = f", attempt {run.attempt}" if run.attempt > 1 else ""
    on, links = (f" on {_name(parts[0])}", parts[0].links) if len(parts) == 1 else ("", [])
    against = f"{code(short(base.commit))}, its merge base with {code(base.branch)}"
    places = " · ".join([f"{link('run', run.url)}{attempt}", *links])
    return f"Commit {code(short(run.head))}{on} against {against}. {places}"


def _elsewhere(run: Run, part: Part) -> str:
    report = part.report_url or part.artifact_url
    where = link("they are in its report", report) or link("see the run", run.url)
    return f"\nThe tables of {_name(part)} do not fit here: {where}.\n"


def _name(part: Part) -> str:
    return f"**{prose(part.gpu.name)}**"


_OUTDATED = "> **Outdated.**"


def put(api: GitHub, run: Run, pull: int, text: str) -> str:
    """Make this the pull request's one comment; return its address.

    The oldest comment of ours is edited in place. Duplicates, from two concurrent jobs, are
    deleted, because each would look like a result.
    """
    repository = run.repository
    ours = _ours(api, repository, pull)
    if not ours:
        return address(api.post(_comments(repository, pull), {"body": text}), "html_url")
    changed = address(api.patch(_path(repository, ours[0]), {"body": text}), "html_url")
    for extra in ours[1:]:
        api.delete(_path(repository, extra))
    return changed


def say(api: GitHub, run: Run, pull: int, why: str) -> None:
    """Say why there is no result, on the existing comment or in a new one."""
    if not mark_outdated(api, run.repository, pull, why):
        text = f"{MARK}**{NOT_DECIDED}** · {why}"
        api.post(_comments(run.repository, pull), {"body": text})


def mark_outdated(api: GitHub, repository: str, pull: int, why: str) -> str:
    """Mark the comment as outdated; return its address, "" without a comment."""
    for oldest in _ours(api, repository, pull)[:1]:
        text = outdated(str(at(oldest, "body")), why)
        return address(api.patch(_path(repository, oldest), {"body": text}), "html_url")
    return ""


def outdated(body: str, why: str) -> str:
    """Return a comment with the note on top; it replaces an earlier note."""
    rest = body.replace("\r\n", "\n").removeprefix(MARK)
    if rest.startswith(_OUTDATED):
        rest = rest.partition("\n\n")[2]
    return f"{MARK}{_OUTDATED} {why}\n\n{rest}"[:LENGTH_LIMIT]


def _ours(api: GitHub, repository: str, pull: int) -> list[Json]:
    """Return the token's own comments that begin with the mark, the oldest first."""
    ours = [
        comment
        for comment in api.listed(_comments(repository, pull))
        if str(at(comment, "body")).startswith(MARK.strip()) and is_ours(comment)
    ]
    return sorted(ours, key=lambda comment: number(comment, "id"))


def _comments(repository: str, pull: int) -> str:
    return f"/repos/{repository}/issues/{pull}/comments"


def _path(repository: str, comment: Json) -> str:
    return f"/repos/{repository}/issues/comments/{number(comment, 'id')}"
