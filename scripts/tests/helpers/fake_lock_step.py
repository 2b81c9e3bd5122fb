# SPDX-License-Identifier: Apache-2.0
"""A program that speaks the lock-step protocol, and misbehaves where it is told to.

    python fake_lock_step.py CASES --lock-step=FD

CASES is a JSON object: for each benchmark the time (seconds) that its slices tell, or a word for
what goes wrong: "fails", or what happens at its first slice. `calls` is what it says it times in a
batch, `log` a file that gets when its slices begin and end, `starts` one that gets when it starts
and greets (`is` names it), `late` how long it waits before it says a benchmark, `between` one that
is there once it was killed between two benchmarks, `dies waiting` one that is there once it was
killed before it was told to go, with the benchmark, and `at the end` what goes wrong behind the
last. `works` and `ends` are files that get when it prepares a benchmark, and when it ends, which
then takes a while. `takes` is a file that is there while it runs, `needs` one that must not be
there. `leaves` is a file that a child, which it leaves behind, writes when it is ended.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time


class Program:
    def __init__(self, descriptor: int, log: str) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._lines = self._socket.makefile("r")
        self._log = log
        self._worked = time.monotonic()

    def say(self, line: str) -> None:
        if self._log and line.startswith("slice"):
            with open(self._log, "a") as log:  # noqa: PTH123 - starts sooner without pathlib
                log.write(f"{self._worked} {time.monotonic()}\n")
        self._socket.sendall(f"{line}\n".encode())

    def hear(self) -> str:
        line = self._lines.readline().strip()
        self._worked = time.monotonic()
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
            time.sleep(0.2)
            os._exit(7)
        elif does == "stops":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif does == "leaves a child":  # which keeps the socket open
            if os.fork() == 0:
                time.sleep(5)
                os._exit(0)
            os._exit(7)
        elif does == "hangs":
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
        with open(mark, "a") as log:  # noqa: PTH123
            log.write("child ends\n")
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    os.write(stays, b".")
    time.sleep(3600)


def main() -> None:
    told = json.loads(sys.argv[1])
    program = Program(int(sys.argv[-1].partition("=")[2]), told.get("log", ""))
    if "starts" in told:
        with open(told["starts"], "a", buffering=1) as log:  # noqa: PTH123
            log.write(f"{told['is']} starts\n")
            time.sleep(0.1)  # long enough for what another does meanwhile
            log.write(f"{told['is']} greets\n")
    if os.path.exists(told.get("needs", "")):  # noqa: PTH110
        sys.exit(3)
    if "takes" in told:
        open(told["takes"], "w").close()  # noqa: PTH123
    program.say(told.get("hello", "lock-step 1"))
    for name, does in told["cases"].items():
        mark, at = told.get("dies waiting", ["", ""])
        if dies := name == at and not os.path.exists(mark):  # noqa: PTH110
            open(mark, "w").close()  # noqa: PTH123
        time.sleep(told.get("late", 0.0))
        program.say(f"case {name}")
        if dies:  # at once: it must not be told to go before
            os.kill(os.getpid(), signal.SIGKILL)
        if program.hear() != "skip" and does != "fails":
            if "works" in told:
                with open(told["works"], "a") as log:  # noqa: PTH123
                    log.write(f"{told['is']} works\n")
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
        time.sleep(0.5)  # longer than another takes to start
        os.unlink(told["takes"])  # noqa: PTH108
    if "ends" in told:
        time.sleep(1.0)  # longer than another takes to start
        with open(told["ends"], "a") as log:  # noqa: PTH123
            log.write(f"{told['is']} ends\n")
    if "at the end" in told:
        program.slice(told["at the end"], "")


if __name__ == "__main__":
    main()
