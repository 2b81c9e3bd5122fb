# SPDX-License-Identifier: Apache-2.0
"""What only the baseline or only the candidate has, and what the base of a pull request says of it.

Nothing else than that base can judge it: the baseline has no time of the one, the candidate none of
the other. Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from warpgauge.measurement.paired import Side
from warpgauge.system.git import short
from warpgauge.system.text import clause, inert, listed
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict


def new(screened: Comparison) -> set[str]:
    """What the baseline does not know."""
    return {one.name for one in screened.verdicts if one.outcome is Outcome.NEW}


def missing(screened: Comparison) -> set[str]:
    """What only the baseline has; what a policy requires is missing whatever a base has."""
    if screened.refusal is not None:
        return set()
    return {
        one.name for one in screened.verdicts if one.outcome is Outcome.MISSING and not one.required
    }


def lacking(base: Side, names: Collection[str]) -> set[str]:
    """Those of `names` that `base` surely lacks: a program with a fault may have its family's."""
    known = {name for binary in base.binaries for name in binary.names}
    unsure = {binary.family for binary in base.binaries if binary.fault is not None}
    return {name for name in names if name not in known and name.split("/", 1)[0] not in unsure}


def unjudged(verdict: Verdict, asked: str, why: str) -> Verdict:
    """A NEW verdict that the commit `asked` for was to judge, and could not."""
    commit = inert(short(asked))
    reason = f"new to the baseline, and not measured beside commit {commit}: {inert(clause(why))}"
    return replace(verdict, outcome=Outcome.INVALID, reason=reason)


def without(found: Comparison, gone: Collection[str], asked: str) -> Comparison:
    """`found` without the verdicts of `gone`, which the commit `asked` for lacks, too."""
    names = [one.name for one in found.verdicts if one.name in gone]
    if not names:
        return found
    are = "benchmark of the baseline is" if len(names) == 1 else "benchmarks of the baseline are"
    note = (
        f"{len(names)} {are} gone from commit {inert(short(asked))}, too: {listed(names)}. "
        "scripts/warpgauge baseline prune --removed takes "
        f"{'it' if len(names) == 1 else 'them'} out of it."
    )
    return replace(
        found,
        verdicts=tuple(one for one in found.verdicts if one.name not in gone),
        notes=(*found.notes, note),
    )
