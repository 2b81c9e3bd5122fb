# SPDX-License-Identifier: Apache-2.0
"""The one thing to do after a comparison; how changed rows are seen again, or one is accepted."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from warpgauge.records import counters
from warpgauge.records.model import FULL_SUITE, Clock, Source
from warpgauge.records.sessions import are_paired, newest
from warpgauge.reports import provenance
from warpgauge.reports.headline import worst
from warpgauge.reports.markdown.text import prose
from warpgauge.system.git import is_full, short
from warpgauge.verdict.comparison import Comparison, Evidence, Outcome, Verdict
from warpgauge.verdict.comparison_settings import FEWEST_PROCESSES
from warpgauge.verdict.context import BASELINES, BUILD_DIR, PROGRAMS
from warpgauge.verdict.controls import FAMILY as CONTROLS
from warpgauge.verdict.policy_entry import LARGEST_PERCENT

# A name that fits on a line, too.
_HARMLESS = re.compile(r"[A-Za-z0-9_/:,=-]{1,200}")
_HARMLESS_FOLDER = re.compile(r"(?!-)[A-Za-z0-9_./,@+=: -]{1,200}")


@dataclass(frozen=True)
class Step:
    """What to do: `words`, and behind them the `command` that does it, to be pasted as it is."""

    words: str
    command: str = ""

    def __str__(self) -> str:
        return f"{self.words} {self.command}." if self.command else self.words


def next_step(comparison: Comparison) -> tuple[Step, ...]:
    """What to do now, if anything; nothing about what was recorded long ago."""
    source, slowest = comparison.candidate.source, worst(comparison)
    if source is Source.BASELINE:
        return ()
    ours, in_turns = source is Source.RUN, _base(comparison) is not None
    if slowest is not None and not ours:
        return (Step("Measure both sides again in fresh processes before you believe it."),)
    if slowest is not None:
        return (Step("See it again with", command(comparison, slowest)), *accept(comparison))
    failed = _first_failed(comparison)
    if ours and failed is not None and comparison.refusal is None:
        return (Step("See the failure again with", command(comparison, failed)),)
    if comparison.refusal is None and comparison.count(Outcome.MISSING) and not in_turns:
        words = "Restore what is missing, or remove it from the baseline in the same commit."
        return (Step(words),)
    if comparison.count(Outcome.INCONCLUSIVE):
        if _lacks_processes(comparison):
            words = "Measure several processes a side, three or more, and give all their files:"
            files = "A1.json A2.json A3.json -- B1.json B2.json B3.json"
            return (Step(words, f"compare.py --processes {files}"),)
        words = "Measure the inconclusive ones again on a quieter machine or in more processes."
        return (Step(words),)
    if comparison.count(Outcome.IMPROVED) and ours and not in_turns:
        return (Step("Keep the gain as the time to hold with", f"{_bench(comparison)} --record"),)
    return ()


def _lacks_processes(comparison: Comparison) -> bool:
    """Whether plain files of too few processes left something open."""
    plain = Source.GOOGLE_BENCHMARK in (comparison.baseline.source, comparison.candidate.source)
    return plain and any(
        min(one.processes) < FEWEST_PROCESSES
        for one in comparison.verdicts
        if one.outcome is Outcome.INCONCLUSIVE and one.processes is not None
    )


def _first_failed(comparison: Comparison) -> Verdict | None:
    """Of what failed in the candidate, and counts: one that it could run, if there is any."""
    rows = comparison.candidate.rows
    failed = [
        one
        for one in comparison.verdicts
        if one.outcome is Outcome.ERROR and one.name in rows and rows[one.name].error is not None
    ]
    return min(failed, key=lambda one: rows[one.name].skipped, default=None)


def accept(comparison: Comparison) -> tuple[Step, ...]:
    """What to do where a change is meant; a pair has no baseline to put it in."""
    if _base(comparison) is not None:
        return ()
    words = "If the change is meant, commit it, and accept its times with"
    return (Step(words, f"{_bench(comparison)} --record"),)


def command(comparison: Comparison, one: Verdict) -> str:
    """What measures one benchmark again, beside the same base where it was measured so.

    Against a baseline a time of the host needs the controls that it is held to. A name that is not
    harmless is left out: then the command measures everything.
    """
    base, beside = _base(comparison), _beside(comparison, one)
    if base is None and beside and one.name not in comparison.baseline.rows:
        base = beside  # the baseline would not flag it, so that nothing would be confirmed
    bench = _bench(comparison)
    if base:
        bench += f" --against {base}"
    elif base is None and beside:
        bench += f" --confirm-beside {beside}"
    if (folders := _folders(comparison)) is not None:
        bench = shlex.join(["scripts/warpgauge", "ab", *folders])
    if _is_of_full_suite(comparison, one.name):
        bench += f" --suite {FULL_SUITE}"
    if not is_harmless(one.name):
        return bench
    controls = f"|^{CONTROLS}/" if one.clock is Clock.HOST and base is None else ""
    return f"{bench} --filter '^{one.name}${controls}'"


def _bench(comparison: Comparison) -> str:
    """The command that measured the candidate, of whichever project's programs."""
    context = newest(comparison.candidate).context
    words = ["scripts/bench"]
    if BUILD_DIR in context and BASELINES in context:
        for key, word in ((BUILD_DIR, "BUILD_DIR"), (BASELINES, "BASELINES")):
            told = context[key]
            words += [
                f"--{key.replace('_', '-')}",
                told if _HARMLESS_FOLDER.fullmatch(told) else word,
            ]
    return shlex.join(words)


def is_harmless(name: str) -> bool:
    """Whether a shell, a regular expression and TOML all take it literally."""
    return _HARMLESS.fullmatch(name) is not None


def _is_of_full_suite(comparison: Comparison, name: str) -> bool:
    """What failed may not tell; then the other side does, or that its run was of the full suite."""
    sides = (comparison.candidate, comparison.baseline)
    rows = [side.rows[name] for side in sides if name in side.rows]
    if any(row.counters.get(counters.FULL_SUITE) for row in rows):
        return True
    contexts = [session.context for session in comparison.candidate.sessions.values()]
    unknown = len(rows) == 1 and rows[0].error is not None
    return unknown and any(one.get("suite") == FULL_SUITE for one in contexts)


def _folders(comparison: Comparison) -> list[str] | None:
    """Where another project's programs are that were measured beside each other, base first.

    None for this project's. A name that is not harmless is left for the reader to fill in.
    """
    sides = {"BASE_FOLDER": comparison.baseline, "CANDIDATE_FOLDER": comparison.candidate}
    contexts = [newest(side).context for side in sides.values()]
    if any(PROGRAMS not in context for context in contexts):
        return None
    told = {word: one[PROGRAMS] for word, one in zip(sides, contexts, strict=True)}
    return [one if _HARMLESS_FOLDER.fullmatch(one) else word for word, one in told.items()]


def _beside(comparison: Comparison, one: Verdict) -> str:
    """The commit, short, beside which a row of a baseline's comparison was confirmed, if so."""
    asked = one.evidence is Evidence.PAIRED and is_full(comparison.beside)
    return short(comparison.beside) if asked else ""


def _base(comparison: Comparison) -> str | None:
    """The commit beside which the candidate was measured, "" if it is none; None for no pair."""
    if not are_paired(comparison.baseline, comparison.candidate):
        return None
    commit = newest(comparison.baseline).context.get("commit", "")
    return short(commit) if is_full(commit) else ""


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
    recorded = " ".join(map(str, accept(comparison)))
    text += f"\n{prose(recorded)}\n" if recorded else ""
    where = "the file that --policy names"
    if not provenance.is_other_project(comparison):
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
