# SPDX-License-Identifier: Apache-2.0
"""--export NAME=FILE: the candidate's times for other tools, and what of them is left out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.files.atomic import resolved
from warpgauge.files.output_file import STANDARD_OUTPUT, check_report
from warpgauge.reports.exports import EXPORTS, Export
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert, quoted
from warpgauge.verdict.comparison import Comparison


@dataclass(frozen=True)
class Exports:
    """The files that were asked for."""

    files: tuple[tuple[Export, Path], ...] = ()

    @staticmethod
    def parse(asked: Sequence[str], taken: Collection[Path] = ()) -> Exports:
        """Raises UserError for what is no NAME=FILE, and for a file twice or among the `taken`."""
        files: dict[Path, tuple[Export, Path]] = {}
        for text in asked:
            name, _, file = text.partition("=")
            if name not in EXPORTS or not file:
                known = ", ".join(EXPORTS)
                raise UserError(f"--export {quoted(text)} is not NAME=FILE with a NAME of {known}")
            path = Path(file)
            target = resolved(path)
            if file in STANDARD_OUTPUT:
                raise UserError(
                    f"--export {quoted(text)}: standard output shows the comparison; name a file"
                )
            if target in files or target in taken:
                raise UserError(f"{path} is to be written twice: name another file for one of them")
            files[target] = (EXPORTS[name], path)
        return Exports(tuple(files.values()))

    def of(self, what: str) -> Exports:
        """The same to other files, which are named after `what` too."""
        return Exports(
            tuple((one, path.with_stem(f"{path.stem}-{what}")) for one, path in self.files)
        )

    def check(self, baselines: Path, inputs: Sequence[Path]) -> None:
        """Raises UserError for a file that cannot or must not be written; see `output_file`."""
        for one, path in self.files:
            check_report(path, baselines, inputs, one.own, one.kind)

    def texts(self, comparison: Comparison) -> dict[Path, str]:
        """What goes to each file; none to one that would hold no benchmark."""
        made = {path: one.render(comparison) for one, path in self.files}
        return {path: text for path, text in made.items() if text}

    def lacking(self, comparison: Comparison) -> list[str]:
        """For each file that has not all benchmarks, a sentence with those that it lacks."""
        found = []
        for one, path in self.files:
            if left_out := one.left_out(comparison):
                what = "leaves out" if one.kept(comparison) else "is not written:"
                found.append(f"--export {one.name}={inert(str(path))} {what} {left_out}")
        return found
