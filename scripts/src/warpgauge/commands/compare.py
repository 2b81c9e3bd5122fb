# SPDX-License-Identifier: Apache-2.0
"""warpgauge compare, and scripts/compare.py: two sides of run files, baselines or plain files.

And warpgauge demo: a recorded comparison, marked as such, for who has no GPU yet.
"""

from __future__ import annotations

import gc
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

from warpgauge.baselines import store
from warpgauge.commands import command_lines, upstream
from warpgauge.commands.command_lines import PROCESSES
from warpgauge.commands.output import Formats, unpaired_comparison
from warpgauge.history.lines import left_out
from warpgauge.records.benchmark_filter import matching, normal, require_match
from warpgauge.records.load import load, load_processes
from warpgauge.records.model import Record
from warpgauge.reports import recorded
from warpgauge.reports.format import FORMATS, Format
from warpgauge.reports.formats import terminal
from warpgauge.reports.view import gpu_name
from warpgauge.system import environment, streams
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import Output, print_line, print_text
from warpgauge.system.location import STANDARD_INPUT
from warpgauge.system.text import inert
from warpgauge.verdict import policy
from warpgauge.verdict.comparison import exit_status
from warpgauge.verdict.comparison_settings import PROCESS_SCATTER, ComparisonSettings
from warpgauge.verdict.judge import judge


def main(argv: Sequence[str], root: Path) -> int:
    """Compare as `argv` asks, and return the exit status. Raises UserError."""
    options, theirs = parse(argv)
    formats, baselines = Formats.parse(options.format), root / "baselines"
    names = [text.partition("=")[0] for text in options.format]
    if options.history is not None and "html" not in names:
        raise UserError("--history adds to the page: add --format html=FILE")
    inputs = [path for path in (options.baseline, options.candidate) if path is not None]
    formats.check(baselines, [*inputs, *(path for side in options.processes for path in side)])
    notes = Output(stderr=True)
    for sentence in _remarks(options, theirs):
        print_line(notes, sentence)
    baseline: Record | None
    if options.sides:
        baseline, candidate = upstream.load(options.sides)
    elif options.processes:
        baseline, candidate = map(load_processes, options.processes)
    else:
        candidate = load(options.candidate)
        given = options.baseline
        baseline = load(given) if given else store.of_run(baselines, candidate)
        if baseline and not options.baseline:
            print_line(notes, f"Compared with {inert(str(baseline.path))}, its baseline.")
    if baseline is None:
        require_match(options.filter, candidate, candidate)
        rows = {name: candidate.rows[name] for name in matching(options.filter, candidate.rows)}
        comparison = unpaired_comparison(replace(candidate, rows=rows), options.allow)
    else:
        gc.freeze()  # both records live to the end, so the collector need not scan them repeatedly
        require_match(options.filter, baseline, candidate)
        settings = ComparisonSettings(
            filter=options.filter or None,
            minimum_effect=options.min_effect,
            process_scatter=options.process_scatter or PROCESS_SCATTER,
            allow=frozenset(options.allow),
            policy=policy.of(baseline, candidate, baselines, options.policy),
            today=date.today(),
        )
        comparison = judge(baseline, candidate, settings)
    faults: list[str] = []
    if options.history is not None:
        page = _page(candidate, options.history, root, faults)
        formats = Formats.parse(options.format, {**FORMATS, page.name: page})

    def show() -> None:
        console = Output(highlight=False)
        with console.capture() as output:
            terminal.render(comparison, console, verbose=options.verbose)
        streams.write(output.get())

    return formats.deliver(comparison, exit_status(comparison), show) or left_out(faults)


def demo(argv: Sequence[str], root: Path) -> ExitStatus:
    """Show the recorded comparison; its verdict is not the status. Raises UserError."""
    formats = Formats.parse(command_lines.demo().parse_args(argv).format)
    formats.check(root / "baselines", [])
    found = recorded.marked()
    console = Output(stderr=not formats.is_for_people, highlight=False)
    mark = f"{found.notes[0]} Nothing was measured."
    print_text(console, f"{mark}\n", style="bold yellow")
    status = formats.deliver(found, ExitStatus.OK, lambda: terminal.render(found, console))
    print_text(console, f"\n{mark}", style="bold yellow")
    print_text(console, f"To look into a regression of your own: {environment.started('explain')}")
    print_text(console, f"To measure your own GPU: {environment.started('bench')}")
    return status


def _page(run: Record, given: str, root: Path, faults: list[str]) -> Format:
    """Return the format of pages, with the history of the run's GPU model. Raises UserError."""
    from warpgauge.history import show  # takes time and memory, which few comparisons need
    from warpgauge.reports.formats import html

    if not (gpu := gpu_name(run)):
        raise UserError(f"{run.path} names no GPU, so it has no history: omit --history")
    histories = show.of_model(store.slug(gpu), given, root, faults)
    return replace(html.FORMAT, render=partial(html.render, histories=histories))


def _remarks(options: Namespace, theirs: Namespace) -> Iterator[str]:
    """Yield what a user of Google Benchmark's compare.py may not expect."""
    if options.sides:
        yield from upstream.remarks(options.sides)
    if theirs.dump_to_json is not None:
        yield "-d writes warpgauge's own JSON (--format json), which has other fields."
    if theirs.utest or theirs.alpha is not None:
        words = "all changes are tested at p < 0.01 over the whole suite; see --min-effect"
        yield f"--utest, --no-utest and --alpha have no effect: {words}."


def parse(argv: Sequence[str]) -> tuple[Namespace, Namespace]:
    """Return our options, and those of Google Benchmark's compare.py. Raises UserError.

    `processes` holds the files of both sides, or is empty; argparse knows no list that ends at
    ``--``. `sides` are those of Google Benchmark's compare.py (`upstream`), or None.
    """
    parser = command_lines.compare()
    end = argv.index(PROCESSES) if PROCESSES in argv else len(argv)
    theirs, ours, for_programs = upstream.split(argv[:end])
    options = parser.parse_args(ours)
    if theirs.dump_to_json is not None:
        options.format = [*options.format, f"json={theirs.dump_to_json}"]
    words = [*map(str, filter(None, (options.baseline, options.candidate))), *options.more]
    options.sides = None
    if upstream.is_mode(words):
        options.sides = upstream.sides(words, for_programs, parser)
        options.baseline, options.candidate = (side.path for side in options.sides)
        options.filter = options.filter or normal(upstream.filter_of(options.sides))
    elif unknown := [*options.more, *for_programs]:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if end < len(argv) or options.processes:
        files = [*argv[end + 1 :]]
        middle = files.index("--") if "--" in files else len(files)
        both = files[:middle], files[middle + 1 :]
        if (
            not all(both)
            or options.baseline
            or any(word[:1] == "-" for word in files if word != "--")
        ):
            parser.error(f"{PROCESSES} comes last, and names all files: A.json … -- B.json …")
        options.processes = [list(map(Path, side)) for side in both]
        return options, theirs
    if options.baseline is None:
        parser.error("name a run, or the accepted times and the times to judge")
    if options.candidate is None:
        options.baseline, options.candidate = None, options.baseline
    if options.baseline == options.candidate == STANDARD_INPUT:
        parser.error("standard input can be read only once: give a file instead of one '-'")
    return options, theirs
