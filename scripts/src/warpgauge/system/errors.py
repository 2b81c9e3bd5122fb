# SPDX-License-Identifier: Apache-2.0
"""The one error a user may see, and what the exit statuses mean."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    OK = 0
    REGRESSION = 1
    OUTSIDE = 1  # scripts/warpgauge fidelity: a time that is not true
    BAD_USAGE = 2
    NOT_MEASURED = 3


class UserError(Exception):
    """A fault the user can mend: one sentence saying what, where, and what to do.

    The commands print it as ``<command>: <sentence>`` on standard error and exit with `status`.
    """

    def __init__(self, sentence: str, status: ExitStatus = ExitStatus.BAD_USAGE) -> None:
        super().__init__(sentence)
        self.status = status


def of_system(fault: OSError) -> UserError:
    """What the operating system refused, as a sentence: which file, and why."""
    return UserError(f"{fault.filename or 'the system'}: {fault.strerror or fault}")
