# SPDX-License-Identifier: Apache-2.0
"""A program that speaks the lock-step protocol, and misbehaves where it is told to.

    python fake_lock_step.py CASES --lock-step=FD

CASES is a JSON object: for each benchmark the time (seconds) that its slices tell, or a word for
what goes wrong: "fails", or what happens at its first slice. `calls` is what it says it times in a
batch, `log` a file that gets when its slices begin and end, `starts` one that gets when it starts
and greets (`is` names it), `between` one that is there once it was killed between two benchmarks,
`dies waiting` one that gets its pid when it is killed before it is told to go, with the benchmark,
`behind` the same two for a side that says that benchmark when the other is dead, and `at the end`
what goes wrong behind the last. `works` and `ends` are files that get when it prepares a benchmark,
and when it ends, which is once another has greeted there. `takes` is a file that is there while it
runs, `needs` one that must not be there: the first stays until the second was refused. `leaves` is
a file that a child, which it leaves behind, writes when it is ended. `hangs` gets its pid when it
hangs.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable


def append(path: str, line: str) -> None:
    with open(path, "a") as file:  # noqa: PTH123 - starts sooner without pathlib
        file.write(f"{line}\n")


def content(path: str) -> str:
    try:
        with open(path) as file:  # noqa: PTH123
            return file.read()
    except FileNotFoundError:
        return ""


def wait_until(happened: Callable[[], object]) -> None:
    while not happened():
        time.sleep(0.005)


def is_dead(pid: str) -> bool:
    return " Z " in (stat := content(f"/proc/{pid}/stat")) or not stat


class Program:
    def __init__(self, descriptor: int, log: str, hangs: str) -> None:
        self.hangs = hangs
        self._socket = socket.socket(fileno=descriptor)
        self._lines = self._socket.makefile("r")
        self._log = log

    def say(self, line: str) -> None:
        if self._log and line.startswith("slice"):
            append(self._log, "ends")
        self._socket.sendall(f"{line}\n".encode())

    def hear(self) -> str:
        line = self._lines.readline().strip()
        if self._log and line.startswith("slice"):
            append(self._log, "begins")
        if not line:
            sys.exit(1)
        return line

    def slice(self, does: object, asked: str) -> None:
        if does == "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif does == "exits":
            sys.exit(7)
        elif does == "dies deaf":  # with something that it was told and did not read
            self.say("slice 1e-6")
            select.select([self._socket], [], [])
            os._exit(7)
        elif does == "stops":
            append(self.hangs, str(os.getpid()))
            os.kill(os.getpid(), signal.SIGSTOP)
        elif does == "leaves a child":  # which keeps the socket open
            if os.fork() == 0:
                time.sleep(3600)
                os._exit(0)
            os._exit(7)
        elif does == "hangs":
            append(self.hangs, str(os.getpid()))
            time.sleep(3600)
        elif does == "garbage":
            self.say("\x00\xff what?")
        elif does == "twice":
            self.say("slice 1e-6\nslice 1e-6")
        elif does == "timeless":
            self.say("slice 0")
        elif does == "wordless":
            self.say("slice")
        elif does == "length":  # what it was asked for, on standard error
            print((asked.split()[2:] or ["none"])[0], file=sys.stderr, flush=True)
            self.say("slice 1e-6")
        elif does == "calls":
            self.say(f"slice {asked.split()[1]}")
        else:
            self.say(f"slice {does}")


def leave(mark: str) -> None:
    """Start a child that stays until SIGTERM."""
    ready, stays = os.pipe()
    if os.fork():
        os.read(ready, 1)
        return

    def end(*_: object) -> None:
        append(mark, "child ends")
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    os.write(stays, b".")
    time.sleep(3600)


def main() -> None:
    told = json.loads(sys.argv[1])
    program = Program(
        int(sys.argv[-1].partition("=")[2]), told.get("log", ""), told.get("hangs", "")
    )
    if "starts" in told:
        append(told["starts"], f"{told['is']} starts")
        time.sleep(0.1)  # long enough for what another could do meanwhile
        append(told["starts"], f"{told['is']} greets")
    if os.path.exists(told.get("needs", "")):  # noqa: PTH110
        append(told["needs"], "refused")
        sys.exit(3)
    if "takes" in told:
        open(told["takes"], "w").close()  # noqa: PTH123
    program.say(told.get("hello", "lock-step 1"))
    for name, does in told["cases"].items():
        mark, at = told.get("dies waiting", ["", ""])
        if dies := name == at and not os.path.exists(mark):  # noqa: PTH110
            append(mark, str(os.getpid()))
        other, late = told.get("behind", ["", ""])
        if name == late:
            wait_until(lambda: (pid := content(other).strip()) and is_dead(pid))  # noqa: B023
        program.say(f"case {name}")
        if dies:  # at once: it must not be told to go before
            os.kill(os.getpid(), signal.SIGKILL)
        if program.hear() != "skip" and does != "fails":
            if "works" in told:
                append(told["works"], f"{told['is']} works")
            program.say(f"ready {told.get('clock', 'device')} {told.get('calls', 1)}")
            while (asked := program.hear()) != "finish":
                program.slice(does, asked)
        program.say("done")
        if (mark := told.get("between")) and not os.path.exists(mark):  # noqa: PTH110
            open(mark, "w").close()  # noqa: PTH123
            os.kill(os.getpid(), signal.SIGKILL)
    if "leaves" in told:
        leave(told["leaves"])
    if "takes" in told:
        wait_until(lambda: content(told["takes"]))
        os.unlink(told["takes"])  # noqa: PTH108
    if "ends" in told:
        wait_until(lambda: " greets" in content(told["ends"]))
        append(told["ends"], f"{told['is']} ends")
    if "at the end" in told:
        program.slice(told["at the end"], "")


if __name__ == "__main__":
    main()
