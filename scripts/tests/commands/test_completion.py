# SPDX-License-Identifier: Apache-2.0
"""--print-completion prints a script for a shell, or says what is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from warpgauge.commands.completion import command_line
from warpgauge.commands.main import CI, COMMANDS, main


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_script_knows_the_commands_and_their_options(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("shtab", reason="shtab is an optional extra")
    assert main(["--print-completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in (*COMMANDS, *CI, "--dry-run", "--min-effect", "--keep"))
    if shutil.which(shell):
        path = tmp_path / "script"
        path.write_text(script)
        subprocess.run([shell, "-n", str(path)], check=True)


def test_without_shtab_a_sentence_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["--print-completion", "bash"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "pip install shtab" in err


@pytest.mark.parametrize("words", [[], ["fish"], ["bash", "zsh"]])
def test_another_shell_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--print-completion", *words]) == 2
    assert "takes bash or zsh" in capsys.readouterr().err


def test_every_command_is_completed() -> None:
    options = command_line().parse_args(["bench", "--quick", "--filter=x"])
    assert (options.second_look, options.filter) == (False, "x")
    shown = command_line().parse_args(["ci", "history", "show", "--nights=3"])
    assert shown.nights == 3
