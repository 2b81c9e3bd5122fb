# SPDX-License-Identifier: Apache-2.0
"""What the runner, the driver and the programs in lock-step tell each other.

fixtures/README.md describes what driver and program say.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.system.process_tree import ProcessTree

# Time for a side to end by itself: it only has a file left to write.
_ENDING_S = 10.0

_LONGEST_LINE = 64 * 1024  # bytes; a name may be long
_MOST_OUTPUT = 1 << 30  # bytes of standard error; a loop could otherwise fill the disk
_LOOK_S = 0.5  # interval between checks of that size


@dataclass(frozen=True)
class Program:
    """Both sides' commands, and what to measure. Index 0 is the base, 1 the candidate.

    Start number k of a side reports to its prefix and ``<k>.json``; its standard error goes to
    ``<k>.err``. Nothing overwrites the output of an earlier process.
    """

    commands: list[list[str]]
    reports: list[str]  # prefixes
    names: list[str]  # the sides are told to skip any others
    cpu: int | None  # core for both sides; None for any


@dataclass(frozen=True)
class Plan:
    """The programs of a round, which are measured one after the other."""

    programs: list[Program]
    results: str
    order: list[int]  # in which the sides of a program start
    seed: int
    deadline_s: float  # for each answer of a side

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Read the JSON of ``dataclasses.asdict``."""
        told = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**told, "programs": [Program(**one) for one in told["programs"]]})


@dataclass(frozen=True)
class Finding:
    """The result of a benchmark: the log ratio of the candidate's time to the base's, or a fault.

    `log_ratio` is None if a side could not measure the benchmark; that side's row says why. A fault
    is that of side `of`: the driver ended it because of `ended_for`, or it ended by itself with
    `status`, `after_last` if its last benchmark was over. If `began` is false, no benchmark was
    running, so none is to blame, and none can be measured in lock-step.
    """

    program: int  # index in Plan.programs
    name: str
    log_ratio: float | None = None
    slices: int = 0
    of: int | None = None
    ended_for: str = ""
    status: int | None = None
    after_last: bool = False
    began: bool = True
    start: int = 1  # start number of the sides' processes
    seconds: float = 0.0  # since the finding before
    ended: bool = False  # the program's last: both sides have ended well
    left_behind: bool = False  # the program left a process behind, which was killed


def findings_in(results: Path, programs: int) -> list[dict[str, Finding]]:
    """Return the findings so far of each program, by benchmark."""
    found: list[dict[str, Finding]] = [{} for _ in range(programs)]
    with contextlib.suppress(OSError, ValueError):  # a killed driver leaves an incomplete line
        for line in results.read_text(encoding="utf-8").splitlines():
            one = Finding(**json.loads(line))
            found[one.program][one.name] = one
    return found


class SideFault(Exception):
    """A side is unusable: it must be ended because of `ended_for`, or has ended by itself ("")."""

    def __init__(self, side: int, ended_for: str = "") -> None:
        super().__init__(ended_for)
        self.side, self.ended_for = side, ended_for


class Side:
    """A program that works only while it is asked to, with `deadline_s` to answer.

    Its report goes to `output`.json, and its standard error to `output`.err.
    """

    def __init__(self, index: int, command: Sequence[str], output: str, deadline_s: float) -> None:
        self.index, self._deadline_s = index, deadline_s
        self._unread = b""
        report = [f"--benchmark_out={output}.json", "--benchmark_out_format=json"]
        with contextlib.ExitStack() as opened:
            self._socket, theirs = map(opened.enter_context, socket.socketpair())
            said = opened.enter_context(Path(f"{output}.err").open("wb"))
            self._said = said.fileno()
            self.process = subprocess.Popen(
                [*command, *report, f"--lock-step={theirs.fileno()}"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            theirs.close()
            # A child that outlives it may hold its socket open.
            self._ended = os.pidfd_open(self.process.pid)
            opened.callback(os.close, self._ended)
            self._ready = opened.enter_context(selectors.DefaultSelector())
            for readable in (self._socket, self._ended):
                self._ready.register(readable, selectors.EVENT_READ)
            self._open = opened.pop_all()

    def say(self, line: str) -> None:
        """Send a line to the side, which must be waiting. Raises SideFault."""
        self.require_silence()
        try:
            self._socket.sendall(line.encode() + b"\n")
        except OSError:
            raise SideFault(self.index) from None

    def require_silence(self) -> None:
        """Raise SideFault unless the side waits for a command."""
        if self._unread or (self._heard(0) and self._received(1, socket.MSG_PEEK)):
            raise SideFault(self.index, "sent a message out of turn")

    def hear(self, *expected: str) -> list[str]:
        """Return the words of its next line; the first must be `expected`. Raises SideFault."""
        until = time.monotonic() + self._deadline_s
        while b"\n" not in self._unread:
            if not self._heard(max(0.0, min(_LOOK_S, until - time.monotonic()))):
                if time.monotonic() >= until:
                    raise SideFault(self.index, f"sent no message for {self._deadline_s:g} s")
                if os.fstat(self._said).st_size > _MOST_OUTPUT:
                    raise SideFault(self.index, f"wrote more than {_MOST_OUTPUT >> 20} MiB")
                continue
            self._unread += self._received(4096)
            if len(self._unread) > _LONGEST_LINE:
                raise SideFault(self.index, "sent an endless message")
        line, _, self._unread = self._unread.partition(b"\n")
        text = line.decode(errors="replace")
        words = text.split(" ")
        if words[0] not in expected:
            raise SideFault(self.index, f"sent {text[:80]!r} out of turn")
        return words

    def _heard(self, seconds: float) -> bool:
        """Return whether there is something to read. Raises SideFault if the process has ended."""
        found = {key.fileobj for key, _ in self._ready.select(seconds)}
        if found == {self._ended}:
            raise SideFault(self.index)
        return self._socket in found

    def _received(self, most: int, flags: int = 0) -> bytes:
        """Return received bytes. Raises SideFault if the connection is closed."""
        with contextlib.suppress(ConnectionResetError):  # it did not read the last message
            if part := self._socket.recv(most, flags):
                return part
        raise SideFault(self.index)

    def ended(self) -> int:
        """Wait for it to end, and return its exit status. Raises SideFault if it does not end."""
        self._open.close()
        try:
            return self.process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            raise SideFault(self.index, f"did not end within {_ENDING_S:g} s") from None

    def killed(self) -> int:
        """Kill it if it still runs, and return its exit status."""
        self.process.kill()
        self._open.close()
        return self.process.wait()

    def left_behind(self) -> bool:
        """End what it left running after its end, and return whether there was something."""
        family = ProcessTree(self.process.pid)
        found = bool(family.running())
        family.end()
        return found

    def number(self, words: Sequence[str], place: int) -> float:
        """Return the positive number at `place` in `words`. Raises SideFault."""
        try:
            value = float(words[place])
        except (IndexError, ValueError):
            value = math.nan
        if not 0.0 < value < math.inf:
            raise SideFault(self.index, f"sent {' '.join(words)[:80]!r}, which measures nothing")
        return value
