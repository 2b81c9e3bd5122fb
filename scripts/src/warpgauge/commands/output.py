# SPDX-License-Identifier: Apache-2.0
"""How results are shown: --format, and the conclusion of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from warpgauge.commands.output_file import STANDARD_OUTPUT, check_report, write
from warpgauge.records.model import Record, Source
from warpgauge.reports.format import FORMATS, TERMINAL, Format
from warpgauge.reports.formats import terminal as report
from warpgauge.system import streams
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import print_line
from warpgauge.system.text import inert, quoted
from warpgauge.verdict import judge
from warpgauge.verdict.comparison import Comparison, exit_status, skip_notes
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.incompatibility import Override
from warpgauge.verdict.pairing import pair


@dataclass(frozen=True)
class Formats:
    """The format on standard output, by default the terminal's, and the files to write."""

    shown: Format = field(default_factory=lambda: FORMATS[TERMINAL])
    files: tuple[tuple[Format, Path], ...] = ()

    @staticmethod
    def parse(formats: Sequence[str], known: Mapping[str, Format] = FORMATS) -> Formats:
        """Parse options; `known` are the formats of a comparison unless others are given.

        Raises UserError for an unknown name, or two formats on standard output.
        """
        shown: list[Format] = []
        files: list[tuple[Format, Path]] = []
        for text in formats:
            name, equals, file = text.partition("=")
            if name not in known or (equals and not Path(file).name):
                raise UserError(
                    f"--format {quoted(text)} is not NAME or NAME=FILE; NAME is one of "
                    f"{', '.join(known)}"
                )
            form = known[name]
            if equals and file not in STANDARD_OUTPUT:
                files.append((form, Path(file)))
            else:
                shown.append(form)
        if len({path.resolve() for _, path in files}) < len(files):
            raise UserError("--format: two formats would be written to one file: name another one")
        if len(shown) > 1:
            both = " and ".join(form.name for form in shown)
            raise UserError(f"--format {both} cannot share standard output: add =FILE to one")
        return Formats(shown[0] if shown else FORMATS[TERMINAL], tuple(files))

    @property
    def is_for_people(self) -> bool:
        """Whether standard output is free for everything that a person reads."""
        return self.shown.name == TERMINAL

    def of(self, what: str) -> Formats:
        """Return the same formats, with `what` appended to the names of their files."""
        files = tuple((form, path.with_stem(f"{path.stem}-{what}")) for form, path in self.files)
        return replace(self, files=files)

    def check(self, baselines: Path, inputs: Sequence[Path]) -> None:
        """Raise UserError for a file that cannot or must not be written; see `output_file`."""
        for form, path in self.files:
            check_report(path, baselines, inputs, form.own, form.kind)

    def deliver(self, found: object, status: ExitStatus, show: Callable[[], None]) -> ExitStatus:
        """Write all formats; `show` prints to a terminal. Return `status`, that of what was found.

        Raises UserError after writing the rest if something cannot be written; its status never
        hides a regression.
        """
        faults = []
        try:
            if self.is_for_people:
                show()
            else:
                streams.write(self.shown.render(found))
        except OSError as fault:
            faults.append(f"standard output cannot be written ({fault.strerror or fault})")
        for form, path in self.files:
            try:
                write(path, form.render(found))
            except UserError as error:  # noqa: PERF203 - a few files
                faults.append(str(error))
        if faults:
            regressed = status is ExitStatus.REGRESSION
            raise UserError("; ".join(faults), status if regressed else ExitStatus.BAD_USAGE)
        return status


def unpaired_comparison(run: Record, allow: Collection[Override] = frozenset()) -> Comparison:
    """Return a comparison in which rows with a valid time are NEW; others say what they lack."""
    nothing = Record(run.path, Source.BASELINE, {}, {})
    _, verdicts, _ = pair(nothing, run, run.rows, allow)
    skips, why = tuple(skip_notes(verdicts)), "There is nothing to compare with."
    return Comparison(nothing, run, tuple(verdicts), skips, refusal=why)


@dataclass(frozen=True)
class Conclusion:
    """Shows results on one console; methods return the exit status of what they show.

    Comparisons are also written to `page`, unless it is None.
    """

    console: Console
    settings: ComparisonSettings
    formats: Formats
    baselines: Path
    page: Path | None = None

    def judged(self, base: Record, run: Record) -> Comparison:
        """Return `run` compared with `base`, without showing it."""
        return judge.judge(base, run, self.settings)

    def compared(
        self, comparison: Comparison, show: Callable[[], None] | None = None
    ) -> ExitStatus:
        """Show a comparison, with `show` if given. Raises UserError if a report is not written."""
        shown = show or partial(report.render, comparison, self.console)
        try:
            return self.formats.deliver(comparison, exit_status(comparison), shown)
        finally:
            self._write_page(comparison)

    def values(self, run: Record) -> ExitStatus:
        """Show values that cannot be compared with anything. Raises UserError, as `compared`."""
        show = partial(report.render_values, run, self.console)
        return self.compared(unpaired_comparison(run, self.settings.allow), show)

    def _write_page(self, found: Comparison) -> None:
        """Write the automatic HTML page: it replaces no other file, and its failure only shows."""
        if self.page is None:
            return
        form = FORMATS["html"]
        try:
            check_report(self.page, self.baselines, [], form.own, form.kind)
            write(self.page, form.render(found))
            line = f"Report: {inert(os.path.relpath(self.page))}"
        except Exception as fault:  # the results are shown in any case
            line = f"The report of this run was not written: {inert(str(fault))}"
        print_line(self.console, line)
