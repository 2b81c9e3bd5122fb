# SPDX-License-Identifier: Apache-2.0
"""A comparison read back from its JSON is the one that was written, or one sentence."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import Loader
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders import baseline, context, failed, google, google_row, row, run, scaled, write
from comparisons import comparison, note_of, of_every_kind, record, with_text
from hostile_text import HOSTILE
from warpgauge.records.load import load
from warpgauge.records.model import Source
from warpgauge.reports import comparison_json, json_document
from warpgauge.reports.headline import headline
from warpgauge.reports.markdown import report as markdown
from warpgauge.reports.terminal import report as terminal
from warpgauge.system.errors import UserError
from warpgauge.verdict import policy
from warpgauge.verdict.comparison import Comparison, Outcome, exit_status
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge
from warpgauge.verdict.note import Kind

Json = dict[str, Any]


def assert_kept(found: Comparison) -> None:
    """Nothing is lost on the way to JSON and back that any format for people shows."""
    text = comparison_json.render(found)
    back = comparison_json.load(text)
    assert comparison_json.render(back) == text
    assert markdown.render(back) == markdown.render(found)
    assert terminal.plain(back) == terminal.plain(found)
    assert str(headline(back)) == str(headline(found))
    assert exit_status(back) == exit_status(found)


def test_rows_of_every_kind_come_back_with_their_advice() -> None:
    every = of_every_kind()
    assert_kept(every)
    for outcome in Outcome:
        kind = [one for one in every.verdicts if one.outcome is outcome]
        assert_kept(comparison(kind, notes=[note_of(Kind.STALE)]))
    assert_kept(comparison([], refusal="Other GPUs."))
    assert_kept(replace(every, method=note_of(Kind.CONFIRMED)))
    assert_kept(replace(every, candidate=record(source=Source.BASELINE)))


@given(HOSTILE)
@example("\ud800")
@example("##[add-mask]x\x1b[2J\u202e")
@example("../../etc/passwd\0")
@settings(max_examples=50)
def test_foreign_text_comes_back(text: str) -> None:
    assert_kept(with_text(text))
    markdown.render(comparison_json.load(comparison_json.render(with_text(text)))).encode()


def written() -> Json:
    document: Json = json.loads(comparison_json.render(of_every_kind()))
    return document


NAMES = ["sync/a", "sync/b", "gemm/c", "gemm/d/n:1"]
Rows = tuple[tuple[str, float, bool, int], ...]
STATES = st.sampled_from(["measured", "failed", "skipped", "absent"])
FACTORS = st.sampled_from([0.8, 1.0, 1.004, 1.3])
SIDE = st.tuples(*[st.tuples(STATES, FACTORS, st.booleans(), st.integers(32, 34))] * len(NAMES))


def side(rows: Rows, **keys: str) -> Json:
    made: list[Json] = [row("always/there")]
    for name, (state, factor, full, registers) in zip(NAMES, rows, strict=True):
        counters = {"registers": registers, **({"full_suite": 1} if full else {})}
        clock = {"host_clock": 1} if name.startswith("sync") else {}
        if state == "measured":
            made.append(row(name, scaled(factor), **counters, **clock))
        elif state == "failed":
            made.append({**failed(name), **counters, **clock})
        elif state == "skipped":
            made.append({"name": name, "real_time": 0, "skipped": True, "skip_message": "small",
                         **clock})  # fmt: skip
    return run(made, **keys)


@given(SIDE, SIDE, st.booleans(), st.sampled_from(["", "full"]), st.booleans())
@settings(max_examples=100)
def test_what_failed_is_skipped_or_gone_comes_back(
    base: Rows, cand: Rows, paired: bool, suite: str, on_resources: bool
) -> None:
    keys = {"pair_id": "p"} if paired else {}
    with tempfile.TemporaryDirectory() as folder:
        records = [
            load(write(Path(folder, "one.json"), side(rows, suite=suite, **keys)))
            for rows in (base, cand)
        ]
    assert_kept(judge(records[0], records[1], ComparisonSettings(fail_on_resources=on_resources)))


def test_several_sessions_plain_files_and_accepted_changes_come_back(
    loaded: Loader, tmp_path: Path
) -> None:
    plain = loaded(google([google_row("a/b", 1000.0)], library_version="1.8.0"))
    assert_kept(judge(plain, plain))
    several = {"s": context(), "t": context(boot_id="b", date="2026-11-21T10:00:00+00:00")}
    recorded = loaded(baseline([row("a/b", process_medians={"s": [1.0], "t": [1.0]})], several))
    slower = loaded(run([row("a/b", scaled(1.5), registers=72)], driver_version="590"))
    assert_kept(judge(recorded, slower))
    file = tmp_path / "policy.toml"
    file.write_text(
        '[[expected]]\npattern = "^a/"\nslower_by_at_most_percent = 200\n'
        'reason = "known"\nexpires = 2030-01-01\n'
    )
    terms = ComparisonSettings(policy=policy.load(file), today=date(2026, 11, 22))
    accepted = judge(recorded, slower, terms)
    assert accepted.verdicts[0].accepted
    assert_kept(accepted)


def test_what_follows_from_the_verdicts_is_not_read() -> None:
    document = written() | {"exit_status": 0, "headline": "All is well.", "counts": {"PASS": 9}}
    read = comparison_json.load(json.dumps(document))
    assert exit_status(read) == exit_status(of_every_kind()) == 1
    for key in ("exit_status", "headline", "counts"):
        del document[key]
    assert comparison_json.load(json.dumps(document)) == read


def test_what_a_later_warpgauge_adds_within_the_version_is_passed_over() -> None:
    document = written()
    inner = (document["verdicts"][0], document["candidate"], document["differences"][0])
    for one in (document, *inner):
        one["later"] = {"p": [None]}
    assert comparison_json.load(json.dumps(document)) == of_every_kind()


def test_files_below_the_working_directory_are_named_from_there_wherever_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, cand = (record(str(tmp_path / name / "run.json")) for name in ("base", "cand"))
    found = replace(of_every_kind(), baseline=base, candidate=cand)
    monkeypatch.chdir(tmp_path)
    text, shown = comparison_json.render(found), markdown.render(found)
    monkeypatch.chdir("/")
    assert str(tmp_path) not in text + shown
    assert markdown.render(comparison_json.load(text)) == shown


def spoilt(spoil: Callable[[Json], object]) -> str:
    document = written()
    spoil(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("?}", "is not JSON (line 1, column 1"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 10_000, "is too long"),
        ('{"a": 1, "a": 2}', "'a' twice"),
        ("[]", "is no comparison/2 (it names no format)"),
        (spoilt(lambda one: one["verdicts"][0].update(outcome="x")),
         "is no comparison/2 (verdicts[0].outcome: 'x' is not known)"),
        (spoilt(lambda one: one.pop("verdicts")), "has no 'verdicts'"),
        (spoilt(lambda one: one["verdicts"].append(one["verdicts"][0])),
         "holds the verdict 'gemm/tiled/n:64' twice"),
        (spoilt(lambda one: one["baseline"]["sessions"].append(one["baseline"]["sessions"][0])),
         "holds the session 's' twice"),
        (spoilt(lambda one: one["baseline"].update(source="\x1b[2J\n" * 10_000)),
         "baseline.source: '\\x1b[2J\\n"),
        (spoilt(lambda one: one.update(warpgauge_format="comparison/3")),
         "is no comparison/2 (it has the format 'comparison/3')"),
        (spoilt(lambda one: one.update(warpgauge_format="comparison/1")),
         "is no comparison/2 (it has the format 'comparison/1')"),
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_a_fault_is_one_sentence_that_says_where(text: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        comparison_json.load(text)
    sentence = str(caught.value)
    assert sentence.startswith("comparison.json")
    assert words in sentence
    assert "\n" not in sentence
    assert len(sentence) < 500


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 400])
def test_a_number_that_no_time_can_be_is_refused(number: str) -> None:
    text = comparison_json.render(of_every_kind()).replace('"p": 0.001', f'"p": {number}')
    with pytest.raises(UserError, match=r"\(verdicts\[\d+\]\.p: "):
        comparison_json.load(text)


NUMBER = st.one_of(st.none(), st.floats(5e-324, 1e308), st.just(0.0))
RATIO = st.one_of(st.floats(-1.0, 1e308), st.just(0.0))


@given(st.lists(st.tuples(NUMBER, NUMBER, RATIO, RATIO, st.sampled_from(sorted(Outcome, key=str)),
                          st.text(max_size=5)), max_size=5))  # fmt: skip
def test_whatever_the_schema_allows_can_be_shown(forged: list[tuple[Any, ...]]) -> None:
    document = written()
    template = document["verdicts"][0]
    document["verdicts"] = [
        {
            **template,
            "name": f"{name}{index}",
            "outcome": outcome.value,
            "baseline_seconds": one or None,
            "candidate_seconds": other or None,
            "minimum_effect": one,
            "bound": ratio,
            "tolerance": other,
            "change": {"ratio": ratio, "low": low, "high": ratio},
            "counters": {"limit_fraction": one, "registers": other, "source_line": ratio},
            "baseline_counters": {"limit_fraction": other, "registers": one},
        }
        for index, (one, other, ratio, low, outcome, name) in enumerate(forged)
    ]
    found = comparison_json.read(msgspec.convert(document, json_document.Comparison))
    assert len(markdown.render(found)) <= markdown.LIMIT
    terminal.plain(found)
