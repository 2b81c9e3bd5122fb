# SPDX-License-Identifier: Apache-2.0
"""What a callable is measured with: its arrays, its checks, and how."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import fake_engine
from fake_engine import Case, NumPy, WrongResult, measured
from warpgauge.callables import arrays, timing
from warpgauge.system.errors import UserError

X = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
Y = np.linspace(2, 3, 12, dtype="float32").reshape(3, 4)
I = np.arange(6, dtype="int64")  # noqa: E741


@pytest.fixture(autouse=True)
def numpy_alone(monkeypatch: pytest.MonkeyPatch) -> NumPy:
    framework = NumPy()
    monkeypatch.setattr(arrays, "present", lambda: [framework])
    monkeypatch.setattr(timing, "engine_module", fake_engine.module)
    return framework


def test_results_in_memory_of_their_own_are_held_to_the_reference(numpy_alone: NumPy) -> None:
    case = measured(Case(), np.square, X, reference=np.square, bytes=96, flops=12)
    assert case.modes == ["replay"]
    assert case.work == {"bytes": 96, "flops": 12, "taken": 100}
    assert numpy_alone.in_own_memory == Case.slots
    assert case.most_kept == 3 * Case.l2_bytes // X.nbytes + 1


def test_no_garbage_is_collected_in_a_capture() -> None:
    collecting = []

    def operation(x: np.ndarray) -> np.ndarray:
        collecting.append(gc.isenabled())
        return np.asarray(x * x)

    measured(Case(), operation, X, reference=np.square)
    assert collecting[0]  # as it is first
    assert not collecting[-1]  # in a capture
    assert gc.isenabled()


def test_inputs_of_floating_point_differ_by_slot_and_others_stay() -> None:
    seen = []

    def operation(x: np.ndarray, i: np.ndarray) -> np.ndarray:
        seen.append((x.copy(), i.copy()))
        return np.asarray(x + i.sum())

    measured(Case(), operation, X, I, reference=lambda x, i: x + i.sum())
    first, second = seen[-2:]
    assert not np.array_equal(first[0], second[0])
    assert np.array_equal(first[1], I)
    assert np.array_equal(second[1], I)


def test_a_fixed_argument_keeps_its_order_in_all_slots() -> None:
    seen = []

    def operation(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
        seen.append(mask.copy())
        return np.asarray(x * mask)

    measured(Case(), operation, X, Y, fixed=[1], reference=operation)
    assert all(np.array_equal(mask, Y) for mask in seen)


def test_an_array_that_is_passed_twice_is_one_in_each_slot() -> None:
    seen = []

    def operation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        seen.append(x.ctypes.data == y.ctypes.data)
        return np.asarray(x * y)

    measured(Case(), operation, X, X, reference=np.multiply)
    assert all(seen)


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x * x * 1.001,
        lambda x: np.full_like(x, np.nan),
        lambda x, kept=X**2: kept.copy(),  # of the first call
    ],
)
def test_a_wrong_result_is_found(operation: Callable[[np.ndarray], np.ndarray]) -> None:
    with pytest.raises(WrongResult):
        measured(Case(), operation, X, reference=np.square)


def test_a_tolerance_takes_the_place_of_the_usual_one() -> None:
    measured(Case(), lambda x: x * 1.001, X, reference=lambda x: x, tolerance=(0, 0.01))


def test_integers_are_compared_exactly() -> None:
    measured(Case(), lambda i: i * 2, I, reference=lambda i: i * 2)
    with pytest.raises(WrongResult):
        measured(Case(), lambda i: i * 2 + (i == 3), I, reference=lambda i: i * 2)


def test_without_a_reference_a_second_call_is_the_reference() -> None:
    measured(Case(), np.square, X)
    calls = iter(range(100))
    with pytest.raises(WrongResult, match="random"):
        measured(Case(), lambda x: x + next(calls), X)


def test_an_array_that_is_written_is_a_result() -> None:
    measured(Case(), lambda x, y: np.square(x, out=y), X, X.copy(), outputs=[1], reference=written)
    measured(Case(), increment, X, in_place=[0], reference=increment)
    measured(Case(), increment, X, in_place=[0], reference=lambda x: x + 1)
    measured(Case(), returned_increment, X, in_place=[0], reference=lambda x: x + 1)
    measured(Case(), written, X, X.copy(), outputs=[1], reference=lambda x, y: x * x)
    measured(Case(), returned_increment, X, in_place=[0], reference=returned_increment)
    with pytest.raises(WrongResult):
        measured(Case(), increment, X, in_place=[0], reference=lambda x: x + 2)


@pytest.mark.parametrize("roles", [{"in_place": [0]}, {"in_place": [1]}])
def test_an_array_that_is_passed_twice_is_written_where_it_stands(
    roles: dict[str, list[int]],
) -> None:
    def doubled(x: np.ndarray, y: np.ndarray) -> None:
        np.add(x, y, out=x)

    measured(Case(), doubled, X, X, reference=doubled, **roles)
    with pytest.raises(WrongResult):
        measured(Case(), doubled, X, X, reference=lambda x, y: None, **roles)


@pytest.mark.parametrize("x", [X, X.astype("float64"), I])
def test_a_reference_may_overwrite_what_it_gets(x: np.ndarray) -> None:
    measured(Case(), lambda x: x + 1, x, reference=returned_increment)


@pytest.mark.parametrize("type_", ["bool", "int16", "uint64"])
def test_types_that_the_engine_does_not_know_are_compared(type_: str) -> None:
    def operation(x: np.ndarray) -> np.ndarray:
        return (x > 2).astype(type_)

    measured(Case(), operation, I, reference=operation)
    with pytest.raises(WrongResult):
        measured(Case(), operation, I, reference=lambda x: x > 3)


def returned_increment(x: np.ndarray) -> np.ndarray:
    x += 1
    return x


def written(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    y[...] = x * x
    return y


def zeroed(x: np.ndarray) -> np.ndarray:
    x[...] = 0
    return np.zeros_like(x)


def increment(x: np.ndarray) -> None:
    x += 1


def test_an_input_that_is_changed_is_found_by_the_engine() -> None:
    with pytest.raises(WrongResult, match="input"):
        measured(Case(), zeroed, X, reference=lambda x: x * 0)


def test_strided_and_transposed_arrays_keep_their_strides() -> None:
    seen = []

    def operation(x: np.ndarray) -> np.ndarray:
        seen.append(x.strides)
        return x + 1

    for x in (X.T, X[:, ::2], X[:0]):
        seen.clear()
        measured(Case(), operation, x, reference=lambda x: x + 1)
        assert seen[-1] == x.strides


def test_an_infinite_reference_widens_no_tolerance() -> None:
    def wrong(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0.9, np.inf, x + 7)

    with pytest.raises(WrongResult):
        measured(Case(), wrong, X, reference=lambda x: np.where(x > 0.9, np.inf, x))


def test_strided_arrays_are_changed_in_place_as_they_lie() -> None:
    for x in (X.T, X[:, ::2]):
        measured(Case(), increment, x, in_place=[0], reference=increment)


def test_what_an_output_leaves_unwritten_is_no_part_of_its_reference() -> None:
    def half(i: np.ndarray, y: np.ndarray) -> None:
        y[:3] = i[:3]

    for reference in (None, lambda i, y: None):
        with pytest.raises(WrongResult):
            measured(Case(), half, I + 1, I.copy(), outputs=[1], reference=reference)


def test_what_the_capture_alone_forbids_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    case, calls = Case(), iter(range(100))

    def operation(x: np.ndarray) -> np.ndarray:
        if next(calls) == timing.WARM_UPS + 1:
            raise ValueError("not in capture mode")
        return x + 1

    call = timing.Call(operation, (X,), {}, (), lambda x: x + 1, None)
    call.measure(case)
    assert case.modes[-1] == "device_calls"
    assert "not in capture mode" in call.why_not_captured
    held = weakref.ref(call)
    gc.disable()
    try:
        vars(case).clear()  # as its end does
        del call
        assert held() is None  # nor its memory
    finally:
        gc.enable()


def test_what_cannot_be_captured_is_called_and_the_reason_kept() -> None:
    call = timing.Call(np.square, (X,), {}, (), None, None)
    case = Case(captures=False)
    call.measure(case)
    assert case.modes == ["device_calls"]
    assert "cannot be captured" in call.why_not_captured


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((lambda x: None, X), {}, "returns no array"),
        ((np.square, X), {"outputs": [1]}, "argument 1"),
        ((lambda x: x[1:], X), {}, "a result is argument 0"),
        ((lambda x, kept=X + 1: kept, X), {}, "the same memory"),
        ((np.square, X), {"reference": lambda x: x[0]}, "shape"),
        ((lambda x: (x + 1, x + 2), X), {"reference": lambda x: x + 1}, "has 2 results"),
        ((np.square, X), {"reference": lambda x: x + 0j}, "complex"),
        ((lambda x: x + 0j, X), {"reference": np.square}, "complex"),
        ((np.square, X), {"fixed": [1]}, "argument 1"),
        ((lambda x, more: x + more["y"][0], X, {"y": [Y]}), {}, "argument 1 holds arrays"),
        ((np.square, X[::-1]), {}, "negative stride"),
    ],
)
def test_what_cannot_be_measured_is_said(
    arguments: tuple[object, ...], options: dict[str, object], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        measured(Case(), *arguments, **options)


def test_what_the_callable_raises_comes_through() -> None:
    def operation(x: np.ndarray) -> np.ndarray:
        raise KeyError("no such head")

    with pytest.raises(KeyError):
        measured(Case(), operation, X)


def test_arrays_of_the_host_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "present", lambda: [NumPy(device=None)])
    with pytest.raises(UserError, match="host's memory"):
        measured(Case(), np.square, X)


def test_a_result_elsewhere_is_refused(numpy_alone: NumPy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_alone, "device", lambda array: 0 if array.size > 1 else None)
    with pytest.raises(UserError, match="GPU 0"):
        measured(Case(), lambda x: np.asarray(x.sum()), X)


def test_a_measurement_within_another_is_refused() -> None:
    def measures(x: np.ndarray) -> np.ndarray:
        timing.time(np.square, x)
        return np.asarray(np.square(x))

    with pytest.raises(UserError, match="within a measurement"):
        measured(Case(), measures, X)
