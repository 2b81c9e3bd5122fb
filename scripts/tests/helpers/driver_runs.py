# SPDX-License-Identifier: Apache-2.0
"""What the driver is asked in a run, and what happens meanwhile, such as Ctrl-C."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpgauge.system import process
from warpgauge.system.process import Ending


class DriverRuns:
    """The plans of rounds since the last `interrupt`; `happens` gets each before it runs."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, happens: Callable[[Any], object] = lambda plan: None
    ) -> None:
        self.plans: list[Any] = []
        self._most: int | None = None
        usual = process.run

        def run(command: Any, *given: Any, into: Path | None = None, **more: Any) -> Ending:  # noqa: ANN401
            plan = json.loads(Path(command[1]).read_text()) if into is not None else None
            if plan and plan["seed"]:  # those of listings and probes have none
                if len(self.plans) == self._most:
                    raise KeyboardInterrupt
                self.plans.append(plan)
                happens(plan)
            return usual(command, *given, into=into, **more)

        monkeypatch.setattr(process, "run", run)

    def interrupt(self, after: int | None) -> None:
        """Forget the plans; from now on, Ctrl-C comes after so many, or never."""
        self.plans.clear()
        self._most = after

    @property
    def rounds(self) -> list[int]:
        return [round_of(plan) for plan in self.plans]


def round_of(plan: Any) -> int:  # noqa: ANN401
    return int(plan["seed"].split()[-1])


def in_second_round(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Before each run of the driver."""
    DriverRuns(monkeypatch, lambda plan: round_of(plan) == 2 and happens())


def interrupted_in_second_round(run: Callable[[], object]) -> None:
    """Ctrl-C ends this run."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        in_second_round(patched, interrupt)
        with pytest.raises(KeyboardInterrupt):
            run()
