# SPDX-License-Identifier: Apache-2.0
"""The process of an evaluation that makes the inputs and compares the results.

It alone imports the inputs and the reference. The programs that are timed, which import a kernel,
get inputs from it, and send it what the kernel returned for them.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import math
import os
import random
import selectors
import socket
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from warpgauge.callables import arrays
from warpgauge.callables.arrays import Array, Bytes, Description, Framework, span
from warpgauge.callables.comparison import Tolerance, tolerance_of, usual_tolerance
from warpgauge.callables.messages import (
    Channel,
    Returned,
    Values,
    arguments_of,
    function_of,
    in_a_line,
    names_of,
    results_of,
)
from warpgauge.records.names import number
from warpgauge.system.errors import UserError

SIDES = ("base", "candidate")
_TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
# Before the timing, and after it.
_CHECKS = 2
# A process that was told to end may still do so when the next one of its side connects.
PATIENCE_S = 10.0


@dataclass
class _Draw:
    """Inputs that were drawn for a process: descriptions, and the contents of the arrays."""

    point: int
    described: list[Values]
    contents: list[Bytes]
    checks: int = 0

    def arguments(self, shifts: Sequence[int]) -> list[object]:
        """Return them anew, as a slot has them that begins with the element `shifts` says."""
        sizes = [its["element_bytes"] for its in self.described if "framework" in its]
        firsts = [shift * size for shift, size in zip(shifts, sizes, strict=True)]
        return arguments_of(self.described, self.contents, arrays.present(), firsts)

    def doubles(self, shifts: Sequence[int]) -> list[object]:
        """Return the same with floating point in double precision."""
        by_name = {framework.name: framework for framework in arrays.present()}
        return [
            by_name[its["framework"]].widened(value) if "framework" in its else value
            for its, value in zip(self.described, self.arguments(shifts), strict=True)
        ]


@dataclass
class Process:
    """A process of a side: what was drawn for it last, and the points that it has been seen at."""

    side: str
    draw: _Draw | None = None
    seen: set[int] = field(default_factory=set)


@dataclass
class Checker:
    """`base` and `inputs` are files; `shapes` take the place of a function `inputs`."""

    base: str
    function: str
    inputs: str
    axes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shapes: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Import the files, and draw the first inputs. Raises UserError."""
        base, inputs = Path(self.base), Path(self.inputs)
        self._kernel = function_of(base, self.function)
        names = names_of(inputs)
        self._reference = names.get("reference") or names_of(base).get("reference")
        self._tolerance = tolerance_of(names.get("tolerance"))
        self.fixed = names.get("fixed", ())
        if not isinstance(self.fixed, (list, tuple)):
            raise UserError("fixed is a list of positions of arguments, such as [1]")
        if self.shapes:
            self._inputs: Callable[..., Returned] = _normal
            self.values: dict[str, list[object]] = {"shapes": [*self.shapes]}
        else:
            self._inputs = function_of(inputs, "inputs")
            self.values = _values(self._inputs, self.axes)
        self._points = [
            dict(zip(self.values, point, strict=True))
            for point in itertools.product(*self.values.values())
        ]
        # Of the base's results, by point; and whether a reference takes double precision there.
        self._kinds: dict[int, tuple[list[Description], bool]] = {}
        # By side and point: in how many processes all results were right, and what was wrong.
        self._right = Counter[tuple[str, int]]()
        self._wrong: dict[tuple[str, int], str] = {}
        self._intruded = dict.fromkeys(SIDES, False)
        self._learn(self._drawn(0))

    def draw(self, process: Process, point: Values) -> _Draw:
        """Return new inputs of a point. Raises UserError."""
        drawn = self._drawn(self._points.index(point))
        if drawn.point not in self._kinds:
            self._learn(drawn)
        process.draw = drawn
        return drawn

    def check(
        self,
        process: Process,
        shifts: Sequence[int],
        described: Sequence[Description],
        contents: Sequence[Bytes],
    ) -> str:
        """Return what is wrong with the results for its last inputs; "" if they are right.

        Raises UserError if the reference fails.
        """
        draw = process.draw
        if draw is None:
            raise UserError("results were sent before inputs were asked for")
        wrong = self._difference(draw, shifts, described, contents)
        draw.checks += 1
        if wrong:
            self._wrong.setdefault((process.side, draw.point), wrong)
        elif draw.checks == _CHECKS and draw.point not in process.seen:
            process.seen.add(draw.point)
            self._right[process.side, draw.point] += 1
        return wrong

    def intruded(self, side: str) -> None:
        """Note that a process of this side did what only we do."""
        self._intruded[side] = True

    def patience(self, side: str) -> float:
        """Return for how long the side's older process may end: many such waits would stop all."""
        return 0.0 if self._intruded[side] else PATIENCE_S

    def faults(self, side: str, times: Sequence[int]) -> list[str]:
        """Return for each point why the side's times do not count, so many until now; or "".

        What was wrong is said once. It is kept where a point has 0 times, which is not asked about.
        """
        has_intruded = self._intruded[side]
        self._intruded[side] = has_intruded and not any(times)

        def fault(point: int, count: int) -> str:
            if not count:
                return ""
            if has_intruded:
                return "it spoke to the checker itself"
            if wrong := self._wrong.pop((side, point), ""):
                return f"the checker found a wrong result: {wrong}"
            if self._right[side, point] < count:
                return "the checker did not see its results"
            return ""

        return [fault(point, count) for point, count in enumerate(times)]

    def _drawn(self, point: int) -> _Draw:
        """Draw inputs from a seed that nobody else knows. Raises UserError."""
        _seed(int.from_bytes(os.urandom(8), "little"))
        try:
            returned = self._inputs(**self._points[point])
        except Exception as fault:
            raise UserError(f"inputs() fails: {in_a_line(fault)}") from fault
        drawn = _Draw(point, [], [])
        for at, value in enumerate(returned if isinstance(returned, (tuple, list)) else [returned]):
            known = [own for own in arrays.present() if own.can_be_sent]
            framework = next((own for own in known if isinstance(value, own.array)), None)
            if framework is not None:
                if framework.device(value) is None:
                    raise UserError(f"input {at} lies in the host's memory: make it on the GPU")
                block = framework.block(value)
                size = block.bytes // max(block.elements, 1)
                drawn.described.append({**framework.described(value), "element_bytes": size})
                drawn.contents.append(framework.contents(value))
            elif value is None or isinstance(value, (bool, int, float, str)):
                drawn.described.append({"value": value})
            else:
                raise UserError(
                    f"input {at} is a {type(value).__name__}: inputs() returns arrays of PyTorch "
                    "or CuPy, and numbers"
                )
        if not drawn.contents:
            raise UserError("inputs() returns no array of PyTorch or CuPy on a GPU")
        return drawn

    def _learn(self, draw: _Draw) -> None:
        """Learn what the base returns at a point, and whether it may get double precision.

        A kernel that reads its arguments by address would take doubles for something else.
        """
        plain = [0] * len(draw.contents)
        got = self._called(self._kernel, draw.arguments(plain))
        if not got:
            raise UserError(f"the base's {self.function} returns no array")
        takes_doubles = self._reference is not None
        if not takes_doubles:
            with suppress(UserError):  # it takes the types that it was written for
                right = self._called(self._kernel, draw.doubles(plain))
                takes_doubles = len(got) == len(right) and not any(
                    difference(*result, exact, self._tolerance)
                    for result, (_, exact) in zip(got, right, strict=True)
                )
        kinds = [framework.described(array) for framework, array in got]
        self._kinds[draw.point] = kinds, takes_doubles

    def _called(
        self, function: Callable[..., Returned], arguments: Sequence[object]
    ) -> list[tuple[Framework, Array]]:
        try:
            return results_of(function(*arguments), arrays.present())
        except Exception as fault:
            name = getattr(function, "__name__", "the reference")
            raise UserError(f"{name}, which is the reference, fails: {in_a_line(fault)}") from fault

    def _difference(
        self,
        draw: _Draw,
        shifts: Sequence[int],
        described: Sequence[Description],
        contents: Sequence[Bytes],
    ) -> str:
        kinds, takes_doubles = self._kinds[draw.point]
        if len(described) != len(kinds) or len(contents) != len(kinds):
            return f"it returns {len(described)} results, and the base {len(kinds)}"
        for at, (own, content, base) in enumerate(zip(described, contents, kinds, strict=True)):
            for key in ("framework", "type", "shape"):
                if own[key] != base[key]:
                    return f"result {at} has the {key} {own[key]}, and the base's {base[key]}"
            if len(content) != span(own["shape"], own["strides"]) * base["item_bytes"]:
                return f"result {at} lies in no memory of its own"
        arguments = draw.doubles(shifts) if takes_doubles else draw.arguments(shifts)
        right = self._called(self._reference or self._kernel, arguments)
        if len(right) != len(kinds):
            raise UserError(f"the reference returns {len(right)} results, the base {len(kinds)}")
        for at, (framework, expected) in enumerate(right):
            result = framework.made({**described[at], "learns": False}, contents[at])
            if wrong := difference(framework, result, expected, self._tolerance):
                return f"result {at}: {wrong}"
        return ""


def difference(
    framework: Framework, result: Array, expected: Array, tolerance: Tolerance | None
) -> str:
    """Return how a result differs from what is expected; "" if it is as near as the tolerance.

    NaN is near to nothing, and an infinity to itself.
    """
    if tuple(result.shape) != tuple(expected.shape):
        return f"it has the shape {tuple(result.shape)} and not {tuple(expected.shape)}"
    values, right = framework.double(result), framework.double(expected)
    absolute, relative = tolerance or usual_tolerance(
        framework, framework.block(result).type, right
    )
    is_near = abs(values - right) <= absolute + relative * abs(right)
    is_wrong = ~((values == right) | (is_near & (abs(right) < math.inf)))
    count = int(is_wrong.sum())
    if not count:
        return ""
    first = int((is_wrong.reshape(-1) * 1).argmax())
    shown = [array.reshape(-1)[first].item() for array in (values, right)]
    of = f"{count} of {math.prod(result.shape)} elements differ"
    return f"element {first} is {shown[0]:.9g} and not {shown[1]:.9g}; {of}"


def _values(
    inputs: Callable[..., Returned], given: Mapping[str, Sequence[str]]
) -> dict[str, list[object]]:
    """Return the values of each parameter: those given, or its default. Raises UserError."""
    parameters = inspect.signature(inputs).parameters
    if unknown := [axis for axis in given if axis not in parameters]:
        has = f"only {', '.join(parameters)}" if parameters else "none"
        raise UserError(f"--axis {unknown[0]}: inputs() has no such parameter, {has}")
    values_of: dict[str, list[object]] = {}
    for name, its in parameters.items():
        usual = [*its.default] if isinstance(its.default, (tuple, list)) else [its.default]
        is_text = all(isinstance(value, str) for value in usual)
        if name in given:
            values = given[name] if is_text else [number(text) for text in given[name]]
            if not is_text and isinstance(usual[0], float):
                values = [None if value is None else float(value) for value in values]
        elif its.default is its.empty:
            raise UserError(f"the parameter {name} of inputs() has no values: add --axis {name}=…")
        else:
            values = usual
        kinds = {type(value) for value in values}
        if len(kinds) != 1 or not kinds <= {int, float, str}:
            raise UserError(f"the parameter {name} of inputs() needs integers, numbers or texts")
        values_of[name] = [*dict.fromkeys(values)]
    return values_of


def _normal(shapes: str) -> list[Array]:
    """Return normally distributed tensors, for ``4096x1024_bf16+1024``."""
    torch = importlib.import_module("torch")
    made = []
    for text in shapes.split("+"):
        sizes, _, type_ = text.partition("_")
        tensor = torch.randn([int(size) for size in sizes.split("x")], device="cuda")
        made.append(tensor.to(getattr(torch, _TYPES[type_ or "f32"])))
    return made


def _seed(seed: int) -> None:
    """Seed what may draw inputs: Python, and the libraries that are imported."""
    random.seed(seed)
    for name in ("numpy", "cupy"):
        if name in sys.modules:
            sys.modules[name].random.seed(seed % 2**32)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed % 2**63)


def serve(checker: Checker, control: Channel, listener: socket.socket) -> None:
    """Answer the programs, and the evaluation itself through `control`, until that ends."""
    processes: dict[Channel, Process] = {}
    with ExitStack() as ended, selectors.DefaultSelector() as selector:
        for readable in (control, listener):
            selector.register(readable, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                source = key.fileobj
                if source is listener:
                    program = Channel(listener.accept()[0])
                    ended.callback(program.close)
                    selector.register(program, selectors.EVENT_READ)
                    continue
                assert isinstance(source, Channel)
                try:
                    question, contents = source.receive()
                    if source is control:
                        control.send({"faults": checker.faults(**question)})
                    else:
                        source.send(*_answer(checker, processes, source, question, contents))
                    continue
                except (EOFError, OSError):  # it has ended
                    if source is control:
                        return
                except Exception as fault:
                    # What is no message of ours was sent by the kernel's own file.
                    if source in processes:
                        checker.intruded(processes[source].side)
                    print(in_a_line(fault), file=sys.stderr)
                selector.unregister(source)
                processes.pop(source, None)
                source.close()


def _answer(
    checker: Checker,
    processes: dict[Channel, Process],
    channel: Channel,
    question: Values,
    contents: Sequence[Bytes],
) -> tuple[Values, Sequence[Bytes]]:
    """Return the answer to a question of a program; what fails here is its "fault"."""
    try:
        if channel not in processes:
            side = question["side"]
            others = [other for other, own in processes.items() if own.side == side]
            patience = checker.patience(side)
            if not all(other.ends_within(patience) for other in others):
                checker.intruded(side)
                raise UserError("a process has one connection to the checker")
            processes[channel] = Process(side)
        process = processes[channel]
        if "point" in question:
            draw = checker.draw(process, question["point"])
            return {"arguments": draw.described, "fixed": checker.fixed}, draw.contents
        if "shifts" in question:
            shifts, results = question["shifts"], question["results"]
            return {"wrong": checker.check(process, shifts, results, contents)}, ()
        return {}, ()
    except UserError as fault:
        return {"fault": str(fault)}, ()
    except Exception as fault:  # such as memory that is exhausted
        return {"fault": f"the checker fails: {in_a_line(fault)}"}, ()


def main(words: Sequence[str]) -> int:
    """Serve who holds the other end of the socket whose descriptor is the last word.

    The settings come from there first.
    """
    with ExitStack() as held:
        control = Channel(socket.socket(fileno=int(words[-1])))
        held.callback(control.close)
        settings, _ = control.receive()
        try:
            listener = held.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(settings.pop("socket"))
            listener.listen()
            checker = Checker(**settings)
        except UserError as fault:
            control.send({"fault": str(fault)})
            return fault.status
        names = [framework.name for framework in arrays.present()]
        control.send({"axes": checker.values, "frameworks": names})
        serve(checker, control, listener)
        return 0
