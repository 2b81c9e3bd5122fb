# SPDX-License-Identifier: Apache-2.0
"""warpgauge demo: a recording that nobody can take for a measurement of this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from warpgauge.commands.compare import demo
from warpgauge.measure import build
from warpgauge.reports.format import FORMATS
from warpgauge.system import environment, process
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import ExitStatus, UserError

MARK = "Recorded on an NVIDIA H200 on 2026-11-28, not on your machine."


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without a GPU or a build, in whose folder nothing is."""
    monkeypatch.setattr(process, "GPU_DEVICES", ())
    monkeypatch.setattr(process, "nvidia_smi", lambda *_: "")
    monkeypatch.delattr(build, "build")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)


def test_the_recording_is_marked_at_both_ends_and_shows_the_regression(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo([], tmp_path) is ExitStatus.OK
    first, *lines, last, cause, measure = capsys.readouterr().out.splitlines()
    assert first.startswith(MARK)
    assert last.startswith(MARK)
    assert environment.started("explain") in cause
    assert environment.started("bench") in measure
    shown = "\n".join(lines)
    assert MARK not in shown
    assert "FAIL  1 slower" in shown
    assert "gemm/register_2d/f32/n:2048" in shown
    assert not [*tmp_path.iterdir()]


def test_no_format_advises_to_reproduce_what_was_recorded_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: Path(f"demo.{name}") for name in FORMATS}
    options = [f"--format={name}={file}" for name, file in files.items()]
    assert demo(options, tmp_path) is ExitStatus.OK
    texts = [capsys.readouterr().out, *(file.read_text() for file in files.values())]
    assert [text for text in texts if "--filter '^gemm" in text or "bench --record" in text] == []


@pytest.mark.parametrize("name", ["html", "json", "markdown"])
def test_a_document_carries_the_mark_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert demo([f"--format={name}"], tmp_path) is ExitStatus.OK
    out, err = capsys.readouterr()
    assert "not on your machine" in (out.partition("</header>")[0] if name == "html" else out)
    assert err.count("not on your machine") == 2
    if name == "json":
        assert json.loads(out)["exit_status"] == ExitStatus.REGRESSION


def test_the_read_me_shows_lines_of_the_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "94")
    demo([], tmp_path)
    shown = capsys.readouterr().out.splitlines()
    sample = (ROOT / "README.md").read_text().partition("```\nFAIL  1 slower: gemm")[2]
    lines = f"FAIL  1 slower: gemm{sample.partition('```')[0]}".splitlines()
    assert len(lines) > 10
    assert [line for line in lines if line != "…" and line not in shown] == []


def test_a_format_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--format 'pdf' is not NAME"):
        demo(["--format=pdf"], tmp_path)
