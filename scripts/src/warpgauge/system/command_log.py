# SPDX-License-Identifier: Apache-2.0
"""Every command that a run of scripts/bench starts, in a file: each line repeats one by hand.

A line is on disk before its command begins: after a crash the last one names what ran.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path

from warpgauge.system import interrupts
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert

SUFFIX = ".log"
# What the first line of such a file begins with; no other file is written to.
_HEAD = "# warpgauge: commands"
# The option for the file of a process's rows, which is gone with the run.
_OUTPUT = "--benchmark_out"
# Variables of ours that decide what a program runs on, and with which libraries; where the toolkit
# lies, the build knows.
_DECISIVE, _PLACES = ("CUDA_", "LD_"), ("CUDA_HOME", "CUDA_PATH")

# The log of this run of scripts/bench, if this is one.
_current: ContextVar[CommandLog | None] = ContextVar("command_log", default=None)


class CommandLog:
    """The log at `path`, which is made anew, or goes on where a run does."""

    def __init__(
        self, path: Path, argv: Sequence[str], *, goes_on: bool, command: str = "scripts/bench"
    ) -> None:
        """Raises UserError for a file that is there and is no such log, or cannot be written."""
        self.path = path
        require_ours(path)
        words = inert(" ".join([command, *map(_quoted, argv)]))
        lead = "\n" if goes_on and path.exists() else ""  # its last line may break off
        self._write(f"{lead}{_HEAD}, {_now()}: {words}\n", new=not goes_on)

    def _write(self, text: str, *, new: bool = False) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Opened each time: what is written survives us, and a fault is told at once.
            with self.path.open("w" if new else "a", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except OSError as fault:
            raise UserError(
                f"{self.path}, the log of the commands, cannot be written "
                f"({fault.strerror or fault}): check its disk"
            ) from None

    @contextmanager
    def used(self, say: Callable[[str], None] = lambda line: None) -> Iterator[None]:
        """Commands that are started in here are written down; where, is said at the end."""
        before = _current.set(self)
        try:
            yield
        finally:
            _current.reset(before)
            say(f"commands: {os.path.relpath(self.path)}")

    def begins(self, command: str, told: str) -> None:
        """Write down a command that is about to run; `told` says what for."""
        self._write(f"{command}  # {inert(told)}{', ' if told else ''}{_now()}")


class Running:
    """A command that runs, and how it ended."""

    how = "ended from outside"  # as by Ctrl-C

    def ended(self, status: int, why: str = "") -> None:
        """`status` is negative for a signal, as in subprocess; `why` it was ended, if it was."""
        self.how = f"status {status}" if status >= 0 else interrupts.name_of(-status)
        self.how += f" ({why})" if why else ""


@contextmanager
def running(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    folder: Path | None = None,
    told: str = "",
    by_hand: Sequence[Sequence[str]] = (),
) -> Iterator[Running]:
    """Around a command that is run: in the log before it begins, and with its end.

    `environment` is what a program gets beside ours, None for a tool that needs none of ours to be
    repeated. `folder` is where it runs, unless that does not matter. Commands `by_hand` repeat what
    the command itself would not.
    """
    log, started, began = _current.get(), Running(), time.monotonic()
    if log is not None:
        lines = [repeatable(one, environment, folder) for one in by_hand or [command]]
        log.begins("; ".join(lines), told)
    try:
        yield started
    finally:
        if log is not None:
            with suppress(UserError):  # a full disk is told when the next command begins
                log._write(f", {time.monotonic() - began:.2f} s, {inert(started.how)}\n")


def repeatable(
    command: Sequence[str], environment: Mapping[str, str] | None, folder: Path | None = None
) -> str:
    """The line that does it again, in whatever shell of whoever reads the log."""
    ours = [key for key in os.environ if key.startswith(_DECISIVE) and key not in _PLACES]
    both = {} if environment is None else {**{key: os.environ[key] for key in ours}, **environment}
    variables = [f"{key}={value}" for key, value in both.items()]
    arguments = [word for word in command if not word.startswith(_OUTPUT)]
    line = " ".join(map(_quoted, [*(["env", *variables] if variables else []), *arguments]))
    return f"(cd {_quoted(str(folder))} && {line})" if folder else line


def require_ours(path: Path) -> None:
    """Raise UserError where `path` is anything but a log that may be replaced."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            ours = file.read(len(_HEAD)) in ("", _HEAD)  # empty: killed before its first line
    except FileNotFoundError:
        return
    except OSError:
        ours = False
    if not ours:
        raise UserError(
            f"{path}: the file exists and is not a log of scripts/bench; move it, or name another "
            "--out"
        )


def _quoted(argument: str) -> str:
    """One word of a shell's command line, without line breaks."""
    if inert(argument) == argument:
        return shlex.quote(argument)
    escaped = "".join(f"\\x{byte:02x}" for byte in os.fsencode(argument))
    return f"$'{escaped}'"


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
