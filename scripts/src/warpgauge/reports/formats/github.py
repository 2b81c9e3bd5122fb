# SPDX-License-Identifier: Apache-2.0
"""A comparison as GitHub workflow commands, which become annotations of a job.

Foreign text in a command is escaped as the runner decodes it (actions/runner, ActionCommand.cs):
https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from warpgauge.records.counters import SOURCE_LINE
from warpgauge.reports.format import Format
from warpgauge.reports.view import View, headline
from warpgauge.system.environment import ROOT
from warpgauge.system.text import inert, plain
from warpgauge.verdict.comparison import UNMEASURED, Comparison, Verdict
from warpgauge.verdict.note import SKIPPED

# The most annotations of a kind that GitHub shows for a step.
_SHOWN = 10

# A change that a policy accepts passes, but is still announced.
_ERRORS = ("slower", "failed", "missing")
_KINDS = {
    "error": _ERRORS,
    "warning": tuple(one.word for one in UNMEASURED if one.word not in _ERRORS),
    "notice": ("faster", "accepted"),
}
_PLAIN = {"title": "warpgauge"}

# Family names for which a file may exist; too long a name would be an OSError.
_FAMILY = re.compile(r"[A-Za-z0-9_-]{1,100}")

_IN_MESSAGE = str.maketrans({char: f"%{ord(char):02X}" for char in "%\r\n"})
_IN_PROPERTY = str.maketrans({char: f"%{ord(char):02X}" for char in "%\r\n:,"})


def command(kind: str, properties: Mapping[str, object], message: str) -> str:
    """Return ``::error title=…::message``, without a newline."""
    shown = [f"{key}={str(value).translate(_IN_PROPERTY)}" for key, value in properties.items()]
    return f"::{kind} {','.join(shown)}::{message.translate(_IN_MESSAGE)}"


@contextmanager
def commands_stopped(say: Callable[[str], None]) -> Iterator[None]:
    """Disable workflow commands in what is printed inside the block, whoever wrote it."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        yield
        return
    token = f"warpgauge-{secrets.token_hex(16)}"
    say(f"::stop-commands::{token}")
    try:
        yield
    finally:
        # Starts a new line, because a program may have been killed in the middle of one.
        say("")
        say(f"::{token}::")


def place(root: Path, comparison: Comparison, verdict: Verdict) -> dict[str, object]:
    """Return `file`, ``benchmarks/<family>.cu`` or .cpp below `root`, and `line` if known.

    Empty without a file, and for another project's programs, whose families are not ours.
    """
    if comparison.is_other_project or not _FAMILY.fullmatch(verdict.family):
        return {}
    files = [f"benchmarks/{verdict.family}{suffix}" for suffix in (".cu", ".cpp")]
    line = verdict.counters.get(SOURCE_LINE, 0.0)
    told = {"line": int(line)} if 1 <= line < 1e9 and line == int(line) else {}
    return next(({"file": file, **told} for file in files if (root / file).is_file()), {})


def render(comparison: Comparison) -> str:
    """Return one line per annotation, worst first within a kind; the last counts omitted ones."""
    view, lines = View(comparison), list[str]()
    refusal = [] if comparison.refusal is None else [plain(headline(comparison))]
    skips = [str(note) for note in comparison.notes if note.kind == SKIPPED]
    first = {"error": [*map(str, comparison.not_built), *refusal]}
    last = {"notice": skips}
    for kind, words in _KINDS.items():
        found = [command(kind, _PLAIN, sentence) for sentence in first.get(kind, ())]
        for row in view.of(*words):
            title = {"title": f"{row.word}: {inert(row.name)}"}
            where = place(ROOT, comparison, row.verdict)
            found.append(command(kind, {**where, **title}, row.sentence))
        found += [command(kind, _PLAIN, sentence) for sentence in last.get(kind, ())]
        if len(found) > _SHOWN:
            more = f"and {len(found) - _SHOWN + 1} more: see the log or another report"
            found = [*found[: _SHOWN - 1], command(kind, _PLAIN, more)]
        lines += found
    return "".join(f"{line}\n" for line in lines)


_OWN = re.compile(rb"\A::(?:error|warning|notice) ")
FORMAT = Format("github", render, "list of GitHub annotations", _OWN)
