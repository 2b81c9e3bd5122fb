# SPDX-License-Identifier: Apache-2.0
"""Keeps the processes of a run from meeting others on the GPU, a killed one's remains included."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from warpgauge.execution import gpu_users
from warpgauge.execution.gpu_users import User
from warpgauge.system.process import Ending
from warpgauge.system.text import inert

_PATIENCE_S = 60.0


@dataclass
class GpuWatch:
    """Asks the driver about one GPU while no process of the run is on it."""

    uuid: str
    say: Callable[[str], None]
    _staying: frozenset[int] = frozenset()  # who was waited for in vain: neighbours for good

    def wait(self) -> None:
        """Until nobody else computes there, or patience ends; then rows tell of it themselves."""
        left = self._left(frozenset(), "Waiting for the GPU, which {} ...")
        self._staying = frozenset(one.pid for one in left)

    def freed(self, ending: Ending) -> None:
        """Wait until a process that came to a bad end, and all it started, has left the GPU."""
        waiting = f"Waiting for the GPU, which {{}} since {inert(ending.how)} ..."
        left = self._left(self._staying, waiting)
        if left:
            self.say(
                f"The GPU is not free since {inert(ending.how)}: after {_PATIENCE_S:g} s "
                f"{_use(left)} it. What is measured beside that is INVALID."
            )

    def _left(self, but: Collection[int], told: str) -> list[User]:
        def users() -> list[User]:
            return [one for one in gpu_users.now(self.uuid) if one.pid not in but]

        return gpu_users.stayed(
            users, _PATIENCE_S, waiting=lambda left: self.say(told.format(_use(left)))
        )


def _use(users: Collection[User]) -> str:
    """``train (pid 7) uses``."""
    return f"{' and '.join(map(str, users))} {'uses' if len(users) == 1 else 'use'}"
