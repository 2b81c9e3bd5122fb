# SPDX-License-Identifier: Apache-2.0
"""A baseline as references for ReFrame, and as quantiles."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from statistics import median

import pytest

from warpgauge.baselines import show, store
from warpgauge.commands import baseline
from warpgauge.records.load import load
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import UserError

RECORDED = ROOT / "baselines" / "nvidia-h200"


def test_the_recorded_gpus_keep_within_their_own_references() -> None:
    record = load(RECORDED)
    references = json.loads(show.references(record, "cluster:gpu"))["cluster:gpu"]
    assert len(references) == len(record.rows)
    for row in record.rows.values():
        time, low, high, unit = references[row.name.replace(":", "=")]
        assert (low, unit) == (None, "us")
        assert high >= 0.03
        for times in row.process_medians.values():
            assert 1e6 * median(times) <= (1.0 + high) * time


@pytest.mark.parametrize("where", ["cluster", "cluster:gpu:x", ":gpu", "a b:gpu"])
def test_a_place_is_a_system_and_a_partition(where: str) -> None:
    with pytest.raises(UserError, match="SYSTEM:PARTITION"):
        show.references(load(RECORDED / "sync.json"), where)


def test_the_command_prints_one_gpu_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline.main(["export", "nvidia-h200", "cluster:gpu"], ROOT)
    assert json.loads(capsys.readouterr().out)["cluster:gpu"]
    for model in ("nvidia-a", "nvidia-b"):
        (tmp_path / "baselines" / model).mkdir(parents=True)
        (tmp_path / "baselines" / model / "sync.json").write_bytes(
            (RECORDED / "sync.json").read_bytes()
        )
    with pytest.raises(UserError, match="nvidia-a or nvidia-b"):
        baseline.main(["export", str(tmp_path / "baselines"), "cluster:gpu"], tmp_path)


def test_quantiles_are_of_all_processes_of_all_sessions(capsys: pytest.CaptureFixture[str]) -> None:
    baseline.main(["export", "nvidia-h200"], ROOT)
    lines = [*csv.DictReader(capsys.readouterr().out.splitlines())]
    record = load(RECORDED)
    assert [line["benchmark"] for line in lines] == [*record.rows]
    for line in lines:
        times = [*record.rows[line["benchmark"]].process_medians.values()]
        together = [time for of_session in times for time in of_session]
        assert (int(line["sessions"]), int(line["processes"])) == (len(times), len(together))
        assert float(line["q50"]) == pytest.approx(median(together), rel=1e-6)
        assert float(line["q5"]) <= float(line["q25"]) <= float(line["q95"])
        assert (line["gpu"], line["link"]) == ("NVIDIA H200", "")


def test_machines_with_other_links_have_lines_of_their_own(tmp_path: Path) -> None:
    model = tmp_path / "nvidia-a"
    model.mkdir()
    document = json.loads((RECORDED / "sync.json").read_bytes())
    first, *others = document["sessions"]
    for session in first, *others:
        document["sessions"][session]["peer_link"] = "NVLink" if session == first else "PCIe 5 x 16"
    (model / "sync.json").write_text(json.dumps(document))
    lines = [*csv.DictReader(show.distribution([store.open_folder(model)]).splitlines())]
    count = len(document["benchmarks"])
    assert [line["link"] for line in lines] == ["NVLink"] * count + ["PCIe 5 x 16"] * count
    assert {line["sessions"] for line in lines[:count]} == {"1"}
    assert {int(line["sessions"]) for line in lines[count:]} == {len(others)}
