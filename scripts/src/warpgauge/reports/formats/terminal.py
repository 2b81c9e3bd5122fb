# SPDX-License-Identifier: Apache-2.0
"""A comparison on a terminal: the verdict, the rows by cause, notes."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from warpgauge.records.counters import ENERGY, speed
from warpgauge.records.model import Record, by_family, skips
from warpgauge.records.row import LARGEST_LOG, Row
from warpgauge.records.sessions import newest_last
from warpgauge.reports import view as views
from warpgauge.reports.advice import next_step
from warpgauge.reports.format import Format
from warpgauge.reports.view import CONTROL, WITHIN, Group, View
from warpgauge.system import layout, text
from warpgauge.system.layout import Cells, Columns, print_facts, print_text
from warpgauge.system.text import LONGEST_TEXT, cut, duration, inert, of_limit, percent, plural
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.incompatibility import disturbed
from warpgauge.verdict.note import RECORDED

# The longest note shown unless all are asked for, in characters: two lines.
_LONGEST_NOTE = 200

# Styles by the words of verdicts; all other rows were not measured.
_STYLES = {"slower": "bold red", "faster": "bold green", "new": "cyan", "skipped": "dim",
           "accepted": "dim", WITHIN: "dim", CONTROL: "dim"}  # fmt: skip
_CHECK_STYLES = {"PASS": "bold green", "FAIL": "bold red"}

_HEADINGS = ("baseline", "candidate", "change", "95 % interval")
# The terminals that have room for the candidate's rate, and its share of the machine's limit.
_LEAST_WIDTHS = {"rate": 100, "of limit": 120}
# What a narrow terminal drops, in this order; change and verdict are never dropped.
_DISPENSABLE = ("CPU", "95 % interval", "baseline", "candidate")

# The most rows listed of a verdict, worst first, and of one without times; the rest is counted.
_LISTED, _LISTED_WITHOUT_CHANGE = 50, 8
_LONGEST_FAMILY = 60


def render(comparison: Comparison, console: Console, *, verbose: bool = False) -> None:
    """Print a comparison. Every row, long notes and the rule are printed only if `verbose`."""
    view = View(comparison)
    line = Text(view.check, _CHECK_STYLES.get(view.check, "bold yellow"))
    print_text(console, line.append(f"  {text.plain(views.headline(comparison))}", "bold"))
    if said := views.how_found(comparison):
        print_text(console, said)
    console.print()
    sides = (("baseline", comparison.baseline), ("candidate", comparison.candidate))
    print_facts(console, [(name, views.side(record)) for name, record in sides])
    if view.rows:
        console.print()
        _table(view, console, verbose)
    explained = [one.why for one in comparison.verdicts if one.why and one.why.paragraph]
    reasons = [one.paragraph for one in explained if verbose or not one.proved]
    if reasons:
        print_text(console, "\nWhy it is slower", style="bold")
        for paragraph in reasons:
            print_text(console, inert(cut(paragraph, LONGEST_TEXT)), indent=2)
    if differences := views.differences_beside(comparison):
        print_text(console, "\nDifferences between the two", style="bold")
        shown = [(inert(key), " → ".join(map(inert, both))) for key, *both in differences]
        print_facts(console, shown)
    # What marks a recording on a screen is the demo's own first and last line.
    every = [note for note in comparison.every_note if verbose or note.kind != RECORDED]
    method = comparison.method
    notes = [note for note in every if verbose or len(str(note)) <= _LONGEST_NOTE or note is method]
    if notes:
        print_text(console, "\nNotes", style="bold")
    for note in notes:
        print_text(console, str(note), indent=2)
    decision, longer = views.rule(comparison), len(every) - len(notes)
    hidden = [plural(longer, "longer note")] if longer else []
    if decision and verbose:
        print_text(console, f"\n{decision}", style="dim")
    elif decision:
        hidden.append("the decision rule")
    if hidden:
        print_text(console, f"\n--format terminal=FILE has {' and '.join(hidden)}.", style="dim")
    for index, step in enumerate(next_step(comparison)):
        print_text(console, Text(("" if index else "\n") + step.words, "bold"))
        if step.command:
            console.print(Text(f"  {step.command}"), soft_wrap=True)


def plain(comparison: Comparison) -> str:
    """Return everything, without colour, for a file."""
    return layout.plain(lambda console: render(comparison, console, verbose=True))


def _table(view: View, console: Console, verbose: bool) -> None:
    """Print the rows by verdict and cause, then the families of those within tolerance."""
    folded = () if verbose else (WITHIN, CONTROL, "skipped")
    shown, more = _listed([one for one in view.groups if one.word not in folded], verbose)
    rows = [row for _, members in shown for row in members]
    logs, cpu_logs = _of_plain_files(view.comparison)
    cells = {row.name: _cells(row, cpu_logs) for row in rows}
    heads = [*_HEADINGS]
    for head in ("rate", "of limit", *(["at most"] if verbose else []), "CPU"):
        has_room = console.width >= _LEAST_WIDTHS.get(head, 0)
        heads += [head] if has_room and any(of[head] for of in cells.values()) else []
    heading = Cells("benchmark", tuple(heads))
    lines = {name: Cells(f"  {inert(name)}", tuple(map(of.__getitem__, heads)))
             for name, of in cells.items()}  # fmt: skip
    dispensable = [heads.index(head) for head in _DISPENSABLE if head in heads]
    columns = Columns.fitting([heading, *lines.values()], console.width, dispensable)
    if lines:
        print_text(console, columns.line(heading), style="dim")
    for group, members in shown:
        title = Text(group.word, _STYLES.get(group.word, "yellow"))
        title.append(text.plain(group.title.removeprefix(group.word)), "not bold default")
        print_text(console, title)
        for row in members:
            print_text(console, columns.line(lines[row.name]))
            if row.details:
                print_text(console, text.plain("; ".join(row.details)), indent=6, style="dim")
            for cause in row.proved if verbose else ():
                head = f"{cause.size} of it: {text.plain(cause.head)}"
                for line in filter(None, (head, *cause.lines, cause.note)):
                    cut_line = inert(cut(line, text.LONGEST_NAME))
                    print_text(console, cut_line, indent=6, style="dim")
    if len(logs) > 1:
        of_cpu = f", CPU {_mean(cpu_logs)}" if len(cpu_logs) == len(logs) else ""
        print_text(console, f"geometric mean of {len(logs)} changes: {_mean(logs)}{of_cpu}")
    for count in more:
        print_text(console, f"… and {count} (--format terminal=FILE lists all)")
    for word, words in ((WITHIN, WITHIN), (CONTROL, "controls, not judged")) if folded else ():
        counts = [f"{cut(inert(family), _LONGEST_FAMILY)} {len(members)}"
                  for family, members in view.families(word).items()]  # fmt: skip
        if counts:
            moved = _moved(view.of(word)) if word == CONTROL else ""
            print_text(console, f"{words}: {', '.join(counts)}{moved}", style="green")


def _moved(rows: Sequence[views.Row]) -> str:
    """Return how far the controls moved: `` (−0.54 … +32.1 %)``."""
    ratios = [row.verdict.change.ratio for row in rows if row.verdict.change is not None]
    return f" ({text.span(min(ratios), max(ratios))})" if ratios else ""


def _listed(
    groups: Sequence[Group], verbose: bool
) -> tuple[list[tuple[Group, Sequence[views.Row]]], list[str]]:
    """Return the rows to list of each group, and how many more there are of each verdict."""
    shown: list[tuple[Group, Sequence[views.Row]]] = []
    seen, more = Counter[str](), Counter[str]()
    for group in groups:
        most = _LISTED if group.rows[0].verdict.change is not None else _LISTED_WITHOUT_CHANGE
        rows = group.rows if verbose else group.rows[: max(most - seen[group.word], 0)]
        seen[group.word] += len(rows)
        more[group.word] += len(group.rows) - len(rows)
        shown += [(group, rows)] if rows else []
    return shown, [f"{count} more {word}" for word, count in more.items() if count]


def _of_plain_files(comparison: Comparison) -> tuple[dict[str, float], dict[str, float]]:
    """Return log ratios of times and of CPU times by name, if both sides are plain files.

    Google Benchmark's compare.py shows them, too.
    """
    sides = (comparison.baseline, comparison.candidate)
    times, cpu_times = dict[str, float](), dict[str, float]()
    if not all(its.source.is_plain for its in sides):
        return times, cpu_times
    for one in comparison.verdicts:
        if one.baseline_seconds and one.candidate_seconds:
            times[one.name] = math.log(one.candidate_seconds) - math.log(one.baseline_seconds)
            before, after = (its.rows[one.name].cpu_seconds for its in sides)
            if before and after:
                cpu_times[one.name] = math.log(after) - math.log(before)
    return times, cpu_times


def _mean(logs: Mapping[str, float]) -> str:
    return _change(statistics.fmean(logs.values()))


def _change(log_ratio: float) -> str:
    return percent(math.expm1(min(log_ratio, LARGEST_LOG)))


def _cells(row: views.Row, cpu_logs: Mapping[str, float]) -> dict[str, str]:
    """Return the cells of a row by their headings."""
    numbers = row.numbers
    cpu = _change(cpu_logs[row.name]) if row.name in cpu_logs else ""
    more = {"rate": speed(row.verdict.counters), "of limit": numbers.limit}
    return {**dict(zip(_HEADINGS, numbers, strict=False)), **more, "at most": numbers.bound,
            "CPU": cpu}  # fmt: skip


def render_values(record: Record, console: Console) -> None:
    """Print every benchmark's time, rate and spread over processes, in blocks by family."""
    order = {s.key: index for index, s in enumerate(newest_last(record.sessions.values()))}
    rows = [row for row in record.rows.values() if not row.skipped]
    values = {row.name: _values(row, order, record.single_process) for row in rows}
    known = [head for head in ("of limit", "energy") if any(of.get(head) for of in values.values())]
    heads = ("time", "rate", *known, "spread")
    heading = Cells("benchmark", heads)
    lines = {
        row.name: Cells(f"  {inert(row.name.partition('/')[2] or row.name)}",
                        tuple(values[row.name].get(head, "") for head in heads),
                        "" if row.error is None else "yellow")
        for row in rows
    }  # fmt: skip
    dispensable = range(len(heads) - 2, 0, -1)  # time and spread are never dropped
    columns = Columns.fitting([heading, *lines.values()], console.width, dispensable)
    print_text(console, columns.line(heading), style="dim")
    for family, members in by_family(rows).items():
        print_text(console, Text(inert(family), "bold"))
        for row in members:
            print_text(console, columns.line(lines[row.name]))
            if row.error is not None:
                print_text(console, inert(row.error), indent=6, style="yellow")
            if invalid := disturbed(row, record.sessions):
                fault = f"no result: {': '.join(invalid)}"
                print_text(console, fault, indent=6, style="yellow")
    for line in skips(record.rows.values()):
        print_text(console, f"\n{inert(line)}")
    facts = ["spread: standard deviation between processes, relative to the time"]
    facts += (
        ["of limit: relative to the ceilings that the same run measured"]
        if "of limit" in known
        else []
    )
    print_text(console, "\n" + "; ".join(facts), style="dim")


def _values(row: Row, order: Mapping[str, int], alone: bool) -> dict[str, str]:
    """Return the cells of the newest session by their headings."""
    if row.error is not None:
        return {"spread": "ERROR"}
    times = row.process_medians[max(row.process_medians, key=order.__getitem__)]
    logs = [math.log(time) for time in times]
    known = len(logs) > 1 and not alone
    joules = row.counters.get(ENERGY, 0.0)
    return {
        "time": duration(math.exp(statistics.fmean(logs))),
        "rate": speed(row.counters),
        "of limit": of_limit(row.counters.get("limit_fraction")),
        # With the prefixes of times.
        "energy": f"{duration(joules)[:-1]}J" if joules else "",
        "spread": f"{100 * statistics.stdev(logs):.2f} %" if known else "–",
    }


_OWN = re.compile(rb"\A(?:PASS|FAIL|NOT DECIDED)  ")
FORMAT = Format("terminal", plain, "comparison in plain text", _OWN)
