# SPDX-License-Identifier: Apache-2.0
"""How to see changed rows again, and how to accept one, for who reads a comment."""

from __future__ import annotations

import math
from collections.abc import Sequence

from warpgauge.reports import source_location
from warpgauge.reports.advice import accept, command, is_harmless
from warpgauge.reports.markdown.text import prose
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.policy_entry import LARGEST_PERCENT

# A command each; whoever has more to see again runs the whole suite.
_COMMANDS = 5

_MOST_PERCENT = LARGEST_PERCENT - 1


def again(comparison: Comparison, ranked: Sequence[Verdict]) -> str:
    """A command for each of the first of `ranked`, and what to write where a change is meant."""
    commands = dict.fromkeys(command(comparison, one) for one in ranked[:_COMMANDS])
    block = "\n".join(commands)
    text = f"```sh\n{block}\n```\n"
    slower = [one for one in ranked if one.outcome is Outcome.REGRESSION]
    if not slower:
        return text
    recorded = accept(comparison)
    text += f"\n{prose(recorded)}\n" if recorded else ""
    where = "the file that --policy names"
    if not source_location.is_other_project(comparison):
        where = "`baselines/policy.toml`"
    return text + _entry(slower[0], where)


def _entry(worst: Verdict, where: str) -> str:
    """What a policy, `where` it lies, says of a change that is known, to be filled in."""
    change, name = worst.change, worst.name
    if change is None or not is_harmless(name) or not 0.0 < 100.0 * change.high < _MOST_PERCENT:
        return ""
    percent = math.ceil(100.0 * change.high)
    gated = "resources = true\n" if worst.by_time is not None else ""
    return (
        f"\nIf it is known and accepted for a time, {where} says so, "
        "in this pull request:\n\n"
        f'```toml\n[[expected]]\npattern = "^{name}$"\nslower_by_at_most_percent = {percent}\n'
        f'reason = "..."\nexpires = ...  # a date: 2027-01-31\n{gated}```\n'
    )
