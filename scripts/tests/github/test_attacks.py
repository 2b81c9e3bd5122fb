# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to the two run files: refused in one sentence, or judged by our own rule.

Only what the numbers themselves say reaches the comment. Numbers that are plausible and false pass:
no reader can know them (.github/SECURITY.md).
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from builders import pairs
from gate_pair import MEMBERS, Json, Pair, pair
from hosted_run import HostedRun
from hostile_text import ALIVE, RENDERER, outside_code
from warpgauge.records.load import load
from warpgauge.reports.formats.markdown import MARK
from warpgauge.reports.view import check_word
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.comparison import exit_status
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge

NAMES = {"gemm/tiled": 1.05, "gemm/naive": 1.0, "sync/idle": 1.0, "memcpy/h2d": 0.9}
MARKUP = "](https://evil.example) <script>alert(1)</script> ![x](y) @all `` ` ``\n# Pass |"
ODD: list[object] = [
    *(None, True, -1, 0, 1e308, 5e-324, float("nan"), float("inf"), 10**400, "", "1.0", MARKUP),
    *([], {}, [[1.0]], {"a": 1}, "x" * 200_000, "\ud800", "a\0b", [None] * 12, [1e308] * 12),
]
CONTEXT = (
    *("gpu_name", "gpu_uuid", "boot_id", "driver_version", "suite", "filter", "commit", "dirty"),
    *("pair_id", "pair_side", "inject", "programs", "build_type", "warpgauge_format"),
    *("date", "sm_clock_target_hz", "not_built"),
)
ROW = (
    *("name", "process_medians", "process_rounds", "pairs", "elapsed", "real_time", "time_unit"),
    *("host_clock", "registers", "local_bytes", "throttled", "beyond_ceiling", "source_line"),
    *("label", "why", "error_message", "error_occurred", "skipped", "full_suite", "iterations"),
    *("limit_fraction", "processes_left_out", "bytes_per_second", "max_error", "machine_code"),
)
Attack = Callable[[Pair, random.Random], object]


def side_of(left: Pair, source: random.Random) -> Json:
    return source.choice(left.sides)


def row_of(left: Pair, source: random.Random) -> Json:
    found: Json = source.choice(side_of(left, source)["benchmarks"])
    return found


def change_context(left: Pair, source: random.Random) -> None:
    side_of(left, source)["context"][source.choice(CONTEXT)] = source.choice(ODD)


def change_both_contexts(left: Pair, source: random.Random) -> None:
    key, value = source.choice(CONTEXT), source.choice(ODD)
    for side in left.sides:
        side["context"][key] = value


def change_row(left: Pair, source: random.Random) -> None:
    row_of(left, source)[source.choice(ROW)] = source.choice(ODD)


def change_a_row_of_both(left: Pair, source: random.Random) -> None:
    index, key, value = source.randrange(len(NAMES)), source.choice(ROW[1:]), source.choice(ODD)
    for side in left.sides:
        side["benchmarks"][index][key] = value


def drop(left: Pair, source: random.Random) -> None:
    for side in left.sides if source.random() < 0.5 else left.sides[1:]:
        del side["benchmarks"][0]


def rename(left: Pair, source: random.Random) -> None:
    name = source.choice(
        [f"gemm/{MARKUP}", "host/x", "evil/x", "gemm/" + "y" * 4000, "gemm/\u202e"]
    )
    for side in left.sides if source.random() < 0.7 else left.sides[:1]:
        side["benchmarks"][0]["name"] = name


def add(left: Pair, source: random.Random) -> None:
    rows = side_of(left, source)["benchmarks"]
    rows.append({**copy.deepcopy(rows[0]), "name": f"gemm/{source.choice(['new', MARKUP])}"})


def edit_times(left: Pair, source: random.Random) -> None:
    row, factor = row_of(left, source), source.choice([0.5, 0.999, 1.02, 1e9])
    row["process_medians"] = [time * factor for time in row["process_medians"]]


def edit_ratios(left: Pair, source: random.Random) -> None:
    row = source.choice(left.candidate["benchmarks"])
    row["pairs"] = pairs([source.choice([1.0, 0.99, 1.1, 1e300, 1e-300])] * 14)


def shuffle_rounds(left: Pair, source: random.Random) -> None:
    source.shuffle(row_of(left, source)["process_rounds"])


def call_it_host_time(left: Pair, source: random.Random) -> None:
    for side in left.sides:
        side["benchmarks"][0]["host_clock"] = 1.0


def fail(left: Pair, source: random.Random) -> None:
    words = source.choice([MARKUP, "x" * 100_000, "\x1b[2J::error::"])
    row_of(left, source).update(error_occurred=True, error_message=words)


def explain(left: Pair, source: random.Random) -> None:
    moved = [{"cause": MARKUP, "what": "x" * 9999, "before": "", "after": MARKUP}] * 99
    share = dict.fromkeys(("share", "low", "high"), source.choice([0.5, -9.0, 999.0]))
    lines = {"words": MARKUP, "place": "x" * 9999, "lines": [MARKUP * 99] * 3, "note": MARKUP}
    why = {"paragraph": MARKUP * 99, "moved": moved, "proved": [{**lines, **share}] * 9}
    left.row("gemm/tiled")["why"] = why


def swap(left: Pair, source: random.Random) -> None:
    left.base, left.candidate = left.candidate, left.base


ATTACKS: tuple[Attack, ...] = (
    *(change_context, change_both_contexts, change_row, change_a_row_of_both, drop, rename, add),
    *(edit_times, edit_ratios, shuffle_rounds, call_it_host_time, fail, explain, swap),
)
EACH = 16


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_forged_pairs_are_refused_or_judged_by_what_they_say(
    hosted: HostedRun, attack: Attack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = random.Random(attack.__name__)
    for _ in range(EACH):
        left = copy.deepcopy(pair(NAMES))
        attack(left, source)
        if source.random() < 0.2:
            source.choice(ATTACKS)(left, source)
        hosted.replace(left)
        hosted.comments.clear()
        status = hosted.comment()
        body, errors = hosted.body, capsys.readouterr().err
        assert_inert(body)
        if status is ExitStatus.BAD_USAGE:
            assert "refused" in body or "another base" in body
            assert errors.count("\n") == 1
            assert errors[:-1].isprintable()
            assert "UserError" in errors, "a fault of ours, not a refusal"
            assert not re.search(r"\*\*(PASS|FAIL)\*\*", body)
        else:
            assert body.startswith(f"{MARK}**{word_of(left, tmp_path)}**")


def assert_inert(body: str) -> None:
    assert len(body) <= 65_536
    html = RENDERER.render(body)
    assert "<script" not in html
    assert "<img" not in html
    addresses = re.findall('href="([^"]*)"', html)
    assert all(url.startswith("https://github.com/warp/gauge/") for url in addresses)
    ours = outside_code(RENDERER.render(body.partition("\n\n")[2]))
    assert not ALIVE.search(ours.replace("p\xa0<\xa00.001", ""))


def word_of(left: Pair, folder: Path) -> str:
    """What our judge says of these files, which a job that failed cannot better."""
    paths = [folder / Path(member).name for member in MEMBERS]
    for path, side in zip(paths, left.sides, strict=True):
        path.write_text(json.dumps(side))
    settings = ComparisonSettings(today=date(2026, 11, 20))
    status = exit_status(judge(load(paths[0]), load(paths[1]), settings))
    return check_word(ExitStatus.NOT_MEASURED if status is ExitStatus.OK else status)
