# SPDX-License-Identifier: Apache-2.0
"""A fault in a workflow, an action or a script fails a check, which names its file and line.

Every `run:` is found, in its shell.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from devtools import check_runner, run_block_lint, workflow_checks
from devtools.ignore_reasons import main, without_reason
from devtools.run_block_lint import of_file
from devtools.tools import CHECK_JSONSCHEMA, HADOLINT, SHELLCHECK, ZIZMOR
from devtools.workflow_checks import that_may_ignore
from warpgauge.system.environment import ROOT

GOOD = """\
name: good
on:
  push:
    branches: [main]
permissions: {}
concurrency:
  group: ${{ github.workflow }}-${{ github.sha }}
  cancel-in-progress: false
jobs:
  one:
    name: one
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    steps:
      - name: greet
        env:
          REF: ${{ github.ref }}
        run: |
          set -u
          echo "$REF"
"""
ACTION = """\
name: good
description: an action
runs:
  using: composite
  steps:
    - shell: bash
      run: echo hello
"""
WORKFLOW = ".github/workflows/a.yml"

needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, (ZIZMOR, CHECK_JSONSCHEMA, SHELLCHECK))),
    reason="this environment lacks zizmor, check-jsonschema or shellcheck",
)
needs_hadolint = pytest.mark.skipif(
    shutil.which(HADOLINT) is None, reason="this environment lacks hadolint"
)


def ran(root: Path, name: str, allow_missing_tools: bool = False) -> tuple[bool, str]:
    """Whether the check `name` of a tree is good, and what it says."""
    said: list[str] = []
    (check,) = (check for check in workflow_checks.checks(root) if check.name == name)
    return check_runner.run([check], allow_missing_tools, said.append), "\n".join(said)


def checked(root: Path, name: str, files: dict[str, str]) -> str:
    """What the check `name` says of the tree of `files`; nothing where it finds nothing."""
    for place, text in {WORKFLOW: GOOD, **files}.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(text, encoding="utf-8")
    good, said = ran(root, name)
    return "" if good else said


@needs_tools
@pytest.mark.parametrize(
    "name",
    ["zizmor", "schemas", "shellcheck", "reasons", pytest.param("hadolint", marks=needs_hadolint)],
)
def test_nothing_is_found_in_a_good_tree_nor_in_this_one(tmp_path: Path, name: str) -> None:
    script = "#!/bin/sh\necho hello\n"
    files = {".github/actions/a/action.yml": ACTION, "run": script, "Dockerfile": "FROM scratch\n"}
    assert checked(tmp_path, name, files) == ""
    good, said = ran(ROOT, name)
    assert good, said


@needs_hadolint
def test_a_fault_in_a_dockerfile_fails_wherever_it_lies(tmp_path: Path) -> None:
    fault = {"deep/er/Dockerfile": "FROM debian:12\nRUN cd /tmp\n"}
    said = checked(tmp_path, "hadolint", fault)
    assert "deep/er/Dockerfile:2 DL3003" in said


UNSAFE = {
    'echo "$REF"': ('echo "${{ github.head_ref }}"', "template-injection"),
    "on:\n": ("on:\n  pull_request_target:\n", "dangerous-triggers"),
    "permissions: {}": ("permissions: write-all", "excessive-permissions"),
    "      - name: greet\n": ("      - uses: actions/checkout@v4\n      - name: greet\n",
                             "unpinned-uses"),
    "    steps:": ("    container: debian:12\n    steps:", "unpinned-images"),
    "concurrency:": ("x-concurrency:", "concurrency-limits"),
    "    name: one\n": ("", "anonymous-definition"),
    # Which the pedantic persona says nothing of.
    "runs-on: ubuntu-24.04": ("runs-on: self-hosted", "self-hosted-runner"),
}  # fmt: skip


@needs_tools
def test_what_zizmor_calls_unsafe_fails(tmp_path: Path) -> None:
    unsafe = GOOD
    for before, (after, _) in UNSAFE.items():
        assert unsafe.count(before) == 1
        unsafe = unsafe.replace(before, after)
    said = checked(tmp_path, "zizmor", {WORKFLOW: unsafe})
    assert [finding for _, finding in UNSAFE.values() if finding not in said] == []
    copied = {WORKFLOW: GOOD, "examples/a/.github/workflows/b.yml": unsafe}
    assert "template-injection" in checked(tmp_path, "zizmor", copied)


@needs_tools
def test_an_action_is_checked_as_a_workflow_is(tmp_path: Path) -> None:
    unsafe = ACTION.replace("echo hello", "echo ${{ github.head_ref }}")
    files = {".github/actions/a/action.yml": unsafe}
    assert "template-injection" in checked(tmp_path, "zizmor", files)
    files = {".github/actions/a/action.yml": ACTION.replace("      run: echo hello\n", "")}
    assert "action.yml" in checked(tmp_path, "schemas", files)
    files = {".github/actions/a/action.yml": ACTION.replace("echo hello", "echo $HOME")}
    assert "action.yml:7: SC2086 (info)" in checked(tmp_path, "shellcheck", files)


FORM = """\
name: bug
description: of ours
body:
  - type: textarea
    attributes:
      label: What?
"""
CITATION = """\
cff-version: 1.2.0
message: cite it
title: a title
authors:
  - name: somebody
"""
FORMS = ".github/ISSUE_TEMPLATE"
SCHEMA = {"type": "object", "required": ["gpus"], "properties": {"gpus": {"type": "array"}}}
# What GitHub reads: a good file, and what makes it a bad one.
READ = {
    WORKFLOW: (GOOD, "runs-on", "run-on"),
    "examples/a/.github/workflows/b.yml": (GOOD, "runs-on", "run-on"),
    ".github/dependabot.yml": ("version: 2\nupdates: []\n", "[]", "[{schedule: weekly}]"),
    ".github/gpus.json": ('{"gpus": []}', "gpus", "cpus"),
    "examples/a/.github/gpus.json": ('{"gpus": []}', "gpus", "cpus"),
    f"{FORMS}/bug.yml": (FORM, "label:", "title:"),
    f"{FORMS}/config.yml": ("blank_issues_enabled: true\n", "true", "perhaps"),
    "CITATION.cff": (CITATION, "authors:", "writers:"),
}


@needs_tools
def test_what_github_reads_is_held_to_its_schema(tmp_path: Path) -> None:
    files = {path: text for path, (text, _, _) in READ.items()}
    files[".github/gpus.schema.json"] = json.dumps(SCHEMA)
    assert checked(tmp_path, "schemas", files) == ""
    for path, (text, right, wrong) in READ.items():
        files[path] = text.replace(right, wrong)
    said = checked(tmp_path, "schemas", files).replace("\n", "")
    assert [path for path in READ if path not in said] == []


@needs_tools
def test_a_script_is_known_by_its_ending_or_its_first_line(tmp_path: Path) -> None:
    fault = "echo $1\n"
    others = {"a.py": f"#!/usr/bin/env python3\n{fault}", "build/x.sh": fault, "b": "#!fish\n"}
    assert checked(tmp_path, "shellcheck", others) == ""
    files = {"a.sh": f"#!/bin/bash\n{fault}", ".ci/run": f"#!/usr/bin/env bash\n{fault}",
             "deep/er/tool": f"#!/bin/sh\n{fault}"}  # fmt: skip
    files[".shellcheckrc"] = "disable=SC2086\n"  # a folder's settings take nothing away
    said = checked(tmp_path, "shellcheck", files)
    assert [place for place in [*files][:3] if f"{place} line 2" not in said] == []


@pytest.mark.parametrize("name", ["zizmor", "schemas", "hadolint", "shellcheck"])
def test_a_tool_that_is_missing_fails_unless_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("devtools.check_runner._there", lambda tool: False)
    good, said = ran(tmp_path, name)
    assert not good
    assert "is not installed (--allow-missing-tools skips it)" in said
    assert ran(tmp_path, name, allow_missing_tools=True)[0]


def lines(tmp_path: Path, name: str, text: str) -> list[int]:
    """Of ignores without a reason."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = list(without_reason(path))
    assert main([str(path)]) == bool(found)
    return [int(line.removeprefix(f"{path}:").split(":")[0]) for line in found]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("    image: x # zizmor: ignore[unpinned-images]", [2]),
        ("    image: x #zizmor:ignore[unpinned-images,unpinned-uses] !!!", [2]),
        ("# zizmor: ignore[unpinned-images] intended", [2]),
        ("# shellcheck disable=SC2086", [2]),
        ("# shellcheck shell=sh disable=SC2086,SC2034 # ...", [2]),
        ("          # shellcheck disable=all # because", [2]),
        ("    image: x # zizmor: ignore[unpinned-images] the newest one is meant", []),
        ("# shellcheck disable=SC2086 # words are to be split", []),
        ("# shellcheck shell=sh", []),
        ("run: zizmor --persona=pedantic # no ignore", []),
        ("- item", []),
    ],
)
def test_an_ignore_without_words_fails(tmp_path: Path, line: str, found: list[int]) -> None:
    assert lines(tmp_path, "a.yml", f"on: push\n{line}\n") == found


def test_the_settings_of_zizmor_give_reasons_too(tmp_path: Path) -> None:
    text = """\
rules:
  unpinned-images:
    ignore:
      - ci.yml:12
      - ci.yml:30 # a fresh machine is meant
  artipacked:
    disable: true
  template-injection:
    disable: true # nothing is put in anywhere
  dangerous-triggers:
    disable: false
"""
    assert lines(tmp_path, "zizmor.yml", text) == [4, 7]


def test_every_place_of_an_ignore_is_looked_at(tmp_path: Path) -> None:
    workflows = ".github/workflows/a.yml .github/actions/b/action.yaml .github/dependabot.yml"
    places = [*workflows.split(), ".github/zizmor.yml", "zizmor.yaml", ".ci/c.sh"]
    for place in [*places, "other.yml", ".github/README.md"]:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    assert {str(path.relative_to(tmp_path)) for path in that_may_ignore(tmp_path)} == set(places)
    assert ROOT / ".ci" / "run" in that_may_ignore(ROOT)


JOBS = """\
on: push
defaults:
  run:
    shell: sh
jobs:
  one:
    steps:
      - run: echo one
      - uses: somebody/something
      - name: two
        run: |

          cd somewhere
          echo $two
      - shell: bash
        run: >
          echo
          $three
  two:
    defaults:
      run:
        shell: bash -l {0}
    steps:
      - run: "echo $four"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "a.yml").write_text(JOBS, encoding="utf-8")
    return tmp_path / "a.yml"


def test_every_script_is_found_with_its_line_and_the_shell_that_runs_it(path: Path) -> None:
    assert [(block.line, block.shell) for block in of_file(path)] == [
        (8, "sh"), (12, "sh"), (16, "bash"), (24, "bash -l {0}"),
    ]  # fmt: skip
    path.write_text("jobs: {one: {steps: [{run: 'echo'}]}}", encoding="utf-8")
    assert [block.shell for block in of_file(path)] == ["bash"]  # GitHub's own


@needs_tools
def test_a_finding_names_the_line_of_the_workflow(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_block_lint.main([str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    quoting = [line for line in lines if "SC2086 (info)" in line]
    assert [line.split(": ")[0] for line in quoting] == [f"{path}:{at}" for at in (14, 16, 24)]


@pytest.mark.parametrize(
    ("script", "finding"),
    [
        pytest.param("'[[ -n \"$HOME\" ]]'", "", marks=needs_tools),
        pytest.param("'[[ -n \"$HOME\" ]]'\n  shell: sh", "2: SC3010", marks=needs_tools),
        # What GitHub puts in is no fault of the shell.
        pytest.param("echo \"${{ join(matrix.x, ' $y ') }}\"", "", marks=needs_tools),
        ("print()\n  shell: python",
         "2: nothing here checks a script of the shell 'python'; use bash"),
    ],
)  # fmt: skip
def test_each_shell_has_its_own_faults(
    path: Path, capsys: pytest.CaptureFixture[str], script: str, finding: str
) -> None:
    path.write_text(f"steps:\n- run: {script}\n", encoding="utf-8")
    assert run_block_lint.main([str(path)]) == bool(finding)
    assert capsys.readouterr().out.startswith(f"{path}:{finding}" if finding else "\n")


@pytest.mark.parametrize("text", ["a: [", "a: 1\na: 2", "a: \x00"])
def test_what_is_no_yaml_is_one_message(
    path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path.write_text(text, encoding="utf-8")
    assert run_block_lint.main([str(path)]) == 1
    assert capsys.readouterr().out.startswith(f"{path}: ")


@pytest.mark.parametrize("text", ["", "1", "[]", "run: 3", "run: [a]", "defaults: {run: 1}"])
def test_what_has_no_script_has_no_finding(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    assert of_file(path) == []
