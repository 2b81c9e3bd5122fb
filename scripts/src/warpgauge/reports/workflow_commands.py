# SPDX-License-Identifier: Apache-2.0
"""Output for jobs on GitHub: the word of a check, and commands in the log.

Foreign text in a command is escaped as the runner decodes it (actions/runner, ActionCommand.cs):
https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

_IN_MESSAGE = str.maketrans({char: f"%{ord(char):02X}" for char in "%\r\n"})
_IN_PROPERTY = str.maketrans({char: f"%{ord(char):02X}" for char in "%\r\n:,"})


def command(kind: str, properties: Mapping[str, object], message: str) -> str:
    """Return ``::error title=…::message``, without a newline."""
    shown = [f"{key}={str(value).translate(_IN_PROPERTY)}" for key, value in properties.items()]
    return f"::{kind} {','.join(shown)}::{message.translate(_IN_MESSAGE)}"


@contextmanager
def commands_stopped(say: Callable[[str], None]) -> Iterator[None]:
    """Disable workflow commands in what is printed inside the block, whoever wrote it."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        yield
        return
    token = f"warpgauge-{secrets.token_hex(16)}"
    say(f"::stop-commands::{token}")
    try:
        yield
    finally:
        # Starts a new line, because a program may have been killed in the middle of one.
        say("")
        say(f"::{token}::")
