# SPDX-License-Identifier: Apache-2.0
"""One program in lock-step, at the other end of a socket (fixtures/README.md has the protocol)."""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

# A side that the driver is done with ends by itself: it has only a file to write.
_ENDING_S = 10.0

_LONGEST_LINE = 64 * 1024  # bytes; a name may be long
_MOST_OUTPUT = 1 << 30  # bytes on standard error; more is a loop that would fill the disk
_LOOK_S = 0.5  # how often that is looked at


class SideFault(Exception):
    """One side is of no use any more: it is to be ended for this, or ended by itself for ""."""

    def __init__(self, side: int, ended_for: str = "") -> None:
        super().__init__(ended_for)
        self.side, self.ended_for = side, ended_for


class Side:
    """Runs only while it is asked something, and has `deadline_s` to answer.

    Its report goes to `output`.json, and what it says on standard error to `output`.err.
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
            )
            theirs.close()
            # A child that it leaves behind may hold its socket open.
            self._ended = os.pidfd_open(self.process.pid)
            opened.callback(os.close, self._ended)
            self._ready = opened.enter_context(selectors.DefaultSelector())
            for readable in (self._socket, self._ended):
                self._ready.register(readable, selectors.EVENT_READ)
            self._open = opened.pop_all()

    def say(self, line: str) -> None:
        """Tell it something while it waits. Raises SideFault where it does not."""
        self.require_silence()
        try:
            self._socket.sendall(line.encode() + b"\n")
        except OSError:
            raise SideFault(self.index) from None

    def require_silence(self) -> None:
        """Raises SideFault unless it waits for a command."""
        if self._unread or (self._heard(0) and self._received(1, socket.MSG_PEEK)):
            raise SideFault(self.index, "sent a message out of turn")

    def hear(self, *expected: str) -> list[str]:
        """The words of its next line, the first of which is one of these. Raises SideFault."""
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
        """Whether it says something, or hangs up. Raises SideFault where it is gone."""
        found = {key.fileobj for key, _ in self._ready.select(seconds)}
        if found == {self._ended}:
            raise SideFault(self.index)
        return self._socket in found

    def _received(self, most: int, flags: int = 0) -> bytes:
        """Received bytes. Raises SideFault if it hung up."""
        with contextlib.suppress(ConnectionResetError):  # it did not read what it was told last
            if part := self._socket.recv(most, flags):
                return part
        raise SideFault(self.index)

    def ended(self) -> int:
        """Its exit status: it ends by itself. Raises SideFault where it does not."""
        self._open.close()
        try:
            return self.process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            raise SideFault(self.index, f"did not end within {_ENDING_S:g} s") from None

    def killed(self) -> int:
        """Its exit status; kills it if it still runs."""
        self.process.kill()
        self._open.close()
        return self.process.wait()

    def number(self, words: Sequence[str], place: int) -> float:
        """The positive number at that place of its line. Raises SideFault."""
        try:
            value = float(words[place])
        except (IndexError, ValueError):
            value = math.nan
        if not 0.0 < value < math.inf:
            raise SideFault(self.index, f"sent {' '.join(words)[:80]!r}, which measures nothing")
        return value
