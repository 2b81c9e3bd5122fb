# SPDX-License-Identifier: Apache-2.0
"""Show a comparison in a job on GitHub: annotations, summary, outputs, and faults."""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from pathlib import Path

from warpgauge.reports.formats.github import command
from warpgauge.reports.markdown_text import code, prose
from warpgauge.reports.view import check_word
from warpgauge.system import streams
from warpgauge.system.entry_point import name_of
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import cut, inert

# The files of a comparison to keep, by the format that writes them.
FILES = {"json": "comparison.json", "markdown": "report.md", "junit": "junit.xml"}

# GitHub's limit for the summary of a step is one MiB.
_LONGEST = 900_000
_LONGEST_WORDS = 500

_SIGNALS = 128  # a shell's exit status for a signal is this plus the signal's number

_NOTHING = "Nothing was compared"
# The title and text of the error for an exit status.
_ERRORS = {
    ExitStatus.REGRESSION: (
        "Regression",
        "Some benchmarks got slower, and were confirmed where possible. The annotations, the job's "
        "summary and report.md name them (exit status 1).",
    ),
    ExitStatus.NOT_MEASURED: (
        "Not everything is bounded",
        "No regression was found, but some benchmarks are inconclusive, not measured or not "
        "comparable. This is not a pass. The summary and report.md name them (exit status 3).",
    ),
}


def ended(out: Path, annotations: Path, gpu: str, status: int, log_tail: str) -> ExitStatus:
    """Show the result of the comparison in the folder `out`; return the job's exit status.

    `gpu` is a slug, or "". Files may be missing: without a report nothing is a pass, but a
    regression stays one.
    """
    comparison, report = out / FILES["json"], out / FILES["markdown"]
    compared, worst, words = comparison.exists(), "", cut(log_tail, _LONGEST_WORDS)
    mine = ExitStatus(status) if status in _ERRORS else ExitStatus.BAD_USAGE
    if compared:
        with suppress(ValueError):  # the comparison was killed
            worst = str(json.loads(_text(comparison)).get("worst") or "")
        streams.write(_text(annotations))
        page, name = f"`report-{gpu}.html`", f"`warpgauge-{gpu}`"
        where = f"The artifact {page} is this report; {name} has run files and log."
        _summarise(_text(report) + (f"\n{where}\n" if gpu else ""))
    if compared and status == ExitStatus.OK:
        mine = ExitStatus.OK
        streams.write("gate: No regression was found, and every benchmark is bounded.\n")
    elif compared and status in _ERRORS:
        _say("error", *_ERRORS[mine], gpu)
    else:
        title = "Not finished" if compared else _NOTHING
        by = f"was ended by {name_of(status - _SIGNALS)}" if status > _SIGNALS else ""
        why = f"the comparison {by or f'ended with exit status {status}'}"
        _say("error", title, f"{why}{f': {words}' if words else ''}", gpu)
        _summarise(f"**{title}:** {why}{f': {code(words)}' if words else ''}\n")
    _output(mine, worst, str(report) if report.exists() else "")
    return mine


def refused(fault: UserError, gpu: str) -> None:
    """Show in the job why not even a comparison was begun."""
    words = cut(str(fault), _LONGEST_WORDS)
    _say("error", _NOTHING, words, gpu)
    _summarise(f"**{_NOTHING}:** {prose(words)}\n")
    _output(fault.status, "", "")


def _say(kind: str, title: str, message: str, gpu: str = "") -> None:
    where = f" on {gpu}" if gpu else ""
    streams.write(f"{command(kind, {'title': f'{title}{where}'}, message)}\n")


def _summarise(text: str) -> None:
    _append("GITHUB_STEP_SUMMARY", cut(text, _LONGEST), "summary")


def _output(status: ExitStatus, worst: str, report: str) -> None:
    """Write the outputs for later steps. A foreign name can end neither its line nor its value."""
    values = {"verdict": check_word(status), "worst": inert(worst),
              "exit-status": str(int(status)), "report": report}  # fmt: skip
    end = f"warpgauge-{secrets.token_hex(16)}"
    lines = "".join(f"{name}<<{end}\n{value}\n{end}\n" for name, value in values.items())
    _append("GITHUB_OUTPUT", lines, "outputs")


def _append(variable: str, text: str, what: str) -> None:
    """Append to the file that `variable` names; if that fails, warn in the log."""
    if path := os.environ.get(variable):
        try:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as fault:
            _say("warning", f"No {what}", f"it cannot be written ({fault.strerror or fault})")


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""
