# SPDX-License-Identifier: Apache-2.0
"""The command `warpgauge fleet`, from folders of run files to reports and exit statuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from fleet_files import GPUS_A_NODE, PROCESSES, context_of, write_gpu
from warpgauge.commands import fleet
from warpgauge.fleet.report import Fleet
from warpgauge.system import contract
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import ExitStatus, UserError

HOSTILE = "gemm/<script>alert(1)</script>/\x1b[31m"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """GPU 5 of 24 takes 10 % longer."""
    source = np.random.default_rng(5)
    runs = tmp_path / "runs"
    runs.mkdir()
    names = [HOSTILE, *(f"gemm/cublas/n:{n}" for n in range(11))]
    for gpu in range(3 * GPUS_A_NODE):
        medians = 1e-4 * np.exp(source.normal(0.0, 0.002, (len(names), PROCESSES)))
        medians *= 1.1 if gpu == 5 else 1.0
        write_gpu(runs / f"{gpu}.json", context_of(gpu), names, medians)
    return runs


def run(*words: object) -> ExitStatus:
    return fleet.main([*map(str, words)], ROOT)


def test_an_outlier_is_exit_status_1_and_none_is_0(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder) is ExitStatus.OUTSIDE
    assert f"GPU-{5:032x} on node0000" in capsys.readouterr().out
    (folder / "5.json").unlink()
    assert run(folder) is ExitStatus.OK


def test_the_json_is_as_its_types_say(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "--format", "json") is ExitStatus.OUTSIDE
    told = json.loads(capsys.readouterr().out)
    Draft202012Validator(contract.schema(Fleet)).validate(told)
    assert [one["name"] for one in told["outliers"]] == [f"GPU-{5:032x}"]
    assert told["models"] == [{"name": "NVIDIA H200", "gpus": 24, "nodes": 3, "benchmarks": 12,
                               "judged": True, "hosts_judged": False,
                               "incomplete": {}}]  # fmt: skip


def test_the_page_has_the_outlier_its_evidence_its_changes_and_no_foreign_markup(
    folder: Path, tmp_path: Path
) -> None:
    page = tmp_path / "fleet.html"
    assert run(folder, "--format", f"html={page}") is ExitStatus.OUTSIDE
    text = page.read_text()
    assert f"GPU-{5:032x} on node0000" in text
    assert text.count("<svg") == 1
    assert re.findall('<td class="s3">([^<]*)</td>', text)[0] == "+10.2"  # the worst row's square
    assert "<script" not in text
    assert "\x1b" not in text
    run(folder, "--format", f"html={page}")  # it may replace its own


def test_a_filter_selects_benchmarks_and_one_that_matches_none_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(folder, "--filter", "n:[0-4]$", "--format", "json")
    assert json.loads(capsys.readouterr().out)["models"][0]["benchmarks"] == 5
    with pytest.raises(UserError, match="no benchmark matches"):
        run(folder, "--filter", "reduce")


def test_a_report_does_not_replace_a_run_file(folder: Path) -> None:
    with pytest.raises(UserError, match="cannot write"):
        run(folder, "--format", f"json={folder / '1.json'}")


def test_a_baseline_of_another_model_is_refused(folder: Path) -> None:
    with pytest.raises(UserError, match="give another"):
        run(folder, "--baseline", ROOT / "baselines" / "nvidia-h100-80gb-hbm3")


def test_the_report_says_how_many_units_are_needed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(folder)
    assert "hosts are not judged: at least 8 nodes are needed" in capsys.readouterr().out
    for path in [*folder.iterdir()][:20]:
        path.unlink()
    assert run(folder) is ExitStatus.NOT_MEASURED
    assert "not judged: at least 8 GPUs" in capsys.readouterr().out
