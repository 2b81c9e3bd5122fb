# SPDX-License-Identifier: Apache-2.0
"""What a command prints, and how it ends, where the terminal is poor or the user impatient."""

from __future__ import annotations

import io
import os
import runpy
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from builders import row, run, scaled, write
from clone import TIMES, Repository
from warpgauge.commands import bench, one_gpu
from warpgauge.measure import ab_run, run_file
from warpgauge.system import environment

SCRIPTS = Path(__file__).parents[2]


def ended(script: str, monkeypatch: pytest.MonkeyPatch, *argv: str) -> object:
    """Run a command as `python scripts/<script>` would; its exit status."""
    monkeypatch.setattr(sys, "argv", [script, *argv])
    monkeypatch.setattr(environment, "ensure", lambda packages, **_: None)
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(str(SCRIPTS / script), run_name="__main__")
    return caught.value.code


def ascii_only(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """What goes to a standard output that knows ASCII only, from now on."""
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, "ascii", write_through=True))
    return shown


def test_the_bench_escapes_what_ascii_lacks(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "ROOT", repository.root)
    shown = ascii_only(monkeypatch)
    assert ended("bench", monkeypatch, "--processes=3") == 3
    assert rb" \xb5s" in shown.getvalue()


def test_a_reader_that_leaves_early_is_no_regression(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.record()
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        assert bench.main([], repository.root) == 0


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("options", [[], ["--format=json"]])
def test_a_full_disk_below_standard_output_hides_no_regression_and_no_report(
    tmp_path: Path, options: list[str], unbuffered: str
) -> None:
    base = write(tmp_path / "base.json", run([row("a/b"), row("a/c")]))
    slower = write(tmp_path / "slower.json", run([row("a/b", scaled(1.5)), row("a/c")]))
    report = tmp_path / "report.md"
    argv = [str(base), str(slower), *options, f"--format=markdown={report}"]
    assert on_a_full_disk("compare.py", *argv, unbuffered=unbuffered) == (
        1,
        "compare: standard output cannot be written (No space left on device)\n",
    )
    assert report.read_text().startswith("**FAIL** · slower: `a/b`")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_every_command_tells_of_a_full_disk_in_a_sentence(unbuffered: str) -> None:
    assert on_a_full_disk("warpgauge", "baseline", "show", unbuffered=unbuffered) == (
        2,
        "baseline: the system: No space left on device\n",
    )


def on_a_full_disk(script: str, *argv: str, unbuffered: str) -> tuple[int, str]:
    """The exit status of a command, and its standard error."""
    command = [sys.executable, str(SCRIPTS / script), *argv]
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, env=env, text=True, check=False
        )
    return done.returncode, done.stderr


interrupted = Mock(side_effect=KeyboardInterrupt)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (
            (ab_run.AbRun, "alone"),
            "bench: interrupted",
        ),
        ((run_file, "write"), "bench: interrupted"),
        ((one_gpu, "without_baseline"), "run file: run.json"),
    ],
)
def test_an_interrupt_says_what_became_of_the_run_file(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, where: tuple[object, str], said: str
) -> None:
    repository.binary("sync", TIMES)
    monkeypatch.setattr(environment, "ROOT", repository.root)
    monkeypatch.chdir(repository.root)
    monkeypatch.setattr(*where, interrupted)
    assert ended("bench", monkeypatch, "--processes=3", "--out", "run.json") == 130
    assert said in repository.output()[1]
    assert Path("run.json").exists() is ("run.json" in said)
