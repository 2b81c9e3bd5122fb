# SPDX-License-Identifier: Apache-2.0
"""What the project's Markdown points to is there, and what SECURITY.md promises on, too.

What a reader copies names this version.
Whatever decides a verdict, or runs with a token that may write, has an owner.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import warpgauge
from warpgauge.commands.main import CI
from warpgauge.system import contract
from warpgauge.system.environment import ROOT
from workflows import jobs

# Made by builds and tools, or nobody's but Git's.
FOREIGN = {"build", ".git", ".venv", ".pytest_cache", ".hypothesis"}
FILES = sorted(
    path for path in ROOT.rglob("*.md") if not FOREIGN.intersection(path.relative_to(ROOT).parts)
)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
TARGET = re.compile(
    r"\]\(\s*<?([^)\s>]+)"  # [text](target) and ![text](target)
    r"|^\[[^]]+\]:\s*(\S+)"
    r'|(?:src|srcset|href)="([^"]+)"',
    re.MULTILINE,
)
ELSEWHERE = re.compile(r"[a-z]+:")
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def targets(text: str) -> list[str]:
    """Targets of the links and images in Markdown that lead to this repository."""
    found = [one or other or third for one, other, third in TARGET.findall(CODE.sub("", text))]
    return [target for target in found if not ELSEWHERE.match(target)]


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings of a page."""
    headings = HEADING.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\s-]", "", one).strip().lower().replace(" ", "-") for one in headings}


def leads_somewhere(path: Path, target: str) -> bool:
    name, _, fragment = target.partition("#")
    page = path.parent / name if name else path
    return page.exists() and (not fragment or fragment in anchors(page))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading_and_no_placeholder_is_left(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [target for target in targets(text) if not leads_somewhere(path, target)] == []
    assert "@@" not in text


def test_on_the_page_of_a_package_index_every_link_leads_to_the_repository() -> None:
    project: Any = contract.read_toml(ROOT / "pyproject.toml")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    count = len(targets(text))
    for by in project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(by["pattern"], by["replacement"], text)
    assert [target for target in targets(text) if not target.startswith("#")] == []
    source = re.escape(project["project"]["urls"]["Source"])
    assert len(re.findall(rf"{source}/(?:blob|raw)/v\$HFPR_VERSION/\S", text)) == count


# How the version, or its first numbers, stand in what is copied or cited.
VERSION = re.compile(
    r"find_package\(warpgauge ([\d.]+)"
    r"|warpgauge/warpgauge\s+GIT_TAG (\S+?)[\s)]"
    r"|FIND_PACKAGE_ARGS ([\d.]+)"
    r"|^version: (.+)$",
    re.MULTILINE,
)


def test_every_version_that_a_reader_copies_is_this_one() -> None:
    lists = (ROOT / "examples").rglob("CMakeLists.txt")
    named = [
        (path.relative_to(ROOT), "".join(version).removeprefix("v"))
        for path in (*FILES, *lists, ROOT / "CITATION.cff")
        for version in VERSION.findall(path.read_text(encoding="utf-8"))
    ]
    assert {path.parts[0] for path, _ in named} == {"docs", "examples", "CITATION.cff"}
    assert [at for at in named if not f"{warpgauge.__version__}.".startswith(f"{at[1]}.")] == []


def test_every_version_of_the_changelog_leads_to_its_release() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest, *older = re.findall(r"^## \[([\d.]+)\]", text, re.MULTILINE)
    links = dict(re.findall(r"^\[([\w.]+)\]: \S+/warpgauge/(\S+)$", text, re.MULTILINE))
    released = {version: f"releases/tag/v{version}" for version in (newest, *older)}
    assert links == {"Unreleased": f"compare/v{newest}...HEAD", **released}


# SECURITY.md names only what is there: a check that was renamed must not be promised on.
PAGE = (ROOT / ".github" / "SECURITY.md").read_text(encoding="utf-8")
# A path, as it stands in the page, and the folder that it is in.
NAMED = {
    r"workflows/\w+\.yml": ROOT / ".github",
    r"tests/\w+/\w+\.py": ROOT / "scripts",
    r"(?!tests/)(?:\w+/){1,2}\w+\.py": ROOT / "scripts" / "src" / "warpgauge",
    r"\w+\.yml": ROOT / ".github" / "workflows",
}
PLACES = {
    folder / path for what, folder in NAMED.items() for path in re.findall(f"`({what})`", PAGE)
}


def test_what_the_page_names_is_there() -> None:
    assert [place for place in PLACES if not place.exists()] == []
    assert ROOT / "scripts" / "tests" / "devtools" / "test_workflows.py" in PLACES
    assert ROOT / ".github" / "workflows" / "comment.yml" in PLACES
    assert ROOT / "scripts" / "src" / "warpgauge" / "github" / "artifact.py" in PLACES


GATE = (ROOT / "docs" / "pages" / "gate.md").read_text(encoding="utf-8")


def test_every_command_that_the_gate_names_is_one() -> None:
    named = re.findall(r"warpgauge ci ([\w-]+)", GATE)
    assert named
    assert {*named} <= CI.keys()


def test_every_setting_that_an_attack_rests_on_is_listed() -> None:
    rested_on = ", ".join(re.findall(r"\*Settings? ([\d, ]+)\*", PAGE))
    listed = set(re.findall(r"^(\d+)\. ", GATE, re.MULTILINE))
    assert set(rested_on.split(", ")) == listed


OWNERS = ROOT / ".github" / "CODEOWNERS"


def rules() -> dict[str, str]:
    lines = [line.split() for line in OWNERS.read_text().splitlines()]
    return {words[0]: words[1] for words in lines if words and words[0] != "#"}


def is_owned(path: str) -> bool:
    """Every rule is a file, or a folder and all in it, from the root on (see below)."""
    return any(
        path.startswith(rule[1:]) if rule.endswith("/") else path == rule[1:] for rule in rules()
    )


def test_every_rule_is_a_plain_path_with_one_owner() -> None:
    for rule, owner in rules().items():
        assert re.fullmatch(r"/[A-Za-z0-9_./-]+", rule)
        assert (ROOT / rule[1:]).exists()
        assert rule.endswith("/") == (ROOT / rule[1:]).is_dir()
        assert re.fullmatch(r"@[a-z-]+/[a-z-]+", owner)


@pytest.mark.parametrize(
    ("path", "owned"),
    [
        (".github/CODEOWNERS", True),
        (".github/gpus.json", True),
        (".github/workflows/baseline.yml", True),
        ("baselines/policy.toml", True),
        ("baselines/new-model/new-family.json", True),
        ("requirements.lock", True),
        ("kernels/gemm.cu", False),
        ("README.md", False),
    ],
)
def test_what_could_soften_the_gate_has_an_owner_and_mere_code_under_test_none(
    path: str, owned: bool
) -> None:
    assert is_owned(path) == owned


def test_every_command_and_module_of_a_job_that_may_write_has_an_owner() -> None:
    steps = [str(step.get("run", "")) for job in jobs() if job.writes for step in job.steps]
    commands = {word for run in steps for word in re.findall(r"(?:\.ci|scripts)/[\w.-]+", run)}
    assert "scripts/warpgauge" in commands
    modules = (ROOT / "scripts" / "src" / "warpgauge").rglob("*.py")
    for path in [*commands, *(str(one.relative_to(ROOT)) for one in modules)]:
        assert is_owned(path), path
