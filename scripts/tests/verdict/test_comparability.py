# SPDX-License-Identifier: Apache-2.0
"""How near two sessions are, and which difference makes only larger changes count."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from conftest import Loader

from builders import baseline, context, row, run, scaled
from warpgauge.records.model import Clock, Session
from warpgauge.verdict import notes
from warpgauge.verdict.comparability import MINIMUM_EFFECT, Comparability, kin, references
from warpgauge.verdict.context import WIDENING_KEYS
from warpgauge.verdict.override import Override
from warpgauge.verdict.pairing import pair
from warpgauge.verdict.screening import screen

ABOUT = {
    "gpu_name": "NVIDIA Test",
    "gpu_uuid": "GPU-1",
    "boot_id": "boot-1",
    "driver_version": "580.1",
    "cuda_driver_version": "13.0",
    "runtime_version": "13.0",
    "cpu_model": "Xeon",
    "num_cpus": "16",
    "kernel_release": "6.1",
}
HERE = Session("here", ABOUT)


def other(**keys: str) -> Session:
    return Session("other", {**ABOUT, **keys})


@pytest.mark.parametrize("clock", Clock)
@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, Comparability.SAME_BOOT),
        ({"boot_id": "boot-2"}, Comparability.SAME_GPU),
        ({"gpu_uuid": "GPU-2"}, Comparability.SIBLING),
        ({"gpu_uuid": "GPU-2", "driver_version": "590"}, Comparability.SIBLING),
        ({"gpu_name": "NVIDIA Other"}, Comparability.OTHER_MODEL),
    ],
)
def test_boot_gpu_and_model_are_told_apart(
    clock: Clock, keys: dict[str, str], expected: Comparability
) -> None:
    assert kin(other(**keys), HERE, clock) is expected
    assert kin(HERE, other(**keys), clock) is expected


def test_without_a_gpu_the_boot_alone_tells_machines_apart() -> None:
    here, there = (other(gpu_name="", gpu_uuid="", boot_id=boot) for boot in ("boot-1", "boot-2"))
    assert kin(here, here, Clock.HOST) is Comparability.SAME_BOOT
    assert kin(there, here, Clock.HOST) is Comparability.SIBLING


@pytest.mark.parametrize("clock", Clock)
@pytest.mark.parametrize("key", WIDENING_KEYS[Clock.HOST])
@pytest.mark.parametrize("boot", ["boot-1", "boot-2"])
def test_another_system_is_less_near_for_the_times_that_it_moves(
    clock: Clock, key: str, boot: str
) -> None:
    far = kin(other(**{key: "something else", "boot_id": boot}), HERE, clock)
    assert (far is Comparability.OTHER_SYSTEM) is (key in WIDENING_KEYS[clock])


@pytest.mark.parametrize("key", WIDENING_KEYS[Clock.HOST])
def test_what_a_side_does_not_tell_widens_nothing(key: str) -> None:
    silent = Session("silent", {name: value for name, value in ABOUT.items() if name != key})
    assert kin(silent, HERE, Clock.HOST) is Comparability.SAME_BOOT
    assert kin(HERE, silent, Clock.HOST) is Comparability.SAME_BOOT


@pytest.mark.parametrize("clock", Clock)
def test_the_less_near_the_more_must_change(clock: Clock) -> None:
    known = [
        one
        for one in Comparability
        if one not in (Comparability.PLAIN_PROCESSES, Comparability.UNKNOWN)
    ]
    effects = [MINIMUM_EFFECT[clock, one] for one in known]
    assert effects == sorted(effects)
    assert (clock, Comparability.UNKNOWN) in MINIMUM_EFFECT


def test_this_gpu_under_another_driver_comes_before_its_siblings() -> None:
    own, sibling = other(driver_version="590"), other(gpu_uuid="GPU-2")
    assert references([sibling, own], HERE, Clock.DEVICE) == ([own], Comparability.OTHER_SYSTEM)


# The host's control is no benchmark.
MIXED = [
    row("a/device"),
    row("a/host", host_clock=1.0),
    row("host/clock_read", host_clock=1.0),
]


def test_another_cpu_is_noted_for_host_times_only(loaded: Loader) -> None:
    base, cand = (loaded(run(MIXED, cpu_model=cpu)) for cpu in ("Xeon", "EPYC"))
    (note,) = notes.of_systems(pair(base, cand, list(cand.rows))[0])
    assert "cpu_model Xeon → EPYC" in note
    assert "host time" in note


def spread(loaded: Loader, allow: Collection[Override] = (), **keys: str) -> float:
    """The standard error of a difference to what was measured elsewhere, under driver 580."""
    told = {"driver_version": "580", **keys}
    base, cand = loaded(run([row("a/b")], driver_version="580")), loaded(run([row("a/b")], **told))
    pairings, _, _ = pair(base, cand, ["a/b"], allow)
    return float(screen(base, cand, pairings).estimates.error[0])


def test_another_system_scatters_as_another_boot_and_another_model_as_a_sibling(
    loaded: Loader,
) -> None:
    boot, sibling = spread(loaded, boot_id="boot-2"), spread(loaded, gpu_uuid="GPU-2")
    assert spread(loaded) < boot < sibling
    assert spread(loaded, driver_version="590") == boot
    model = {"gpu_name": "NVIDIA Other", "gpu_uuid": "GPU-2"}
    assert spread(loaded, {Override.GPU_MODEL}, **model) == sibling


def test_where_one_session_has_the_same_system_nothing_is_noted(loaded: Loader) -> None:
    medians = {"old": scaled(1.0), "new": scaled(1.0)}
    about = {
        "old": context(boot_id="boot-0", driver_version="580"),
        "new": context(driver_version="590"),
    }
    base = loaded(baseline([row("a/b", process_medians=medians)], about))
    pairings, _, _ = pair(base, loaded(run([row("a/b")], driver_version="590")), ["a/b"])
    assert pairings[0].kin is Comparability.SAME_BOOT
    assert notes.of_systems(pairings) == []
