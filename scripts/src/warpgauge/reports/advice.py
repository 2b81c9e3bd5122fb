# SPDX-License-Identifier: Apache-2.0
"""The next step after a comparison: how to reproduce a change, bound it, or accept it."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from warpgauge.records import counters
from warpgauge.records.model import BASELINES, BUILD_DIR, MANIFEST, PROGRAMS, Clock, Source
from warpgauge.records.names import FULL_SUITE
from warpgauge.records.sessions import are_paired, newest
from warpgauge.reports.markdown_text import prose
from warpgauge.reports.view import is_other_project, worst
from warpgauge.system.git import is_full, short
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.comparison_settings import FEWEST_PROCESSES
from warpgauge.verdict.pairing import FAMILY as CONTROLS
from warpgauge.verdict.policy import LARGEST_PERCENT

# Each of the first _COMMANDS changed rows gets a command.
_COMMANDS = 5

# Characters; a longer filter is omitted, so that the command measures everything.
_LONGEST_PATTERN = 280

# Names that a shell, a regular expression and TOML take literally, and that fit on a line.
_HARMLESS = re.compile(r"[A-Za-z0-9_/:,=-]{1,200}")
_HARMLESS_FOLDER = re.compile(r"(?!-)[A-Za-z0-9_./,@+=: -]{1,200}")


@dataclass(frozen=True)
class Step:
    """What to do, in `words`, and the `command` that does it, ready to paste."""

    words: str
    command: str = ""

    def __str__(self) -> str:
        return f"{self.words} {self.command}." if self.command else self.words


def next_step(comparison: Comparison) -> tuple[Step, ...]:
    """Return the next steps; none if the candidate is itself a baseline."""
    source, slowest = comparison.candidate.source, worst(comparison)
    if source is Source.BASELINE:
        return ()
    ours, in_pairs = source is Source.RUN, _base(comparison) is not None
    if slowest is not None and ours:
        return (Step("To reproduce:", command(comparison, slowest)), *accept(comparison))
    if slowest is not None:
        return (Step("Measure both sides again in fresh processes to confirm this."),)
    failed = _first_failed(comparison)
    if ours and failed is not None and comparison.refusal is None:
        return (_of_failure(comparison, failed),)
    missing = (one.name for one in comparison.verdicts if one.outcome is Outcome.MISSING)
    gone = [name for name in missing if name not in comparison.candidate.rows]
    if comparison.refusal is None and gone and not in_pairs:
        words = (
            "Restore the missing benchmarks, or remove them from the baseline in the same commit."
        )
        return (Step(words),)
    if comparison.count(Outcome.INCONCLUSIVE) and _lacks_processes(comparison):
        words = "Measure at least three processes per side, and give all their files:"
        files = "A1.json A2.json A3.json -- B1.json B2.json B3.json"
        return (Step(words, f"compare.py --processes {files}"),)
    if comparison.count(Outcome.INCONCLUSIVE):
        return (_bound(comparison),)
    if comparison.count(Outcome.IMPROVED) and ours and not in_pairs:
        return (Step("To keep the gain as the baseline:", f"{_bench(comparison)} --record"),)
    return ()


def _lacks_processes(comparison: Comparison) -> bool:
    """Return whether rows are inconclusive because plain files have too few processes."""
    return comparison.is_of_plain_files and any(
        min(verdict.processes) < FEWEST_PROCESSES
        for verdict in comparison.verdicts
        if verdict.outcome is Outcome.INCONCLUSIVE and verdict.processes is not None
    )


def _bound(comparison: Comparison) -> Step:
    """Return how to bring the bounds of inconclusive rows within the tolerance."""
    left = [one for one in comparison.verdicts if one.outcome is Outcome.INCONCLUSIVE]
    if comparison.candidate.source is not Source.RUN:
        return Step(
            "To bound the undecided benchmarks, measure more processes on a quieter machine."
        )
    screened = [one for one in left if not one.in_pairs]
    words = "To bound them" + (":" if screened else ", in more pairs or on a quieter machine:")
    commit = _base(comparison)
    if commit is None:
        commit = newest(comparison.baseline).context.get("commit", "")
        commit = short(commit) if is_full(commit) else "COMMIT"
    bench = f"scripts/bench --against {commit}" if commit else "scripts/bench"
    context = newest(comparison.candidate).context
    if MANIFEST in context:
        words = "To bound them, measure more processes, or record another session:"
        bench = f"{_bench(comparison)} --budget 5m"
    elif is_other_project(comparison) or BUILD_DIR in context:
        folders = _folders(comparison) or ["BASE_FOLDER", "CANDIDATE_FOLDER"]
        bench = shlex.join(["scripts/warpgauge", "ab", *folders])
    return Step(words, bench + _selected(comparison, [one.name for one in screened or left]))


def _first_failed(comparison: Comparison) -> Verdict | None:
    """Return the first row that failed in the candidate, or None."""
    rows = comparison.candidate.rows.values()
    failed = {row.name for row in rows if row.error is not None and not row.skipped}
    errors = (verdict for verdict in comparison.verdicts if verdict.outcome is Outcome.ERROR)
    return next((verdict for verdict in errors if verdict.name in failed), None)


def _of_failure(comparison: Comparison, failed: Verdict) -> Step:
    """Return how to see a failure again, or how to measure without a program that has no names."""
    if not comparison.candidate.rows[failed.name].counters.get(counters.NOT_LISTED):
        return Step("To reproduce the failure:", command(comparison, failed))
    words = "Correct the program, or leave it out"
    if not is_harmless(failed.name):
        return Step(f"{words} with --programs.")
    optional = "" if is_other_project(comparison) else "(bench_)?"
    return Step(f"{words}:", f"{_measured(comparison)} --programs='-^{optional}{failed.name}$'")


def accept(comparison: Comparison) -> tuple[Step, ...]:
    """Return how to accept an intended change; nothing for pairs, which have no baseline."""
    if _base(comparison) is not None:
        return ()
    words = "If the change is intended, commit it and record its times:"
    return (Step(words, f"{_bench(comparison)} --record"),)


def command(comparison: Comparison, verdict: Verdict) -> str:
    """Return the command that measures one benchmark again, beside the same base if it had one.

    Against a baseline, a host time also needs the host's controls. A name that is not harmless is
    omitted, so that the command measures everything.
    """
    in_pairs = _base(comparison) is not None
    controls = f"|^{CONTROLS}/" if verdict.clock is Clock.HOST and not in_pairs else ""
    return _measured(comparison) + _selected(comparison, [verdict.name], controls)


def _measured(comparison: Comparison) -> str:
    """Return the command that measures everything again, beside the same base if it had one."""
    if folders := _folders(comparison):
        return shlex.join(["scripts/warpgauge", "ab", *folders])
    base = _base(comparison)
    return _bench(comparison) + (f" --against {base}" if base else "")


def _selected(comparison: Comparison, names: Sequence[str], more: str = "") -> str:
    """Return the options that select these benchmarks and `more`, or "" for many or odd names."""
    full = any(_is_of_full_suite(comparison, name) for name in names)
    suite = f" --suite {FULL_SUITE}" if full else ""
    pattern = "|".join(f"^{name}$" for name in names)
    if len(pattern) > _LONGEST_PATTERN or not all(map(is_harmless, names)):
        return suite
    return f"{suite} --filter '{pattern}{more}'"


def _bench(comparison: Comparison) -> str:
    """Return the command that measured the candidate, also for another project's programs."""
    context = newest(comparison.candidate).context
    words = ["scripts/bench"]
    for option, key in (("--build-dir", BUILD_DIR), ("--kernels", MANIFEST)):
        if key in context and BASELINES in context:
            words += [option, _folder(context[key], key.upper())]
            words += ["--baselines", _folder(context[BASELINES], "BASELINES")]
    return shlex.join(words)


def _folder(name: str, placeholder: str) -> str:
    """Return `name`, or the placeholder if it is not harmless."""
    return name if _HARMLESS_FOLDER.fullmatch(name) else placeholder


def _folders(comparison: Comparison) -> list[str]:
    """Return the folders of another project's programs that were measured in pairs, base first.

    If the commits are known, return placeholders: a reader builds them in folders of their own.
    """
    sides = {"BASE_FOLDER": comparison.baseline, "CANDIDATE_FOLDER": comparison.candidate}
    contexts = {placeholder: newest(side).context for placeholder, side in sides.items()}
    if any(PROGRAMS not in context for context in contexts.values()):
        return []
    if _base(comparison):
        return list(contexts)
    return [_folder(context[PROGRAMS], placeholder) for placeholder, context in contexts.items()]


def is_harmless(name: str) -> bool:
    """Return whether a shell, a regular expression and TOML all take `name` literally."""
    return _HARMLESS.fullmatch(name) is not None


def _is_of_full_suite(comparison: Comparison, name: str) -> bool:
    """Return whether only the full suite has it; for a failed row, whether its run was of it."""
    sides = (comparison.candidate, comparison.baseline)
    rows = [side.rows[name] for side in sides if name in side.rows]
    if any(row.counters.get(counters.FULL_SUITE) for row in rows):
        return True
    sessions = comparison.candidate.sessions.values()
    unknown = len(rows) == 1 and rows[0].error is not None
    return unknown and any(session.context.get("suite") == FULL_SUITE for session in sessions)


def _base(comparison: Comparison) -> str | None:
    """Return the commit that the candidate was paired with; "" if unknown, None without pairs."""
    if not are_paired(comparison.baseline, comparison.candidate):
        return None
    commit = newest(comparison.baseline).context.get("commit", "")
    return short(commit) if is_full(commit) else ""


def again(comparison: Comparison, ranked: Sequence[Verdict]) -> str:
    """Return a command for each of the first rows, and how to accept an intended change."""
    commands = dict.fromkeys(command(comparison, verdict) for verdict in ranked[:_COMMANDS])
    text = "\n".join(["```sh", *commands, "```\n"])
    slower = [verdict for verdict in ranked if verdict.outcome is Outcome.REGRESSION]
    if not slower:
        return text
    recorded = " ".join(map(str, accept(comparison)))
    text += f"\n{prose(recorded)}\n" if recorded else ""
    other = is_other_project(comparison)
    where = "the project's policy file" if other else "`baselines/policy.toml`"
    return text + _entry(slower[0], where)


def _entry(worst: Verdict, where: str) -> str:
    """Return a draft of the policy entry that accepts the worst row; `where` names the file."""
    # An entry accepts a row only up to its percentage, so it must cover the whole interval.
    high = 100.0 * max(worst.bound or 0.0, worst.change.high) if worst.change is not None else 0.0
    if not is_harmless(worst.name) or not 0.0 < high < LARGEST_PERCENT - 1:
        return ""
    gated = "resources = true\n" if worst.by_time is not None else ""
    return (
        f"\nTo accept the slowdown for some time, add this entry to {where} in this pull "
        f'request:\n\n```toml\n[[expected]]\npattern = "^{worst.name}$"\nslower_by_at_most_percent '
        f'= {math.ceil(high)}\nreason = "..."\nexpires = ...  # a date: 2027-01-31\n{gated}```\n'
    )
