# SPDX-License-Identifier: Apache-2.0
"""What a job on GitHub reads: the word of a check, and commands in its log.

Foreign text in a command is escaped as the runner undoes it (actions/runner, ActionCommand.cs):
https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from warpgauge.system.errors import ExitStatus

_IN_MESSAGE = str.maketrans({char: f"%{ord(char):02X}" for char in "%\r\n"})
_IN_PROPERTY = str.maketrans({char: f"%{ord(char):02X}" for char in "%\r\n:,"})


def check_word(status: ExitStatus) -> str:
    """PASS, FAIL or, for every other exit status, NOT DECIDED, which is not a pass."""
    return {ExitStatus.OK: "PASS", ExitStatus.REGRESSION: "FAIL"}.get(status, "NOT DECIDED")


def command(kind: str, properties: Mapping[str, object], message: str) -> str:
    """``::error title=…::message``, without the end of the line."""
    told = [f"{key}={str(value).translate(_IN_PROPERTY)}" for key, value in properties.items()]
    return f"::{kind} {','.join(told)}::{message.translate(_IN_MESSAGE)}"


@contextmanager
def commands_stopped(say: Callable[[str], None]) -> Iterator[None]:
    """What is printed in here commands nothing, whoever wrote it."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        yield
        return
    token = f"warpgauge-{secrets.token_hex(16)}"
    say(f"::stop-commands::{token}")
    try:
        yield
    finally:
        # On a line of its own: whoever printed may have been ended in the middle of one.
        say("")
        say(f"::{token}::")
