# SPDX-License-Identifier: Apache-2.0
"""--format NAME[=FILE] and --export NAME=FILE: checked before the work, written after it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from warpgauge.records.model import Record, Source
from warpgauge.reports.exports import EXPORTS, Export
from warpgauge.reports.format import FORMATS, TERMINAL, Format
from warpgauge.system import environment, streams
from warpgauge.system.atomic import resolved, write
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.output_file import STANDARD_OUTPUT, check_report
from warpgauge.system.text import inert, quoted
from warpgauge.verdict.comparison import Comparison, exit_status
from warpgauge.verdict.override import Override
from warpgauge.verdict.pairing import pair, skip_notes


@dataclass(frozen=True)
class Formats:
    """The format on standard output, by default the terminal's, and the files to write."""

    shown: Format = field(default_factory=lambda: FORMATS[TERMINAL])
    files: tuple[tuple[Format, Path], ...] = ()
    exports: tuple[tuple[Export, Path], ...] = ()

    @staticmethod
    def parse(
        formats: Sequence[str],
        exports: Sequence[str] = (),
        known: Mapping[str, Format] = FORMATS,
    ) -> Formats:
        """Parse options; `known` are the formats of a comparison unless others are given.

        Raises UserError for an unknown name, two formats on standard output, or a file named twice.
        """
        shown: list[Format] = []
        files: dict[Path, tuple[Format, Path]] = {}
        exported: dict[Path, tuple[Export, Path]] = {}
        for text in formats:
            name, equals, file = text.partition("=")
            if name not in known or (equals and not Path(file).name):
                raise UserError(
                    f"--format {quoted(text)} is not NAME or NAME=FILE; NAME is one of "
                    f"{', '.join(known)}"
                )
            form = known[name]
            if form.of_suffix:
                form = _picture(form, text, Path(file))
            elif not equals or file in STANDARD_OUTPUT:
                shown.append(form)
                continue
            files[_untaken(file, files)] = (form, Path(file))
        if len(shown) > 1:
            both = " and ".join(one.name for one in shown)
            raise UserError(
                f"--format {both} cannot share standard output: add =FILE to one of them"
            )
        for text in exports:
            name, _, file = text.partition("=")
            if name not in EXPORTS or not Path(file).name:
                names = (*EXPORTS,)
                raise UserError(
                    f"--export {quoted(text)} is not NAME=FILE; NAME is one of {', '.join(names)}"
                )
            if file in STANDARD_OUTPUT:
                raise UserError(
                    f"--export {quoted(text)}: standard output shows the comparison; name a file"
                )
            exported[_untaken(file, {*files, *exported})] = (EXPORTS[name], Path(file))
        on_output = shown[0] if shown else FORMATS[TERMINAL]
        return Formats(on_output, tuple(files.values()), tuple(exported.values()))

    @property
    def unwritten(self) -> tuple[str, ...]:
        """One sentence for each requested format that lacks a comparison to write."""
        on_output = () if self.shown.name == TERMINAL else (self.shown.name,)
        asked = (*on_output, *(f"{one.name}={path}" for one, path in self.files))
        return tuple(
            f"--format {inert(one)} is not written: there is no comparison." for one in asked
        )

    def of(self, what: str) -> Formats:
        """Return the same formats, with `what` appended to the names of their files."""
        files = tuple((one, path.with_stem(f"{path.stem}-{what}")) for one, path in self.files)
        exports = tuple((one, path.with_stem(f"{path.stem}-{what}")) for one, path in self.exports)
        return replace(self, files=files, exports=exports)

    def check(self, baselines: Path, inputs: Sequence[Path]) -> None:
        """Raise UserError for a file that cannot or must not be written; see `output_file`."""
        asked: tuple[tuple[Format | Export, Path], ...] = (*self.files, *self.exports)
        for one, path in asked:
            if one.packages:
                environment.ensure([*one.packages])
            check_report(path, baselines, inputs, one.own, one.kind)

    def deliver(self, found: object, status: ExitStatus, show: Callable[[], None]) -> ExitStatus:
        """Write all formats and exports; `show` prints to a terminal. Return the exit status.

        That is `status`, the one of what was found, unless an export is incomplete.

        Benchmarks missing from an export are reported, and count as not measured. Raises UserError
        after writing the rest if something cannot be written; its status never hides a regression.
        """
        faults = []
        try:
            if self.shown.name == TERMINAL:
                show()
            else:
                streams.write(self.shown.render(found))
        except OSError as fault:
            faults.append(f"standard output cannot be written ({fault.strerror or fault})")
        texts = {path: one.render(found) for one, path in self.files}
        exported, left_out = {}, {}
        if isinstance(found, Comparison):
            # An export without benchmarks is not written.
            exported = {path: one.render(found) for one, path in self.exports}
            left_out = {path: one.left_out(found) for one, path in self.exports}
        faults += _written({**texts, **{path: text for path, text in exported.items() if text}})
        if faults:
            regressed = status is ExitStatus.REGRESSION
            raise UserError("; ".join(faults), status if regressed else ExitStatus.BAD_USAGE)
        for one, path in self.exports:
            if left_out.get(path):
                what = "leaves out" if exported[path] else "is not written:"
                print(
                    f"--export {one.name}={inert(str(path))} {what} {left_out[path]}",
                    file=sys.stderr,
                )
                status = ExitStatus.NOT_MEASURED if status is ExitStatus.OK else status
        return status

    def export(self, found: Comparison) -> ExitStatus:
        """Write only the exports, of a run without a comparison; otherwise like `deliver`."""
        return Formats(exports=self.exports).deliver(found, exit_status(found), lambda: None)


def _untaken(file: str, taken: Collection[Path]) -> Path:
    """Return the resolved path of `file`. Raises UserError if it is already taken."""
    if (target := resolved(Path(file))) in taken:
        raise UserError(f"{Path(file)} would be written twice: name another file for one of them")
    return target


def _written(texts: Mapping[Path, str | bytes]) -> list[str]:
    """Write the files, and return a sentence per error."""
    faults = []
    for path, text in texts.items():
        try:
            write(path, text)
        except UserError as error:  # noqa: PERF203 - a few files
            faults.append(str(error))
    return faults


def _picture(form: Format, text: str, path: Path) -> Format:
    if path.suffix not in form.of_suffix:
        raise UserError(
            f"--format {quoted(text)} is a picture and needs a file: use {form.name}=FILE with the "
            f"suffix {' or '.join(form.of_suffix)}"
        )
    return form.of_suffix[path.suffix]


def unpaired_comparison(run: Record, allow: Collection[Override] = frozenset()) -> Comparison:
    """Return a comparison in which rows with a valid time are NEW; others say what they lack."""
    nothing = Record(run.path, Source.BASELINE, {}, {})
    _, verdicts, _ = pair(nothing, run, run.rows, allow)
    skips, why = tuple(skip_notes(verdicts)), "There is nothing to compare with."
    return Comparison(nothing, run, tuple(verdicts), skips, refusal=why)
