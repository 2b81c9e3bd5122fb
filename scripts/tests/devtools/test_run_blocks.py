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
def workflow(tmp_path: Path) -> Path:
    path = tmp_path / "a.yml"
    path.write_text(JOBS, encoding="utf-8")
    return path


def test_every_script_is_found_with_its_line_and_the_shell_that_runs_it(workflow: Path) -> None:
    assert [(one.line, one.shell) for one in of_file(workflow)] == [
        (8, "sh"), (12, "sh"), (16, "bash"), (24, "bash -l {0}"),
    ]  # fmt: skip


def test_without_a_word_the_shell_is_githubs_own(tmp_path: Path) -> None:
    path = tmp_path / "a.yml"
    path.write_text("jobs: {one: {steps: [{run: 'echo'}]}}", encoding="utf-8")
    assert [one.shell for one in of_file(path)] == ["bash"]


@needs_shellcheck
def test_a_finding_names_the_line_of_the_workflow(
    workflow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_block_lint.main([str(workflow)]) == 1
    lines = capsys.readouterr().out.splitlines()
    quoting = [line for line in lines if "SC2086 (info)" in line]
    assert [line.split(": ")[0] for line in quoting] == [f"{workflow}:{at}" for at in (14, 16, 24)]


@needs_shellcheck
def test_bash_alone_is_a_fault_in_sh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.yml"
    for shell, status in (("bash", 0), ("sh", 1)):
        path.write_text(f"steps:\n- shell: {shell}\n  run: '[[ -n \"$HOME\" ]]'\n")
        assert run_block_lint.main([str(path)]) == status
    assert f"{path}:3: SC3010" in capsys.readouterr().out


@needs_shellcheck
def test_what_github_puts_in_is_no_fault_of_the_shell(tmp_path: Path) -> None:
    path = tmp_path / "a.yml"
    path.write_text("steps:\n- run: echo \"${{ join(matrix.x, ' $y ') }}\"\n")
    assert run_block_lint.main([str(path)]) == 0


def test_a_shell_that_nothing_checks_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.yml"
    path.write_text("steps:\n- shell: python\n  run: print()\n", encoding="utf-8")
    assert run_block_lint.main([str(path)]) == 1
    assert f"{path}:3: nothing here checks a script of the shell 'python'; use bash" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize("text", ["a: [", "a: 1\na: 2", "a: \x00"])
def test_what_is_no_yaml_is_one_message(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.yml"
    path.write_text(text, encoding="utf-8")
    assert run_block_lint.main([str(path)]) == 1
    assert capsys.readouterr().out.startswith(f"{path}: ")


@pytest.mark.parametrize("text", ["", "1", "[]", "run: 3", "run: [a]", "defaults: {run: 1}"])
def test_what_has_no_script_has_no_finding(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.yml"
    path.write_text(text, encoding="utf-8")
    assert of_file(path) == []
