# SPDX-License-Identifier: Apache-2.0
"""Every `run:` is found, in its shell, and what shellcheck says of it names the file's own line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from devtools import run_block_lint
from devtools.run_block_lint import of_file
from devtools.tools import SHELLCHECK

needs_shellcheck = pytest.mark.skipif(
    shutil.which(SHELLCHECK) is None, reason="this environment lacks shellcheck"
)

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


@needs_shellcheck
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
        pytest.param("'[[ -n \"$HOME\" ]]'", "", marks=needs_shellcheck),
        pytest.param("'[[ -n \"$HOME\" ]]'\n  shell: sh", "2: SC3010", marks=needs_shellcheck),
        # What GitHub puts in is no fault of the shell.
        pytest.param("echo \"${{ join(matrix.x, ' $y ') }}\"", "", marks=needs_shellcheck),
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
