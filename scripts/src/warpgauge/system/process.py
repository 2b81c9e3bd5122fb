# SPDX-License-Identifier: Apache-2.0
"""Runs one child process to its end, however it ends, and describes it."""

from __future__ import annotations

import codecs
import os
import re
import secrets
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from warpgauge.system import command_log, interrupts, process_tree, streams
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.process_tree import ProcessTree
from warpgauge.system.text import cut, inert

NOT_EXECUTABLE = 127  # the status that shells return for a program that cannot be started

# Polling interval; a check takes 20 us. A hang may take this much longer.
_LOOK_S = 0.5
_MOST_OUTPUT = 1 << 30  # bytes; a loop could otherwise fill the disk
_KEPT_OUTPUT = 1 << 24  # last bytes of the output; room for 100,000 benchmark names
_TAIL_LINES, _LONGEST_LINE = 3, 200
# Device files of the driver on Linux and on WSL.
GPU_DEVICES = ("/dev/nvidiactl", "/dev/dxg")
# Google Benchmark's output before its first row, and the head of its table.
_PREAMBLE = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:]+[-+Z]|Running \S|Run on \(\d+ X |CPU Caches:$|  L\d \w+ \d+ KiB"
    r"|Load Average: |\*\*\*WARNING\*\*\* |-{20}|Benchmark +Time "
)


@dataclass(frozen=True)
class Ending:
    """How a process ended. `status` is negative for a signal, as in subprocess."""

    command: tuple[str, ...]
    status: int
    stdout: str
    stderr: str
    seconds: float
    ended_for: str = ""  # why it was ended, if it did not end by itself
    left_behind: bool = False  # its children outlived it, and were ended
    runs_on: bool = False  # it, or a child, cannot be ended

    @property
    def program(self) -> str:
        return Path(self.command[0]).name

    @property
    def how(self) -> str:
        """How it ended: ``bench_gemm was killed by SIGSEGV``."""
        if self.ended_for:
            went = " and cannot be killed" if self.runs_on else " and was killed"
            return f"{self.program} {self.ended_for}{went}"
        if self.status >= 0:
            return f"{self.program} exited with status {self.status}"
        why = ", e.g. because memory ran out" if self.status == -signal.SIGKILL else ""
        return f"{self.program} was killed by {interrupts.name_of(-self.status)}{why}"

    def described(self, known: Collection[str] = (), when: str = "") -> str:
        """Return one clause: `bench_gemm was killed by SIGSEGV: oh`; `when` precedes the colon."""
        words = self.stderr_tail(known)
        return self.how + when + (f": {words}" if words else "")

    def stderr_tail(self, known: Collection[str] = ()) -> str:
        """Return the last relevant lines of standard error, or else of standard output, in one.

        Lines that begin with one of `known` (context keys, measured benchmarks) are skipped.
        """

        def tells(line: str) -> bool:
            first, *_ = line.split(maxsplit=1) or [""]
            return bool(first) and not _PREAMBLE.match(line) and first.rstrip(":") not in known

        for output in (self.stderr, self.stdout):
            last = [*islice(filter(tells, reversed(output.splitlines())), _TAIL_LINES)]
            if last:
                own = (line.strip().removeprefix(f"{self.command[0]}: ") for line in reversed(last))
                return " / ".join(inert(cut(line, _LONGEST_LINE)) for line in own)
        return ""


def run(
    command: Sequence[str],
    deadline_s: float,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    into: Path | None = None,
    grown: Callable[[], None] = lambda: None,
    told: str = "",
    by_hand: Sequence[Sequence[str]] = (),
) -> Ending:
    """Run `command` in a new session, with `environment` added to ours, and return how it ended.

    It is ended after `deadline_s`. All its descendants end with it, also if this function raises
    (Ctrl-C) or this process is killed. Its output goes to unnamed files in `folder`; its standard
    output to the file `into`, if given: whenever that grows, the deadline restarts and `grown` is
    called. In the command log, `told` says what
    it is for, and the commands `by_hand`, if any, replace it.
    """
    mark, environment = secrets.token_hex(16), environment or {}
    # Without Google Benchmark's variables, so that only the command line determines a run.
    ours = {key: value for key, value in os.environ.items() if not key.startswith("BENCHMARK_")}
    process_tree.adopt()
    with (
        command_log.running(command, environment, told=told, by_hand=by_hand) as logged,
        process_tree.ended_with_us(mark),
        into.open("w+b") if into else tempfile.TemporaryFile(dir=folder) as out,
        tempfile.TemporaryFile(dir=folder) as err,
        ExitStack() as at_the_end,
    ):
        older, began = process_tree.pids(), time.monotonic()
        with interrupts.postponed():  # otherwise a process could start that nobody ends
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                    env={**ours, **environment, process_tree.MARK: mark},
                )
            except OSError as fault:
                logged.ended(NOT_EXECUTABLE)
                words = fault.strerror or str(fault)
                return Ending(tuple(command), NOT_EXECUTABLE, "", words, 0.0)
            family = ProcessTree(process.pid, mark.encode(), older)
            # A thread waits without polling.
            waiter = threading.Thread(target=process.wait, daemon=True)
            waiter.start()
            at_the_end.callback(waiter.join, process_tree.GONE_S)
            at_the_end.callback(family.end)
        ended_for = _watch(waiter, deadline_s, into, grown, (out, err))
        left_behind = not ended_for and bool(family.running())
        at_the_end.close()
        status = -signal.SIGKILL if process.returncode is None else process.returncode
        logged.ended(status, ended_for)
        said = ("" if into else tail(out), tail(err))
        seconds = time.monotonic() - began
        runs_on = bool(family.running())
        return Ending(tuple(command), status, *said, seconds, ended_for, left_behind, runs_on)


def _watch(
    waiter: threading.Thread,
    deadline_s: float,
    into: Path | None,
    grown: Callable[[], None],
    output: Sequence[IO[bytes]],
) -> str:
    """Wait until a process ends, or return why it must be ended."""
    before, until = 0, time.monotonic() + deadline_s
    while True:
        waiter.join(min(_LOOK_S, deadline_s / 10))
        if not waiter.is_alive():
            return ""
        size = _size(into)
        if size != before:
            before, until = size, time.monotonic() + deadline_s
            grown()
        elif time.monotonic() >= until:
            what = "did not finish within" if into is None else "wrote nothing for"
            return f"{what} {deadline_s:g} s"
        if sum(os.fstat(file.fileno()).st_size for file in output) > _MOST_OUTPUT:
            return f"wrote more than {_MOST_OUTPUT >> 20} MiB of output"


def _size(path: Path | None) -> int:
    try:
        return path.stat().st_size if path is not None else 0
    except OSError:
        return 0


def tail(file: IO[bytes]) -> str:
    """Return the last `_KEPT_OUTPUT` bytes of a process's output."""
    size = os.fstat(file.fileno()).st_size
    file.seek(max(0, size - _KEPT_OUTPUT))
    return file.read(_KEPT_OUTPUT).decode(errors="replace")


def nvidia_smi(*arguments: str) -> str:
    """Return nvidia-smi's output; empty if it fails or is missing."""
    try:
        done = subprocess.run(
            ["nvidia-smi", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def has_gpu() -> bool:
    """Return whether a driver shows a GPU."""
    # If only the device file exists, nvidia-smi is missing or broken.
    return any(Path(one).exists() for one in GPU_DEVICES) or bool(nvidia_smi("--list-gpus"))


def require_gpu() -> None:
    """Raise UserError if no driver shows a GPU. Call it before a build that takes minutes."""
    if has_gpu():
        return
    raise UserError(
        "there is no GPU here: no driver reports one, and nothing was built. To measure what needs "
        "no GPU, use scripts/bench",
        ExitStatus.NOT_MEASURED,
    )


def tee(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
    """Run `command`, show its output, keep it in `log`, and return its exit status.

    For a signal, the status is that of a shell. Interrupts are passed on, because a CI runner
    signals only the process that it started. Raises UserError if the command cannot be started.
    """
    # A multi-byte character may arrive in two parts.
    text, mark = codecs.getincrementaldecoder("utf-8")("replace"), secrets.token_hex(16)
    try:
        with (
            log.open("wb", buffering=0) as kept,
            process_tree.ended_with_us(mark),
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment, process_tree.MARK: mark},
                start_new_session=True,  # a terminal's Ctrl-C reaches only us; we pass it on
            ) as running,
        ):
            assert running.stdout is not None
            try:
                while some := os.read(running.stdout.fileno(), 1 << 16):
                    kept.write(some)
                    streams.write(text.decode(some))
                status = running.wait()
            except BaseException:  # an interrupt, or a log whose disk is full
                with interrupts.postponed():
                    running.terminate()
                    rest, _ = running.communicate()
                    with suppress(OSError):
                        kept.write(rest)
                    streams.write(text.decode(rest))
                raise
    except OSError as fault:
        raise UserError(f"{fault.filename or log}: {fault.strerror or fault}") from fault
    return status if status >= 0 else 128 - status


def log_tail(log: Path) -> str:
    """Return the log's last non-empty line, made inert; "" if there is none."""
    try:
        with log.open("rb") as file:
            lines = tail(file).split("\n")
    except OSError:  # the report matters more than the log
        return ""
    return next((inert(line.strip()) for line in reversed(lines) if line.strip()), "")
