# SPDX-License-Identifier: Apache-2.0
"""What a turn delivered, out of the journal where that has it, else measured and kept there."""

from __future__ import annotations

from dataclasses import replace

from warpgauge.execution import turn_result
from warpgauge.execution.crash_recovery import Names
from warpgauge.execution.plan import Plan, Turn, command
from warpgauge.execution.turn_result import Outcome, Running
from warpgauge.measurement import repeats
from warpgauge.measurement.journal import Journal

# What of an outcome a turn does not tell.
_TOLD = ("report", "faults", "seconds", "remarks")


def outcome(
    plan: Plan,
    turn: Turn,
    names: Names,
    journal: Journal | None,
    running: Running,
    attempt: int = 1,
) -> Outcome:
    """Of an `attempt` at `names` of a turn's program. Raises UserError where it cannot be kept."""
    if journal is None:
        return turn_result.deliver(plan, turn, names, running)
    binary = replace(turn.binary, names=names)
    place = [str(turn.round), str(attempt), turn.lane.side]
    key = [*place, *command(plan, turn.lane, binary), *names]
    found = journal.find(key)
    # What was disturbed may go undisturbed now, when the run goes on.
    if found is None or repeats.disturbed([found["report"]]):
        fresh = turn_result.deliver(plan, turn, names, running)
        journal.keep(key, {key: getattr(fresh, key) for key in _TOLD})
        return fresh
    told = {key: found[key] for key in _TOLD}
    return Outcome(binary, turn.round, side=turn.lane.side, **told)
