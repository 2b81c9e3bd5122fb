# SPDX-License-Identifier: Apache-2.0
"""Time a callable: its inputs rotate, its results are verified, what it launches is replayed."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from warpgauge.callables import arrays, comparison
from warpgauge.callables.arrays import ROUNDOFF, Array, Block, Case, Framework, Module
from warpgauge.callables.jax_calls import JaxCall, arrays_in
from warpgauge.callables.messages import in_a_line
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.location import uncollected
from warpgauge.system.text import plural

if TYPE_CHECKING:
    from warpgauge.records.row import Row

Returned = Any  # by a callable
Issued = tuple[Returned, list[tuple[int, int]]]  # and address and bytes of each result

# The case of the benchmark that this program measures now.
running: ContextVar[Case] = ContextVar("running", default=None)
# Whether the engine measures in this process now: it can do one thing at a time.
measuring: ContextVar[bool] = ContextVar("measuring", default=False)

# Before anything is measured: lazy loading, compilation and autotuning.
WARM_UPS = 3
# Results of so many times the L2 are kept apart, so that none is written where the cache holds it.
_ROTATED, _MOST_KEPT = 3, 4096

_TIME = "warpgauge.time"  # which alone measures a benchmark of a file
Mode = Callable[[list[float]], float | list[float]]
# The return modes of do_bench.
_MODES: dict[str, Mode] = {"mean": fmean, "median": median, "min": min, "max": max, "all": list}


@dataclass(frozen=True)
class Timing:
    """What a call takes, in seconds."""

    name: str
    seconds: float  # on the device, cold; with gaps for the host if it was timed call by call
    interval: tuple[float, float]  # 95 %, of this process's samples
    host_seconds: float | None  # of a call, which does not wait; None if it changes an argument
    why_not_captured: str  # empty if it was
    verified: bool  # by a reference; else by a second call
    row: Row  # with all counters, as in a run file

    def __str__(self) -> str:
        known = self.row.counters
        low, high = (f"{1e6 * bound:.4g}" for bound in self.interval)
        parts = [f"{self.name}: {1e6 * self.seconds:.4g} µs ({low} … {high})"]
        units = {"bytes_per_second": (1e-9, "GB/s"), "flops_per_second": (1e-12, "TFLOP/s")}
        parts += [
            f"{known[rate] * by:.4g} {of}" for rate, (by, of) in units.items() if rate in known
        ]
        if "limit_fraction" in known:
            parts.append(f"{known['limit_fraction']:.0%} of the ceiling")
        if "kernels" in known:
            registers = f" of {known['registers']:.0f} registers" if "registers" in known else ""
            parts.append(f"{plural(int(known['kernels']), 'kernel')}{registers}")
        if self.host_seconds is not None:
            parts.append(f"{1e6 * self.host_seconds:.3g} µs of the host")
        if self.why_not_captured:
            gaps = "" if "kernels" in known else "gaps for the host count, for it was "
            parts.append(f"{gaps}not captured: {self.why_not_captured}")
        if not self.verified:
            parts.append("no reference")
        return " · ".join(parts)


def time(
    fn: Callable[..., Returned],
    *arguments: object,
    reference: Callable[..., Returned] | None = None,
    tolerance: tuple[float, float] | None = None,
    outputs: Sequence[int] = (),
    in_place: Sequence[int] = (),
    fixed: Sequence[int] = (),
    bytes: int | None = None,
    flops: float | None = None,
    name: str | None = None,
) -> Timing | None:
    """Time ``fn(*arguments)`` on the device, cold.

    Each call gets copies of the arrays among the arguments. Floating-point elements are shifted by
    an offset of each copy, so that a kept result is found; `fixed` are positions of arguments that
    are not. `outputs` and `in_place` are positions of arguments that `fn` writes, or reads and
    changes. `reference` gets the same in double precision, and returns or writes what `fn` does;
    without one, results are held to those of a second call. `tolerance` is (absolute, relative).
    `bytes` and `flops` are of one call.

    Within a benchmark of a program this is the call that measures, and returns None. Raises what
    `fn` raises, UserError for what cannot be measured, and RuntimeError for wrong results.
    """
    roles = dict.fromkeys(outputs, "output") | dict.fromkeys(in_place, "in_place")
    tolerance = comparison.tolerance_of(tolerance)
    call: Call | JaxCall
    if arrays_in(arguments):
        if roles:
            raise UserError("arrays of JAX cannot be written: leave outputs= and in_place= out")
        call = JaxCall(fn, arguments, reference, tolerance)
    else:
        call = Call(fn, arguments, roles, fixed, reference, tolerance)

    def on_device(case: Case) -> None:
        if bytes:
            case.moves_bytes(bytes)
        if flops:
            case.computes_flops(flops)
        call.measure(case)

    title = name or str(getattr(fn, "__name__", type(fn).__name__))
    with _alone(_TIME):
        if (case := running.get()) is not None:
            on_device(case)
            return None
        row = measured(call.device, title, on_device)
        # Calls that change an argument would each begin with what the one before left.
        host = None if in_place else measured(call.device, title, call.measure_host).seconds
    # The standard error of a normal sample's median is sqrt(pi / 2) times that of its mean.
    off = 1.96 * math.sqrt(math.pi / 2 / row.counters["samples"]) * row.counters["spread"]
    interval = ((1 - off) * row.seconds, (1 + off) * row.seconds)
    return Timing(title, row.seconds, interval, host, call.why_not_captured, bool(reference), row)


def do_bench(
    fn: Callable[[], object],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> float | list[float]:
    """Return the device time of a call in milliseconds: one number, or the quantiles of the calls.

    The L2 is evicted before each call, and the time of the events around it is subtracted. The
    engine decides how many calls it needs, so `warmup` and `rep` change nothing. Nothing is
    verified: ``warpgauge.time`` does that.
    """
    if return_mode not in _MODES:
        raise UserError(f"return_mode is one of {', '.join(_MODES)}, not {return_mode!r}")
    frameworks, samples = arrays.present(), list[float]()

    def call(slot: int, stream: int) -> Issued:
        for tensor in grad_to_none or ():
            tensor.grad = None
        fn()
        return None, []

    def how(case: Case) -> None:
        with arrays.on_stream(case.stream, frameworks):
            for _ in range(WARM_UPS):
                call(0, case.stream)
            case.operation(call, 1)
            case.check(lambda slot: None)
            case.device_calls(waits=False)
            samples.extend(1e3 * seconds for seconds in case.samples())

    with _alone("do_bench"):
        measured(arrays.device(frameworks), "do_bench", how)
    if quantiles is None:
        return _MODES[return_mode](samples)
    import numpy as np

    chosen = [float(value) for value in np.quantile(samples, quantiles)]
    return chosen[0] if len(chosen) == 1 else chosen


def measured(device: int, title: str, how: Callable[[Case], None]) -> Row:
    """Measure in this process: `how` is the body. Raises what it raises, and UserError."""
    from warpgauge.records import program_report  # a program needs none of its packages

    raised: list[BaseException] = []

    def body(case: Case) -> None:
        try:
            how(case)
        except BaseException as fault:
            raised.append(fault)
            raise

    report = program_report.parsed(_engine(device).measure(title, body).encode())
    row = next(iter(report.rows.values())) if report else None
    if raised:
        raise raised.pop()  # kept here, it would hold this frame, and so all memory of the call
    if row is None or row.error is not None:
        raise UserError(f"{title}: {row.error if row else 'the engine left no row'}")
    return row


@contextmanager
def _alone(what: str) -> Iterator[None]:
    """Let nothing else measure within the context. Raises UserError if something does already."""
    if measuring.get() or (running.get() is not None and what != _TIME):
        raise UserError(
            f"{what} cannot run within a measurement: call an autotuned kernel once before "
            "warpgauge.time, so that it is tuned by then"
        )
    token = measuring.set(True)
    try:
        yield
    finally:
        measuring.reset(token)


def engine_module() -> Module:
    """Return the compiled engine. Raises UserError if it is not installed."""
    try:
        return importlib.import_module("warpgauge_engine")
    except ImportError as fault:
        raise UserError(
            f"the engine for Python cannot be imported ({fault}): install a wheel of warpgauge "
            "that was built with CUDA, or pip install . in a clone, with the CUDA toolkit"
        ) from fault


@lru_cache
def _engine(device: int) -> Module:
    module = engine_module()
    try:
        return module.Engine(device)
    except module.NoDevice as fault:
        raise UserError(str(fault), ExitStatus.NOT_MEASURED) from None


class Call:
    """A callable and its arguments. In an engine's case, each slot has arrays of its own."""

    def __init__(
        self,
        fn: Callable[..., Returned],
        arguments: Sequence[object],
        roles: dict[int, str],
        fixed: Sequence[int],
        reference: Callable[..., Returned] | None,
        tolerance: tuple[float, float] | None,
    ) -> None:
        self._fn, self._arguments = fn, arguments
        self._reference, self._tolerance, self._fixed = reference, tolerance, fixed
        self.why_not_captured = ""
        self._frameworks = arrays.present()
        self._raised: Exception | None = None
        self._framework = {
            at: framework
            for at, value in enumerate(arguments)
            for framework in self._frameworks
            if isinstance(value, framework.array)
        }
        for at, value in enumerate(arguments):
            if at not in self._framework and self._arrays_in(value):
                raise UserError(
                    f"argument {at} holds arrays, which all calls would share: pass each as an "
                    "argument of its own, to a lambda that puts them together"
                )
        if strange := {*roles, *fixed} - self._framework.keys():
            raise UserError(f"argument {min(strange)} is no array of PyTorch, CuPy or Numba")
        # What is passed twice is written wherever it stands.
        by_array = {id(arguments[at]): role for at, role in roles.items()}
        self._roles = {at: by_array.get(id(arguments[at]), "input") for at in self._framework}
        devices = {own.device(arguments[at]) for at, own in self._framework.items()}
        if None in devices:
            raise UserError("an argument lies in the host's memory: move it to the GPU first")
        if len(devices) > 1:
            raise UserError(f"the arguments lie on several GPUs: {', '.join(map(str, devices))}")
        own = next(iter(devices), None)
        self.device = arrays.device(self._frameworks) if own is None else own

    def measure(self, case: Case) -> None:
        """Time it on the device: captured, or call by call if that cannot be."""
        with arrays.on_stream(case.stream, self._frameworks):
            self._begin(case)
            case.operation(self._captured, self._kept)
            try:
                case.replay()
            except Exception as fault:
                # What the callable raises there alone is for the capture: it has run before.
                is_refused = isinstance(fault, engine_module().NotCapturable)
                if not is_refused and fault is not self._raised:
                    raise
                self.why_not_captured = in_a_line(self._raised or fault)
                self._raised = None  # it holds the frames of the call, and they hold its memory
                case.operation(self._called, self._kept)
                self._slots.clear()  # the engine lays them out anew
                case.device_calls(waits=True)

    def measure_host(self, case: Case) -> None:
        """Time what the host does for a call."""
        with arrays.on_stream(case.stream, self._frameworks):
            self._begin(case)
            case.operation(self._issued, 1)
            case.issue_calls()

    def _begin(self, case: Case) -> None:
        """Declare its arrays, call it as it is, and learn what it returns."""
        self._case = case
        self._buffers: dict[int, int] = {}
        self._slots: dict[int, list[Any]] = {}
        self._memory = [framework.own_memory() for framework in self._frameworks]
        numbers: dict[int, int] = {}  # an array that is passed twice is one buffer
        for at, framework in self._framework.items():
            array, role = self._arguments[at], self._roles[at]
            if id(array) not in numbers:
                block = framework.block(array)
                its = block.address, block.elements, block.type
                # Those that it changes are restored before each replay, which must be fast.
                shifted = role == "input" and at not in self._fixed and block.type in ROUNDOFF
                numbers[id(array)] = case.add(*its, role, shifted)
            self._buffers[at] = numbers[id(array)]
        values = self._with_arrays(lambda at, framework: framework.copy(self._arguments[at]))
        for _ in range(WARM_UPS):
            before = self._run(values)
        taken: list[int] = []
        with arrays.entered([framework.counted(taken) for framework in self._frameworks]):
            returned = self._run(values)
        case.takes(sum(taken))
        self._require_new(before, returned, values)
        results = self._results(returned, values)
        if not results:
            raise UserError(
                "the callable returns no array, and no argument is one that it writes: return its "
                "result, or name the argument in outputs= or in_place="
            )
        if any(framework.device(array) != self.device for framework, array in results):
            raise UserError(
                f"a result does not lie on GPU {self.device}: return it where it is computed"
            )
        size = sum(framework.block(array).bytes for framework, array in results)
        self._kept = min(_ROTATED * case.l2_bytes // max(size, 1) + 1, _MOST_KEPT)
        self._add_check()

    def _add_check(self) -> None:
        self._case.check(self._require_right)

    def _require_new(self, first: Returned, second: Returned, values: Sequence[Any]) -> None:
        """Raise UserError if two calls, whose results are alive, returned the same memory."""
        before, now = map(self._arrays_in, (first, second))
        shared = {own.block(array) for own, array in before} & {own.block(a) for own, a in now}
        if any(block.bytes and not self._is_an_argument(block, values) for block in shared):
            raise UserError(
                "two calls return the same memory, which the callable keeps: pass that array as an "
                "argument, and name it in outputs= or in_place="
            )

    def _captured(self, slot: int, stream: int) -> Issued:
        """Call it while the engine captures its stream: results lie in memory of their own."""
        # Garbage may hold a memory pool of PyTorch, whose end within a capture ends the process.
        with (
            uncollected(),
            arrays.entered([make() for make in self._memory]),
            arrays.on_stream(stream, self._frameworks),
        ):
            return self._called(slot, stream)

    def _issued(self, slot: int, _: int) -> Issued:
        """Call it, and nothing else: the host's time is the caller's."""
        return self._fn(*self._views(slot)), []

    def _run(self, values: Sequence[Any]) -> Returned:
        for at, framework in self._framework.items():
            framework.forget_gradient(values[at])
        return self._fn(*values)

    def _called(self, slot: int, _: int) -> Issued:
        """Call it for the engine: return what it returned, and the memory of that."""
        values = self._views(slot)
        try:
            returned = self._run(values)
        except Exception as fault:
            self._raised = fault
            raise
        results = self._arrays_in(returned)
        blocks = [framework.block(array) for framework, array in results]
        own = [block for block in blocks if not self._is_an_argument(block, values)]
        alone = [framework.without_graph(array) for framework, array in results]
        return alone, [(block.address, block.bytes) for block in own if block.bytes]

    def _is_an_argument(self, block: Block, values: Sequence[Any]) -> bool:
        """Return whether a result is an argument that is written. Raises UserError for others."""
        for at, framework in self._framework.items():
            argument = framework.block(values[at])
            if argument.address <= block.address < argument.address + argument.bytes:
                if self._roles[at] == "input":
                    raise UserError(f"a result is argument {at}, or a part of it: return a copy")
                return True
        return False

    def _require_right(self, slot: int) -> None:
        """Raise unless the last call's results are those of the reference."""
        views, case = self._views(slot), self._case

        def before(at: int, framework: Framework) -> Array:
            """Return what the call got, which a reference may overwrite."""
            array = framework.copy(views[at])
            block = framework.block(array)
            if self._roles[at] == "output":
                array[(slice(None),) * len(array.shape)] = 0  # not what the callable wrote
            elif self._roles[at] == "in_place" and block.elements:
                case.restore(self._buffers[at], slot, block.address)
            return framework.widened(array) if self._reference else array

        got, arguments = self._results(case.results(slot), views), self._with_arrays(before)
        returned = (self._reference or self._fn)(*arguments)
        right = self._arrays_in(returned)  # of a reference that returns what `fn` writes
        if len(right) != len(got):
            right = self._results(returned, arguments)
        try:
            comparison.require_right(case, got, right, self._tolerance, slot)
        except engine_module().WrongResult as fault:
            if self._reference:
                raise
            raise type(fault)(
                f"{fault}; without a reference it is held to a second call with the same "
                "arguments, so that what draws random numbers cannot be verified"
            ) from None

    def _views(self, slot: int) -> list[Any]:
        """Return the arguments, with the arrays of a slot, made once."""
        if slot not in self._slots:
            self._slots[slot] = self._with_arrays(
                lambda at, framework: framework.like(
                    self._arguments[at], self._case.address(self._buffers[at], slot)
                )
            )
        return self._slots[slot]

    def _with_arrays(self, make: Callable[[int, Framework], Array]) -> list[Any]:
        """Return the arguments with other arrays; what is passed twice is made once."""
        values, made = list(self._arguments), dict[int, Array]()
        for at, framework in self._framework.items():
            number = self._buffers[at]
            if number not in made:
                made[number] = make(at, framework)
            values[at] = made[number]
        return values

    def _arrays_in(self, returned: Returned) -> list[tuple[Framework, Array]]:
        """Return the arrays that a call returned: one, or several in tuples, lists and dicts."""
        if isinstance(returned, dict):
            returned = list(returned.values())
        if isinstance(returned, (tuple, list)):
            return [array for part in returned for array in self._arrays_in(part)]
        return [(own, returned) for own in self._frameworks if isinstance(returned, own.array)]

    def _results(self, returned: Returned, values: Sequence[Any]) -> list[tuple[Framework, Array]]:
        """Return what a call returned, and then what else it wrote among its arguments."""
        results = self._arrays_in(returned)
        for at, framework in self._framework.items():
            if self._roles[at] != "input":
                block = framework.block(values[at])
                if block not in [own.block(array) for own, array in results]:
                    results.append((framework, values[at]))
        return results
