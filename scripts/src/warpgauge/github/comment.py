# SPDX-License-Identifier: Apache-2.0
"""The one comment on a pull request: the verdict of each GPU on top, then the details of each.

It is found again, edited in place, and marked when it is outdated.

All of it is made here from data: Markdown that a run left is never posted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from warpgauge.github.api import GitHub, Json, address, at, is_ours, number
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import Base, Run
from warpgauge.reports.formats import markdown as report
from warpgauge.reports.formats.markdown import MARK
from warpgauge.reports.markdown_text import (
    breakable,
    code,
    in_sentence,
    link,
    name,
    prose,
    summary,
    table_head,
    table_row,
    unbroken,
)
from warpgauge.reports.view import at_most, check_word, rank, size, word, worst
from warpgauge.system.errors import ExitStatus
from warpgauge.system.git import short
from warpgauge.system.text import clause, cut, plural
from warpgauge.verdict.comparison import CHANGED, UNMEASURED, Comparison, Verdict, exit_status

LENGTH_LIMIT = 65_536  # GitHub's limit
_LIMIT = LENGTH_LIMIT - 536  # leaves room for the note that the comment is outdated

_ROWS = 24  # of the table with a column for each GPU
_LISTED, _LONGEST_LISTED = 3, 100  # names in a remark, more are counted; characters of each


@dataclass(frozen=True)
class Part:
    """The result of one GPU, or our sentence on why there is none, with links.

    `report_url` leads to our page of it, `artifact_url` to the job's files. `sources` are links to
    the source lines that register benchmarks, by benchmark name. `ended` is how its job ended, if
    otherwise than by our verdict. `excused` and `removed` are those of `judging.Judged`.
    """

    gpu: Gpu
    found: Comparison | str
    job_url: str = ""
    artifact_url: str = ""
    history_url: str = ""
    report_url: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    ended: str = ""
    excused: Sequence[Verdict] = ()
    removed: Sequence[str] = ()

    @property
    def status(self) -> ExitStatus:
        """The exit status by our rule; a job that failed has not passed."""
        status = ExitStatus.NOT_MEASURED if isinstance(self.found, str) else exit_status(self.found)
        failed = status is ExitStatus.OK and bool(self.ended)
        return ExitStatus.NOT_MEASURED if failed else status

    @property
    def remarks(self) -> list[str]:
        """What a reader must know beside the verdict."""
        lines = []
        if self.excused:
            count = len(self.excused)
            passes = f"{plural(count, 'benchmark')} {'passes' if count == 1 else 'pass'}"
            rows = _listed([f"{_short(one.name)} ({_excuse(one)})" for one in self.excused])
            lines.append(f"**{passes} only by the policy that this pull request changes**: {rows}.")
        if self.removed:
            what = f"**This pull request removes {plural(len(self.removed), 'benchmark')}**"
            rows = _listed([*map(_short, self.removed)])
            lines.append(f"{what} from the baseline: {rows}.")
        if self.ended and not isinstance(self.found, str):
            ours = check_word(exit_status(self.found))
            lines.append(
                f"Its job ended with {code(self.ended)}, but the rules of the default branch and "
                f"the base's policy judge its times as {ours}."
            )
        return lines

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


def _excuse(one: Verdict) -> str:
    return f"{one.outcome.value} without it" + (f": {_short(one.accepted)}" if one.accepted else "")


def _short(text: str) -> str:
    return in_sentence(cut(text, _LONGEST_LISTED))


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - _LISTED} more" if len(words) > _LISTED else ""
    return ", ".join(words[:_LISTED]) + more


def body(
    run: Run,
    base: Base | None,
    parts: Sequence[Part],
    previous_url: str = "",
    judging: Sequence[str] = (),
) -> str:
    """Return the comment within GitHub's limit; what does not fit is named and linked.

    `judging` are the changed files that decide how the pull request is judged.
    """
    several = len(parts) > 1
    first = _gravest(parts)
    status = first.status if first else ExitStatus.NOT_MEASURED
    row, *numbers = first.top if first else ["nothing was measured"]
    where = f"{_name(first)}: " if first and several else ""
    links = [] if several else [one for part in parts for one in part.links]
    head = [
        f"{MARK}**{check_word(status)}** · {where}{row}",
        *([] if several else numbers),
        *_remarks(parts, judging),
        _origin(run, base, parts, [*links, link("previous result", previous_url)]),
    ]
    if several:
        head += ["\n".join(map(_line, parts)), *_beside_each_other(parts)]
    text = "\n\n".join([*head, ""])
    compared = [part for part in parts if isinstance(part.found, Comparison)]
    # Reserve room for the links that replace sections.
    room = _LIMIT - len(text) - sum(len(_elsewhere(run, part)) for part in compared)
    share = min(room // max(len(compared), 1), report.LIMIT)
    for part in compared:
        section = _section(part, several, share)
        text += section if len(section) <= share else _elsewhere(run, part)
    return text.rstrip() + "\n"


def _remarks(parts: Sequence[Part], judging: Sequence[str]) -> list[str]:
    several = len(parts) > 1
    lines = [
        f"{f'{_name(part)}: ' if several else ''}{remark}"
        for part in parts
        for remark in part.remarks
    ]
    if judging:
        files = _listed([*map(_short, judging)])
        lines.append(f"This pull request changes how it is judged: {files}.")
    return lines


def _gravest(parts: Sequence[Part]) -> Part | None:
    """Return the decisive part: the FAIL with the largest change, else an undecided one."""

    def gravity(part: Part) -> tuple[int, float]:
        row = None if isinstance(part.found, str) else worst(part.found)
        return _GRAVITY.index(part.status), row.change.ratio if row and row.change else 0.0

    return max(parts, key=gravity, default=None)


_GRAVITY = (ExitStatus.OK, ExitStatus.NOT_MEASURED, ExitStatus.REGRESSION)


def _line(part: Part) -> str:
    """Return the verdict of one of several GPUs."""
    verdict = f"**{prose(part.gpu.name)}: {check_word(part.status)}**"
    return f"- {verdict} · {part.top[-1]} {' · '.join(part.links)}".rstrip()


def _section(part: Part, folded: bool, limit: int) -> str:
    if isinstance(part.found, str):
        return ""
    title = summary("", f"{part.gpu.name}: all results")
    head, foot = (f"<details>{title}\n\n", "\n</details>\n\n") if folded else ("", "")
    inner = report.tables(part.found, limit - len(head) - len(foot), part.sources)
    return f"{head}{inner}{foot}"


def _beside_each_other(parts: Sequence[Part]) -> list[str]:
    """Return a table with a column per GPU, of rows that any GPU found changed or undecided."""
    found = {
        part.gpu.name: {one.name: one for one in report.ranked(part.found)}
        for part in parts
        if isinstance(part.found, Comparison)
    }
    shown = [one for rows in found.values() for one in rows.values() if one.outcome in _SHOWN]
    names = [*dict.fromkeys(one.name for one in sorted(shown, key=rank))]
    sources = {benchmark: url for part in parts for benchmark, url in part.sources.items()}
    head = table_head(["benchmark", *map(prose, found)], range(1, 1 + len(found)))
    lines = (
        table_row([name(one, sources.get(one, "")), *(_cell(of.get(one)) for of in found.values())])
        for one in names[:_ROWS]
    )
    more = [f"and {plural(len(names) - _ROWS, 'row')} more"] if len(names) > _ROWS else []
    return [head + "\n".join(lines), *more] if names else []


_SHOWN = (*CHANGED, *UNMEASURED)


def _cell(verdict: Verdict | None) -> str:
    """Return the change, or the verdict and its bound, or "" if this GPU has no such row."""
    if verdict is None:
        return ""
    if verdict.is_changed:
        return f"**{word(verdict)}** {unbroken(size(verdict).strip())}"
    bound = f", {unbroken(at_most(verdict.bound))}" if verdict.bound is not None else ""
    return f"{word(verdict)}{bound}"


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


def _origin(run: Run, base: Base | None, parts: Sequence[Part], links: Sequence[str]) -> str:
    """Return what was measured against what, and where to find more."""
    attempt = f", attempt {run.attempt}" if run.attempt > 1 else ""
    on = f" on {_name(parts[0])}" if len(parts) == 1 else ""
    told = f"Commit {code(short(run.head))}{on}"
    if base is not None:
        told += f" against {code(short(base.commit))}, its merge base with {breakable(base.branch)}"
    places = [f"{link('run', run.url)}{attempt}", *filter(None, links)]
    return f"{told}. {' · '.join(places)}"


def _elsewhere(run: Run, part: Part) -> str:
    report = part.report_url or part.artifact_url
    where = link("they are in its report", report) or link("see the run", run.url)
    return f"\nThe tables of {_name(part)} do not fit here: {where}.\n"


def _name(part: Part) -> str:
    return f"**{prose(part.gpu.name)}**"


_OUTDATED = "> **Outdated.**"


def _run_of(body: str, run: Run) -> str:
    """Return the address of the run in our comment, or "" if it is this run or unknown.

    Only the comment's own line and this repository count: a benchmark may have a link as its name.
    """
    runs = re.escape(run.url.rpartition("/")[0])
    line = next((one for one in body.splitlines() if one.startswith("Commit ")), "")
    found = re.search(rf"\[run\]\(({runs}/[0-9]+)\)", line)
    return found[1] if found and found[1] != run.url else ""


def put(
    api: GitHub,
    run: Run,
    pull: int,
    base: Base,
    parts: Sequence[Part],
    judging: Sequence[str] = (),
) -> str:
    """Make this the pull request's one comment; return its address.

    The oldest comment of ours is edited in place. Duplicates, from two concurrent jobs, are
    deleted, because each would look like a result.
    """
    repository = run.repository
    ours = _ours(api, repository, pull)
    previous = _run_of(str(at(ours[0], "body")), run) if ours else ""
    text = body(run, base, parts, previous, judging)
    if not ours:
        return address(api.post(_comments(repository, pull), {"body": text}), "html_url")
    changed = _change(api, repository, ours[0], text)
    for extra in ours[1:]:
        api.delete(_path(repository, extra))
    return changed


def say(api: GitHub, run: Run, pull: int, why: str) -> None:
    """Say why there is no result, on the existing comment or in a new one."""
    if not mark_outdated(api, run.repository, pull, why):
        text = f"{MARK}**{check_word(ExitStatus.NOT_MEASURED)}** · {why}"
        api.post(_comments(run.repository, pull), {"body": text})


def mark_outdated(api: GitHub, repository: str, pull: int, why: str) -> str:
    """Mark the comment as outdated; return its address, "" without a comment."""
    for oldest in _ours(api, repository, pull)[:1]:
        return _change(api, repository, oldest, outdated(str(at(oldest, "body")), why))
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


def _change(api: GitHub, repository: str, comment: Json, body: str) -> str:
    return address(api.patch(_path(repository, comment), {"body": body}), "html_url")


def _path(repository: str, comment: Json) -> str:
    return f"/repos/{repository}/issues/comments/{number(comment, 'id')}"
