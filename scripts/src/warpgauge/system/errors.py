# SPDX-License-Identifier: Apache-2.0
"""The error type for users, and the exit statuses."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    OK = 0
    REGRESSION = 1
    OUTSIDE = 1  # fidelity: a device time is not accurate; fleet: an outlier
    BAD_USAGE = 2
    NOT_MEASURED = 3


class UserError(Exception):
    """An error that the user can fix: one sentence saying what, where, and what to do.

    Commands print it as ``<command>: <sentence>`` on standard error and exit with `status`.
    """

    def __init__(self, sentence: str, status: ExitStatus = ExitStatus.BAD_USAGE) -> None:
        super().__init__(sentence)
        self.status = status


def of_system(fault: OSError) -> UserError:
    """Convert an error of the operating system to a sentence: which file, and why."""
    return UserError(f"{fault.filename or 'the system'}: {fault.strerror or fault}")
