# SPDX-License-Identifier: Apache-2.0
"""A file of every command that a run of warpgauge starts; each line can be run by hand.

A line is on disk before its command begins: after a crash, the last one names what was running.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path

from warpgauge.system import entry_point
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert

SUFFIX = ".log"
_HEAD = "# warpgauge: commands"
# Recognises a log, which may be overwritten.
OWN = re.compile(rf"\A{_HEAD}".encode())
# Option for a temporary output file; logged commands omit it.
_OUTPUT = "--benchmark_out"
# Variables that affect what a program runs on, and with which libraries. The toolkit's location is
# left out, because the build knows it.
_DECISIVE, _PLACES = ("CUDA_", "LD_"), ("CUDA_HOME", "CUDA_PATH")

# The active log, if any.
_current: ContextVar[CommandLog | None] = ContextVar("command_log", default=None)


class CommandLog:
    """The log at `path`: a new file, or a continued one for a resumed run."""

    def __init__(self, path: Path, argv: Sequence[str], *, goes_on: bool, command: str) -> None:
        """Raise UserError if `path` cannot be written."""
        self.path = path
        lead = "\n" if goes_on and path.exists() else ""  # its last line may be incomplete
        words = inert(" ".join([command, *map(_quoted, argv)]))
        self.write(f"{lead}{_HEAD}, {_now()}: {words}\n", new=not goes_on)

    def write(self, text: str, *, new: bool = False) -> None:
        """Append `text`. Raise UserError."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Open the file each time: lines survive a crash, and errors are reported at once.
            with self.path.open("w" if new else "a", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except OSError as fault:
            raise UserError(
                f"{self.path}, the log of the commands, cannot be written "
                f"({fault.strerror or fault}): check its disk"
            ) from None

    @contextmanager
    def used(self, say: Callable[[str], None] = lambda line: None) -> Iterator[None]:
        """Log the commands started in this context; report the log's path at the end."""
        before = _current.set(self)
        try:
            yield
        finally:
            _current.reset(before)
            say(f"commands: {os.path.relpath(self.path)}")


class Running:
    """A running command, and how it ended."""

    how = "ended from outside"  # for example by Ctrl-C

    def ended(self, status: int, why: str = "") -> None:
        """Set the exit status, negative for a signal as in subprocess, and why it was ended."""
        self.how = f"status {status}" if status >= 0 else entry_point.name_of(-status)
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
    """Log a command before it runs in this context, and then how it ended.

    `environment` is added to ours; None means that repeating the command needs no variables.
    `folder` is its working directory, if that matters; `told` says what the command is for. The
    commands `by_hand`, if any, are logged in place of one that cannot be repeated by itself.
    """
    log, started, began = _current.get(), Running(), time.monotonic()
    if log is not None:
        lines = "; ".join(repeatable(one, environment, folder) for one in by_hand or [command])
        log.write(f"{lines}  # {inert(told)}{', ' if told else ''}{_now()}")
    try:
        yield started
    finally:
        if log is not None:
            with suppress(UserError):  # a full disk is reported when the next command begins
                log.write(f", {time.monotonic() - began:.2f} s, {inert(started.how)}\n")


def repeatable(
    command: Sequence[str], environment: Mapping[str, str] | None, folder: Path | None = None
) -> str:
    """Return a line that repeats the command in any shell."""
    ours = [key for key in os.environ if key.startswith(_DECISIVE) and key not in _PLACES]
    both = {} if environment is None else {**{key: os.environ[key] for key in ours}, **environment}
    variables = [f"{key}={value}" for key, value in both.items()]
    arguments = [word for word in command if not word.startswith(_OUTPUT)]
    line = " ".join(map(_quoted, [*(["env", *variables] if variables else []), *arguments]))
    return f"(cd {_quoted(str(folder))} && {line})" if folder else line


def _quoted(argument: str) -> str:
    """Quote one word of a shell command line, without line breaks."""
    if inert(argument) == argument:
        return shlex.quote(argument)
    escaped = "".join(f"\\x{byte:02x}" for byte in os.fsencode(argument))
    return f"$'{escaped}'"


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
