# SPDX-License-Identifier: Apache-2.0
"""What happens while a run of scripts/bench is in a certain round."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from warpgauge.measure import drive
from warpgauge.measure.plan import Plan
from warpgauge.measure.turn_result import TurnResult


def in_second_round(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Before each run of the driver."""
    deliver = drive.deliver

    def delivered(plan: Plan, asked: Any, *rest: Any) -> Iterator[list[TurnResult]]:  # noqa: ANN401
        turns, _ = asked[0]
        if turns[0].round == 2:
            happens()
        return deliver(plan, asked, *rest)

    monkeypatch.setattr(drive, "deliver", delivered)


def interrupted_in_second_round(run: Callable[[], object]) -> None:
    """Ctrl-C ends this run."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        in_second_round(patched, interrupt)
        with pytest.raises(KeyboardInterrupt):
            run()
