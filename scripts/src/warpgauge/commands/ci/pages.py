# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci pages: makes the folder for GitHub Pages from the results of the last nights."""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from warpgauge.commands import courses
from warpgauge.commands.ci import command_lines
from warpgauge.github import gpus
from warpgauge.github.api import GitHub
from warpgauge.github.branch import Repository
from warpgauge.github.gpus import Gpu
from warpgauge.github.newest_nights import Newest, NewestNights
from warpgauge.history import database
from warpgauge.records.model import Clock
from warpgauge.reports import site
from warpgauge.reports.drawing import course
from warpgauge.reports.drawing.course import Course
from warpgauge.reports.formats import FORMATS
from warpgauge.reports.workflow_commands import check_word, command
from warpgauge.system.errors import ExitStatus
from warpgauge.system.git import short
from warpgauge.system.output_file import require_empty
from warpgauge.system.text import plural

# Families that get a page, unless their file name is already taken by the site.
_FAMILY = re.compile(r"[a-z0-9][a-z0-9_]{0,63}")


def main(
    argv: Sequence[str], root: Path, environment: Mapping[str, str] = os.environ
) -> ExitStatus:
    """Make the site. Raises UserError if the folder is not empty or a request to GitHub fails."""
    given = command_lines.pages().parse_args(argv)
    require_empty(given.out_dir)
    models = gpus.read(gpus.file_of(root))
    nights = NewestNights(Repository(GitHub.of(environment), given.repository))
    newest = nights.by_slug(models)
    for refusal in nights.refusals:
        print(command("warning", {"title": "Not shown"}, refusal), file=sys.stderr)
    rows = [_write_gpu(given.out_dir, given.history, gpu, newest.get(gpu.slug)) for gpu in models]
    faults = database.ask(given.history, "HEAD", database.faults)
    for fault in faults:
        print(command("error", {"title": "Left out of the history"}, fault), file=sys.stderr)
    _write(given.out_dir / site.INDEX, site.index(rows))  # written last: then the site is complete
    made = f"{given.out_dir}, of {plural(len(models), 'GPU')}, {len(newest)} with a report"
    left = f"; {plural(len(faults), 'line')} of the history left out" if faults else ""
    print(f"made: {made}{left}")
    return ExitStatus.NOT_MEASURED if faults else ExitStatus.OK


def _write_gpu(out: Path, history: Path, gpu: Gpu, newest: Newest | None) -> site.Gpu:
    """Write a GPU's folder, and return its row in the index."""
    verdicts = newest.found.verdicts if newest is not None else ()
    clocks = {verdict.name: verdict.clock for verdict in verdicts}
    count, families = database.ask(history, "HEAD", lambda db: _families(db, gpu.slug, clocks))
    row = site.Gpu(gpu.slug, gpu.name, count)
    folder = out / gpu.slug
    if newest is not None:
        told = (check_word(newest.found.exit_status), newest.day, short(newest.commit), newest.url)
        row = site.Gpu(gpu.slug, gpu.name, count, *told)
        _write(folder / site.REPORT, FORMATS["html"].render(newest.found))
    for family, those in families.items():
        _write(folder / f"{family}.html", site.of_family(row, family, map(course.drawn, those)))
    counts = {family: len(those) for family, those in families.items()}
    _write(folder / site.INDEX, site.of_gpu(row, counts))
    return row


def _families(
    asked: sqlite3.Connection, slug: str, clocks: Mapping[str, Clock]
) -> tuple[int, dict[str, list[Course]]]:
    """Return the number of nights, and the courses of the last ones by family."""
    count, every = courses.of(asked, slug, clocks)
    found: dict[str, list[Course]] = {}
    for name, one in every.items():
        family = name.partition("/")[0]
        if _FAMILY.fullmatch(family) and f"{family}.html" not in (site.INDEX, site.REPORT):
            found.setdefault(family, []).append(one)
    return count, found


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
