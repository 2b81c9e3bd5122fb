# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci gate: one comparison on a GPU runner, and the files that its job uploads.

Standard library only: the command that it runs, bench or ab, makes the environment.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from warpgauge.commands import command_lines
from warpgauge.commands.output_file import require_empty
from warpgauge.github import gpus, job_report
from warpgauge.github.job_report import FILES
from warpgauge.reports.formats.github import commands_stopped
from warpgauge.system import git, process, streams
from warpgauge.system.errors import ExitStatus, UserError, of_system
from warpgauge.system.git import short
from warpgauge.system.text import quoted, typed

LOG, COMMANDS, RUNS = "log.txt", "commands.log", "runs"

# Wide enough for the rate and the limit of each change in a log.
_COLUMNS = "140"


def page_of(gpu: str) -> str:
    """Return the file name of the HTML report; the workflow's artifact has the same name."""
    return f"report-{gpu}.html" if gpu else "report.html"


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse `argv`; `further` are the options for bench or ab.

    Raises UserError for bad usage.
    """
    end = list(argv).index("--") if "--" in argv else len(argv)
    given = command_lines.ci_gate().parse_args(argv[:end])
    given.further = tuple(argv[end + 1 :])
    return given


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    options = parse(argv)
    try:
        return _measured(options, root)
    except (UserError, OSError) as fault:
        refusal = of_system(fault) if isinstance(fault, OSError) else fault
        job_report.refused(refusal, options.gpu)
        raise refusal from fault


def _measured(options: argparse.Namespace, root: Path) -> ExitStatus:
    """Measure, and write all files. Raises UserError for what is rejected before measuring."""
    out = options.out_dir.absolute()
    if options.programs is None:
        command = [str(root / "scripts" / "bench")]
        ours = [f"--against={_merge_base(root, options.base)}"]
        process.require_gpu()
    else:
        for path in options.programs:
            if not path or not Path(path).is_dir():  # "" is not the current folder
                raise UserError(f"{typed(path, 300)} is not a folder of programs")
        folders = (str(Path(path).absolute()) for path in options.programs)
        command, ours = [str(root / "scripts" / "warpgauge"), "ab", *folders], []
    if options.gpu:
        project = root if options.programs is None else _project(Path(options.programs[1]))
        gpus.require_here(gpus.chosen(gpus.file_of(project), options.gpu))
    require_empty(out)
    run = out / RUNS / "run.json"
    run.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="warpgauge-gate-") as own:
        annotations = Path(own) / "annotations.txt"
        command += ["--isolate=auto", *options.further, *ours]
        command += [f"--out={run}", f"--format=github={annotations}"]
        command += [f"--format={name}={out / file}" for name, file in FILES.items()]
        columns = os.environ.get("COLUMNS", _COLUMNS)
        environment = {"TMPDIR": own, "PYTHONUNBUFFERED": "1", "COLUMNS": columns}
        try:
            with commands_stopped(lambda line: streams.write(f"{line}\n")):
                status = process.tee([sys.executable, *command], out / LOG, environment)
        finally:
            _keep(run.with_suffix(".log"), out / COMMANDS)
            _keep(run.with_suffix(".html"), out / page_of(options.gpu))
        tail = process.log_tail(out / LOG)
        return job_report.ended(out, annotations, options.gpu, status, tail)


def _project(programs: Path) -> Path:
    """Return the folder above `programs` that has a list of GPUs. Raises UserError."""
    for folder in programs.absolute().parents:
        if gpus.file_of(folder).is_file():
            return folder
    raise UserError(f"--gpu needs a list of GPUs: no folder above {programs} has .github/gpus.json")


def _merge_base(root: Path, ref: str) -> str:
    """Return the merge base of this tree and `ref`. Raises UserError."""
    found = git.run(root, "merge-base", git.commit_of(root, ref), "HEAD")
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
