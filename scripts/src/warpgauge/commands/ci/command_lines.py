# SPDX-License-Identifier: Apache-2.0
"""The command lines of `warpgauge ci`, by the command's name; --help imports nothing else."""

from __future__ import annotations

from pathlib import Path

from warpgauge.commands import arguments
from warpgauge.commands.arguments import Parser, group, positive

WORKFLOW, POLICY = ".github/workflows/gpu.yml", "baselines/policy.toml"
_RUN = "--repository owner/name --run-id 1234"

_ADD = (
    "Take the run files that the GPU jobs of a run of nightly.yml uploaded, and add a line for "
    "each to the branch history. GH_TOKEN is the token, GITHUB_API_URL where its API is."
)
_PROPOSE = (
    "Take the run files that the GPU jobs of a run of baseline.yml uploaded, add them to the "
    "baseline as scripts/warpgauge baseline add-session does, and open a pull request with the "
    "result."
)


def gate() -> Parser:
    parser = Parser(
        prog="warpgauge ci gate",
        usage="%(prog)s --base REF --out-dir FOLDER [--gpu SLUG] [-- OPTIONS of scripts/bench]\n"
        "       %(prog)s --programs BASE CANDIDATE --out-dir FOLDER [-- OPTIONS of ab]",
        description="Measures what a pull request changed, on the GPU of this runner: in pairs "
        "with the commit that the pull request began at. Leaves reports, run files and the log in "
        "FOLDER, annotates the job, writes its summary.",
        epilog="Exit status: that of the comparison. 0 nothing regressed and everything was "
        "measured; 1 a regression; 2 bad usage, or nothing could be compared; 3 nothing regressed, "
        "but something was not measured or not comparable.",
    )
    what = group(parser, "what is measured", "%(prog)s --base origin/main --out-dir verdict")
    add = what.add_argument
    add("--base", metavar="REF", help="the branch or commit that the change is to go into; it is "
        "measured from the last commit that both have in common")  # fmt: skip
    add("--programs", metavar=("BASE", "CANDIDATE"), nargs=2, type=Path, help="instead: every "
        "program of these two folders, in pairs")  # fmt: skip
    add("--gpu", metavar="SLUG", default="", help="of .github/gpus.json: refuse (exit 3) where the "
        "runner has another; empty: take what is there")  # fmt: skip
    add("--root", metavar="FOLDER", type=Path, help="with --programs and --gpu: the project's "
        "checkout, whose .github/gpus.json is read")  # fmt: skip
    example = "%(prog)s --programs old/build new/build --out-dir verdict"
    add = group(parser, "output", example).add_argument
    add("--out-dir", metavar="FOLDER", type=Path, help="for what is left; new, or empty")
    return parser


def comment() -> Parser:
    parser = Parser(
        prog="warpgauge ci comment",
        description="Posts what a run of the measuring workflow found as the one comment on its "
        "pull request; while the run goes on, marks the comment that is there as outdated. "
        "GH_TOKEN in the environment is the token, GITHUB_API_URL the API.",
        epilog="Exit status: 0 done, or nothing to do; 2 refused: of a GPU's result that was, the "
        "comment says so, and the others are posted.",
    )
    what = group(parser, "which run", f"%(prog)s {_RUN}")
    arguments.add_run(what, "the workflow", required=False)
    add = what.add_argument
    add("--pull-request", metavar="N", type=positive,
        help="instead of --run-id: its newest run, as when its base was changed")  # fmt: skip
    add("--workflow", metavar="PATH", default=WORKFLOW, help="that measures; default %(default)s")
    add("--request", metavar="JSON", default="", help="what warpgauge ci on-demand printed: the "
        "run is of on-demand.yml, and its result goes into the comment that said so")  # fmt: skip
    add = group(parser, "reports", f"%(prog)s {_RUN} --reports build/reports").add_argument
    add("--reports", metavar="FOLDER", type=Path, help="write nothing on GitHub, but into "
        "this folder checked-report-SLUG.html for each GPU whose result holds")  # fmt: skip
    add("--report-url", metavar="URL", default="", help="where these pages are, for the comment")
    add("--pages", metavar="URL", default="", help="of the site that warpgauge ci pages made: the "
        "comment links the GPU's history there")  # fmt: skip
    other = group(parser, "another project", f"%(prog)s {_RUN} --root there --policy p.toml")
    add = other.add_argument
    add("--root", metavar="FOLDER", type=Path, help="a checkout of its default branch, with "
        ".github/gpus.json; its programs are measured")  # fmt: skip
    add("--policy", metavar="FILE", default=POLICY, help="its path in the repository; empty for "
        "none; default %(default)s")  # fmt: skip
    add("--base", metavar="REF", default="", help="a branch or commit that it was compared with; "
        "empty for the pull request's own base")  # fmt: skip
    arguments.add_filter(other)
    return parser


def on_demand() -> Parser:
    parser = Parser(
        prog="warpgauge ci on-demand",
        description="Answers /warpgauge run FILTER [on GPU] on a pull request: says there that the "
        "measurement has begun, and prints what is measured as a line for $GITHUB_OUTPUT: "
        'request={"pull": 17, ...}. Nothing, where whoever asked may not push.',
        epilog="GH_TOKEN is the token, GITHUB_API_URL where its API is. Exit status: 0 done, or "
        "nothing to do; 2 refused, and whoever asked is told why.",
    )
    what = group(parser, "which comment", f"%(prog)s {_RUN} --comment 5678")
    arguments.add_run(what, "on-demand.yml, which measures")
    what.add_argument("--comment", metavar="N", type=positive, required=True, help="its id")
    return parser


def propose() -> Parser:
    parser = Parser(
        prog="warpgauge ci propose",
        description=_PROPOSE,
        epilog="GH_TOKEN is the token, GITHUB_API_URL where its API is. Exit status: 0 opened; 2 "
        "refused, and nothing was posted; 3 nothing was recorded.",
    )
    run = group(parser, "which run", f"%(prog)s {_RUN} --gpu nvidia-h200")
    arguments.add_run(run, "baseline.yml")
    add = run.add_argument
    add("--gpu", metavar="SLUG", required=True, help="of .github/gpus.json")
    add("--sessions", metavar="N", type=positive, default=1, help="so many were asked for")
    return parser


def history() -> Parser:
    parser = Parser(
        prog="warpgauge ci history",
        description="Keeps what each night measured, on a branch of its own, which warpgauge "
        "history shows.",
        epilog="Exit status: 0 done; 2 refused, and nothing was written; 3 nothing was measured.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    added = commands.add_parser("add", help="add the night that a run measured", description=_ADD)
    arguments.add_run(group(added, "which run", f"%(prog)s {_RUN}"), "nightly.yml")
    return parser


def pages() -> Parser:
    parser = Parser(
        prog="warpgauge ci pages",
        description="Makes the site of what the last nights found, for GitHub Pages: an index by "
        "GPU, the report of each GPU's newest night, and how its times went. GH_TOKEN is the "
        "token, GITHUB_API_URL where its API is.",
        epilog="Exit status: 0 made; 2 not; 3 made without lines of the history that cannot be "
        "read, which are named. A result that is refused is told, and an older one shown.",
    )
    example = "%(prog)s --repository owner/name --history build/history --out-dir build/pages"
    what = group(parser, "which nights", example)
    arguments.add_repository(what, "whose nights these are")
    what.add_argument("--history", metavar="FOLDER", type=Path, required=True,
        help="a checkout of the branch history")  # fmt: skip
    add = group(parser, "output", example).add_argument
    add("--out-dir", metavar="FOLDER", type=Path, required=True, help="for the site; new, or empty")
    return parser


def gpus() -> Parser:
    parser = Parser(
        prog="warpgauge ci gpus",
        description="Prints what a workflow plans its GPU jobs by, as lines for $GITHUB_OUTPUT: "
        'matrix={"include": [...]}, with slug, name, runs_on and minutes of each GPU model of '
        ".github/gpus.json; enabled=true where WARPGAUGE_GPU in the environment says that there "
        "are runners; measured=false where nothing that is measured has changed.",
    )
    add = group(parser, "which models", "%(prog)s --gpu nvidia-h200").add_argument
    add("--gpu", metavar="SLUG", default="", help="of .github/gpus.json; empty: all of them")
    add("--root", metavar="FOLDER", type=Path, help="another project's checkout, whose "
        ".github/gpus.json is read")  # fmt: skip
    add = group(parser, "a pull request", "%(prog)s --base origin/main").add_argument
    add("--base", metavar="REF", default="", help="what it is to go into, whose list says what is "
        "measured; empty: everything is measured")  # fmt: skip
    return parser


def check_setup() -> Parser:
    parser = Parser(
        prog="warpgauge ci check-setup",
        description="Checks the settings of a repository that the gate rests on, a line each: ok, "
        "WRONG, or a note. GH_TOKEN is a maintainer's token that may read Administration, Actions, "
        "Pages and Variables; GITHUB_API_URL is where its API is.",
        epilog="Exit status: 0 nothing is wrong; 2 something is, or GitHub does not tell.",
    )
    where = group(parser, "which repository", "%(prog)s --repository owner/name")
    arguments.add_repository(where, "whose settings are checked")
    return parser


def prepare() -> Parser:
    parser = Parser(
        prog="warpgauge ci prepare",
        description="Makes the Python environment that a command needs, where this Python does not "
        "have its packages, and does nothing else.",
    )
    add = group(parser, "for which command", "%(prog)s comment").add_argument
    add("command", nargs="?", choices=("comment", "propose", "history", "pages"), default="propose",
        help="default %(default)s; to comment needs less")  # fmt: skip
    return parser
