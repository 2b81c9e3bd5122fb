# SPDX-License-Identifier: Apache-2.0
"""Numba: launches go to the engine's stream, and its arrays to the engine."""

from __future__ import annotations

import contextlib
import sys

import numpy as np
import pytest

from fake_numba import Cuda, DeviceNDArray
from warpgauge.callables import arrays
from warpgauge.callables.arrays import Numba


@pytest.fixture
def cuda() -> Cuda:
    return Cuda()


def test_launches_without_a_stream_go_to_the_engines_while_it_measures(cuda: Cuda) -> None:
    kernel = cuda.dispatcher.CUDADispatcher()
    with Numba(cuda).on_stream(77):
        assert int(kernel.configure(1, 32)[2]) == 77
        assert kernel.configure(1, 32, "own", 64) == (1, 32, "own", 64)
        assert cuda.api.config.CUDA_ARRAY_INTERFACE_SYNC == 0
    assert kernel.configure(1, 32) == (1, 32, 0, 0)
    assert cuda.api.config.CUDA_ARRAY_INTERFACE_SYNC == 1


def test_the_engines_default_stream_is_that_of_numba(cuda: Cuda) -> None:
    kernel = cuda.dispatcher.CUDADispatcher()
    with Numba(cuda).on_stream(1), Numba(cuda).on_stream(77):
        assert int(kernel.configure(1, 32)[2]) == 77
    with Numba(cuda).on_stream(1):
        assert int(kernel.configure(1, 32)[2]) == 0


def test_a_fault_leaves_no_launch_on_the_engines_stream(cuda: Cuda) -> None:
    with contextlib.suppress(KeyError), Numba(cuda).on_stream(77):
        raise KeyError
    assert cuda.dispatcher.CUDADispatcher().configure(1, 32) == (1, 32, 0, 0)


def strided(cuda: Cuda, values: np.ndarray) -> DeviceNDArray:
    """Every second column of it."""
    whole = cuda.to_device(values)
    half = values[:, ::2]
    return DeviceNDArray(half.shape, half.strides, values.dtype, whole.gpu_data, 0)


def test_copies_and_views_keep_the_strides_and_are_on_the_engines_stream(cuda: Cuda) -> None:
    values = np.arange(24, dtype="float32").reshape(4, 6)
    numba, array = Numba(cuda), strided(cuda, values)
    with numba.on_stream(77):
        copy = numba.copy(array)
    assert copy.strides == array.strides
    assert copy.stream == 77
    assert numba.address(copy) != numba.address(array)
    assert np.array_equal(copy.copy_to_host(), values[:, ::2])
    view = numba.like(array, numba.address(copy))
    assert numba.block(view) == numba.block(copy)
    assert numba.block(view).bytes == values.nbytes - 4  # up to the last element
    assert numba.device(array) == 2


@pytest.mark.parametrize(("type_", "elements"), [("float32", 12), ("int32", 12), ("complex64", 24)])
def test_doubles_have_their_elements_in_order(cuda: Cuda, type_: str, elements: int) -> None:
    values = np.arange(24).reshape(4, 6).astype(type_)
    numba, array = Numba(cuda), strided(cuda, values)
    double = numba.double(array)
    assert numba.block(double).elements == elements
    wide = values[:, ::2].astype("complex128" if type_ == "complex64" else "float64")
    assert np.array_equal(double.copy_to_host(), wide)
    packed = numba.packed(array)
    assert packed.is_c_contiguous()
    assert np.array_equal(packed.copy_to_host(), values[:, ::2])
    assert numba.packed(packed) is packed


def test_the_mean_square_is_that_of_what_is_finite(cuda: Cuda) -> None:
    numba = Numba(cuda)
    assert numba.mean_square(cuda.to_device(np.array([3.0, -np.inf, np.nan, 4.0]))) == 12.5
    assert numba.mean_square(cuda.to_device(np.array([np.inf]))) == 0


def test_what_a_captured_call_allocates_stays_as_long_as_the_measurement(cuda: Cuda) -> None:
    numba, taken = Numba(cuda), list[int]()
    context = numba.own_memory()
    for _ in range(2):
        with context():
            cuda.device_array((10,), "float32")
    with numba.counted(taken):
        cuda.device_array((3,), "float64")
        cuda.device_array((3,), "float64")
    cuda.device_array((5,), "float64")
    assert taken == [48]
    assert [cuda.lives(number) for number in range(5)] == [True, True, False, False, False]
    del context
    assert not cuda.lives(0)


def test_it_is_there_once_it_is_imported_and_has_a_gpu(
    cuda: Cuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "numba.cuda", cuda)
    assert any(isinstance(framework, Numba) for framework in arrays.present())
    cuda.usable = False
    assert not any(isinstance(framework, Numba) for framework in arrays.present())
