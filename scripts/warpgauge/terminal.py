# SPDX-License-Identifier: Apache-2.0
"""A comparison for a person at a terminal: the verdict, then what changed, then what to know."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from warpgauge.comparison import Comparison, ContextDifference, Outcome, Verdict
from warpgauge.controls import FAMILY as CONTROLS
from warpgauge.layout import print_facts, print_text
from warpgauge.model import Clock, Record, Source
from warpgauge.sessions import newest_last
from warpgauge.terminal_table import print_table
from warpgauge.terminal_values import render_values
from warpgauge.text import inert, percent, percent_number, plural

__all__ = ["render", "render_values"]

# What the verdict line adds about benchmarks that are neither changed nor unchanged.
_REST = {
    Outcome.INCONCLUSIVE: "inconclusive",
    Outcome.INVALID: "not comparable",
    Outcome.ERROR: "failed",
    Outcome.MISSING: "missing",
    Outcome.NEW: "new",
}


# Digits of a commit that tell it from others, as Git shows it.
_COMMIT = 10

# A name that a shell and a regular expression both take literally.
_HARMLESS = re.compile(r"[A-Za-z0-9_/:,=-]+")


def render(comparison: Comparison, console: Console, *, show_all: bool = False) -> None:
    """Print a comparison; unchanged benchmarks fold into a count unless `show_all`."""
    print_text(console, _verdict_line(comparison))
    console.print()
    sides = (("baseline", comparison.baseline), ("candidate", comparison.candidate))
    print_facts(console, [(side, _side(record)) for side, record in sides])
    if _worth_a_table(comparison):
        console.print()
        print_table(comparison.verdicts, console, show_all)
    if comparison.differences:
        print_text(console, "\nDifferent between the two (told, not judged)", style="bold")
        print_facts(console, [_difference(one) for one in comparison.differences])
    if comparison.notes:
        print_text(console, "\nTo know", style="bold")
        for note in comparison.notes:
            print_text(console, note, indent=2)
    _advice(comparison, console)


def _difference(one: ContextDifference) -> tuple[str, str]:
    length = _COMMIT if one.key == "commit" else None
    return one.key, inert(f"{one.baseline[:length]} → {one.candidate[:length]}")


def _worth_a_table(comparison: Comparison) -> bool:
    """Refused as a whole, every row would only repeat the verdict line."""
    return any(verdict.reason != comparison.refusal for verdict in comparison.verdicts)


def _verdict_line(comparison: Comparison) -> Text:
    if comparison.refusal is not None and not comparison.count(Outcome.REGRESSION):
        return Text.assemble(("Not compared. ", "bold yellow"), inert(comparison.refusal))
    regressions = comparison.count(Outcome.REGRESSION)
    improvements = comparison.count(Outcome.IMPROVED)
    expected = len(comparison.verdicts) - comparison.count(Outcome.NEW)
    counted = (
        f"{plural(regressions, 'regression')}, {plural(improvements, 'improvement')}; "
        f"{comparison.count(Outcome.PASS)} of {expected} unchanged"
    )
    rest = [f"{n} {word}" for outcome, word in _REST.items() if (n := comparison.count(outcome))]
    worst = _worst(comparison)
    ending = "."
    if worst is not None and worst.change is not None:
        ending = f". Worst: {inert(worst.name)} ({percent(worst.change.ratio)})."
    style = {0: "bold green", 1: "bold red"}.get(comparison.exit_status, "bold yellow")
    return Text.assemble((", ".join([counted, *rest]), style), ending)


def _worst(comparison: Comparison) -> Verdict | None:
    slower = [v for v in comparison.verdicts if v.outcome is Outcome.REGRESSION]
    return max(slower, key=lambda v: v.change.ratio if v.change else 0.0, default=None)


def _side(record: Record) -> str:
    """Where a side comes from: path, GPU, when, commit."""
    newest = newest_last(record.sessions.values())[-1].context
    facts = [str(record.path)]
    if record.source is Source.GOOGLE_BENCHMARK:
        facts.append(Source.GOOGLE_BENCHMARK.value)
    if newest.get("gpu_name"):
        facts.append(newest["gpu_name"])
    several = f"{len(record.sessions)} sessions, newest " if len(record.sessions) > 1 else ""
    if newest.get("date"):
        facts.append(f"{several}{newest['date'][:10]}")
    if newest.get("commit"):
        changed = " and changes" if newest.get("dirty") == "true" else ""
        facts.append(f"commit {newest['commit'][:_COMMIT]}{changed}")
    return inert(" · ".join(facts))


def _advice(comparison: Comparison, console: Console) -> None:
    least = _minimum_effects(comparison)
    if least:
        print_text(
            console,
            "\nA change counts when the candidate is slower, or faster, than every session of the "
            f"baseline by Welch's t test (p < {comparison.alpha:g}) and by at least {least}.",
            style="dim",
        )
    advice = _next(comparison)
    if advice:
        console.print()
        print_text(console, Text.assemble(("Next  ", "bold"), advice))


def _minimum_effects(comparison: Comparison) -> str:
    """``1 % of device time, 20 % of host time``: the minimum effects that were in force."""
    words = {Clock.DEVICE: "of device time", Clock.HOST: "of host time"}
    if Source.GOOGLE_BENCHMARK in (comparison.baseline.source, comparison.candidate.source):
        words = dict.fromkeys(Clock, "of the time")
    effects: dict[str, list[float]] = {}
    for verdict in comparison.verdicts:
        if verdict.minimum_effect is not None:
            effects.setdefault(words[verdict.clock], []).append(verdict.minimum_effect)
    return ", ".join(f"{_range(sizes)} {what}" for what, sizes in effects.items())


def _range(fractions: Sequence[float]) -> str:
    """``1 %``, or ``20 to 69 %`` where benchmarks differ."""
    least, most = (percent_number(one, sign=False) for one in (min(fractions), max(fractions)))
    return f"{least} %" if least == most else f"{least} to {most} %"


def _next(comparison: Comparison) -> str:
    """The one thing to do now, if there is one; nothing about what was recorded long ago."""
    source, worst = comparison.candidate.source, _worst(comparison)
    if source is Source.BASELINE:
        return ""
    ours = source is Source.RUN
    if worst is not None and not ours:
        return "Measure both sides again in fresh processes before you believe it."
    if worst is not None:
        return (
            f"See it again with scripts/bench{_only(worst)}. If the change is meant, accept it "
            "with scripts/bench --record in the commit that makes it."
        )
    if comparison.refusal is None and comparison.count(Outcome.MISSING):
        return "Restore what is missing, or remove it from the baseline in the same commit."
    if comparison.count(Outcome.INCONCLUSIVE) and ours:
        return "Measure the inconclusive ones again on a quieter machine or in more processes."
    if comparison.count(Outcome.IMPROVED) and ours:
        return "Keep the gain: scripts/bench --record makes it the time to hold."
    return ""


def _only(verdict: Verdict) -> str:
    """The filter for one benchmark and, for the host's clock, the controls that it is held to."""
    if not _HARMLESS.fullmatch(verdict.name):
        return ""
    controls = f"|^{CONTROLS}/" if verdict.clock is Clock.HOST else ""
    return f" --filter '^{verdict.name}${controls}'"
