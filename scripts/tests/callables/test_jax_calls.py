# SPDX-License-Identifier: Apache-2.0
"""Functions of JAX: timed by the trace of each call, on the same arrays, and verified."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fake_engine
from fake_engine import Case, WrongResult
from fake_jax import CPU, GPU, Device, Jax, array
from warpgauge.callables import timing
from warpgauge.callables.jax_calls import JaxCall
from warpgauge.system.errors import UserError

Array = Any  # fake_jax.Array, or what NumPy makes of it

X = array(np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4))
C = array(np.linspace(-1, 1, 6).astype("complex64"))
H = array(np.linspace(-1, 1, 6).astype("float16"))


@pytest.fixture(autouse=True)
def jax(monkeypatch: pytest.MonkeyPatch) -> Jax:
    module = Jax()
    monkeypatch.setitem(sys.modules, "jax", module)
    monkeypatch.setattr(timing, "engine_module", fake_engine.module)
    return module


def measured(*arguments: object, **options: object) -> Case:
    return fake_engine.measured(Case(), *arguments, **options)


def test_a_call_is_waited_for_and_traced(jax: Jax) -> None:
    returned = []

    def fn(x: Array) -> Array:
        returned.append(x * x)
        return returned[-1]

    case = measured(fn, X, reference=np.square, bytes=96)
    assert case.modes == ["traced_calls"]
    assert case.work == {"bytes": 96}
    assert len(returned) == 1 + Case.slots
    assert {id(result) for result in returned} <= {id(waited) for waited in jax.waited}


@pytest.mark.parametrize("x", [X, C, H])
def test_the_reference_gets_the_same_in_double_precision(x: Array) -> None:
    seen = []

    def reference(x: Array) -> Array:
        seen.append(x.dtype.itemsize)
        return x + x

    measured(lambda x: x + x, x, reference=reference)
    assert set(seen) == {16 if np.iscomplexobj(x) else 8}


def test_arrays_lie_in_whatever_structure() -> None:
    def fn(layer: dict[str, Array], n: int) -> tuple[Array, list[Array]]:
        return layer["x"] * n, [layer["x"] + 1]

    measured(fn, {"x": X}, 2, reference=fn)
    measured(fn, {"x": X}, 2, reference=lambda layer, n: (layer["x"] * 2, layer["x"] + 1))
    measured(fn, {"x": X}, 2)


def test_a_reference_may_be_of_numpy() -> None:
    measured(lambda x: x.sum(0), X, reference=lambda x: np.asarray(x).sum(0))


@pytest.mark.parametrize(
    "fn", [lambda x: x * x * 1.001, lambda x: array(np.full_like(x, np.nan)), lambda x: x * -x]
)
def test_a_wrong_result_is_found(fn: Callable[[Array], Array]) -> None:
    with pytest.raises(WrongResult):
        measured(fn, X, reference=np.square)


def test_without_a_reference_a_second_call_is_the_reference() -> None:
    calls = iter(range(100))
    with pytest.raises(WrongResult):
        measured(lambda x: x + next(calls), X)


def test_a_tolerance_takes_the_place_of_the_usual_one() -> None:
    measured(lambda x: x * 1.001, X, reference=lambda x: x, tolerance=(0, 0.01))


def test_a_call_of_the_host_waits_for_the_one_before(jax: Jax) -> None:
    case = Case()
    call = JaxCall(lambda x: x + 1, (X,), None, None)
    call.measure_host(case)
    assert case.modes == ["host_calls"]
    assert len(jax.waited) == 2  # that which compiles, and the same before what is timed
    assert call.device == 3


def on(*devices: Device) -> Array:
    made = array(X)
    made.where = devices
    return made


def donated(x: Array) -> Array:
    x.deleted = True
    return x + 1


def deleted() -> Array:
    made = array(X)
    made.deleted = True
    return made


@pytest.mark.parametrize(
    ("fn", "arguments", "options", "said"),
    [
        (np.square, (on(CPU),), {}, "not on a GPU"),
        (
            np.square,
            (on(GPU, Device("gpu", 1)),),
            {},
            "several",
        ),
        (donated, (array(X),), {}, "donate"),
        (np.add, (X, deleted()), {}, "argument 1 is deleted"),
        (np.square, (X,), {"outputs": [0]}, "cannot be written"),
        (lambda x: None, (X,), {}, "returns no array"),
        (lambda x: (x, x), (X,), {"reference": lambda x: x}, "has 2 results"),
        (np.square, (X,), {"reference": lambda x: x[0]}, "shape"),
    ],
)
def test_what_cannot_be_measured_is_said(
    fn: Callable[..., object], arguments: tuple[object, ...], options: dict[str, object], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        measured(fn, *arguments, **options)


def test_what_the_callable_raises_comes_through() -> None:
    def fn(x: Array) -> Array:
        raise KeyError("no such head")

    with pytest.raises(KeyError):
        measured(fn, X)
