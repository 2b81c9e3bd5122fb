# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci gate: one comparison on a GPU runner, and the files that its job uploads.

Standard library only: scripts/bench or scripts/warpgauge ab, which it runs, makes the environment.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.commands.arguments import contradiction
from warpgauge.commands.ci import command_lines
from warpgauge.github import gpus, job_report
from warpgauge.github.job_report import Job
from warpgauge.reports.formats.github import commands_stopped
from warpgauge.system import git, process, streams, worktree
from warpgauge.system.errors import ExitStatus, UserError, of_system
from warpgauge.system.git import short
from warpgauge.system.output_file import require_empty
from warpgauge.system.text import quoted

# Options that the gate sets itself, and that may not be passed on.
_OURS = ("--out", "--against")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse `argv`; `further` are the options for scripts/bench or scripts/warpgauge ab.

    Raises UserError for bad usage and contradictory options.
    """
    end = list(argv).index("--") if "--" in argv else len(argv)
    given, further = command_lines.gate().parse_args(argv[:end]), tuple(argv[end + 1 :])
    if (given.base is None) == (given.programs is None):
        raise UserError("give either --base REF or --programs BASE CANDIDATE")
    if given.base == "":
        raise UserError("--base is empty: give a branch, tag or commit")
    if given.out_dir is None:
        raise UserError("--out-dir FOLDER is missing: reports, run files and the log go there")
    if given.root is not None and given.programs is None:
        raise contradiction("--root", "--base, which measures this tree")
    if given.programs is not None and given.gpu and given.root is None:
        raise UserError(
            "--gpu with --programs needs --root: the project's checkout, with .github/gpus.json"
        )
    for name in (word.split("=", 1)[0] for word in further):
        if name in _OURS:
            raise UserError(f"{name} after -- is set by the gate itself: omit it")
    return argparse.Namespace(**vars(given), further=further)


# The files to keep, by the format that writes them.
FILES = {"json": "comparison.json", "markdown": "report.md", "junit": "junit.xml"}
PICTURES = ("intervals.svg", "intervals.png")
LOG, COMMANDS, RUNS = "log.txt", "commands.log", "runs"


def page_of(gpu: str) -> str:
    """Return the file name of the HTML report; the workflow's artifact has the same name."""
    return f"report-{gpu}.html" if gpu else "report.html"


# Wide enough for the interval of each change in a log.
_COLUMNS = "140"


@dataclass(frozen=True)
class Gate:
    """One comparison: its options, and the repository whose commands it runs."""

    options: argparse.Namespace
    root: Path

    def run(self) -> ExitStatus:
        """Measure, and write all files. Raises UserError for what is rejected before measuring."""
        options, out = self.options, self.options.out_dir.absolute()
        command = self._command()
        if options.programs is None:
            process.require_gpu()
        if options.gpu:
            listed = gpus.file_of(options.root or self.root)
            gpus.require_here(gpus.chosen(listed, options.gpu))
        require_empty(out)
        run = out / RUNS / "run.json"
        run.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="warpgauge-gate-") as own:
            annotations = Path(own) / "annotations.txt"
            files = [(name, out / file) for name, file in FILES.items()]
            files += [("intervals", out / file) for file in PICTURES]
            files += [("github", annotations)]
            command += ["--why", "--isolate=auto", *options.further, f"--out={run}"]
            command += [f"--format={name}={path}" for name, path in files]
            environment = {
                "TMPDIR": own,
                "PYTHONUNBUFFERED": "1",
                "COLUMNS": os.environ.get("COLUMNS", _COLUMNS),
            }
            try:
                with commands_stopped(lambda line: streams.write(f"{line}\n")):
                    status = process.tee(command, out / LOG, environment)
            finally:
                _keep(run.with_suffix(".log"), out / COMMANDS)
                _keep(run.with_suffix(".html"), out / page_of(options.gpu))
            job = Job(out / FILES["json"], out / FILES["markdown"], annotations, options.gpu)
            return job.ended(status, process.log_tail(out / LOG))

    def _command(self) -> list[str]:
        """Return the command to run, without the options for its output. Raises UserError."""
        options = self.options
        if options.programs is None:
            base = _merge_base(self.root, options.base)
            return [*self._ours("bench"), f"--against={base}"]
        for folder in options.programs:
            if not folder.is_dir():
                raise UserError(
                    f"{folder} is not a folder: --programs takes two folders of programs"
                )
        return [
            *self._ours("warpgauge"),
            "ab",
            *(str(path.absolute()) for path in options.programs),
        ]

    def _ours(self, name: str) -> list[str]:
        return [sys.executable, str(self.root / "scripts" / name)]


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    options = parse(argv)
    try:
        return Gate(options, root).run()
    except (UserError, OSError) as fault:
        refusal = of_system(fault) if isinstance(fault, OSError) else fault
        job_report.refused(refusal, options.gpu)
        raise refusal from fault


def _merge_base(root: Path, ref: str) -> str:
    """Return the merge base of this tree and `ref`. Raises UserError."""
    commit = worktree.commit_of(root, ref)
    found = git.run(root, "merge-base", commit, "HEAD")
    if found.returncode:
        raise UserError(
            f"{quoted(ref)} and the checked-out commit have no common ancestor in this clone: "
            "fetch the whole history (fetch-depth: 0)"
        )
    base = found.stdout.strip()
    print(f"gate: commit {short(base)} is the merge base of {quoted(ref)} and this tree")
    if base == git.require(root, "rev-parse", "HEAD"):
        print("gate: this is the checked-out commit: only uncommitted changes can differ")
    return base


def _keep(path: Path, target: Path) -> None:
    if path.exists():
        shutil.move(path, target)
