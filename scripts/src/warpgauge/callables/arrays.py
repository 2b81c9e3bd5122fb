# SPDX-License-Identifier: Apache-2.0
"""Arrays of PyTorch, CuPy and Numba: their memory, and views of other memory like them.

No framework is imported here: who passes an array has imported its framework.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from warpgauge.system.errors import UserError

# Names of types as the engine has them; the others are bytes to it.
_ELEMENTS = {
    **{"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"},
    **{"float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"},
    **{"int64": "i64", "int32": "i32", "uint32": "u32", "int8": "i8", "uint8": "u8"},
    **{"complex64": "f32", "complex128": "f64"},  # two elements each
}
# Of floating point: the unit roundoff, 2^-p for a significand of p digits.
ROUNDOFF = {
    "f64": 2**-53,
    "f32": 2**-24,
    "f16": 2**-11,
    "bf16": 2**-8,
    "e4m3": 2**-4,
    "e5m2": 2**-3,
}

_DEFAULT = 1  # cudaStreamLegacy, which frameworks know by other numbers

Case = Any  # warpgauge_engine.Case
Array = Any  # of a framework, which is not imported here
Bytes = bytearray | memoryview
HostArray = Any  # of NumPy
Module = Any
Shape = Any  # of an array, a grid or a block
# Of Numba.
Kernel = Any
Launch = Any
Memory = Any
Stream = Any

Description = dict[str, Any]  # of an array without its memory, for JSON

# Makes a context anew at each use.
Context = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True)
class Block:
    """The memory of an array, from its first element to its last."""

    address: int
    bytes: int
    elements: int
    type: str  # of the engine

    @staticmethod
    def of(address: int, span: int, item_bytes: int, type_name: str) -> Block:
        """`span`: how many elements lie from the first to the last one."""
        known = _ELEMENTS.get(type_name)
        parts = 2 if type_name.startswith("complex") else 1
        elements = span * (parts if known else item_bytes)
        return Block(address, span * item_bytes, elements, known or "u8")


class _Integers:
    """Memory as `__cuda_array_interface__` describes it, which no framework copies."""

    def __init__(self, address: int, bytes_: int, item_bytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (bytes_ // item_bytes,),
            "typestr": f"<i{item_bytes}" if item_bytes > 1 else "|u1",
            "data": (address, False),
            "version": 3,
        }


class _External:
    """A stream that CuPy shall not own."""

    def __init__(self, stream: int) -> None:
        self._stream = stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._stream  # the version of the protocol


def span(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Return how many elements lie from the first to the last one; strides count elements."""
    if any(stride < 0 for stride in strides):
        raise UserError("an array with a negative stride cannot be measured: copy it first")
    last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    return 1 + last if math.prod(shape) else 0


class Comparable(Protocol):
    """Arrays, as far as a comparison needs them."""

    def address(self, array: Array) -> int:
        """Return where its first element lies."""

    def block(self, array: Array) -> Block:
        elements = span(array.shape, self.strides(array))
        type_ = str(array.dtype).removeprefix("torch.")
        return Block.of(self.address(array), elements, array.dtype.itemsize, type_)

    def strides(self, array: Array) -> list[int]:
        """Return how many elements lie from one index to the next."""
        return [stride // array.dtype.itemsize for stride in array.strides]

    def double(self, array: Array) -> Array:
        """Return it in double precision, with its elements in order and no gaps."""

    def packed(self, array: Array) -> Array:
        """Return it with its elements in order and no gaps."""

    def mean_square(self, array: Array) -> float:
        """Return that of its finite elements; 0 without any."""
        sizes = abs(array)
        finite = sizes[sizes < math.inf]
        return float((finite * finite).mean()) if len(finite) else 0.0


class Framework(Comparable, Protocol):
    """A framework that issues its work on the stream that it is given."""

    name: str
    array: type
    can_be_sent: bool = True  # to another process, which compares them there

    def device(self, array: Array) -> int | None:
        """Return the index of the GPU that holds it; None for memory of the host."""

    def like(self, array: Array, address: int) -> Array:
        """Return an array of the same type, shape and strides at another address."""

    def copy(self, array: Array) -> Array:
        """Return a copy with the same strides, gaps included."""

    def widened(self, array: Array) -> Array:
        """Return an argument as a reference gets it: floating point in double precision."""
        return self.double(array) if self.block(array).type in ROUNDOFF else array

    def forget_gradient(self, array: Array) -> None:
        """Let a backward pass write its gradient, as the first one does, and not add to it."""
        return

    def without_graph(self, array: Array) -> Array:
        """Return it without the arrays that its gradient would need, so that they are freed."""
        return array

    def current_device(self) -> int: ...

    def on_stream(self, stream: int) -> AbstractContextManager[object]:
        """Let work within the context that names no stream be issued on this one."""

    def counted(self, taken: list[int]) -> AbstractContextManager[None]:
        """Append the most bytes that were allocated at once within the context."""

    def own_memory(self) -> Context:
        """Return a context whose arrays lie in memory that nothing else uses."""

    def described(self, array: Array) -> Description:
        return {
            "framework": self.name,
            "type": str(array.dtype).removeprefix("torch."),
            "shape": [*array.shape],
            "strides": self.strides(array),
            "item_bytes": array.dtype.itemsize,
            "learns": bool(getattr(array, "requires_grad", False)),
        }

    def contents(self, array: Array) -> Bytes:
        """Return its memory, gaps included."""
        raise UserError(f"arrays of {self.name} stay in their process")

    def made(self, described: Description, contents: Bytes, first: int = 0) -> Array:
        """Return an array on the current GPU, as `described` and `contents` have it."""
        raise UserError(f"arrays of {self.name} stay in their process")


class Torch(Framework):
    """What is done with tensors.

    What measures is taken at once, so that a module which is imported later cannot replace it.
    """

    name = "torch"

    def __init__(self, torch: Module) -> None:
        self._torch, self.array = torch, torch.Tensor
        self._stream, self._external = torch.cuda.stream, torch.cuda.ExternalStream
        self._default_stream = torch.cuda.default_stream
        self._pool, self._use_pool = torch.cuda.MemPool, torch.cuda.use_mem_pool
        self._set_multithreading = torch.autograd.set_multithreading_enabled
        self._current_device = torch.cuda.current_device
        # Below torch.cuda.max_memory_allocated, which looks up functions that can be replaced.
        self._memory = torch._C._cuda_memoryStats
        self._restart_peak = torch._C._cuda_resetPeakMemoryStats

    def device(self, array: Array) -> int | None:
        return int(array.device.index) if array.is_cuda else None

    def address(self, array: Array) -> int:
        return int(array.data_ptr())

    def strides(self, array: Array) -> list[int]:
        if array.is_conj() or array.is_neg():  # its memory has other values
            raise UserError("a tensor is conjugated lazily: use resolve_conj() and resolve_neg()")
        return [*array.stride()]

    def like(self, array: Array, address: int) -> Array:
        memory = _Integers(address, self.block(array).bytes, min(array.element_size(), 8))
        flat = self._torch.as_tensor(memory, device=array.device).view(array.dtype)
        view = flat.as_strided(array.shape, array.stride())
        return view.requires_grad_(array.requires_grad)

    def double(self, array: Array) -> Array:
        wide = self._torch.complex128 if array.is_complex() else self._torch.float64
        return array.detach().resolve_conj().resolve_neg().to(wide).contiguous()

    def widened(self, array: Array) -> Array:
        return super().widened(array).requires_grad_(array.requires_grad)

    def packed(self, array: Array) -> Array:
        return array.detach().contiguous()

    def copy(self, array: Array) -> Array:
        flat = array.detach().as_strided((span(array.shape, array.stride()),), (1,)).clone()
        return flat.as_strided(array.shape, array.stride()).requires_grad_(array.requires_grad)

    def forget_gradient(self, array: Array) -> None:
        array.grad = None

    def without_graph(self, array: Array) -> Array:
        return array.detach()

    def current_device(self) -> int:
        return int(self._current_device())

    def on_stream(self, stream: int) -> AbstractContextManager[object]:
        own = self._default_stream() if stream == _DEFAULT else self._external(stream)
        return self._stream(own)  # type: ignore[no-any-return]

    @contextmanager
    def counted(self, taken: list[int]) -> Iterator[None]:
        device = self.current_device()
        self._restart_peak(device)  # to what is allocated now
        before = self._memory(device)["allocated_bytes"]["all"]["peak"]
        yield
        taken.append(int(self._memory(device)["allocated_bytes"]["all"]["peak"] - before))

    def own_memory(self) -> Context:
        pool = self._pool()
        # The pool is of this thread, and so must be what is allocated for gradients.
        return lambda: entered([self._set_multithreading(False), self._use_pool(pool)])

    def contents(self, array: Array) -> Bytes:
        flat = array.detach().as_strided((span(array.shape, array.stride()),), (1,))
        return memoryview(flat.view(self._torch.uint8).cpu().numpy())

    def made(self, described: Description, contents: Bytes, first: int = 0) -> Array:
        torch = self._torch
        flat = torch.empty(len(contents), dtype=torch.uint8)
        if contents:
            flat = torch.frombuffer(contents, dtype=torch.uint8)
        flat = flat.cuda()
        shifted = flat.roll(-first) if first else flat  # which takes as much memory again
        typed = shifted.view(getattr(torch, described["type"]))
        view = typed.as_strided(described["shape"], described["strides"])
        return view.requires_grad_(described["learns"])


class CuPy(Framework):
    name = "cupy"

    def __init__(self, cupy: Module) -> None:
        self._cupy, self.array = cupy, cupy.ndarray
        self._pool, self._using = cupy.cuda.MemoryPool, cupy.cuda.using_allocator

    def device(self, array: Array) -> int | None:
        return int(array.device.id)

    def address(self, array: Array) -> int:
        return int(array.data.ptr)

    def like(self, array: Array, address: int) -> Array:
        flat = self._cupy.asarray(_Integers(address, self.block(array).bytes, 1))
        return self._cupy.ndarray(array.shape, array.dtype, flat.data, strides=array.strides)

    def double(self, array: Array) -> Array:
        wide = "complex128" if array.dtype.kind == "c" else "float64"
        return self._cupy.ascontiguousarray(array, dtype=wide)

    def packed(self, array: Array) -> Array:
        return self._cupy.ascontiguousarray(array)

    def copy(self, array: Array) -> Array:
        elements = self.block(array).bytes // array.itemsize
        flat = self._cupy.ndarray((elements,), array.dtype, array.data).copy()
        return self._cupy.ndarray(array.shape, array.dtype, flat.data, strides=array.strides)

    def current_device(self) -> int:
        return int(self._cupy.cuda.Device().id)

    def on_stream(self, stream: int) -> AbstractContextManager[object]:
        streams = self._cupy.cuda
        context: AbstractContextManager[object] = (
            streams.Stream.null
            if stream == _DEFAULT
            else streams.Stream.from_external(_External(stream))
            if hasattr(streams.Stream, "from_external")  # since CuPy 14, which deprecates the other
            else streams.ExternalStream(stream)
        )
        return context

    @contextmanager
    def counted(self, taken: list[int]) -> Iterator[None]:
        pool = self._pool()
        with self._using(pool.malloc):
            yield
        taken.append(int(pool.total_bytes()))

    def own_memory(self) -> Context:
        pool = self._pool()
        return lambda: self._using(pool.malloc)

    def contents(self, array: Array) -> Bytes:
        elements = self.block(array).bytes // array.itemsize
        return memoryview(self._cupy.ndarray((elements,), array.dtype, array.data).get()).cast("B")

    def made(self, described: Description, contents: Bytes, first: int = 0) -> Array:
        import numpy as np  # CuPy has imported it

        flat = self._cupy.asarray(np.frombuffer(contents, "uint8"))
        flat = self._cupy.roll(flat, -first) if first else flat
        type_ = self._cupy.dtype(described["type"])
        strides = [stride * type_.itemsize for stride in described["strides"]]
        return self._cupy.ndarray(described["shape"], type_, flat.data, strides=strides)


class Numba(Framework):
    """Its arrays have no arithmetic, so conversions go by way of the host."""

    name, can_be_sent = "numba", False

    def __init__(self, cuda: Module) -> None:
        self._cuda, self.array = cuda, cuda.cudadrv.devicearray.DeviceNDArray
        self._stream: Stream = 0  # that of the arrays that are made here; 0 is the default one
        self._number = 0  # of that stream in descriptions of arrays; 0 for none

    def address(self, array: Array) -> int:
        return array.device_ctypes_pointer.value or 0

    def device(self, array: Array) -> int | None:
        return int(array.gpu_data.context.device.id)

    def like(self, array: Array, address: int) -> Array:
        return self._view(address, array.shape, array.strides, array.dtype.str)

    def double(self, array: Array) -> Array:
        host = self._on_host(array)
        wide = host.astype("complex128" if host.dtype.kind == "c" else "float64", order="C")
        return self._cuda.to_device(wide, stream=self._stream)

    def packed(self, array: Array) -> Array:
        if array.is_c_contiguous():
            return array
        return self._cuda.to_device(self._on_host(array).copy(order="C"), stream=self._stream)

    def copy(self, array: Array) -> Array:
        block = self.block(array)
        flat = self._cuda.device_array(block.bytes, "u1", stream=self._stream)
        flat.copy_to_device(self._view(block.address, (block.bytes,), (1,), "|u1"))
        return self._view(self.address(flat), array.shape, array.strides, array.dtype.str, flat)

    def mean_square(self, array: Array) -> float:
        return super().mean_square(self._on_host(array))

    def current_device(self) -> int:
        return int(self._cuda.current_context().device.id)

    @contextmanager
    def on_stream(self, stream: int) -> Iterator[None]:
        kernels, config = self._cuda.dispatcher.CUDADispatcher, self._cuda.api.config
        configure, waits = kernels.configure, config.CUDA_ARRAY_INTERFACE_SYNC
        before, cuda = (self._stream, self._number), self._cuda
        own = cuda.legacy_default_stream() if stream == _DEFAULT else cuda.external_stream(stream)

        def configured(
            kernel: Kernel, grid: Shape, block: Shape, stream: Stream = 0, sharedmem: int = 0
        ) -> Launch:
            return configure(kernel, grid, block, stream or own, sharedmem)

        kernels.configure, self._stream, self._number = configured, own, stream
        config.CUDA_ARRAY_INTERFACE_SYNC = 0  # all is on one stream, and a capture must not wait
        try:
            yield
        finally:
            kernels.configure, (self._stream, self._number) = configure, before
            config.CUDA_ARRAY_INTERFACE_SYNC = waits

    @contextmanager
    def counted(self, taken: list[int]) -> Iterator[None]:
        memory: list[Memory] = []
        with self._keeping(memory):
            yield
        taken.append(sum(int(block.size) for block in memory))

    def own_memory(self) -> Context:
        memory: list[Memory] = []
        return lambda: self._keeping(memory)

    @contextmanager
    def _keeping(self, memory: list[Memory]) -> Iterator[None]:
        """Append what is allocated within the context: it is freed with the list."""
        context = self._cuda.current_context()
        allocate = context.memalloc

        def allocated(size: int) -> Memory:
            memory.append(allocate(size))
            return memory[-1]

        context.memalloc = allocated
        try:
            yield
        finally:
            del context.memalloc  # which hid the method

    def _on_host(self, array: Array) -> HostArray:
        host = array.copy_to_host(stream=self._stream)
        if self._stream:
            self._stream.synchronize()
        return host

    def _view(
        self, address: int, shape: Shape, strides: Shape, typestr: str, owner: Array = None
    ) -> Array:
        interface = {
            "shape": shape,
            "strides": strides,
            "typestr": typestr,
            "data": (address, False),
            "stream": self._number or None,
            "version": 3,
        }
        return self._cuda.from_cuda_array_interface(interface, owner)


_KNOWN: dict[str, Callable[[Module], Framework]] = {
    "torch": Torch,
    "cupy": CuPy,
    "numba.cuda": Numba,
}


@lru_cache
def _of(name: str, module: Module) -> Framework:
    """Return a framework as it was at the first call."""
    return _KNOWN[name](module)


def present() -> list[Framework]:
    """Return the frameworks that the process has imported, and that see a GPU."""
    imported = {name: sys.modules[name] for name in _KNOWN if name in sys.modules}
    if "torch" in imported and not imported["torch"].cuda.is_available():
        del imported["torch"]
    if "numba.cuda" in imported and not imported["numba.cuda"].is_available():
        del imported["numba.cuda"]
    return [_of(name, module) for name, module in imported.items()]


def device(frameworks: Sequence[Framework]) -> int:
    """Return the index of the GPU that is current."""
    return next((framework.current_device() for framework in frameworks), 0)


def entered(contexts: Sequence[AbstractContextManager[object]]) -> ExitStack:
    """Enter all of these."""
    with ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context)
        return stack.pop_all()


def on_stream(stream: int, frameworks: Sequence[Framework]) -> ExitStack:
    """Let all frameworks issue their work on a CUDA stream."""
    return entered([framework.on_stream(stream) for framework in frameworks])
