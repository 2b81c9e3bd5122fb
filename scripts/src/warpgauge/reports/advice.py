# SPDX-License-Identifier: Apache-2.0
"""The next step after a comparison: how to reproduce a change, bound it, or accept it."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from warpgauge.records import counters
from warpgauge.records.counters import Clock
from warpgauge.records.model import BUILD_DIR, FILE, MANIFEST, PROGRAMS, Record, Source
from warpgauge.records.names import FULL_SUITE
from warpgauge.records.sessions import are_paired, newest
from warpgauge.reports.view import worst
from warpgauge.system.environment import started
from warpgauge.system.git import is_full, short
from warpgauge.system.text import inert
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.comparison_settings import ENOUGH_FILES
from warpgauge.verdict.note import MOVED_ALIKE, RECORDED
from warpgauge.verdict.pairing import FAMILY as CONTROLS
from warpgauge.verdict.policy import LARGEST_PERCENT

# Characters; a longer filter is omitted, so that the command measures everything.
_LONGEST_PATTERN = 280

# Names that a shell, a regular expression and TOML take literally, and that fit on a line.
_HARMLESS = re.compile(r"[A-Za-z0-9_/:,=-]{1,200}")
_HARMLESS_FOLDER = re.compile(r"(?!-)[A-Za-z0-9_./,@+=: -]{1,200}")

_FOLDERS = "BASE_FOLDER", "CANDIDATE_FOLDER"
_AB = " ".join(("ab", *_FOLDERS))


@dataclass(frozen=True)
class Step:
    """What to do, in `words`, and the `command` that does it, ready to paste."""

    words: str
    command: str = ""

    def __str__(self) -> str:
        return f"{self.words} {self.command}." if self.command else self.words


def next_step(comparison: Comparison) -> tuple[Step, ...]:
    """Return the next steps; none if the candidate is itself a baseline, or of a recording."""
    source, slowest = comparison.candidate.source, worst(comparison)
    if source is Source.BASELINE or any(note.kind == RECORDED for note in comparison.notes):
        return ()
    ours, in_pairs = source is Source.RUN, _base(comparison) is not None
    if slowest is not None and slowest.fails_on_energy:
        command = f"{_bench(comparison.candidate)} --energy --no-confirm"
        return (Step("To reproduce:", command + _selected(comparison, [slowest])),)
    if slowest is not None and ours:
        steps = (_look_into(comparison, slowest),)
        if in_pairs:  # which have no baseline
            return steps
        words = "If the change is intended, commit it and record its times:"
        return (*steps, Step(words, f"{_bench(comparison.candidate)} --record"))
    if slowest is not None:
        words = "To confirm it, measure the programs themselves in pairs:"
        return (Step(words, started(_AB)),)
    rows, is_refused = comparison.candidate.rows, comparison.refusal is not None
    for failed in _of(comparison, Outcome.ERROR) if ours and not is_refused else ():
        row = rows.get(failed.name)
        if row is not None and row.error is not None and not row.skipped:
            if row.counters.get(counters.NOT_LISTED) and comparison.is_other_project:
                if not is_harmless(row.name):
                    return (Step("Correct the program, or leave it out with --programs."),)
                without = f"{_measured(comparison)} --programs='-^{row.name}$'"
                return (Step("Correct the program, or leave it out:", without),)
            return (Step("To reproduce the failure:", _command(comparison, [failed])),)
    gone = any(one.name not in rows for one in _of(comparison, Outcome.MISSING))
    if gone and not in_pairs and not is_refused:
        words = "Restore the missing benchmarks, or remove them from the baseline in"
        return (Step(f"{words} the same commit."),)
    if undecided := _of(comparison, Outcome.INCONCLUSIVE):
        return (_bound(comparison, undecided),)
    if comparison.count(Outcome.IMPROVED) and ours and not in_pairs:
        record = f"{_bench(comparison.candidate)} --record"
        return (Step("To keep the gain as the baseline:", record),)
    return ()


def _of(comparison: Comparison, outcome: Outcome) -> list[Verdict]:
    return [one for one in comparison.verdicts if one.outcome is outcome]


def first_steps(run: Record) -> tuple[Step, ...]:
    """Return how to record a run of a GPU that has no baseline, and how to do without one."""
    context = newest(run).context
    words = f"To record a baseline of {inert(context['gpu_name'])}:"
    record = Step(words, f"{_bench(run)} --record")
    if MANIFEST in context:
        pair = Step("To compare two kernels:", started("evaluate BASE CANDIDATE"))
    elif BUILD_DIR in context:
        pair = Step("To compare two builds:", started(_AB))
    else:
        pair = Step("To compare with another commit:", f"{_bench(run)} --against main")
    return record, pair


def _bound(comparison: Comparison, undecided: Sequence[Verdict]) -> Step:
    """Return how to bring the bounds of undecided rows within the tolerance."""
    counts = [min(one.processes) for one in undecided if one.processes is not None]
    if comparison.is_of_plain_files and counts and min(counts) < ENOUGH_FILES:
        words = f"Measure {ENOUGH_FILES} processes per side, in turns, each side in a folder:"
        return Step(words, started("compare old-results new-results"))
    base = _base(comparison)
    if any(note.kind == MOVED_ALIKE for note in comparison.notes) and not base:
        return Step("Measure both sides in turns:", started(_AB))
    if comparison.candidate.source is not Source.RUN:
        words = "To bound the undecided benchmarks, measure more processes on a quieter machine."
        return Step(words)
    screened = [one for one in undecided if not one.in_pairs]
    words = "To bound them" + (":" if screened else ", in more pairs or on a quieter machine:")
    context, command = newest(comparison.candidate).context, _bench(comparison.candidate)
    commit = base if base is not None else _commit(comparison.baseline) or "COMMIT"
    if MANIFEST in context:
        words = "To bound them, measure more processes, or record another session:"
        command += " --budget 5m"
    elif comparison.is_other_project or BUILD_DIR in context:
        command = _ab(comparison) or started(_AB)
    elif commit:
        command += f" --against {commit}"
    return Step(words, command + _selected(comparison, screened or undecided))


def _look_into(comparison: Comparison, slowest: Verdict) -> Step:
    """Return how to measure a regression again, if possible with what moved in it."""
    base, context = _base(comparison), newest(comparison.candidate).context
    by_code = comparison.is_other_project or {BUILD_DIR, MANIFEST} & context.keys()
    if not base or by_code or slowest.by_time is not None or not is_harmless(slowest.name):
        return Step("To reproduce:", _command(comparison, [slowest]))
    file = [_folder(context[FILE], FILE.upper())] if FILE in context else []
    command = ["explain", *file, slowest.name, "--against", base]
    words = "Accept it in baselines/policy.toml or look into it:"
    return Step(words, started(shlex.join(command)))


def _command(comparison: Comparison, rows: Sequence[Verdict]) -> str:
    """Return the command that measures these benchmarks again, beside the same base if any."""
    return _measured(comparison) + _selected(comparison, rows)


def _measured(comparison: Comparison) -> str:
    if again := _ab(comparison):
        return again
    base = _base(comparison)
    return _bench(comparison.candidate) + (f" --against {base}" if base else "")


def _selected(comparison: Comparison, rows: Sequence[Verdict]) -> str:
    """Return the options that select these benchmarks; all are measured if they are many or odd.

    Against a baseline, a host time also needs the host's controls.
    """
    sessions = comparison.candidate.sessions.values()
    full = any(session.context.get("suite") == FULL_SUITE for session in sessions)
    suite = f" --suite {FULL_SUITE}" if full else ""
    pattern = "|".join(f"^{one.name}$" for one in rows)
    if len(pattern) > _LONGEST_PATTERN or not all(is_harmless(one.name) for one in rows):
        return suite
    of_host = any(one.clock is Clock.HOST for one in rows) and _base(comparison) is None
    undecided = rows[0].outcome is Outcome.INCONCLUSIVE  # these are measured in pairs
    controls = f"|^{CONTROLS}/" if of_host and not undecided else ""
    return f"{suite} --filter '{pattern}{controls}'"


def _bench(run: Record) -> str:
    """Return the command that measured a run, also for another project's programs."""
    context = newest(run).context
    words = ["bench"]
    for options, key in ((["--build-dir"], BUILD_DIR), ([], MANIFEST), ([], FILE)):
        if key in context:
            words += [*options, _folder(context[key], key.upper())]
    return started(shlex.join(words))


def _folder(name: str, placeholder: str) -> str:
    """Return `name`, or the placeholder if it is not harmless."""
    return name if _HARMLESS_FOLDER.fullmatch(name) else placeholder


def _ab(comparison: Comparison) -> str:
    """Return the command for programs of another project that were measured in pairs, or "".

    If the commits are known, its folders are placeholders: a reader builds them elsewhere.
    """
    contexts = [newest(side).context for side in (comparison.baseline, comparison.candidate)]
    if any(PROGRAMS not in context for context in contexts):
        return ""
    if _base(comparison):
        return started(_AB)
    names = (context[PROGRAMS] for context in contexts)
    return started(shlex.join(["ab", *map(_folder, names, _FOLDERS)]))


def is_harmless(name: str) -> bool:
    """Return whether a shell, a regular expression and TOML all take `name` literally."""
    return _HARMLESS.fullmatch(name) is not None


def _base(comparison: Comparison) -> str | None:
    """Return the commit that the candidate was paired with; "" if unknown, None without pairs."""
    paired = are_paired(comparison.baseline, comparison.candidate)
    return _commit(comparison.baseline) if paired else None


def _commit(side: Record) -> str:
    commit = newest(side).context.get("commit", "")
    return short(commit) if is_full(commit) else ""


def policy_entry(comparison: Comparison, worst: Verdict) -> str:
    """Return a draft of the policy entry that accepts the worst row, as Markdown, or ""."""
    # An entry accepts a row only up to its percentage, so it must cover the whole interval.
    high = 100.0 * max(worst.bound or 0.0, worst.change.high) if worst.change is not None else 0.0
    is_usable = 0.0 < high < LARGEST_PERCENT - 1 and not worst.fails_on_energy
    if not is_harmless(worst.name) or not is_usable:
        return ""
    other = comparison.is_other_project
    where = "the project's policy file" if other else "`baselines/policy.toml`"
    gated = "resources = true\n" if worst.by_time is not None else ""
    return (
        f"\nTo accept the slowdown for some time, add this entry to {where} in this pull "
        f'request:\n\n```toml\n[[expected]]\npattern = "^{worst.name}$"\nslower_by_at_most_percent '
        f'= {math.ceil(high)}\nreason = "..."\nexpires = ...  # a date: 2027-01-31\n{gated}```\n'
    )
