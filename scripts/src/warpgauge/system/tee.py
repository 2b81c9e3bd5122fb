# SPDX-License-Identifier: Apache-2.0
"""A command whose output is shown as it comes, and kept: what a job's log is, and an artifact has.

Whoever interrupts us interrupts it: a runner tells only the process that it started itself.
"""

from __future__ import annotations

import codecs
import os
import secrets
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from warpgauge.system import interrupts, process_tree, streams
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert

_TAIL = 1 << 14  # bytes; the last line is in there


def run(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
    """Its exit status, as a shell has it for a signal. Raises UserError where it cannot begin."""
    # A character may come in two parts.
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
                start_new_session=True,  # a terminal's Ctrl-C is for us, and we pass it on
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
    """The last line that was said, inert; nothing where nothing was."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:  # the report counts, not what was said on the way to it
        return ""
    return next((inert(line.strip()) for line in reversed(lines) if line.strip()), "")
