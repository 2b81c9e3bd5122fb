# SPDX-License-Identifier: Apache-2.0
"""Triton's signature: milliseconds, and which number of them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from fake_engine import Case, NumPy
from warpgauge.callables import arrays, timing
from warpgauge.callables.timing import do_bench
from warpgauge.system.errors import UserError


@pytest.fixture(autouse=True)
def case(monkeypatch: pytest.MonkeyPatch) -> Case:
    made = Case()

    def measured(device: int, title: str, how: Callable[[Case], None]) -> None:
        how(made)

    monkeypatch.setattr(arrays, "present", lambda: [NumPy()])
    monkeypatch.setattr(timing, "measured", measured)
    return made


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, 0.003),
        ({"return_mode": "median"}, 0.002),
        ({"return_mode": "min"}, 0.001),
        ({"return_mode": "all"}, [0.001, 0.002, 0.006]),
        ({"quantiles": [0.5]}, 0.002),
        ({"quantiles": [0.5, 0, 1], "warmup": 1, "rep": 1}, [0.002, 0.001, 0.006]),
    ],
)
def test_the_samples_become_milliseconds(
    options: dict[str, Any], found: object, case: Case
) -> None:
    calls = []
    assert do_bench(lambda: calls.append(1), **options) == pytest.approx(found)
    assert case.modes == ["device_calls"]
    assert len(calls) == timing.WARM_UPS + Case.slots


def test_gradients_are_gone_before_each_call() -> None:
    weight = SimpleNamespace(grad=1)

    def backward() -> None:
        assert weight.grad is None
        weight.grad = 1

    do_bench(backward, grad_to_none=[weight])


def test_it_is_refused_within_a_measurement() -> None:
    token = timing.measuring.set(True)
    with pytest.raises(UserError, match="within a measurement"):
        do_bench(lambda: None)
    timing.measuring.reset(token)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(UserError, match="median"):
        do_bench(lambda: None, return_mode="mode")
