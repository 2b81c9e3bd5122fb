# SPDX-License-Identifier: Apache-2.0
"""The command line of scripts/gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.commands.arguments import Parser
from warpgauge.system.errors import UserError

# What scripts/gate says itself, of the options that it hands on.
_OURS = ("--out", "--confirm-beside", "--against")


@dataclass(frozen=True)
class Options:
    """What the user asked for: a commit to compare with, or two folders of programs."""

    out: Path
    base: str
    programs: tuple[Path, Path] | None
    gpu: str
    further: tuple[str, ...]  # for scripts/bench, or scripts/beside
    clean_up: bool


def parse(argv: Sequence[str]) -> Options:
    """Raises UserError for bad usage, and for what contradicts itself."""
    end = list(argv).index("--") if "--" in argv else len(argv)
    given, further = _parser().parse_args(argv[:end]), tuple(argv[end + 1 :])
    ways = [given.base is not None, given.programs is not None, given.clean_up]
    if sum(ways) != 1:
        raise UserError("name one of --base REF, --programs BASE CANDIDATE and --clean-up")
    if given.base == "":
        raise UserError("--base names no commit: a branch, tag or commit belongs there")
    if given.clean_up and (given.out or given.gpu or further):
        raise UserError("--clean-up goes with nothing else: leave the rest out")
    if not given.clean_up and given.out is None:
        raise UserError("--out FOLDER is missing: it gets the reports, the run files and the log")
    if given.programs is not None and given.gpu:
        raise UserError("--programs does not go with --gpu: leave one of the two out")
    for one in further:
        if one.split("=", 1)[0] in _OURS:
            name = one.split("=", 1)[0]
            raise UserError(
                f"{name} behind -- does not go with what this says itself: leave it out"
            )
    programs = tuple(given.programs) if given.programs is not None else None
    return Options(
        given.out or Path(), given.base or "", programs, given.gpu, further, given.clean_up
    )


def _parser() -> Parser:
    parser = Parser(
        prog="gate",
        usage="%(prog)s --base REF --out FOLDER [--gpu SLUG] [-- OPTIONS of scripts/bench]\n"
        "       %(prog)s --programs BASE CANDIDATE --out FOLDER [-- OPTIONS of scripts/beside]\n"
        "       %(prog)s --clean-up",
        description="Measures what a pull request changed, on the GPU of this runner: against the "
        "baseline, and what differs from it beside the commit that the pull request began at. "
        "Leaves reports, run files and the log in FOLDER, annotates the job, writes its summary.",
        epilog="Exit status: that of the comparison. 0 nothing regressed and everything was "
        "measured; 1 a regression; 2 bad usage, or nothing could be compared; 3 nothing regressed, "
        "but something was not measured or not comparable.",
    )
    add = parser.add_argument
    add("--base", metavar="REF", help="the branch or commit that the change is to go into; it is "
        "measured from the last commit that both have in common")  # fmt: skip
    add("--programs", metavar=("BASE", "CANDIDATE"), nargs=2, type=Path, help="instead: every "
        "program of these two folders, in turns")  # fmt: skip
    add("--out", metavar="FOLDER", type=Path, help="for what is left; new, or empty")
    add("--gpu", metavar="SLUG", default="", help="refuse (exit 3) where the runner does not have "
        "this GPU of .github/gpus.json; empty: take what is there")  # fmt: skip
    add("--clean-up", action="store_true", help="at the end of a job: set the GPU's clocks back, "
        "and remove all that lies in the job's folder")  # fmt: skip
    return parser
