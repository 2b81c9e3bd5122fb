# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci pages: which nights the site shows, what is refused, and what a page may do."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest

import archives
from builders import STEADY, Json, baseline, context, row, run, scaled, write
from comparisons import comparison, verdict
from fake_github import Answer, Asked, FakeGitHub, job
from gate_pair import A100, BASE, H200, HEAD, OTHER, pair
from hosted_repository import git
from hosted_run import FAMILIES, HOME
from warpgauge.commands.ci.results import pages
from warpgauge.github.gpus import file_of
from warpgauge.history import lines
from warpgauge.history.lines import Night, Point
from warpgauge.measure import self_check
from warpgauge.system.errors import ExitStatus, UserError

API = f"/repos/{HOME}"
REFERENCE = {f"reference/{page}.html" for page in ("index", "nvidia-a100", "nvidia-h200")}
HOSTILE = "gemm/</title><script>alert(1)</script>\u202e"


def night(commit: str = HEAD, gpu: str = "NVIDIA H200", name: str = "gemm/tiled") -> bytes:
    """What nightly.yml leaves: a run in which a benchmark of two got slower."""
    rows = [row(name, scaled(1.05)), row("sync/idle")]
    return archive_of(json.dumps(run(rows, commit=commit, gpu_name=gpu)).encode())


def archive_of(content: bytes, *others: tuple[str, bytes]) -> bytes:
    page = ("report-nvidia-h200.html", b"theirs")
    return archives.streamed(("run.json", content), ("comparison.json", b"{"), page, *others)


@dataclass
class Site:
    """The runs of nightly.yml, the newest first, and the branch history."""

    root: Path
    api: FakeGitHub
    runs: list[Json] = field(default_factory=list)
    artifacts: dict[int, list[Json]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        models = [{**one, "runs_on": "gpu", "minutes": 60} for one in (H200, A100)]
        file_of(self.root).parent.mkdir()
        file_of(self.root).write_text(json.dumps({"gpus": models}))
        for family in FAMILIES:
            (self.root / "benchmarks").mkdir(exist_ok=True)
            (self.root / "benchmarks" / f"{family}.cu").touch()
        for model in (H200, A100):
            self.baseline(model, "gemm/tiled", "sync/idle")
        self.history.mkdir()
        git(self.history, "init", "--quiet")
        git(self.history, "commit", "--quiet", "--allow-empty", "--message", "no night yet")
        self.api.get(API, {"full_name": HOME, "default_branch": "main"})
        self.api.on("GET", f"{API}/actions/workflows/nightly.yml/runs", self._listed)

    @property
    def history(self) -> Path:
        return self.root / "history"

    @property
    def out(self) -> Path:
        return self.root / "site"

    def baseline(self, model: Mapping[str, str], *names: str) -> None:
        session = context(gpu_name=model["name"], commit=BASE)
        rows = [row(name, process_medians={"s": [*STEADY]}) for name in names]
        path = self.root / "baselines" / model["slug"] / "all.json"
        write(path, baseline(rows, {"s": session}, model["name"]))

    def ran(self, **changes: object) -> int:
        """An older run than those before; its number."""
        number = 900 - len(self.runs)
        day = f"2026-11-{20 - len(self.runs):02}"
        made: Json = {
            "id": number, "event": "schedule", "head_branch": "main", "head_sha": HEAD,
            "head_repository": {"full_name": HOME}, "created_at": f"{day}T02:17:30Z",
            "html_url": f"https://github.com/{HOME}/actions/runs/{number}",
        }  # fmt: skip
        self.runs.append({**made, **changes})
        self.artifacts[number] = []
        listed = {"artifacts": self.artifacts[number]}
        self.api.get(f"{API}/actions/runs/{number}/artifacts", listed)
        return number

    def left(self, run: int, content: bytes, slug: str = "nvidia-h200") -> Json:
        number = run * 10 + len(self.artifacts[run])
        self.api.on("GET", f"{API}/actions/artifacts/{number}/zip", Answer(content))
        made: Json = {
            "id": number, "name": f"nightly-{slug}", "size_in_bytes": len(content),
            "expired": False, "created_at": "2026-11-20T03:00:00Z",
        }  # fmt: skip
        self.artifacts[run].append(made)
        return made

    def nights(self, times: Sequence[Mapping[str, float]], slug: str = "nvidia-h200") -> None:
        """A line of the history for each, from 1 November on; the last by another driver."""
        (self.history / slug).mkdir()
        for day, seconds in enumerate(times, 1):
            facts = {"driver_version": "580.2" if day == len(times) else "580.1"}
            points = {name: Point(time, 0.01, 7) for name, time in seconds.items()}
            told = Night(f"2026-11-{day:02}T02:17:30Z", HEAD, day, facts, points, {})
            (self.history / slug / f"{day}.jsonl").write_text(lines.line(told))
        git(self.history, "add", "--all")
        git(self.history, "commit", "--quiet", "--message", "nights")

    def make(self) -> ExitStatus:
        given = job({}, self.root, self.api.url, HOME, 1)
        return pages([str(self.history), str(self.out)], self.root, given)

    def files(self) -> set[str]:
        return {str(path.relative_to(self.out)) for path in self.out.rglob("*") if path.is_file()}

    def text(self, file: str = "index.html") -> str:
        return (self.out / file).read_text(encoding="utf-8")

    def _listed(self, asked: Asked) -> Answer:
        assert asked.query["status"] == "completed"
        return Answer({"workflow_runs": self.runs})


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.chdir(tmp_path)
    with FakeGitHub() as api:
        yield Site(tmp_path, api)


class Page(HTMLParser):
    """Its elements, links and styles; the policy."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.styles: list[str] = []
        self.policy = ""
        self._in = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {key: value or "" for key, value in attrs}
        self.tags.add(tag)
        self._in = tag
        if tag == "a":
            self.links.append(told["href"])
        if told.get("http-equiv") == "Content-Security-Policy":
            self.policy = told["content"]
        assert not [key for key in told if key.startswith("on") or key == "style"]

    def handle_data(self, data: str) -> None:
        if self._in == "style":
            self.styles.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in = ""


def test_each_gpu_has_its_report_and_how_the_times_of_each_family_went(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.left(site.ran(), night())
    site.nights([{"gemm/tiled": 1e-6, "sync/idle": 2e-6}, {"gemm/tiled": 1.1e-6}])
    assert site.make() is ExitStatus.OK
    assert "How often the gate errs" not in site.text()  # no self-check was kept
    assert site.files() == {
        "index.html", "nvidia-h200/index.html", "nvidia-h200/report.html",
        "nvidia-h200/gemm.html", "nvidia-h200/sync.html", "nvidia-a100/index.html", *REFERENCE,
    }  # fmt: skip
    index = site.text()
    assert "NVIDIA H200" in index
    assert "FAIL" in index
    assert "2026-11-20" in index
    assert Page(index).links == [
        f"https://github.com/{HOME}/actions/runs/900", "nvidia-h200/report.html", "nvidia-h200/",
        "nvidia-a100/", "reference/",
    ]  # fmt: skip
    of_gpu = Page(site.text("nvidia-h200/index.html")).links
    assert of_gpu[0] == "../"
    assert {"report.html", "gemm.html", "sync.html"} <= {*of_gpu}
    family = site.text("nvidia-h200/gemm.html")
    assert family.count("<svg") == 1
    assert "gemm/tiled" in family
    assert "580.2" in family  # what may explain a step
    assert "gemm/tiled" in site.text("nvidia-h200/report.html")
    assert "theirs" not in site.text("nvidia-h200/report.html")
    assert "1 with a report" in capsys.readouterr().out


def test_the_reference_shows_the_self_checks_that_are_kept(site: Site) -> None:
    check = self_check.SelfCheck(comparison([verdict("gemm/tiled")]), {"gemm/tiled": 0.0})
    (site.root / "baselines" / "self-check-nvidia-test.json").write_text(self_check.text(check))
    site.make()
    assert "How often the gate errs" in site.text("reference/index.html")
    assert "NVIDIA Test, device" in site.text("reference/index.html")


def test_the_reference_shows_models_side_by_side_with_links_to_their_distributions(
    site: Site,
) -> None:
    site.baseline(A100, "gemm/tiled")
    site.make()
    index = site.text("reference/index.html")
    links = ["../", "nvidia-a100.html", "nvidia-h200.html", "nvidia-a100.html#gemm/tiled",
             "nvidia-h200.html#gemm/tiled", "nvidia-h200.html#sync/idle"]  # fmt: skip
    assert Page(index).links == links
    assert "–" in index  # what the A100 has no time of
    for link in links[3:]:
        page, _, name = link.partition("#")
        assert f'id="{name}"' in site.text(f"reference/{page}")


def test_a_models_page_has_its_sessions_and_how_its_processes_scatter_over_each_link(
    site: Site,
) -> None:
    about = {"gpu_name": "NVIDIA H200", "commit": BASE, "driver_version": "580.9"}
    sessions = {
        "a": context(**about, gpu_uuid="GPU-one,GPU-two", peer_link="NVLink 4.0 x 18"),
        "b": context(**about, gpu_uuid="GPU-three,GPU-four", peer_link="PCIe 5 x 16"),
    }
    medians = {"a": [2000.0, 2100.0, 2000.0], "b": [8000.0] * 3}
    rates = {"bytes_per_second": 3e11, "limit_fraction": 0.75}
    rows = [row("p2p/push", process_medians=medians, **rates)]
    path = site.root / "baselines" / "nvidia-h200" / "all.json"
    write(path, baseline(rows, sessions, "NVIDIA H200"))
    site.make()
    nvlink, pcie = site.text("reference/nvidia-h200.html").split("<section>")[1:]
    assert "Linked by NVLink 4.0 x 18" in nvlink
    assert "Linked by PCIe 5 x 16" in pcie
    shown = ["580.9", BASE[:10], "GPU-two", "2.000\xa0ms", "300.0\xa0GB/s", "75\xa0%", "4.5\xa0%"]
    assert [words for words in shown if words not in nvlink] == []
    assert [words in pcie for words in ("GPU-three", "8.000\xa0ms")] == [True, True]
    assert [words in nvlink for words in ("GPU-three", "8.000\xa0ms")] == [False, False]
    links = Page(site.text("reference/index.html")).links
    over_nvlink, over_pcie = (link for link in links if link.endswith("p2p/push"))
    for link, section, other in ((over_nvlink, nvlink, pcie), (over_pcie, pcie, nvlink)):
        place = f'id="{link.partition("#")[2]}"'
        assert [place in section, place in other] == [True, False]
    assert nvlink.count("<circle") == 2  # two of the three processes took equally long


@pytest.mark.parametrize(
    ("flagged", "factor", "word"),
    [("", 1.0, "FAIL"), ("-confirm", 1.0, "PASS"), ("-confirm", 1.05, "FAIL")],
)
def test_what_a_night_measured_in_pairs_decides(
    site: Site, flagged: str, factor: float, word: str
) -> None:
    both = pair({"gemm/tiled": factor}, filter="^gemm/tiled$").files()
    names = (f"run{flagged}-base.json", f"run{flagged}.json")
    members = zip(names, both, strict=True) if flagged else ()
    alone = [row("gemm/tiled", scaled(1.05)), row("sync/idle")]
    content = json.dumps(run(alone, commit=HEAD, gpu_name="NVIDIA H200")).encode()
    site.left(site.ran(), archive_of(content, *members))
    site.make()
    assert word in site.text()


def test_every_page_lets_nothing_but_its_own_style_take_effect(site: Site) -> None:
    site.baseline(H200, HOSTILE, "sync/idle")
    site.left(site.ran(), night(name=HOSTILE))
    site.nights([{HOSTILE: 1e-6}])
    site.make()
    for file in site.files() - {"nvidia-h200/report.html"}:
        text = site.text(file)
        page = Page(text)
        (style,) = page.styles
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        assert page.policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")
        assert "unsafe" not in page.policy
        assert "script" not in page.tags
        assert "\u202e" not in text
    assert "&lt;script" in site.text("nvidia-h200/gemm.html")
    assert "<script>alert" not in site.text("nvidia-h200/report.html")


def test_a_gpu_that_was_not_measured_last_night_keeps_its_older_report(site: Site) -> None:
    site.left(site.ran(), night())
    older = site.ran(head_sha=OTHER)
    site.left(older, night(OTHER, "NVIDIA A100"), "nvidia-a100")
    site.left(older, night(OTHER))
    site.make()
    assert "2026-11-20" in site.text("nvidia-h200/index.html")
    assert "2026-11-19" in site.text("nvidia-a100/index.html")
    assert not any(asked.path.endswith("/8991/zip") for asked in site.api.asked)


@pytest.mark.parametrize(
    "changes",
    [
        {"event": "pull_request"},
        {"head_branch": "other"},
        {"head_repository": {"full_name": "Stranger/gauge"}},
        {"head_repository": None},
    ],
)
def test_a_run_of_a_pull_request_another_branch_or_a_fork_is_passed_over(
    site: Site, changes: Json
) -> None:
    site.left(site.ran(**changes), night())
    site.make()
    assert "nvidia-h200/report.html" not in site.files()
    assert not any("/artifacts" in asked.path for asked in site.api.asked)


@pytest.mark.parametrize(
    ("left", "why"),
    [
        (night(OTHER), "it states commit"),
        (night(gpu="NVIDIA Evil"), "gpu_name 'NVIDIA Evil'"),
        (night(name="evil/tiled"), "family of 'evil/tiled'"),
        (archive_of(b"{}"), "run.json"),
        (archive_of(b"\xff"), "UTF-8"),
        (b"no archive", "nightly-nvidia-h200"),
    ],
)
def test_what_is_not_as_warpgauge_writes_it_is_told_and_an_older_one_is_shown(
    site: Site, capsys: pytest.CaptureFixture[str], left: bytes, why: str
) -> None:
    site.left(site.ran(), left)
    site.left(site.ran(), night())
    assert site.make() is ExitStatus.OK
    told = capsys.readouterr().err
    assert told.startswith("::warning title=Not shown::nightly-nvidia-h200 of run 900")
    assert why in told
    assert "2026-11-19" in site.text("nvidia-h200/index.html")


def test_what_expired_or_compared_nothing_is_passed_over_in_silence(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.left(site.ran(), night())["expired"] = True
    site.left(site.ran(), archives.streamed(("log.txt", b"")))
    assert site.make() is ExitStatus.OK
    assert capsys.readouterr().err == ""
    made = {f"{one}index.html" for one in ("", "nvidia-h200/", "nvidia-a100/")}
    assert site.files() == made | REFERENCE


def test_a_line_that_cannot_be_read_is_told_and_left_out_of_the_site(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.nights([{"gemm/tiled": 1e-6}, {"gemm/tiled": 1e-6}])
    for text in ("{", '{"warpgauge_format": "history/3"}'):
        with (site.history / "nvidia-h200" / "2.jsonl").open("a") as file:
            file.write(f"{text}\n")
    git(site.history, "commit", "--all", "--quiet", "--message", "a bad night")
    assert site.make() is ExitStatus.NOT_MEASURED
    told = capsys.readouterr()
    assert re.findall(r"^::error .*::(\S+), line (\d): ", told.err, re.MULTILINE) == [
        ("nvidia-h200/2.jsonl", "2"), ("nvidia-h200/2.jsonl", "3"),
    ]  # fmt: skip
    assert "2 lines of the history left out" in told.out
    assert "history of 2 nights" in site.text()
    assert "nvidia-h200/gemm.html" in site.files()


def test_a_change_in_the_history_is_marked_at_its_night(site: Site) -> None:
    noise = (0.0, 0.004, -0.003, 0.006, -0.005, 0.001, -0.001, 0.003)
    site.nights([{"gemm/tiled": 1e-6 * (1.1 if night >= 24 else 1.0) * (1 + noise[night % 8])}
                 for night in range(28)])  # fmt: skip
    site.make()
    assert re.search(r"\+(9|10|11)[.0-9]* % from 2026-11-25 on", site.text("nvidia-h200/gemm.html"))


def test_a_family_that_no_file_can_be_called_has_no_page(site: Site) -> None:
    site.nights([{"../../x/a": 1e-6, "Gemm/a": 1e-6, "index/a": 1e-6, "sync/a": 1e-6}])
    site.make()
    assert {one for one in site.files() if "h200" in one} == {
        "nvidia-h200/index.html", "nvidia-h200/sync.html", "reference/nvidia-h200.html",
    }  # fmt: skip
    assert Page(site.text("nvidia-h200/index.html")).links == ["../", "sync.html"]


def test_a_site_is_made_in_a_new_folder_or_not_at_all(site: Site) -> None:
    site.out.mkdir()
    (site.out / "mine").write_text("")
    with pytest.raises(UserError, match="not empty"):
        site.make()
    assert site.files() == {"mine"}
    assert site.api.asked == []


def test_nothing_is_made_where_github_does_not_answer(site: Site) -> None:
    site.ran()
    site.api.on("GET", f"{API}/actions/runs/900/artifacts", Answer({"message": "no"}, 403))
    with pytest.raises(UserError, match="403"):
        site.make()
    assert not re.search("report", " ".join(site.files()))
