# SPDX-License-Identifier: Apache-2.0
"""The command lines of `warpgauge ci`; functions have the commands' names."""

from __future__ import annotations

from pathlib import Path

from warpgauge.commands import arguments
from warpgauge.commands.argument_types import positive
from warpgauge.commands.arguments import Parser, group

WORKFLOW, POLICY = ".github/workflows/gpu.yml", "baselines/policy.toml"
_RUN = "--repository owner/name --run-id 1234"

_ADD = (
    "Add the results of a run of nightly.yml to the branch history, one line for each run file "
    "that its GPU jobs uploaded. Reads the token from GH_TOKEN and the API's address from "
    "GITHUB_API_URL."
)
_PROPOSE = (
    "Add the run files that the GPU jobs of a run of baseline.yml uploaded to the baseline, as "
    "scripts/warpgauge baseline add-session does, and open a pull request with the result. Reads "
    "the token from GH_TOKEN and the API's address from GITHUB_API_URL."
)


def gate() -> Parser:
    parser = Parser(
        prog="warpgauge ci gate",
        usage="%(prog)s --base REF --out-dir FOLDER [--gpu SLUG] [-- OPTIONS of scripts/bench]\n"
        "       %(prog)s --programs BASE CANDIDATE --out-dir FOLDER [-- OPTIONS of ab]",
        description="Measure a pull request on the GPU of this runner, in pairs with the commit "
        "that it branched from. Writes reports, run files and the log to FOLDER, annotates the job "
        "and writes its summary.",
        epilog="Exit status: that of the comparison. 0 nothing regressed and everything was "
        "measured; 1 a regression; 2 bad usage, or nothing could be compared; 3 nothing regressed, "
        "but something was not measured or not comparable.",
    )
    what = group(parser, "what to measure", "%(prog)s --base origin/main --out-dir verdict")
    add = what.add_argument
    add("--base", metavar="REF", help="the branch that the pull request targets, or a commit; the "
        "change is compared with their merge base")  # fmt: skip
    add("--programs", metavar=("BASE", "CANDIDATE"), nargs=2, type=Path, help="instead of --base: "
        "compare every program of these two folders, in pairs")  # fmt: skip
    add("--gpu", metavar="SLUG", default="", help="a GPU of .github/gpus.json: fail (exit 3) if "
        "the runner has another; empty: take the GPU that is there")  # fmt: skip
    add("--root", metavar="FOLDER", type=Path, help="with --programs and --gpu: the project's "
        "checkout, with .github/gpus.json")  # fmt: skip
    example = "%(prog)s --programs old/build new/build --out-dir verdict"
    add = group(parser, "output", example).add_argument
    add("--out-dir", metavar="FOLDER", type=Path, help="write reports, run files and the log here; "
        "must be new or empty")  # fmt: skip
    return parser


def comment() -> Parser:
    parser = Parser(
        prog="warpgauge ci comment",
        description="Post the results of a run of the measuring workflow as one comment on its "
        "pull request. While the run is in progress, mark the existing comment as outdated. Reads "
        "the token from GH_TOKEN and the API's address from GITHUB_API_URL.",
        epilog="Exit status: 0 done, or nothing to do; 2 refused. If the result of one GPU is "
        "refused, the comment says so and shows the other results.",
    )
    what = group(parser, "which run", f"%(prog)s {_RUN}")
    arguments.add_run(what, "the workflow", required=False)
    add = what.add_argument
    add("--pull-request", metavar="N", type=positive,
        help="instead of --run-id: the newest run of this pull request, e.g. after a change of its "
        "base")  # fmt: skip
    add("--workflow", metavar="PATH", default=WORKFLOW, help="the measuring workflow; default "
        "%(default)s")  # fmt: skip
    add("--request", metavar="JSON", default="", help="the output of warpgauge ci on-demand: the "
        "run is of on-demand.yml, and its result replaces the comment that announced "
        "it")  # fmt: skip
    add = group(parser, "reports", f"%(prog)s {_RUN} --reports build/reports").add_argument
    add("--reports", metavar="FOLDER", type=Path, help="post nothing; write "
        "checked-report-SLUG.html to this folder for each GPU with a valid result")  # fmt: skip
    add("--report-url", metavar="URL", default="", help="address of these reports, to link in the "
        "comment")  # fmt: skip
    add("--pages", metavar="URL", default="", help="address of the site that warpgauge ci pages "
        "made; the comment links the GPU's history there")  # fmt: skip
    other = group(parser, "another project", f"%(prog)s {_RUN} --root there --policy p.toml")
    add = other.add_argument
    add("--root", metavar="FOLDER", type=Path, help="a checkout of that project's default branch, "
        "with .github/gpus.json")  # fmt: skip
    add("--policy", metavar="FILE", default=POLICY, help="its path in the repository; empty: none; "
        "default %(default)s")  # fmt: skip
    add("--base", metavar="REF", default="", help="the branch or commit that the run was compared "
        "with; empty: the pull request's base")  # fmt: skip
    arguments.add_filter(other)
    return parser


def on_demand() -> Parser:
    parser = Parser(
        prog="warpgauge ci on-demand",
        description="Answer the comment /warpgauge run FILTER [on GPU] on a pull request: reply "
        "that the measurement has started, and print the request as a line for $GITHUB_OUTPUT: "
        'request={"pull": 17, ...}. Do nothing if the author may not push.',
        epilog="Reads the token from GH_TOKEN and the API's address from GITHUB_API_URL. Exit "
        "status: 0 done, or nothing to do; 2 refused, and the reply says why.",
    )
    what = group(parser, "which comment", f"%(prog)s {_RUN} --comment 5678")
    arguments.add_run(what, "on-demand.yml, which measures")
    what.add_argument("--comment", metavar="N", type=positive, required=True, help="its id")
    return parser


def propose() -> Parser:
    parser = Parser(
        prog="warpgauge ci propose",
        description=_PROPOSE,
        epilog="Exit status: 0 opened; 2 refused, nothing was posted; 3 nothing was recorded.",
    )
    run = group(parser, "which run", f"%(prog)s {_RUN} --gpu nvidia-h200")
    arguments.add_run(run, "baseline.yml")
    add = run.add_argument
    add("--gpu", metavar="SLUG", required=True, help="a GPU of .github/gpus.json")
    add("--sessions", metavar="N", type=positive, default=1, help="number of sessions that were "
        "requested")  # fmt: skip
    return parser


def history() -> Parser:
    parser = Parser(
        prog="warpgauge ci history",
        description="Keep the results of each night on a branch of its own, which warpgauge "
        "history shows.",
        epilog="Exit status: 0 done; 2 refused, nothing was written; 3 nothing was measured.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    added = commands.add_parser("add", help="add the night that a run measured", description=_ADD)
    arguments.add_run(group(added, "which run", f"%(prog)s {_RUN}"), "nightly.yml")
    return parser


def pages() -> Parser:
    parser = Parser(
        prog="warpgauge ci pages",
        description="Make a site for GitHub Pages from the last nights: an index by GPU, the "
        "newest report of each GPU, and plots of its times. Reads the token from GH_TOKEN and the "
        "API's address from GITHUB_API_URL.",
        epilog="Exit status: 0 done; 2 failed; 3 done, but some lines of the history cannot be "
        "read and were left out. A report that is refused is named, and an older one is shown "
        "instead.",
    )
    example = "%(prog)s --repository owner/name --history build/history --out-dir build/pages"
    what = group(parser, "which nights", example)
    arguments.add_repository(what, "the repository of the nights")
    what.add_argument("--history", metavar="FOLDER", type=Path, required=True,
        help="a checkout of the branch history")  # fmt: skip
    add = group(parser, "output", example).add_argument
    add("--out-dir", metavar="FOLDER", type=Path, required=True, help="write the site here; must "
        "be new or empty")  # fmt: skip
    return parser


def gpus() -> Parser:
    parser = Parser(
        prog="warpgauge ci gpus",
        description="Print what a workflow needs to plan its GPU jobs, as lines for "
        '$GITHUB_OUTPUT: matrix={"include": [...]}, with slug, name, runs_on and minutes of each '
        "GPU model of .github/gpus.json; enabled=true if WARPGAUGE_GPU in the environment says "
        "that there are runners; measured=false if nothing that is measured has changed.",
    )
    add = group(parser, "which models", "%(prog)s --gpu nvidia-h200").add_argument
    add("--gpu", metavar="SLUG", default="", help="a GPU of .github/gpus.json; empty: all of them")
    add("--root", metavar="FOLDER", type=Path, help="another project's checkout, with "
        ".github/gpus.json")  # fmt: skip
    add = group(parser, "a pull request", "%(prog)s --base origin/main").add_argument
    add("--base", metavar="REF", default="", help="the branch that the change targets; its "
        ".github/gpus.json says which files are measured; empty: everything is "
        "measured")  # fmt: skip
    return parser


def check_setup() -> Parser:
    parser = Parser(
        prog="warpgauge ci check-setup",
        description="Check the repository settings that the gate depends on, one per line: ok, "
        "WRONG, or a note. Reads a maintainer's token from GH_TOKEN, which may read "
        "Administration, Actions, Pages and Variables, and the API's address from GITHUB_API_URL.",
        epilog="Exit status: 0 nothing is wrong; 2 a setting is wrong, or GitHub does not report "
        "it.",
    )
    where = group(parser, "which repository", "%(prog)s --repository owner/name")
    arguments.add_repository(where, "the repository to check")
    return parser


def prepare() -> Parser:
    return Parser(
        prog="warpgauge ci prepare",
        description="Install the Python packages that the other commands need, if this Python "
        "lacks them, and exit.",
    )
