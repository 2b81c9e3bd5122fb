# SPDX-License-Identifier: Apache-2.0
"""What scripts/warpgauge baseline show tells of a baseline."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from conftest import Loader

from baselines import NAMES, NOW, Baselines
from builders import failed, row, run, scaled
from warpgauge.baselines import show
from warpgauge.records.load import load
from warpgauge.system.errors import ExitStatus


def sessions(baselines: Baselines) -> None:
    """Two sessions of two GPUs, three days and a day old."""
    baselines.session(
        17, gpu_uuid="GPU-aaaaaaaa-1", driver_version="580.1", commit="0123456789abcdef"
    )
    baselines.session(19, gpu_uuid="GPU-bbbbbbbb-1", driver_version="580.2", factor=1.1)


def test_each_session_is_a_line_with_age_and_origin(baselines: Baselines) -> None:
    sessions(baselines)
    assert baselines.command("show") is ExitStatus.OK
    lines = baselines.output().splitlines()
    assert lines[0].startswith("NVIDIA Test · ")
    assert lines[0].endswith("nvidia-test · 2 sessions of 2 GPUs · 3 benchmarks")
    assert lines[1].split() == "session measured commit GPU boot driver processes rows".split()
    key, *rest = lines[2].split()
    assert key.startswith("2026-11-17-")
    assert " ".join(rest) == "2026-11-17, 3 days ago 0123456789 aaaaaaaa boot-17 580.1 7 3"
    assert "2026-11-19, 1 day ago" in lines[3]
    assert lines[4].strip() == "rows by family: memcpy 2, sync 1"
    assert len(lines) == 5
    baselines.command("show", str(baselines.folder / "sync.json"))
    assert "1 benchmark\n" in baselines.output()


def test_an_old_baseline_is_warned_of(baselines: Baselines) -> None:
    baselines.session(1, date="2026-07-01T00:00:00+00:00")
    baselines.command("show")
    assert "warning: The baseline's newest session is 142 days old" in baselines.flat()


def test_rows_shows_every_time_and_both_spreads(baselines: Baselines) -> None:
    sessions(baselines)
    baselines.command("show", "nvidia-test")
    lines = baselines.output().splitlines()
    (heading,) = [line for line in lines if line.startswith("benchmark")]
    assert heading.split()[-5:] == ["within", "between", "rate", "of", "limit"]
    (line,) = [line for line in lines if line.split()[:1] == ["c"]]
    assert line.split() == "c 1.000 µs 1.100 µs 0.06 % 6.74 %".split()


def test_rates_have_their_share_of_the_limit(baselines: Baselines) -> None:
    times = {"s": [1.0, 1.0]}
    rows = [
        row("memcpy/a", process_medians=times, bytes_per_second=2e12, limit_fraction=0.974),
        row("memcpy/b", process_medians=times, flops_per_second=5e13, limit_fraction=0.9),
    ]
    baselines.written("memcpy", rows, {"s": {}})
    baselines.command("show", "nvidia-test")
    assert "a 1.000 µs 0.00 % – 2000 GB/s 97 %" in (shown := baselines.flat())
    assert "b 1.000 µs 0.00 % – 50.00 TFLOP/s 90 %" in shown


def test_what_a_single_process_does_not_show_is_marked(baselines: Baselines) -> None:
    baselines.written("sync", [baselines.row("sync/a", s=[1.0])], {"s": {}})
    baselines.command("show", "nvidia-test")
    lines = [" ".join(line.split()) for line in baselines.output().splitlines()]
    assert "a 1.000 µs – –" in lines


def test_foreign_text_comes_out_inert(baselines: Baselines) -> None:
    key = "2026\x1b[31m"
    context = {"commit": "\x1b[31m", "gpu_name": "\x1b]0;x", "date": NOW.isoformat()}
    baselines.written("sync", [baselines.row("sync/\x1b[1m", **{key: scaled(1.0)})], {key: context})
    baselines.command("show", "nvidia-test")
    assert "\x1b" not in baselines.output()


@pytest.mark.parametrize(
    ("times", "told"),
    [
        (dict.fromkeys(NAMES, 1.06), "within the baseline's sessions in 3 of 3 benchmarks"),
        (dict.fromkeys(NAMES, 0.5), "within the baseline's sessions in 3 of 3 benchmarks"),
        (
            {"memcpy/a": 9.0, "memcpy/b": 4.2, "sync/c": 1.0},
            "slower than the baseline's 2 sessions allow in 2 of 3 benchmarks, the worst "
            "+757 % (memcpy/a)",
        ),
        ({"sync/c": 1.0, "new/d": 9.0}, "within the baseline's sessions in 1 of 1 benchmark"),
    ],
)
def test_a_machine_is_judged_by_the_own_code_of_a_baseline_that_has_not_seen_it(
    baselines: Baselines, loaded: Loader, times: Mapping[str, float], told: str
) -> None:
    sessions(baselines)  # medians of 1 and 1.1
    rows = [row(name, scaled(factor)) for name, factor in times.items()]
    here = loaded(run([*rows, failed("memcpy/b")] if len(rows) < 3 else rows, gpu_uuid="GPU-new"))
    (note,) = show.machine(load(baselines.folder), here)
    assert told in str(note)


@pytest.mark.parametrize("gpu", ["NVIDIA Test", "NVIDIA Other"])
def test_nothing_is_said_of_a_machine_that_cannot_be_compared(
    baselines: Baselines, loaded: Loader, gpu: str
) -> None:
    baselines.session(17, gpu_uuid="GPU-1")
    if gpu != "NVIDIA Test":  # a single session is not enough
        baselines.session(19, gpu_uuid="GPU-2")
    here = loaded(run([row(NAMES[0], scaled(9.0))], gpu_uuid="GPU-new", gpu_name=gpu))
    assert [*show.machine(load(baselines.folder), here)] == []
