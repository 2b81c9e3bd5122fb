# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: whole without its script, alive with it, and nothing else in it is."""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from comparisons import comparison, of_every_kind, proved, record, verdict, with_text
from github_page import CHROMIUM, browsed
from warpgauge.records.counters import Clock
from warpgauge.records.row import Moved, Pair, Row, Why
from warpgauge.reports import recorded
from warpgauge.reports.drawing.course import Course, Night
from warpgauge.reports.formats.html import render
from warpgauge.reports.pages import hash_of
from warpgauge.verdict.comparison import Comparison, Outcome

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")

COURSE = Course("the nights", [Night(f"2026-11-{day:02d}", 1e-5) for day in range(1, 5)])

_VOID = {"meta", "br", "wbr", "link", "img", "input"}


class _Parsed(HTMLParser):
    """Elements with their attributes, texts by element, and that all that opens is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for one, attributes in self.attributes if one == tag]

    def text(self) -> str:
        shown = (text for tag, text in self.texts if tag not in ("script", "style"))
        return " ".join("".join(shown).split())


def with_script(page: str, script: str) -> str:
    """The page with one more script, which its policy lets run."""
    page = page.replace("script-src &#39;", f"script-src {hash_of(script)} &#39;", 1)
    return page.replace("</body>", f"<script>{script}</script></body>")


_FAULTS = """;document.querySelectorAll('details').forEach(one => one.open = true);
axe.run().then(found => { const told = document.createElement('pre'); told.id = 'faults';
told.textContent = JSON.stringify(found.violations.map(one => [one.impact, one.help,
one.nodes.map(node => node.html)])); document.body.append(told); })"""


DATA = re.compile(r'id="data">(.*?)</script>')


def measured() -> Comparison:
    """With process medians, pairs and kernels."""
    regression = verdict("gemm/a", Outcome.REGRESSION, 0.1, registers=40.0, samples=7.0)
    verdicts = [replace(regression, baseline_counters=regression.counters), verdict("gemm/b")]

    def rows(factor: float) -> dict[str, Row]:
        medians = {"s": tuple(factor * one for one in (1.0e-5, 1.1e-5, 1.2e-5))}
        return {
            one.name: Row(
                one.name, medians, Clock.DEVICE, label=f"kernel<{factor}>",
                pairs=tuple(
                    Pair(True, log_ratio=log) for log in (math.log(1.1), None, math.log(1.12))
                ),
            )
            for one in verdicts
        }  # fmt: skip

    sides = (replace(record(name), rows=rows(f)) for name, f in (("a.json", 1.0), ("b.json", 1.1)))
    base, cand = sides
    return comparison(verdicts, base=base, cand=cand)


def rows_linked(parsed: _Parsed) -> set[str]:
    """The addresses of rows that links lead to."""
    addresses = (one["href"] or "" for one in parsed.of("a"))
    return {address for address in addresses if address.startswith("#row=")}


def anchors(parsed: _Parsed) -> set[str]:
    """The addresses that rows have."""
    return {f"#{quote(one['id'] or '', safe='/:,=')}" for one in parsed.of("tr") if "id" in one}


def test_the_policy_allows_the_one_style_and_the_one_script_alone() -> None:
    page = render(of_every_kind())
    parsed = _Parsed(page)
    (policy,) = (one["content"] or "" for one in parsed.of("meta") if "http-equiv" in one)
    (style,) = (text for tag, text in parsed.texts if tag == "style")
    data, script = (text for tag, text in parsed.texts if tag == "script")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert f"script-src {hash_of(script)};" in policy
    assert f"style-src {hash_of(style)};" in policy
    assert [one.get("type") for one in parsed.of("script")] == ["application/json", None]
    assert json.loads(data)
    assert len(script.encode()) <= 20_000
    assert not any(one.startswith("on") or one in ("style", "src") for _, attributes in
                   parsed.attributes for one in attributes)  # fmt: skip


def test_without_the_script_there_are_the_verdict_every_row_the_cause_and_the_environment() -> None:
    found = of_every_kind()
    told = _Parsed(render(found)).text()
    assert "FAIL: 2 slower, worst gemm/naive/n:64 +30.0 % · 1 faster" in told
    assert "Exit status 1: something regressed" in told
    assert "registers 40 → 72" in told
    assert all(one.name in told for one in found.verdicts)
    assert all(word in told for word in (one.word for one in Outcome))
    assert "driver_version" in told
    assert "the driver is too old" in told


def test_a_refused_comparison_and_one_without_rows_are_pages_too() -> None:
    told = _Parsed(render(comparison([], refusal="Other GPUs."))).text()
    assert "NOT DECIDED Not compared: Other GPUs." in told
    assert "Benchmarks 0" in _Parsed(render(comparison([]))).text()


HOSTILE = (
    "</script><script>document.title='X'</script><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)> &lt;b&gt; <!-- ]]> \u2028",
    "\u202egnp.exe\u2066 \u05d0\u05d1 \x1b[31m \ud800",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_makes_no_element(text: str) -> None:
    page = render(with_text(text))
    page.encode()
    tame = render(with_text("x"))
    tags = [tag for tag, _ in _Parsed(page).attributes if tag != "wbr"]
    assert {*tags} == {tag for tag, _ in _Parsed(tame).attributes if tag != "wbr"}
    assert not re.search("[\u200e\u200f\u202a-\u202e\u2066-\u2069\x1b]", page)


def test_a_text_of_a_megabyte_is_cut() -> None:
    assert len(render(with_text("<&" * 500_000)).encode()) < 2_000_000


@pytest.mark.parametrize(
    "names",
    [
        ["x" * 1000 + end for end in "ab"],
        ["\\x1b~3", "\\x1b", "\x1b"],
        ["\x1b", "\\x1b~2", "\\x1b"],
        ["a 5 ms", "a 5\N{NO-BREAK SPACE}ms"],
    ],
)
def test_names_that_are_shown_alike_have_links_of_their_own(names: list[str]) -> None:
    parsed = _Parsed(render(comparison([verdict(name) for name in names])))
    assert len(rows_linked(parsed)) == len(names)
    assert rows_linked(parsed) == anchors(parsed)


def test_a_thousand_rows_are_less_than_a_megabyte_and_a_half() -> None:
    rows = [
        verdict(f"family{n % 9}/variant/f32/n:{n}", registers=32.0, limit_fraction=0.9)
        for n in range(1000)
    ]
    assert len(render(comparison(rows)).encode()) < 1_500_000


def test_without_the_script_a_link_leads_to_its_row_of_the_table() -> None:
    parsed = _Parsed(render(of_every_kind()))
    assert rows_linked(parsed) == anchors(parsed)


def test_the_history_of_a_changed_row_is_drawn() -> None:
    page = render(measured(), histories={"gemm/a": COURSE, "gemm/b": COURSE, "gemm/gone": COURSE})
    assert page.count("the nights</text>") == page.count('class="spark"') == 1


def test_few_nights_are_no_line() -> None:
    page = render(measured(), histories={"gemm/a": replace(COURSE, nights=COURSE.nights[:3])})
    assert "the nights</text>" not in page
    assert 'class="spark"' not in page


def test_a_reason_is_in_the_data_of_its_row() -> None:
    page = render(of_every_kind())
    data = json.loads(DATA.findall(page)[0])
    ((paragraph, moved),) = (one["why"] for one in data if one["why"])
    assert paragraph.startswith("gemm/naive/n:64 is 30\N{NO-BREAK SPACE}% slower.")
    assert moved[0] == ["Registers are spilled", "local sectors", "0", "2000000"]


def test_the_lines_of_a_proved_cause_are_folded_in_its_row() -> None:
    first = proved("threads 128 → 512", "v.cuh:25", ["- int", "+ <script>x</script>"], note="why")
    why = Why("", (), (first, proved("n 1 → 2", share=0.3)))
    page = render(comparison([verdict("a/b", Outcome.REGRESSION, 0.1, why=why)]))
    assert "<h3>slower: threads 128 → 512 (v.cuh:25)</h3>" in page
    details = re.findall(r"<details.*?</details>", page.replace("\N{NO-BREAK SPACE}", " "))
    assert "<summary>100 % (96 to 104 %) of it</summary>why" in details[0]
    lines = "<code>- int</code></div><div><code>+ &lt;script&gt;x&lt;/script&gt;</code>"
    assert lines in details[0]
    assert "30 % (26 to 34 %): n 1 → 2 (a.cu:1)" in details[1]


def test_the_counters_of_a_row_have_names_and_units() -> None:
    counters: Any = {
        "core_clock_hz": 3.1e9, "sm_clock_hz": 1.98e9, "registers": 40.0, "spread": math.nan,
        "peak_device_bytes": 0.0, "tokens/s": 12_345_678.0, "limit_fraction": 0.5,
        "time_error_seconds": 1e-6, "waves": 0.646465, "source_line": 3.0,
    }  # fmt: skip
    row = verdict("a/b", **counters)
    page = render(comparison([replace(row, baseline_counters={"registers": 72.0})]))
    ((*shown,),) = (one["counters"] for one in json.loads(DATA.findall(page)[0]))
    assert [*map(tuple, shown)] == [
        ("registers per thread", "72", "40"), ("peak device memory", "–", "0 B"),
        ("fraction of the limit", "–", "50 %"), ("SM clock before the work", "–", "1.980 GHz"),
        ("spread of the samples", "–", "–"), ("core clock", "–", "3.100 GHz"),
        ("tokens/s", "–", "12345678"), ("time error", "–", "1.000 µs"), ("waves", "–", "0.6465"),
    ]  # fmt: skip


@pytest.mark.parametrize("rate", [5e-324, 1e300, 1.7e308, float("inf"), float("nan")])
def test_rates_that_no_machine_has_are_not_drawn(rate: float) -> None:
    rows = [
        verdict(f"a/b/n:{n}", bytes_per_second=rate, flops_per_second=1e9, limit_fraction=rate)
        for n in (64, 128, 256)
    ]
    assert "Roofline" not in render(comparison(rows))


@needs_browser
def test_the_script_runs_under_the_policy_and_a_link_opens_its_row() -> None:
    history = {"gemm/a": COURSE}
    found = measured()
    slower = replace(found.verdicts[0], why=Why("Spills.", (Moved("spills", "sectors", "0", "9"),)))
    found = replace(found, verdicts=(slower, *found.verdicts[1:]))
    page = render(found, histories=history)
    dom = browsed(page, "--dump-dom", fragment=f"#row={quote('gemm/a', safe='/')}")
    dialog = dom.partition("<dialog")[2]
    assert "open" in dialog.partition(">")[0]
    assert "Process medians" in dialog
    assert dialog.count("<circle") == 3 + 3 + 2
    assert "10.00 µs" in dialog
    assert dialog.index("Spills.") < dialog.index(">sectors</td>")
    # Of the pairs: the tolerance, the interval, and the change in the middle of it.
    _, _, pairs = dialog.partition("Change in each pair")
    bands = [float(one) for one in re.findall(r'<rect[^>]* height="([\d.]+)"', pairs)][:2]
    assert bands[0] / bands[1] == pytest.approx(0.02 / 0.002, rel=0.01)
    assert "the nights</text>" in dialog
    assert re.findall(r"kernel&lt;(1\.\d)&gt;", dialog) == ["1.0", "1.1"]
    assert ">40</td>" in dialog
    assert 'type="search"' in dom


@needs_browser
def test_no_picture_is_cut_where_there_is_room() -> None:
    script = """document.body.title = [...document.querySelectorAll('.scroll')].filter(one =>
      one.scrollWidth > one.clientWidth).map(one => one.getAttribute('aria-label'));"""
    page = render(of_every_kind())
    assert "slower: Registers are spilled" in page
    assert '<body title="">' in browsed(with_script(page, script), "--dump-dom")


@needs_browser
def test_strange_names_open_their_rows_also_right_after_another_was_closed() -> None:
    names = ["__proto__", "#row=", "%41", "%E0%A4%A", "a b?c&d=e#f"]
    script = """const found = [];
    const next = links => { const dialog = document.querySelector('dialog'); dialog.close();
      if (!links.length) { document.body.title = found.join(' | '); return; }
      addEventListener('hashchange', () => { found.push(dialog.open
        ? document.getElementById('row-name').textContent : '-'); next(links); }, {once: true});
      links.shift().click(); };
    next([...document.querySelectorAll('.rows tbody a')]);"""
    page = with_script(render(comparison([verdict(name) for name in names])), script)
    dom = browsed(page, "--dump-dom", "--virtual-time-budget=5000")
    (told,) = re.findall('<body title="([^"]*)"', dom)
    assert sorted(html.unescape(told).split(" | ")) == sorted(names)


@needs_browser
def test_rows_within_tolerance_are_folded_until_a_search_or_a_press_on_their_family() -> None:
    script = """const seen = () => [...document.querySelectorAll('.rows tbody tr:not(.head)')]
      .filter(one => one.checkVisibility()).map(one => one.querySelector('a').textContent);
    const found = [seen()];
    const search = document.querySelector('input');
    search.value = 'b n:2'; search.dispatchEvent(new Event('input')); found.push(seen());
    search.value = ''; search.dispatchEvent(new Event('input')); found.push(seen());
    document.querySelector('.head button').click(); found.push(seen());
    document.body.title = JSON.stringify(found);"""
    rows = [verdict("z/slow", Outcome.REGRESSION, 0.1)]
    rows += [verdict(f"{family}/n:{n}") for family in "ab" for n in range(1, 4)]
    dom = browsed(with_script(render(comparison(rows)), script), "--dump-dom")
    (told,) = re.findall('<body title="([^"]*)"', dom)
    assert json.loads(html.unescape(told)) == [
        ["z/slow"], ["b/n:2"], ["z/slow"], ["z/slow", "a/n:1", "a/n:2", "a/n:3"],
    ]  # fmt: skip


VIEWPORT = """const seen = one => { const box = one.getBoundingClientRect();
  return box.top >= 0 && box.bottom <= innerHeight && box.right <= innerWidth && box.width > 0; };
const found = {
  inside: ['.badge', '.who', '.head', '.rows tbody a', '.rows td'].every(
    kind => seen(document.querySelector(kind))),
  wide: document.documentElement.scrollWidth > innerWidth};
scrollTo(0, 300);
found.head = seen(document.querySelector('.who'));
document.body.title = JSON.stringify(found);"""


@needs_browser
@pytest.mark.parametrize(("size", "stays"), [("1280,720", True), ("400,800", False)])
def test_the_verdict_and_the_worst_row_with_its_cause_are_seen_without_scrolling(
    size: str, stays: bool
) -> None:
    page = with_script(render(of_every_kind()), VIEWPORT)
    dom = browsed(page, "--dump-dom", f"--window-size={size}")
    (told,) = re.findall('<body title="([^"]*)"', dom)
    assert json.loads(html.unescape(told)) == {"inside": True, "wide": False, "head": stays}


@needs_browser
@pytest.mark.parametrize("colours", [0, 1], ids=["dark", "light"])
@pytest.mark.parametrize("shown", ["a row", "a whole suite", "a phone", "every kind"])
def test_axe_finds_no_fault(shown: str, colours: int) -> None:
    axe = find_spec("axe_core_python")
    if axe is None or axe.origin is None:
        pytest.skip("axe-core-python is not installed (requirements.lock)")
    script = Path(axe.origin).with_name("axe.min.js").read_text(encoding="utf-8") + _FAULTS
    found = {"a row": measured(), "every kind": of_every_kind()}.get(shown, recorded.marked())
    histories = {verdict.name: COURSE for verdict in found.verdicts}
    page = with_script(render(found, histories=histories), script)
    options = ["--dump-dom", "--virtual-time-budget=20000"]
    options += ["--window-size=400,800"] if shown == "a phone" else []
    options += [f"--blink-settings=preferredColorScheme={colours}"]
    dom = browsed(page, *options, fragment="#row=gemm/a" if shown == "a row" else "")
    (faults,) = re.findall('<pre id="faults">(.*?)</pre>', dom)
    assert json.loads(html.unescape(faults)) == []


@needs_browser
def test_nothing_foreign_runs_in_a_browser() -> None:
    for text in HOSTILE[:2]:
        dom = browsed(render(with_text(text)), "--dump-dom", fragment="#row=%E0%A4%A")
        assert "<title>X" not in dom
        assert "onerror=" not in re.sub(r">[^<]*<|\"[^\"]*\"", "", dom)
        assert 'type="search"' in dom
