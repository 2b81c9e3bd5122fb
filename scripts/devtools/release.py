# SPDX-License-Identifier: Apache-2.0
"""scripts/release: checks whether the checked-out commit can be released, and tags it.

One line a check, cheap ones first. The first that fails says what to do, and nothing is tagged.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path

from warpgauge import __version__
from warpgauge.commands.main import COMMANDS
from warpgauge.measure.build import cuda_compiler
from warpgauge.system import git, process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import plural

BRANCH = "main"
MOST_DAYS = 14  # of a self-check, and of the commit of a figure

_COMMIT = re.compile(r"\bcommit\s+([0-9a-f]{7,40})\b")
_CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"(?<![\w./])(?:scripts|benchmarks|examples)/[\w./-]*\w")
_COMMAND = re.compile(r"\bwarpgauge ([a-z][a-z-]*)")

# Runs a command in a folder. Raises UserError if it fails.
Run = Callable[[Sequence[str], Path], None]


@dataclass(frozen=True)
class Release:
    """What is to be released: the version `asked` for, or "" if it is only checked."""

    root: Path
    run: Run
    today: date
    asked: str = ""
    version: str = __version__

    @property
    def tag(self) -> str:
        return f"v{self.version}"

    @property
    def wheels(self) -> Path:
        return self.root / "build" / "wheels" / self.version


def tree(release: Release) -> str:
    status = "status", "--porcelain", "--untracked-files=normal"
    if changed := git.require(release.root, *status).splitlines():
        raise UserError(f"the tree has changes ({changed[0].strip()}): commit or remove them")
    branch = git.require(release.root, "rev-parse", "--abbrev-ref", "HEAD").strip()
    if branch != BRANCH:
        raise UserError(f"{branch} is checked out: releases are made on {BRANCH}")
    return git.short(git.commit_of(release.root, "HEAD"))


def version(release: Release) -> str:
    """Tests hold CMake, the citation, recipes and examples to the version of the package."""
    if release.asked not in ("", release.version):
        where = "scripts/src/warpgauge/__init__.py"
        raise UserError(f"{where} has {release.version}, not {release.asked}: change one of them")
    if git.require(release.root, "tag", "--list", release.tag):
        raise UserError(f"the tag {release.tag} exists: raise the version")
    return release.version


def changelog(release: Release) -> str:
    """The version is the newest, and of today; nothing is left over for the next one."""
    parts = re.split(r"^## ", (release.root / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    heads = [part.partition("\n")[0].strip() for part in parts]
    wanted = ["[Unreleased]", f"[{release.version}] - {release.today}"]
    if heads[:2] != wanted:
        words = " and ".join(f"'## {head}'" for head in wanted)
        raise UserError(f"CHANGELOG.md does not begin with {words}: correct its headings")
    if left := parts[0].partition("\n")[2].strip():
        line = left.splitlines()[0]
        raise UserError(f"CHANGELOG.md has {line!r} under Unreleased: move it to the version")
    if f"date-released: {release.today}" not in (release.root / "CITATION.cff").read_text():
        raise UserError(f"CITATION.cff has no 'date-released: {release.today}': correct it")
    return wanted[1]


def figures(release: Release) -> str:
    """They are of recent commits, which led to this one, and of commands that are there."""
    text = (release.root / "README.md").read_text()
    if not (commits := sorted({*_COMMIT.findall(text)})):
        raise UserError("README.md names no commit: say where its figures were measured")
    for commit in commits:
        _require_ancestor(release, commit, "README.md")
        day = git.require(release.root, "log", "-1", "--format=%as", commit).strip()
        if (days := (release.today - date.fromisoformat(day)).days) > MOST_DAYS:
            raise UserError(f"README.md: commit {commit} is {days} days old: measure again")
    code = "\n".join(_CODE.findall(text))
    for path in _FILE.findall(code):
        if not (release.root / path).exists():
            raise UserError(f"README.md names {path}, which is not there: correct the command")
    for name in _COMMAND.findall(code):
        if name not in (*COMMANDS, "ci"):
            raise UserError(f"README.md names warpgauge {name}, which is no command: correct it")
    return f"measured at {', '.join(commits)}"


def self_checks(release: Release) -> str:
    remedy = "run scripts/bench --self-check on a GPU, and commit its result"
    found = sorted((release.root / "baselines").glob("self-check-*.json"))
    if not found:
        raise UserError(f"baselines has no self-check: {remedy}")
    for path in found:
        context: Mapping[str, str] = json.loads(path.read_bytes())["context"]
        days = (release.today - date.fromisoformat(context["date"][:10])).days
        if not -1 <= days <= MOST_DAYS:
            raise UserError(f"{path.name} is {plural(days, 'day')} old: {remedy}")
        _require_ancestor(release, context["commit"], path.name)
    return f"{plural(len(found), 'GPU model')}, at most {MOST_DAYS} days old"


def _require_ancestor(release: Release, commit: str, where: str) -> None:
    if git.run(release.root, "merge-base", "--is-ancestor", commit, "HEAD").returncode:
        remedy = "measure again, or fetch the whole history"
        raise UserError(f"{where}: commit {commit} did not lead to this one: {remedy}")


def tools(release: Release) -> str:
    """What the last steps need."""
    if not (nvcc := cuda_compiler()):
        raise UserError("there is no nvcc, and so no engine: release where the CUDA toolkit is")
    if git.run(release.root, "var", "GIT_COMMITTER_IDENT").returncode:
        raise UserError("git does not know who tags: set its user.name and user.email")
    return nvcc


def tests(release: Release) -> str:
    release.run([str(release.root / ".ci" / "run")], release.root)
    return "every test, every linter, the documentation"


def wheels(release: Release) -> str:
    """From a clean clone, and tried in a fresh environment, which builds examples, too."""
    shutil.rmtree(release.wheels, ignore_errors=True)
    line = ["env", "PYTHONPATH=src", sys.executable, "-m", "devtools.wheels", str(release.wheels)]
    release.run(line, release.root / "scripts")
    return str(release.wheels.relative_to(release.root))


CHECKS = (tree, version, changelog, figures, self_checks, tools, tests, wheels)


def made(release: Release, say: Callable[[str], None]) -> None:
    """Check, and tag what was checked if a version is asked for. Raises UserError."""
    head = git.commit_of(release.root, "HEAD")
    for check in CHECKS:
        say(f"{check.__name__.replace('_', '-'):<12} ok: {check(release)}")
    tree(release)  # nobody may have changed it while tests ran
    if git.commit_of(release.root, "HEAD") != head:
        raise UserError(f"{BRANCH} moved on from {git.short(head)} meanwhile: run this again")
    if release.asked:
        words = "tag", "-a", release.tag, "-m", f"warpgauge {release.asked}", head
        git.require(release.root, *words)
        push = f"git push --atomic origin {BRANCH} {release.tag}"
        say(f"tagged: {release.tag}; publish it with {push}")


def logged(command: Sequence[str], folder: Path, log: Path) -> None:
    """Show a command, and run it with its output in `log`. Raises UserError if it fails."""
    line = shlex.join(command)
    with log.open("a") as file:
        for shown in (file, sys.stdout):
            print(f"$ {line} >> {log}", file=shown, flush=True)
        output = {"stdout": file, "stderr": subprocess.STDOUT}
        with process.started(command, cwd=folder, **output) as running:
            process.ends_within(running, None)
    if running.returncode:
        raise UserError(f"`{line}` failed ({running.returncode}): {log} says why")


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    parser = argparse.ArgumentParser(prog="release", description=__doc__)
    parser.add_argument("version", metavar="VERSION", nargs="?", default="", help="tag it, too")
    asked, log = parser.parse_args(argv).version, root / "build" / "release.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text("")
    made(Release(root, partial(logged, log=log), date.today(), asked), partial(print, flush=True))
    return ExitStatus.OK
