# SPDX-License-Identifier: Apache-2.0
"""What happens while a run of scripts/bench is in a certain round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from warpgauge.execution import turn_result
from warpgauge.execution.plan import Plan, Turn
from warpgauge.execution.turn_result import TurnResult


def in_second_round(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Before each of its turns."""
    deliver = turn_result.deliver

    def delivered(plan: Plan, turn: Turn, *rest: Any) -> TurnResult:  # noqa: ANN401
        if turn.round == 2:
            happens()
        return deliver(plan, turn, *rest)

    monkeypatch.setattr(turn_result, "deliver", delivered)


def interrupted_in_second_round(run: Callable[[], object]) -> None:
    """Ctrl-C ends this run."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        in_second_round(patched, interrupt)
        with pytest.raises(KeyboardInterrupt):
            run()
