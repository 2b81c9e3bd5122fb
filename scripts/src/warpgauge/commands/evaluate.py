# SPDX-License-Identifier: Apache-2.0
"""warpgauge evaluate: compares a kernel with the one that it should replace."""

from __future__ import annotations

import json
import os
import socket
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from warpgauge.callables.messages import Channel
from warpgauge.callables.side import NAME
from warpgauge.commands import measuring_lines
from warpgauge.commands.arguments import Kernel
from warpgauge.commands.measuring_command import MeasuringCommand, Options, options_of
from warpgauge.external.program import ExternalKernels, manifest_values
from warpgauge.measure import (
    discovery,
    gpu_watch,
    machine_context,
    manifest,
    python_file,
    selection,
)
from warpgauge.measure.ab_run import AbRun, Side, open_rows
from warpgauge.measure.discovery import Binary, Probe, Suite
from warpgauge.measure.manifest import Program
from warpgauge.measure.measuring import Measuring
from warpgauge.measure.plan import TurnResult, gpu_environment
from warpgauge.measure.selection import Axes
from warpgauge.records.model import FILE
from warpgauge.records.names import FULL_SUITE, number
from warpgauge.records.sessions import BASE, CANDIDATE, FEWEST_OF_A_CHANGE
from warpgauge.reports import evaluation as report
from warpgauge.reports.evaluation import FORMATS
from warpgauge.system import environment, process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert
from warpgauge.verdict import judge
from warpgauge.verdict.evaluation import evaluated

# What is measured, on which GPU, both sides with all their points, and where they come from.
_Facts = Mapping[str, str]
_Prepared = tuple[Measuring, _Facts, tuple[Binary, Binary], tuple[_Facts, _Facts]]

_FOLDER = environment.ROOT / "build" / "python" / "evaluate"


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    command = _EvaluateCommand(parse(argv), root, argv)
    with command.alone_in(command.work):
        return command.run()


def parse(argv: Sequence[str]) -> Options:
    """Parse `argv`. Raises UserError for bad usage."""
    given = measuring_lines.evaluate().parse_args(argv)
    names = [axis for axis, _ in given.axis]
    for axis in names:
        if names.count(axis) > 1:
            raise UserError(f"--axis {axis} is given twice: join its values, e.g. n=1,2")
    given.axis = dict(given.axis)
    given.functions = _are_functions((given.base, given.candidate), given.inputs, given.axis)
    if given.functions:
        process.require_gpu()
    # Begin with as many pairs as a change needs: a candidate is expected to differ.
    return options_of(given, FORMATS, suite=FULL_SUITE, processes=FEWEST_OF_A_CHANGE)


@dataclass(frozen=True)
class _EvaluateCommand(MeasuringCommand):
    """A candidate kernel measured in pairs with a base."""

    command = "evaluate"

    @property
    def sides(self) -> tuple[Kernel, Kernel]:
        return self.options.own.base, self.options.own.candidate

    @property
    def axes(self) -> Axes:
        axes: Axes = self.options.own.axis
        return axes

    def run(self) -> ExitStatus:
        """Check all arguments first, then build, measure, judge and show."""
        self.check(self.paths.pair)
        prepare = self._functions if self.options.own.functions else self._kernels
        with self.begun() as (measuring, held):
            measuring, gpu, both, sources = prepare(measuring, held)
            common = selection.in_common(*both)
            suite = Suite((common[1],), Probe({}), machine_context.here(gpu))
            measuring.note(f"Measuring {suite.size} in pairs")
            base, candidate = (
                Side((variant,), {**source, "kernel": kernel.typed})
                for variant, source, kernel in zip(common, sources, self.sides, strict=True)
            )
            run = AbRun(measuring, suite, sources[1])
            looks = run.compared(base, candidate, "", self.paths.pair, judge.judge, open_rows)
            own = [
                tuple(selection.point_of(name) for name in whole.names if name not in part.names)
                for whole, part in zip(both, common, strict=True)
            ]
            names = self.sides[0].typed, self.sides[1].typed
            limit = self.options.own.memory_limit
            found = evaluated(looks.found, names, limit, (own[0], own[1]))
            status = self.options.formats.deliver(
                found, found.exit_status, lambda: report.render(found, self.results)
            )
            measuring.tell_budget()
            if looks.stop is not None:
                raise looks.stop
            return status

    def _kernels(self, measuring: Measuring, held: ExitStack) -> _Prepared:
        """Build both kernels, which are a family's variants or in a manifest. Raises UserError."""
        gpu = gpu_watch.chosen(self.options.device)
        families = [kernel.name for kernel in self.sides if kernel.manifest is None]
        self.require_families(families)
        external = [_of_manifest(kernel, self.axes) for kernel in self.sides]
        for kernels in external:
            measuring.inputs.require_unchanged(kernels.files if kernels else ())
        measuring.require_gpu(families)
        built = measuring.built()
        measuring.provide_driver()
        variants, scratch = list[Binary](), measuring.scratch
        for side, kernel, kernels in zip((BASE, CANDIDATE), self.sides, external, strict=True):
            if kernels is None:
                program = selection.program_of(built.programs, kernel.name)
                measuring.require_built([discovery.unlisted(program)])
                variants.append(selection.at_axes(program, kernel.name, self.axes, scratch))
            else:
                # Keep the plan until the next evaluation, so that logged commands can be repeated.
                folder = self.root / "build" / "external" / f"evaluate-{side}"
                (program,) = manifest.read(kernels.provide(built.programs, folder)).programs
                name = selection.variant_of(kernels.cases[0].name)
                variants.append(selection.of_program(program, name, scratch))
        (base, candidate), uuid = variants, ""
        if base.needs_gpu or candidate.needs_gpu:
            gpu = gpu or gpu_watch.chosen(0)
            uuid = gpu["gpu_uuid"]
            given = Probe({}, gpus=len(uuid.split(",")))
            for variant in (base, candidate):
                selection.runnable([variant], given)
            # Use the UUID: the index counts in NVML's order, and CUDA's may differ.
            measuring = replace(measuring, options=replace(self.options, device=uuid))
        measuring = self.ready(measuring, uuid, held)
        return measuring, gpu, (base, candidate), (built.source, built.source)

    def _functions(self, measuring: Measuring, held: ExitStack) -> _Prepared:
        """Prepare two functions of files in Python, which nothing builds. Raises UserError."""
        gpu = gpu_watch.chosen(self.options.device) or gpu_watch.chosen(0)
        options = replace(self.options, device=gpu["gpu_uuid"])
        measuring.provide_driver()
        measuring = self.ready(replace(measuring, options=options), gpu["gpu_uuid"], held)
        checker = held.enter_context(_checker(measuring))
        checked = _checked(checker, self.sides, self.options.own, measuring.scratch)
        if measuring.watch is not None:
            measuring.watch.admit()  # the checker
        base, candidate = (
            {**machine_context.source(kernel.file.resolve().parent), FILE: str(kernel.file)}
            for kernel in self.sides
            if kernel.file is not None
        )
        measuring = replace(measuring, audit=checked.audited)
        return measuring, gpu, checked.binaries, (base, candidate)


def _of_manifest(kernel: Kernel, axes: Axes) -> ExternalKernels | None:
    """Load a kernel at the values of `axes`; None for a family's variant. Raises UserError."""
    if kernel.manifest is None:
        return None
    integers = {axis: manifest_values(axis, map(number, own)) for axis, own in axes.items()}
    return ExternalKernels.of(kernel.manifest, [kernel.name], integers)


def _are_functions(sides: Sequence[Kernel], inputs: Sequence[Path | str], axes: Axes) -> bool:
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
class _Checked:
    """Both sides, as programs whose results the checker compares, and how many times each has."""

    binaries: tuple[Binary, Binary]
    _checker: Channel
    _times: Counter[tuple[str, str]] = field(default_factory=Counter)  # by side and point

    def audited(self, outcome: TurnResult) -> TurnResult:
        """Add faults for times of results that the checker did not see, or found wrong."""
        names, side = self.binaries[0].names, outcome.side
        timed = [name for name in outcome.report.rows if name not in outcome.failures]
        self._times.update((side, name) for name in timed)
        times = [self._times[side, name] if name in timed else 0 for name in names]
        answer, _ = self._checker.ask({"side": side, "times": times})
        all_faults = dict(zip(names, answer["faults"], strict=True))
        faults = {name: all_faults[name] for name in timed if all_faults[name]}
        return replace(outcome, faults={**faults, **outcome.faults})


def _checked(
    checker: Channel, sides: tuple[Kernel, Kernel], own: Namespace, scratch: Path
) -> _Checked:
    """Return both sides, which the checker waits for. Raises UserError."""
    base, candidate = (kernel.file.resolve() for kernel in sides if kernel.file is not None)
    files = [given.resolve() for given in own.inputs if isinstance(given, Path)]
    meeting = str(scratch / "checker.socket")  # only we can enter that folder
    settings = {
        "socket": meeting,
        "base": str(base),
        "function": sides[0].name,
        "inputs": str(files[0] if files else base),
        "axes": own.axis,
        "shapes": [given for given in own.inputs if isinstance(given, str)],
    }
    answer, _ = checker.ask(settings)
    common = [json.dumps(answer["axes"]), ",".join(answer["frameworks"])]
    binaries = []
    for name, kernel, file in zip((BASE, CANDIDATE), sides, (base, candidate), strict=True):
        program = _FOLDER / name / file.stem
        python_file.write(program, "side", [meeting, name, str(file), kernel.name, *common])
        known = Program(program, inputs=(*dict.fromkeys([file, base, *files]),), loads=True)
        binaries.append(selection.of_program(known, NAME, scratch))
    return _Checked((binaries[0], binaries[1]), checker)


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
