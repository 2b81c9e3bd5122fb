# SPDX-License-Identifier: Apache-2.0
"""Runs one child process to its end, however it ends, and describes it.

It ends with its process group. The driver ends all that benchmark programs start.
"""

from __future__ import annotations

import codecs
import os
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from warpgauge.system import command_log, entry_point, streams
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import cut, inert

NOT_EXECUTABLE = 127  # the status that shells return for a program that cannot be started

# From SIGTERM to SIGKILL. The driver gives its programs 5 s to tear down a CUDA context.
GRACE_S = 20.0
_GONE_S = 5.0  # from SIGKILL until a process counts as one that cannot be killed
# Time between two looks at the output. A hang may take this much longer.
_LOOK_S = 0.5
_MOST_OUTPUT = 1 << 30  # bytes; a loop could otherwise fill the disk
_KEPT_OUTPUT = 1 << 24  # last bytes of the output; room for 100,000 benchmark names
_TAIL_LINES, _LONGEST_LINE = 3, 200
# Device files of the driver on Linux and on WSL.
GPU_DEVICES = ("/dev/nvidiactl", "/dev/dxg")
_LOADED_DRIVER = "/proc/driver/nvidia/version"
# Google Benchmark's output before its first row, and the head of its table.
_PREAMBLE = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:]+[-+Z]|Running \S|Run on \(\d+ X |CPU Caches:$|  L\d \w+ \d+ KiB"
    r"|Load Average: |\*\*\*WARNING\*\*\* |-{20}|Benchmark +Time "
)
# Reads a process group, and ends it if no further line comes because we were killed.
_WATCH = f"""
read -r group && ! read -r _ || exit
kill -TERM -$group; sleep {GRACE_S:g}; kill -KILL -$group
"""


@dataclass(frozen=True)
class Ending:
    """How a process ended. `status` is negative for a signal, as in subprocess."""

    command: tuple[str, ...]
    status: int
    stdout: str
    stderr: str
    seconds: float
    ended_for: str = ""  # why it was ended, if it did not end by itself

    @property
    def program(self) -> str:
        return Path(self.command[0]).name

    @property
    def how(self) -> str:
        """How it ended: ``bench_gemm was killed by SIGSEGV``."""
        if self.ended_for:
            return f"{self.program} {self.ended_for} and was killed"
        if self.status >= 0:
            return f"{self.program} exited with status {self.status}"
        why = ", e.g. because memory ran out" if self.status == -signal.SIGKILL else ""
        return f"{self.program} was killed by {entry_point.name_of(-self.status)}{why}"

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


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:  # noqa: ANN401
    """Start a program that leads a process group, which ends with this context or this process.

    `options` are those of subprocess.Popen. Raises OSError if the program cannot be started.

    A shell watches this process: PR_SET_PDEATHSIG needs code between fork and exec, which hangs
    with threads.
    """
    with ExitStack() as at_the_end:
        with entry_point.postponed():  # otherwise a process could start that nobody ends
            null = subprocess.DEVNULL
            watch = subprocess.Popen(
                ["/bin/sh", "-c", _WATCH],
                stdin=subprocess.PIPE,
                stdout=null,
                stderr=null,
                start_new_session=True,
                env={"PATH": os.defpath},
            )
            at_the_end.callback(watch.communicate, b"\n\n")  # two: it may not have a group yet
            process = subprocess.Popen(command, stdin=null, start_new_session=True, **options)
            assert watch.stdin is not None
            watch.stdin.write(b"%d\n" % process.pid)
            watch.stdin.flush()
            at_the_end.callback(_end, process)
        yield process


def ends_within(process: subprocess.Popen[Any], seconds: float | None) -> bool:
    """Wait until a process ends, without polling; its number stays that of its group."""
    ended = os.pidfd_open(process.pid)
    try:
        return bool(select.select([ended], [], [], seconds)[0])
    finally:
        os.close(ended)


def _end(process: subprocess.Popen[Any]) -> None:
    """End a process with SIGTERM or, if that does not help, SIGKILL; then the rest of its group."""
    try:
        if not ends_within(process, 0):
            os.killpg(process.pid, signal.SIGTERM)
            ends_within(process, GRACE_S)
    finally:  # even after a second Ctrl-C
        os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GONE_S)


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
    """Run `command` with `environment` added to ours, and return how it ended.

    It is ended after `deadline_s`, or if this function raises (Ctrl-C). Its output goes to unnamed
    files in `folder`; its standard output to the file `into`, if given: whenever that grows, the
    deadline restarts and `grown` is called. In the command log, `told` says what it is for, and
    the commands `by_hand`, if any, replace it.
    """
    environment = environment or {}
    # Without Google Benchmark's variables, so that only the command line determines a run.
    ours = {key: value for key, value in os.environ.items() if not key.startswith("BENCHMARK_")}
    with (
        command_log.running(command, environment, told=told, by_hand=by_hand) as logged,
        into.open("w+b") if into else tempfile.TemporaryFile(dir=folder) as out,
        tempfile.TemporaryFile(dir=folder) as err,
        ExitStack() as at_the_end,
    ):
        began, variables = time.monotonic(), {**ours, **environment}
        try:
            program = started(command, stdout=out, stderr=err, env=variables)
            process = at_the_end.enter_context(program)
        except OSError as fault:
            logged.ended(NOT_EXECUTABLE)
            return Ending(tuple(command), NOT_EXECUTABLE, "", fault.strerror or str(fault), 0.0)
        ended_for = _watch(process, deadline_s, (out, err), grown if into else None)
        at_the_end.close()
        status = -signal.SIGKILL if process.returncode is None else process.returncode
        logged.ended(status, ended_for)
        texts = ("" if into else _tail(out), _tail(err))
        return Ending(tuple(command), status, *texts, time.monotonic() - began, ended_for)


def _watch(
    process: subprocess.Popen[Any],
    deadline_s: float,
    output: Sequence[IO[bytes]],
    grown: Callable[[], None] | None,
) -> str:
    """Wait until a process ends, or return why it must be ended."""
    before, until = 0, time.monotonic() + deadline_s
    while not ends_within(process, min(_LOOK_S, deadline_s / 10)):
        sizes = [os.fstat(file.fileno()).st_size for file in output]
        if grown and sizes[0] != before:
            before, until = sizes[0], time.monotonic() + deadline_s
            grown()
        elif time.monotonic() >= until:
            return f"{'wrote nothing for' if grown else 'did not finish within'} {deadline_s:g} s"
        if sum(sizes) > _MOST_OUTPUT:
            return f"wrote more than {_MOST_OUTPUT >> 20} MiB of output"
    return ""


def _tail(file: IO[bytes]) -> str:
    """Return the last `_KEPT_OUTPUT` bytes of a process's output."""
    file.seek(max(0, os.fstat(file.fileno()).st_size - _KEPT_OUTPUT))
    return file.read(_KEPT_OUTPUT).decode(errors="replace")


def tee(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
    """Run `command`, show its output, keep it in `log`, and return its exit status.

    For a signal, the status is that of a shell. An interrupt is passed on as SIGTERM, because a CI
    runner signals only the process that it started. Raises UserError if it cannot be started.
    """
    # A multi-byte character may arrive in two parts.
    text = codecs.getincrementaldecoder("utf-8")("replace")
    variables = {**os.environ, **environment}
    try:
        with log.open("wb") as kept, log.open("rb") as shown, ExitStack() as at_the_end:
            at_the_end.callback(lambda: streams.write(text.decode(shown.read())))
            output = {"stdout": kept, "stderr": subprocess.STDOUT}
            process = at_the_end.enter_context(started(command, env=variables, **output))
            while not ends_within(process, _LOOK_S):
                streams.write(text.decode(shown.read()))
    except OSError as fault:
        raise UserError(f"{fault.filename or log}: {fault.strerror or fault}") from fault
    status: int = process.returncode
    return status if status >= 0 else 128 - status


def log_tail(log: Path) -> str:
    """Return the log's last non-empty line, made inert; "" if there is none."""
    try:
        with log.open("rb") as file:
            lines = _tail(file).split("\n")
    except OSError:  # the report matters more than the log
        return ""
    return next((inert(line.strip()) for line in reversed(lines) if line.strip()), "")


def nvidia_smi(*arguments: str) -> str:
    """Return nvidia-smi's output; empty if it fails or is missing."""
    try:
        command, null = ["nvidia-smi", *arguments], subprocess.DEVNULL
        return subprocess.check_output(
            command, stdin=null, stderr=null, errors="replace", timeout=60
        ).strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def why_no_gpu() -> str:
    """Return why there is no GPU that programs could use; "" if there is one."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.strip() in ("", "-1"):
        return f"CUDA_VISIBLE_DEVICES={visible.strip() or repr('')} hides every GPU"
    # If only the device file exists, nvidia-smi is missing or broken.
    if any(Path(file).exists() for file in GPU_DEVICES) or nvidia_smi("--list-gpus"):
        return ""
    if Path(_LOADED_DRIVER).exists():
        return "the NVIDIA driver is loaded, but shows no GPU"
    return "no NVIDIA driver is loaded"


def require_gpu() -> None:
    """Raise UserError if no driver shows a GPU. Call it before a build that takes minutes."""
    if why := why_no_gpu():
        instead = "nothing was built. Run this on a machine with a GPU"
        raise UserError(f"no GPU was found: {why}; {instead}", ExitStatus.NOT_MEASURED)
