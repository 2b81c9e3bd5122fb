# SPDX-License-Identifier: Apache-2.0
"""One side of an evaluation as a program: it times a kernel, whose results the checker compares."""

from __future__ import annotations

import importlib
import json
import socket
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import lru_cache
from pathlib import Path

from warpgauge.callables import arrays, program, timing
from warpgauge.callables.arrays import Bytes, Framework
from warpgauge.callables.messages import (
    Channel,
    Returned,
    Values,
    arguments_of,
    function_of,
    results_of,
)
from warpgauge.system.errors import UserError

NAME = "kernel"  # of the benchmark


class _CheckedCall(timing.Call):
    """A call whose results another process compares."""

    def __init__(self, checker: Channel, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        self._checker = checker

    def _add_check(self) -> None:
        self._case.check_contents(self._require_right_contents)

    def _require_right_contents(self, slot: int, contents: list[Bytes]) -> None:
        """Send what the engine copied, which holds only results that have memory."""
        left = iter(contents)
        described, sent = list[Values](), list[Bytes]()
        for framework, array in self._results(self._case.results(slot), ()):
            described.append(framework.described(array))
            sent.append(next(left, bytearray()) if framework.block(array).bytes else bytearray())
        shifts = [self._case.shift(number, slot) for number in self._buffers.values()]
        question = {"shifts": shifts, "results": described}
        answer, _ = self._checker.ask(question, sent)
        if wrong := answer["wrong"]:
            raise timing.engine_module().WrongResult(wrong)


def main(words: Sequence[str]) -> int:
    """Measure a function of a file.

    `words` are the checker's socket, the side, file, function, axes, and the frameworks of the
    inputs.
    """
    where, side, file, function, axes, names, *options = words
    frameworks = names.split(",")
    with ExitStack() as held:

        @lru_cache
        def connected() -> tuple[Channel, list[Framework]]:
            """Connect to the checker, and import its inputs' frameworks before any kernel."""
            connection = held.enter_context(socket.socket(socket.AF_UNIX))
            connection.connect(where)
            channel = Channel(connection)
            channel.ask({"side": side})
            for name in frameworks:
                importlib.import_module(name)
            return channel, arrays.present()

        def measure(**point: object) -> None:
            channel, present = connected()
            kernel = function_of(Path(file), function)
            answer, contents = channel.ask({"point": point})
            arguments = arguments_of(answer["arguments"], contents, present)

            def plain(*values: object) -> Returned:
                return [array for _, array in results_of(kernel(*values), arrays.present())]

            case = timing.running.get()
            case.shares_with(1)  # the checker
            _CheckedCall(channel, plain, arguments, {}, answer["fixed"], None, None).measure(case)

        # A fault is what the row will have.
        packages = [*frameworks, *program.large_imports(Path(file))]
        with program.loading(options, packages) as is_driven, suppress(UserError):
            if is_driven:
                connected()
                function_of(Path(file), function)
        program.benchmark(NAME, **json.loads(axes))(measure)
        status: int = timing.engine_module().run_program([file, *options])
        return status
