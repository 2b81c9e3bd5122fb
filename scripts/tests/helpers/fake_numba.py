# SPDX-License-Identifier: Apache-2.0
"""numba.cuda as far as warpgauge.callables uses it, on memory of the host."""

from __future__ import annotations

import ctypes
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np

HostArray = Any
Stream = Any
Shape = Any
Type = Any
Interface = Any
Context = Any
Launch = Any


class OnStream:
    def __init__(self, handle: int) -> None:
        self._handle, self.waited = handle, 0

    def __int__(self) -> int:
        return self._handle

    def synchronize(self) -> None:
        self.waited += 1


class Memory:
    def __init__(self, size: int, address: int | None = None) -> None:
        self.size, self.context = size, SimpleNamespace(device=SimpleNamespace(id=2))
        self._own = ctypes.create_string_buffer(size)
        self.address = address or ctypes.addressof(self._own)

    @property
    def device_ctypes_pointer(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.address)


class DeviceNDArray:
    def __init__(
        self, shape: Shape, strides: Shape, dtype: Type, memory: Memory, stream: Stream
    ) -> None:
        self.shape, self.dtype, self.gpu_data, self.stream = shape, np.dtype(dtype), memory, stream
        self.strides = strides or np.empty(shape, dtype).strides

    @property
    def device_ctypes_pointer(self) -> ctypes.c_void_p:
        return self.gpu_data.device_ctypes_pointer

    def copy_to_host(self, stream: Stream = 0) -> HostArray:
        flat = (ctypes.c_ubyte * self.gpu_data.size).from_address(self.gpu_data.address)
        view = np.ndarray(self.shape, self.dtype, memoryview(flat), strides=self.strides)
        return np.lib.stride_tricks.as_strided(view).copy(order="K")

    def copy_to_device(self, other: DeviceNDArray) -> None:
        ctypes.memmove(self.gpu_data.address, other.gpu_data.address, self.gpu_data.size)

    def is_c_contiguous(self) -> bool:
        return self.strides == np.empty(self.shape, self.dtype).strides


class CUDADispatcher:
    def configure(
        self, griddim: Shape, blockdim: Shape, stream: Stream = 0, sharedmem: int = 0
    ) -> Launch:
        return griddim, blockdim, stream, sharedmem


class Cuda:
    """The module."""

    def __init__(self) -> None:
        self.dispatcher = SimpleNamespace(CUDADispatcher=type("D", (CUDADispatcher,), {}))
        self.cudadrv = SimpleNamespace(devicearray=SimpleNamespace(DeviceNDArray=DeviceNDArray))
        self.api = SimpleNamespace(config=SimpleNamespace(CUDA_ARRAY_INTERFACE_SYNC=1))
        self._allocated: list[weakref.ref[Memory]] = []
        self._context = type("Context", (), {"memalloc": lambda _, size: self._new(size)})()
        self._context.device = SimpleNamespace(id=2)
        self.usable = True

    def _new(self, size: int) -> Memory:
        memory = Memory(size)
        self._allocated.append(weakref.ref(memory))
        return memory

    def lives(self, number: int) -> bool:
        """Whether the memory of this allocation is still there."""
        return self._allocated[number]() is not None

    def is_available(self) -> bool:
        return self.usable

    def current_context(self) -> Context:
        return self._context

    external_stream = OnStream

    def legacy_default_stream(self) -> OnStream:
        return OnStream(0)

    def device_array(self, shape: Shape, dtype: Type, stream: Stream = 0) -> DeviceNDArray:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = self._context.memalloc(size)
        return DeviceNDArray(np.empty(shape).shape, None, dtype, memory, stream)

    def to_device(self, host: HostArray, stream: Stream = 0) -> DeviceNDArray:
        assert host.flags.c_contiguous
        made = self.device_array(host.shape, host.dtype, stream)
        ctypes.memmove(made.gpu_data.address, host.ctypes.data, host.nbytes)
        return made

    def from_cuda_array_interface(
        self, interface: Interface, owner: object = None
    ) -> DeviceNDArray:
        shape, strides = interface["shape"], interface["strides"]
        dtype = np.dtype(interface["typestr"])
        last = sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
        memory = Memory(last + dtype.itemsize, interface["data"][0])
        made = DeviceNDArray(shape, strides, dtype, memory, interface["stream"] or 0)
        made.owner = owner  # type: ignore[attr-defined]
        return made
