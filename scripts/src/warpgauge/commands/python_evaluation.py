# SPDX-License-Identifier: Apache-2.0
"""Two functions of files in Python for `warpgauge evaluate`, and the process that checks them."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.callables.messages import Channel
from warpgauge.callables.side import NAME
from warpgauge.commands.arguments import Kernel
from warpgauge.measure import python_file, selection
from warpgauge.measure.discovery import Binary
from warpgauge.measure.manifest import Program
from warpgauge.measure.measuring import Measuring
from warpgauge.measure.plan import TurnResult, gpu_environment
from warpgauge.measure.selection import Axes
from warpgauge.records.sessions import BASE, CANDIDATE
from warpgauge.system import environment, process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert

Inputs = Sequence[Path | str]
_FOLDER = environment.ROOT / "build" / "python" / "evaluate"


def chosen(sides: Sequence[Kernel], inputs: Inputs, axes: Axes) -> bool:
    """Return whether both are functions in Python. Raises UserError if these do not fit together.

    `inputs` are a file, or shapes.
    """
    others = [kernel.typed for kernel in sides if kernel.file is None]
    if len(others) == len(sides):
        if inputs:
            raise UserError("--inputs is for functions in Python, such as mine.py:softmax")
        return False
    if others:
        raise UserError(
            f"{others[0]} is not a Python function, but the other side is: name FILE.py:FUNCTION"
        )
    files = [given for given in inputs if isinstance(given, Path)]
    if len(files) > 1 or len(files) not in (0, len(inputs)):
        raise UserError("--inputs takes one file, or shapes once per point")
    if axes and inputs and not files:
        raise UserError("--axis gives values to the parameters of inputs(), and --inputs shapes")
    return True


@dataclass(frozen=True)
class Checked:
    """Both sides, as programs whose results the checker compares."""

    binaries: tuple[Binary, Binary]
    _checker: Channel

    def audited(self, outcome: TurnResult) -> TurnResult:
        """Add faults for times of results that the checker did not see, or found wrong."""
        answer, _ = self._checker.ask({"side": outcome.side})
        faults = {
            name: fault
            for name, fault in zip(self.binaries[0].names, answer["faults"], strict=True)
            if fault and name not in outcome.failures and name in outcome.report.rows
        }
        return replace(outcome, faults={**faults, **outcome.faults})


@contextmanager
def checked(
    sides: tuple[Kernel, Kernel], inputs: Inputs, axes: Axes, measuring: Measuring
) -> Iterator[Checked]:
    """Start the checker, and yield both sides, which it waits for. Raises UserError."""
    base, candidate = (kernel.file.resolve() for kernel in sides if kernel.file is not None)
    files = [given.resolve() for given in inputs if isinstance(given, Path)]
    meeting = str(measuring.scratch / "checker.socket")  # only we can enter that folder
    settings = {
        "socket": meeting,
        "base": str(base),
        "function": sides[0].name,
        "inputs": str(files[0] if files else base),
        "axes": axes,
        "shapes": [given for given in inputs if isinstance(given, str)],
    }
    with _checker(measuring) as checker:
        answer, _ = checker.ask(settings)
        common = [json.dumps(answer["axes"]), ",".join(answer["frameworks"])]

        def side(name: str, kernel: Kernel, file: Path) -> Binary:
            program = _FOLDER / name / file.stem
            words = [meeting, name, str(file), kernel.name, *common]
            python_file.write(program, "side", words)
            known = Program(program, inputs=(*dict.fromkeys([file, base, *files]),))
            return selection.of_program(known, NAME, measuring.scratch)

        yield Checked((side(BASE, sides[0], base), side(CANDIDATE, sides[1], candidate)), checker)


@contextmanager
def _checker(measuring: Measuring) -> Iterator[Channel]:
    """Start the checker by the python3 of PATH, on the GPU of the run."""
    ours, theirs = socket.socketpair()
    ours.settimeout(measuring.options.timeout_s)
    program, log = _FOLDER / "checker", measuring.scratch / "checker.log"
    python_file.write(program, "checker", [])
    with ours, log.open("wb") as file, ExitStack() as held:
        with theirs:
            started = process.started(
                [str(program), str(theirs.fileno())],
                stdout=file,
                stderr=file,
                pass_fds=[theirs.fileno()],
                env={**os.environ, **gpu_environment(measuring.options.device)},
            )
            held.enter_context(started)
        try:
            yield Channel(ours)
        except (EOFError, OSError):
            *_, last = log.read_text(errors="replace").strip().split("\n")
            fault = f"the process that checks results ended: {inert(last)}".removesuffix(": ")
            raise UserError(fault, ExitStatus.NOT_MEASURED) from None
