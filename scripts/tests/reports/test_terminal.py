# SPDX-License-Identifier: Apache-2.0
"""What a person reads: the verdict first, the worst named, nothing hidden, nothing executed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace

import pytest
from conftest import Loader
from hypothesis import given
from rich.cells import cell_len
from rich.console import Console

from builders import failed, google, google_row, row, run, scaled
from comparisons import comparison, of_every_kind, proved, verdict, with_text
from hostile_text import HOSTILE
from warpgauge.records.counters import Clock
from warpgauge.records.model import Record
from warpgauge.records.row import Why
from warpgauge.reports.formats.terminal import plain, render, render_values
from warpgauge.system.layout import print_text, wrapped_name
from warpgauge.system.text import percent
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.judge import judge
from warpgauge.verdict.note import Note


def rendered(found: Comparison, width: int = 80, verbose: bool = False) -> str:
    stream = io.StringIO()
    render(found, Console(file=stream, width=width), verbose=verbose)
    return stream.getvalue()


def shown(base: Record, cand: Record, width: int = 80, verbose: bool = False) -> str:
    return rendered(judge(base, cand), width, verbose)


def values(record: Record) -> list[str]:
    stream = io.StringIO()
    render_values(record, Console(file=stream, width=80))
    return stream.getvalue().splitlines()


def line_of(lines: Sequence[str], word: str) -> int:
    return next(number for number, line in enumerate(lines) if word in line)


def test_some_of_everything_is_in_its_place(loaded: Loader) -> None:
    names = ("gemm/tiled/f32/n:1024", "gemm/naive/f32/n:1024", "gemm/cublas/f32/n:1024")
    base = [row(name, registers=40) for name in names]
    base += [row(f"memcpy/d2d/bytes:{2**i}") for i in range(12, 20)] + [row("sync/gone")]
    cand = [row(names[0], scaled(1.02)), row(names[1], scaled(1.3), registers=72)]
    cand += [row(names[2], scaled(0.5)), *base[3:-1], failed("sync/idle", "wrong result")]
    text = shown(loaded(run(base, driver_version="580")), loaded(run(cand, driver_version="590")))
    # The verdict comes first and names the worst.
    first = " ".join(text.split("\n\n", maxsplit=1)[0].split())
    assert first.startswith(
        "FAIL 2 slower, worst gemm/naive/f32/n:1024 +30.0 % · 1 faster · 8 within tolerance (at "
    )
    assert first.endswith(
        " · 1 failed · 1 missing Found against the baseline, not confirmed in pairs."
    )
    lines = text.splitlines()
    words = (
        "slower: registers 40 → 72", "  gemm/naive/f32", "slower: perhaps driver 580 → 590",
        "  gemm/tiled/f32", "faster: perhaps driver", "  gemm/cublas/f32", "failed",
        "  sync/idle", "wrong result", "missing", "  sync/gone", "within tolerance: memcpy 8",
    )  # fmt: skip
    rows = lines[line_of(lines, "benchmark ") :]
    order = [line_of(rows, word) for word in words]
    assert order == sorted(order)
    assert "  memcpy/" not in text


def test_the_rule_and_long_notes_are_shown_to_who_asks() -> None:
    method = Note("unconfirmed", "Not measured again: " + "it does not build, " * 20)
    notes = [
        Note("no_gpu", f"No GPU was measured: {reason}.")
        for reason in ("a short one", "a longer one " * 20 + "x")
    ]
    found = replace(of_every_kind(), notes=tuple(notes), method=method)
    short, whole = (" ".join(rendered(found, verbose=asked).split()) for asked in (False, True))
    hidden = "--format terminal=FILE has 1 longer note and the decision rule. To reproduce:"
    assert f"it does not build, No GPU was measured: a short one. {hidden}" in short
    assert "Slower or faster:" not in short
    assert "a longer one" not in short
    assert "a longer one x. Slower or faster: p below" in whole
    assert "terminal=FILE" not in whole
    assert "Slower or faster: p below" in plain(found)


@pytest.mark.parametrize(
    ("width", "headings"),
    [
        (80, "baseline candidate change 95 % interval"),
        (50, "baseline candidate change"),
        (40, "candidate change"),
        (30, "change"),
    ],
)
def test_where_it_is_narrow_columns_go_and_no_row_is_broken(
    loaded: Loader, width: int, headings: str
) -> None:
    names = ("memcpy/h2d_pageable/bytes:16777216", "memcpy/h2d_pageable/bytes:4096", "memcpy/d2d")
    base = loaded(run([row(name) for name in names]))
    cand = [row(names[0], scaled(1.2)), row(names[1], scaled(2.3)), row(names[2])]
    lines = shown(base, loaded(run(cand)), width).splitlines()
    heading = next(line for line in lines if line.startswith("benchmark"))
    assert heading.split() == ["benchmark", *headings.split()]
    assert all(any(size in line for line in lines) for size in ("+130 %", "+20.0 %"))
    # A command is to be pasted.
    assert max(cell_len(line) for line in lines if not line.startswith("  scripts/")) <= width


@pytest.mark.parametrize("width", [20, 60, 200])
def test_a_command_can_be_pasted_whatever_the_width(loaded: Loader, width: int) -> None:
    name = "gemm/" + "/".join(f"size:{number}" for number in range(12))
    base, cand = (loaded(run([row(name, scaled(factor))])) for factor in (1, 2))
    lines = shown(base, cand, width).splitlines()
    assert f"  scripts/bench --filter '^{name}$'" in lines
    assert "  scripts/bench --record" in lines


def test_what_is_unchanged_shows_its_bound_alone_and_folded() -> None:
    found = comparison([verdict(f"a/{bound}", bound=bound) for bound in (-0.002, 0.00311, 0.001)])
    text = rendered(found)
    assert "3 within tolerance (at most +0.32 %)" in text  # the largest, rounded up
    assert "\nwithin tolerance: a 3\n" in text
    lines = rendered(found, verbose=True).splitlines()
    bounds = [line.split("  ")[-1] for line in lines if line.startswith("  a/")]
    assert bounds == ["−0.20 %", "+0.32 %", "+0.10 %"]


def test_what_is_inconclusive_shows_the_bound_that_was_reached() -> None:
    row = verdict("a/b", Outcome.INCONCLUSIVE, clock=Clock.HOST, bound=0.0711, reason="others ran")
    text = rendered(comparison([row]))
    assert "      at most +7.2 %, tolerance 3 %; others ran\n" in text
    unbounded = rendered(comparison([verdict("a/b", Outcome.INCONCLUSIVE, bound=10.0)]))
    assert "      more than +999 %, tolerance" in unbounded


def test_the_hosts_controls_are_told_and_not_counted(loaded: Loader) -> None:
    host = [row(f"host/{name}", host_clock=1.0) for name in "xy"]
    side = loaded(run([row("a/b"), row("a/c"), *host]))
    text = shown(side, side)
    assert text.startswith("PASS  2 within tolerance (at most ")
    assert "\ncontrols, not judged: host 2 (0.00 %)\n" in text
    assert "  a/c " not in text
    everything = shown(side, side, verbose=True)
    assert "\ncontrol\n  host/x " in everything
    assert "  a/c " in everything
    alone = loaded(run(host))
    assert "Not compared: Only the host's controls were measured" in shown(alone, alone)
    # A plain file may call a benchmark as the host's controls are.
    base, cand = (loaded(google([google_row("host/x", time)])) for time in (1.0, 2.0))
    assert shown(base, cand).startswith("FAIL  1 slower")


def test_a_failure_is_to_be_seen_again(loaded: Loader) -> None:
    base = loaded(run([row("a/b"), row("a/c")]))
    text = shown(base, loaded(run([failed("a/b"), row("a/c")])), 200)
    assert "To reproduce the failure:\n  scripts/bench --filter '^a/b$'\n" in text


def test_a_refused_comparison_is_one_sentence_and_no_table(loaded: Loader) -> None:
    rows = [row("a/b")]
    text = shown(loaded(run(rows)), loaded(run(rows, gpu_name="NVIDIA Other")))
    first = "NOT DECIDED  Not compared: The candidate was measured on NVIDIA Other"
    assert text.startswith(first)
    assert "a/b" not in text


def test_no_line_ends_between_a_number_and_its_unit() -> None:
    words = "sizes: 1.234 ms, 12 %, 3.4 GB/s, 5.6 TFLOP/s, 7 ns"
    for width in range(12, 40):
        stream = io.StringIO()
        print_text(Console(file=stream, width=width), words)
        lines = stream.getvalue().splitlines()
        assert " ".join(lines) == words
        assert not any(line[-1].isdigit() for line in lines)


def test_long_names_break_after_their_slashes() -> None:
    assert wrapped_name("  thrust_square/f32/n:268435456", 24) == [
        "  thrust_square/f32/",
        "    n:268435456",
    ]
    assert wrapped_name("short", 24) == ["short"]
    assert len(wrapped_name("x" * 1_000_000, 24)) < 30
    assert len(wrapped_name(" " * 60 + "x", 24)) < 5
    assert "".join(part.strip() for part in wrapped_name("x" * 100, 24)) == "x" * 100


@pytest.mark.parametrize("width", [30, 40, 80, 150])
def test_no_line_is_a_command_of_a_github_log(width: int) -> None:
    text = rendered(with_text(f"::error::x {'word ' * 4}::set-output name=a::b"), width)
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    assert "error::x" in text


@given(HOSTILE)
def test_foreign_text_is_printable_in_every_place(text: str) -> None:
    found = plain(with_text(text))
    assert found.replace("\n", "").isprintable()
    assert "##[" not in found
    assert not any(line.lstrip().startswith("::") for line in found.splitlines())


def test_a_book_in_any_place_is_cut() -> None:
    assert len(plain(with_text("x" * 100_000))) < 90_000


def test_a_vanished_family_does_not_fill_the_screen(loaded: Loader) -> None:
    base = loaded(run([row("a/b")] + [row(f"gone/{i}") for i in range(200)]))
    cand = loaded(run([row("a/b")]))
    text = shown(base, cand)
    assert "… and 192 more missing (--format terminal=FILE lists all)" in text
    assert text.count("  gone/") == 8
    assert shown(base, cand, verbose=True).count("  gone/") == 200


@pytest.mark.parametrize(("families", "each"), [(1, 10_000), (40, 250), (5000, 2)])
def test_of_thousands_of_regressions_the_worst_are_listed_and_the_rest_is_counted(
    families: int, each: int
) -> None:
    """Each is slower than the one before, and beside it stands what is unchanged."""
    rows = [
        verdict(f"f{number // each}/x:{number}", outcome, 0.01 * number * slower)
        for number in range(1, families * each + 1)
        for slower, outcome in [(number % 2, [Outcome.PASS, Outcome.REGRESSION][number % 2])]
    ]
    others = [verdict("z/faster", Outcome.IMPROVED, -0.1), verdict("z/gone", Outcome.MISSING)]
    lines = rendered(comparison([*rows, *others]), 120).splitlines()
    assert len(lines) < 210
    assert sum(line.startswith("  f") for line in lines) == 50
    assert "… and 4950 more slower (--format terminal=FILE lists all)" in lines
    worst = [f"{percent(0.01 * number)} " for number in range(len(rows) - 99, len(rows), 2)]
    assert all(any(size in line for line in lines) for size in worst)
    # A cap of one outcome hides no other.
    assert line_of(lines, "  z/faster ") < line_of(lines, "  z/gone")


def test_energy_is_a_column_where_it_was_measured(loaded: Loader) -> None:
    rows = [row("gemm/a", energy_joules=0.1478), row("gemm/b")]
    lines = values(loaded(run(rows)))
    assert lines[0].split()[-2:] == ["energy", "spread"]
    assert "147.8 mJ" in lines[line_of(lines, "  a ")]
    assert "J" not in lines[line_of(lines, "  b ")]
    assert "energy" not in "\n".join(values(loaded(run(rows[1:]))))


SLOW = {"throttled": 7.0, "sm_clock_hz": 1.62e9, "clock_event_reasons": 4.0}


def test_values_alone_show_time_rate_and_spread_or_why_they_are_none(loaded: Loader) -> None:
    fast = row("memcpy/d2d", [9.9, 10.0, 10.1], bytes_per_second=4.287e12)
    rows = [fast, row("sync/idle", [5.0]), failed("sync/[x]", "boom"), row("a/b", **SLOW)]
    lines = values(loaded(run(rows)))
    cells = [cell.strip() for cell in lines[line_of(lines, "d2d")].split("  ") if cell]
    assert cells == ["d2d", "10.00 µs", "4287 GB/s", "1.00 %"]
    assert lines[line_of(lines, "idle")].endswith("\N{EN DASH}")
    assert lines[line_of(lines, "[x]") + 1].strip() == "boom"
    below = lines[line_of(lines, "  b ") + 1].strip()
    assert below.startswith("no result: the SM clock was lowered to 1.620 GHz")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_row_that_is_no_result_fits_and_says_why(loaded: Loader, width: int) -> None:
    base = loaded(run([row("gemm/cublas/f32/n:4096", limit_fraction=1.0)]))
    cand = loaded(run([row("gemm/cublas/f32/n:4096", limit_fraction=0.8, **SLOW)]))
    text = shown(base, cand, width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "1.620 GHz" in text
    assert "80 %" not in text
    assert text.startswith("NOT DECIDED  1 not comparable")


def plain_sides(loaded: Loader, **cpu: float) -> tuple[Record, Record]:
    """Two files of Google Benchmark; a/x became twice, a/y eight times as slow."""
    base, cand = (
        loaded(google([google_row("a/x", x, cpu_time=1.0), google_row("a/y", y, **at)]))
        for x, y, at in ((10.0, 10.0, {"cpu_time": 10.0}), (20.0, 80.0, cpu))
    )
    return base, cand


def test_of_google_benchmark_the_changes_of_cpu_time_and_the_geometric_mean_are_shown(
    loaded: Loader,
) -> None:
    text = shown(*plain_sides(loaded, cpu_time=2.5), width=100, verbose=True)
    lines = text.splitlines()
    assert lines[line_of(lines, "benchmark ")].endswith("CPU")
    assert lines[line_of(lines, "  a/y")].endswith("−75.0 %")
    assert "geometric mean of 2 changes: +300 %, CPU −50.0 %" in text


def test_cpu_times_that_a_side_lacks_are_not_shown_nor_averaged(loaded: Loader) -> None:
    text = shown(*plain_sides(loaded, cpu_time=0.0), width=100)
    assert "geometric mean of 2 changes: +300 %\n" in text
    assert "0.00 %" in text  # a/x


def test_runs_of_ours_and_single_benchmarks_have_no_geometric_mean(loaded: Loader) -> None:
    ours = loaded(run([row("a/b", cpu_time=3.0), row("a/c", cpu_time=3.0)]))
    one = loaded(google([google_row("a/b", 10.0)]))
    for base, cand in ((ours, ours), (one, one), (one, ours)):
        text = shown(base, cand, width=120, verbose=True)
        assert "geometric mean" not in text
        assert ("CPU" in text) is (cand is one)


def test_the_largest_changes_have_a_geometric_mean(loaded: Loader) -> None:
    rows = [[google_row(f"a/{name}", time) for name in "xy"] for time in (1e-290, 1e290)]
    base, cand = (loaded(google(of)) for of in rows)
    assert "geometric mean of 2 changes: >+9999 %" in shown(base, cand)
    assert "geometric mean of 2 changes: −100 %" in shown(cand, base)


def test_a_narrow_terminal_drops_the_cpu_time_first(loaded: Loader) -> None:
    names = ["a/" + "x" * 30, "a/y"]
    both = loaded(google([google_row(name, 10.0) for name in names]))
    heading = next(line for line in shown(both, both, 61).splitlines() if "benchmark " in line)
    assert "interval" in heading
    assert "CPU" not in heading


def test_a_proved_cause_heads_its_rows_and_all_that_is_known_has_the_lines() -> None:
    first = proved("threads 128 → 512", "v.cuh:25", ["- int\x1b[2J", "+ y"])
    causes = (first, proved("n 1 → 2", share=0.3))
    found = comparison([verdict("a", Outcome.REGRESSION, 0.1, why=Why("", (), causes))])
    short, long = (" ".join(rendered(found, 200, verbose).split()) for verbose in (False, True))
    head = "slower: threads 128 → 512 (v.cuh:25) a 10.00 µs"
    assert head in short
    assert head in long
    assert "Why it is slower" not in short
    assert "- int" not in short
    assert "100 % (96 to 104 %) of it: threads 128 → 512 (v.cuh:25) - int\\x1b[2J + y" in long
    assert "30 % (26 to 34 %) of it: n 1 → 2 (a.cu:1)" in long
