# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci pages: makes the folder for GitHub Pages from the results of the last nights."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from warpgauge.commands import courses
from warpgauge.commands.ci import command_lines
from warpgauge.github import gpus, nights
from warpgauge.github.api import GitHub, Repository
from warpgauge.github.gpus import Gpu
from warpgauge.github.nights import Newest
from warpgauge.history.lines import History, Night
from warpgauge.reports import site
from warpgauge.reports.drawing import course
from warpgauge.reports.drawing.course import Course
from warpgauge.reports.formats import FORMATS
from warpgauge.reports.view import check_word
from warpgauge.reports.workflow_commands import command
from warpgauge.system.errors import ExitStatus
from warpgauge.system.git import short
from warpgauge.system.output_file import require_empty
from warpgauge.system.text import plural
from warpgauge.verdict.comparison import exit_status

# Families that get a page, unless their file name is already taken by the site.
_FAMILY = re.compile(r"[a-z0-9][a-z0-9_]{0,63}")


def main(
    argv: Sequence[str], root: Path, environment: Mapping[str, str] = os.environ
) -> ExitStatus:
    """Make the site. Raises UserError if the folder is not empty or a request to GitHub fails."""
    given = command_lines.pages().parse_args(argv)
    require_empty(given.out_dir)
    models = gpus.read(gpus.file_of(root))
    repository, refusals = Repository(GitHub.of(environment), given.repository), list[str]()
    newest = nights.newest(repository, root, models, refusals)
    for refusal in refusals:
        print(command("warning", {"title": "Not shown"}, refusal), file=sys.stderr)
    history = History.at(given.history, "HEAD")
    rows = [
        _write_gpu(given.out_dir, history.nights(gpu.slug), gpu, newest.get(gpu.slug))
        for gpu in models
    ]
    for fault in history.faults:
        print(command("error", {"title": "Left out of the history"}, fault), file=sys.stderr)
    _write(given.out_dir / site.INDEX, site.index(rows))  # written last: then the site is complete
    made = f"{given.out_dir}, of {plural(len(models), 'GPU')}, {len(newest)} with a report"
    lines = plural(len(history.faults), "line")
    print(f"made: {made}{f'; {lines} of the history left out' if history.faults else ''}")
    return ExitStatus.NOT_MEASURED if history.faults else ExitStatus.OK


def _write_gpu(out: Path, measured: Sequence[Night], gpu: Gpu, newest: Newest | None) -> site.Gpu:
    """Write a GPU's folder, and return its row in the index."""
    count, families = len(measured), _families(courses.of(measured))
    row = site.Gpu(gpu.slug, gpu.name, count)
    folder = out / gpu.slug
    if newest is not None:
        told = (check_word(exit_status(newest.found)), newest.day, short(newest.commit), newest.url)
        row = site.Gpu(gpu.slug, gpu.name, count, *told)
        _write(folder / site.REPORT, FORMATS["html"].render(newest.found))
    for family, those in families.items():
        _write(folder / f"{family}.html", site.of_family(row, family, map(course.drawn, those)))
    counts = {family: len(those) for family, those in families.items()}
    _write(folder / site.INDEX, site.of_gpu(row, counts))
    return row


def _families(every: Mapping[str, Course]) -> dict[str, list[Course]]:
    """Return the courses by family, for families that can get a page."""
    found: dict[str, list[Course]] = {}
    for name, one in every.items():
        family = name.partition("/")[0]
        if _FAMILY.fullmatch(family) and f"{family}.html" not in (site.INDEX, site.REPORT):
            found.setdefault(family, []).append(one)
    return found


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
