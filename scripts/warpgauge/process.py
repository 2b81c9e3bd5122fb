# SPDX-License-Identifier: Apache-2.0
"""Runs one child process to its end, whatever that end is, and says it in words."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GRACE_S = 5.0  # between SIGTERM and SIGKILL: time for a CUDA context to be torn down


@dataclass(frozen=True)
class Ending:
    """How a process ended. `status` is negative for a signal, as in subprocess."""

    command: tuple[str, ...]
    status: int
    stdout: str
    stderr: str
    seconds: float
    deadline_s: float | None = None  # set when it was overrun

    @property
    def program(self) -> str:
        return Path(self.command[0]).name

    @property
    def last_words(self) -> str:
        """The last line it said, on standard error rather than on standard output."""
        lines = [line.strip() for line in (self.stderr or self.stdout).splitlines()]
        last = next((line for line in reversed(lines) if line), "")
        return last.removeprefix(f"{self.command[0]}: ")

    @property
    def description(self) -> str:
        """One clause, as in `bench_gemm was killed by SIGSEGV: last words`."""
        if self.deadline_s is not None:
            how = f"did not finish within {self.deadline_s:g} s and was ended"
        elif self.status < 0:
            how = f"was killed by {_signal_name(-self.status)}"
        else:
            how = f"exited with status {self.status}"
        return f"{self.program} {how}" + (f": {self.last_words}" if self.last_words else "")


def run(
    command: Sequence[str],
    deadline_s: float,
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> Ending:
    """Run `command` in a process group of its own, its output in files of `folder`.

    `environment` is added to our own.

    At the deadline the whole group gets SIGTERM, then SIGKILL; so it does when this function is
    left by an exception (Ctrl-C), which the child does not see by itself.
    """
    out, err = folder / "stdout", folder / "stderr"
    began = time.monotonic()
    overrun = False
    with out.open("wb") as out_file, err.open("wb") as err_file:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out_file,
                stderr=err_file,
                start_new_session=True,
                env={**_environment(), **(environment or {})},
            )
        except OSError as fault:
            return Ending(tuple(command), 127, "", fault.strerror or str(fault), 0.0)
        try:
            process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            overrun = True
        finally:
            if process.returncode is None:
                end_group(process)
    return Ending(
        command=tuple(command),
        status=-signal.SIGKILL if process.returncode is None else process.returncode,
        stdout=out.read_text(errors="replace"),
        stderr=err.read_text(errors="replace"),
        seconds=time.monotonic() - began,
        deadline_s=deadline_s if overrun else None,
    )


def _environment() -> dict[str, str]:
    """Ours without Google Benchmark's variables: a run is what its command line says."""
    return {key: value for key, value in os.environ.items() if not key.startswith("BENCHMARK_")}


def end_group(process: subprocess.Popen[Any]) -> None:
    """End a process that leads a group of its own, and the whole group, politely first."""
    for signal_number in (signal.SIGTERM, signal.SIGKILL):  # the second also for its children
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal_number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
