# SPDX-License-Identifier: Apache-2.0
"""scripts/reframe by ReFrame itself, on a Slurm cluster of this machine with fake GPUs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import fake_binary
import slurm
from bench_process import uuid
from builders import Json, baseline, write
from warpgauge.system.environment import ROOT

NODES, GPUS_A_NODE = 4, 2
TIMES = {"sync/idle": 1e5, "sync/busy/n:4": 5e5}
SLOW_NODE, SLOW_GPU = 3, uuid(31)
WHERE = "cluster:gpu"

absent = slurm.missing(*slurm.DAEMONS, "sbatch", "reframe")
pytestmark = pytest.mark.skipif(bool(absent), reason=f"not installed: {', '.join(absent)}")


def clone(folder: Path, node: int) -> Path:
    """What a node sees of the project, with programs that have this node's GPUs."""
    root = folder / f"node{node}"
    (root / "scripts").mkdir(parents=True)
    shutil.copytree(ROOT / "scripts" / "src", root / "scripts" / "src")
    for name in ("bench", "warpgauge"):
        shutil.copy(ROOT / "scripts" / name, root / "scripts")
    shutil.copy(ROOT / "requirements.lock", root)
    built = root / "build" / "release"
    gpus = [uuid(10 * node + one) for one in range(GPUS_A_NODE)]
    context = {**fake_binary.GPU, "host_name": f"node{node}", "boot_id": f"boot{node}"}
    host = {"host/copy": 3e6}
    fake_binary.make(built, "host", host, counters={"all": {"host_clock": 1.0}})
    fake_binary.make(built, "sync", TIMES, gpus=gpus, context=context,
                     counters={"all": {"kernels": 1.0}}, slower={SLOW_GPU: 1.5})  # fmt: skip
    return root


def write_baseline(root: Path) -> None:
    """Of the healthy times, at the root whose commands are asked for references."""
    keys: dict[str, Json] = {
        f"2026-11-20-{one}": {**fake_binary.GPU, "gpu_uuid": uuid(one)} for one in (90, 91)
    }
    rows = [{"name": name, "real_time": time, "time_unit": "ns",
             "process_medians": dict.fromkeys(keys, [time] * 3)}
            for name, time in TIMES.items()]  # fmt: skip
    write(root / "baselines" / "nvidia-fake" / "sync.json", baseline(rows, keys, "NVIDIA Fake"))


def run(environ: Mapping[str, str], folder: Path, *command: object) -> tuple[int, str]:
    words = [*map(str, command)]
    done = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True,
                          check=False)  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_every_gpu_of_every_node_is_measured_once_and_held_to_references(tmp_path: Path) -> None:
    clones = [clone(tmp_path, node) for node in range(1, NODES + 1)]
    write_baseline(clones[0])
    site = (ROOT / "scripts" / "reframe" / "site.py").read_text()
    (tmp_path / "site.py").write_text(site.replace('"slurm"', '"squeue"'))  # no accounting here
    python = os.pathsep.join([str(Path(sys.executable).parent), slurm.PATH])
    with slurm.cluster(tmp_path / "slurm", NODES) as cluster:
        environ = {**cluster, "PATH": python, "WARPGAUGE_COMMIT": "0123456789" * 4,
                   "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}  # fmt: skip
        asked = ("baseline", "export", "nvidia-test", WHERE)
        status, references = run(environ, tmp_path, clones[0] / "scripts" / "warpgauge", *asked)
        assert status == 0, references
        (tmp_path / "references.json").write_text(references)
        shutil.rmtree(clones[0] / "baselines")  # a commit of these times cannot be built here
        status, told = run(
            environ, tmp_path, "reframe", "-C", "site.py",
            "-c", ROOT / "scripts" / "reframe" / "fleet_check.py", "--prefix", tmp_path / "rfm",
            "--distribute=all", "--run", "--report-file", tmp_path / "report.json",
            "-S", f"Build.root={clones[0]}", "-S", "Build.options=--no-build",
            "-S", f"WarpgaugeCheck.root={tmp_path}/$SLURMD_NODENAME",
            "-S", "WarpgaugeCheck.budget=1s", "-S", "WarpgaugeCheck.filter=^sync/",
            "-S", f"WarpgaugeCheck.references={tmp_path}/references.json",
        )  # fmt: skip
    assert not slurm.running(tmp_path / "slurm")
    assert (tmp_path / "report.json").exists(), told
    report = json.loads((tmp_path / "report.json").read_text())
    cases = report["runs"][0]["testcases"]
    checks = [one for one in cases if one["name"].startswith("WarpgaugeCheck")]
    results = {one["job_nodelist"][0]: one["result"] for one in checks}
    expected = {f"node{one}": "pass" for one in range(1, NODES + 1)}
    assert results == {**expected, f"node{SLOW_NODE}": "fail"}, told
    assert "sync/busy/n=4" in told
    assert len(cases) == NODES + 1  # one build
    files = [*(tmp_path / "rfm").rglob("run-*.json")]
    assert len({path.name for path in files}) == NODES * GPUS_A_NODE
    status, told = run(environ, tmp_path, ROOT / "scripts" / "warpgauge", "fleet", "rfm",
                       "--format", "json")  # fmt: skip
    assert status == 1, told
    assert [one["name"] for one in json.loads(told)["outliers"]] == [SLOW_GPU]
