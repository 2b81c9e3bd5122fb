# SPDX-License-Identifier: Apache-2.0
"""Gather one side's evidence: its row, and one process each under CUPTI and Nsight Compute."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeVar

from warpgauge.measure import cubins
from warpgauge.measure.discovery import Binary
from warpgauge.measure.plan import Lane, command, gpu_arguments, gpu_environment
from warpgauge.records.model import Clock, Row
from warpgauge.system import atomic, process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.why import counters, machine_code, trace_file
from warpgauge.why.calls import calls_of, device_of, kernels_of
from warpgauge.why.chrome_trace import chrome_trace
from warpgauge.why.evidence import Evidence
from warpgauge.why.machine_code import Kernel
from warpgauge.why.trace_file import Activity

_MOST_KERNELS = 20  # the most kernels whose machine code is compared
_T = TypeVar("_T")


@dataclass(frozen=True)
class Gathering:
    """How evidence is gathered; `missing` collects a sentence for each unavailable source."""

    scratch: Path
    device: int | str | None
    trace_library: Path | None  # the library that traces both sides, if there is one
    seconds: float  # the budget of everything except the builds
    traces: Path | None = None  # the folder that keeps traces, made when needed
    missing: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def side(self, binary: Binary, name: str, row: Row, what: str) -> Evidence:
        """Return the evidence of one benchmark, which has a time; `what` names the side."""
        seconds = statistics.median(chain.from_iterable(row.process_medians.values()))
        found = Evidence(seconds, row.clock is Clock.HOST, row.counters)
        if not binary.needs_gpu:
            return found
        words = self._command(binary, name)
        trace = None
        if (library := self.trace_library) is not None:
            trace = self._unless_missing(what, "traced", lambda: self._trace(library, words))
        names: Sequence[str] = ()
        if trace is not None:
            if self.traces is not None:
                kept = chrome_trace(trace, {"benchmark": name, "side": what})
                self.traces.mkdir(parents=True, exist_ok=True)
                atomic.replace_all({self.traces / f"trace-{what}.json": kept})
            names = kernels_of(trace)
            made = self._unless_missing(what, "traced", lambda: calls_of(trace))
            found = replace(found, calls=made, device=device_of(trace))
        if names:
            code = self._code(binary.path, names, what)
            whole = code is not None and len(code) == len(set(map(cubins.stable_name, names)))
            found = replace(found, code=code, code_is_whole=whole)
        if trace is not None and not names:
            return found  # ncu would not find kernels either
        counted = self._unless_missing(what, "counted", lambda: self._counted(words, row, found))
        if counted is not None:
            found = replace(found, counters=counted.counters, kernels=counted.kernels)
        return found

    def _code(self, program: Path, names: Sequence[str], what: str) -> Mapping[str, Kernel] | None:
        def read() -> Mapping[str, Kernel]:
            architecture = machine_code.architecture_of(self.device)
            return machine_code.kernels_of(program, names[:_MOST_KERNELS], architecture)

        return self._unless_missing(what, "disassembled", read)

    def _command(self, binary: Binary, name: str) -> list[str]:
        return command(Lane((binary,)), binary, gpu_arguments(self.device), (name,))

    def _trace(self, library: Path, words: Sequence[str]) -> Sequence[Activity]:
        file = self.scratch / "trace.json"
        file.unlink(missing_ok=True)
        variables = trace_file.environment(library, file, calls=True)
        both = {**gpu_environment(self.device), **variables}
        ending = process.run(words, self._left(), self.scratch, both)
        if ending.status:
            raise UserError(ending.described(), ExitStatus.NOT_MEASURED)
        return trace_file.read_trace(file)

    def _counted(self, words: Sequence[str], row: Row, found: Evidence) -> counters.Counted:
        done = (found.device or {}).items()
        traced = sum(one.count for name, one in done if name.startswith("kernel"))
        kernels = row.counters.get("kernels") or traced or None
        environment = gpu_environment(self.device)
        return counters.counted(words, self.scratch, self._left(), kernels, environment)

    def _left(self) -> float:
        """Return a process's time limit: half of the remaining budget, at least one second."""
        return max((self.seconds - (time.monotonic() - self.began)) / 2, 1.0)

    def _unless_missing(self, what: str, how: str, get: Callable[[], _T]) -> _T | None:
        """Return the result of `get`; if it fails, None, and add a sentence to `missing`."""
        try:
            return get()
        except UserError as fault:
            sentence = f"The {what} is not {how}: {fault}"
        except OSError as fault:
            sentence = f"The {what} is not {how}: {fault.strerror or fault}"
        self.missing.append(sentence.rstrip(".") + ".")
        return None


class Changed(NamedTuple):
    """The kernels that differ between two programs, at most twenty per side, and their numbers."""

    before: Mapping[str, Kernel]
    after: Mapping[str, Kernel]
    differ: int  # kernels whose machine code differs
    alone: int  # kernels of only one of the programs


def changed_kernels(before: Path, after: Path) -> Changed:
    """Compare two programs without running them. Raise UserError or OSError."""
    old, new = cubins.digests(before), cubins.digests(after)
    differ = [name for name in old if name in new and old[name] != new[name]]
    gone, come = ([n for n in one if n not in other] for one, other in ((old, new), (new, old)))
    was = machine_code.kernels_of(before, [*differ, *gone][:_MOST_KERNELS])
    is_now = machine_code.kernels_of(after, [*differ, *come][:_MOST_KERNELS])
    return Changed(was, is_now, len(differ), len(gone) + len(come))
