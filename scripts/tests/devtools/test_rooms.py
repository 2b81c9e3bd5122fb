# SPDX-License-Identifier: Apache-2.0
"""The rooms of the package: which may import which, no cycle, and no module outside of a room."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

from warpgauge.system.environment import ROOT

SOURCES = ROOT / "scripts" / "src"
PACKAGE = SOURCES / "warpgauge"
MOST_MODULES = 165  # an __init__.py has a docstring and nothing else, and is not counted
MOST_LINES = 500  # of a module
# Of a room. It may shrink, and its number with it.
MOST_LINES_OF = {
    "system": 2005,
    "records": 2366,
    "callables": 2319,
    "statistics": 1280,
    "verdict": 3139,
    "reports": 3282,
    "measure": 5685,
    "baselines": 820,
    "external": 1497,
    "why": 2736,
    "fleet": 795,
    "history": 2205,
    "github": 2481,
    "commands": 4950,
}

# What each room may import, beside itself.
MAY_IMPORT: Mapping[str, set[str]] = {
    "system": set(),
    "records": {"system"},
    "statistics": set(),
    "verdict": {"statistics", "records", "system"},
    "reports": {"verdict", "records", "system"},
    "callables": {"reports", "verdict", "records", "system"},
    "measure": {"verdict", "records", "system"},
    "baselines": {"verdict", "measure", "records", "system"},
    "external": {"measure", "records", "system"},
    "why": {"measure", "reports", "verdict", "records", "system"},
    "fleet": {"statistics", "verdict", "reports", "records", "system"},
    "history": {"measure", "baselines", "reports", "verdict", "statistics", "records", "system"},
}
_BELOW = {*MAY_IMPORT}
MAY_IMPORT = {**MAY_IMPORT, "github": _BELOW, "commands": {*_BELOW, "github"}}

Graph = Mapping[str, set[str]]


def modules(package: Path) -> dict[str, Path]:
    """Every module by its dotted name; a package goes by its own."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        words = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(words[:-1] if words[-1] == "__init__" else words)] = path
    return found


def imports(source: str, name: str, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules of the package that `source` imports, anywhere in it; those for types too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in known)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relative to itself"
            for one in node.names:
                inner = f"{node.module}.{one.name}"
                if inner in known:
                    yield inner
                elif node.module in known:
                    yield str(node.module)


def graph(package: Path) -> dict[str, set[str]]:
    known = modules(package)
    return {name: {*imports(path.read_text(), name, known)} for name, path in known.items()}


def room_of(name: str) -> str:
    """``verdict`` of ``warpgauge.verdict.judge``; empty for the package itself."""
    return name.split(".")[1] if "." in name else ""


def wrong_arrows(found: Graph) -> list[str]:
    may = {**MAY_IMPORT, "": {"callables"}}  # at the first use, as warpgauge.time
    return [
        f"{name} imports {other}"
        for name, others in sorted(found.items())
        for other in sorted(others)
        if room_of(other) not in {"", room_of(name), *may.get(room_of(name), set())}
    ]


def test_imports_follow_the_arrows_without_a_cycle() -> None:
    found = graph(PACKAGE)
    assert wrong_arrows(found) == []
    TopologicalSorter(found).prepare()  # raises CycleError, which names one


def test_every_module_is_in_a_room() -> None:
    rooms = {room_of(name) for name in modules(PACKAGE)}
    assert rooms == {"", *MAY_IMPORT}
    assert [one.name for one in PACKAGE.glob("*.py")] == ["__init__.py"]
    beside = {path.name for path in SOURCES.iterdir()}
    assert beside == {"warpgauge"}


def test_no_room_grows_beyond_its_budget() -> None:
    sizes = {
        room: sum(len(path.read_text().splitlines()) for path in (PACKAGE / room).rglob("*.py"))
        for room in MAY_IMPORT
    }
    assert sizes.keys() == MOST_LINES_OF.keys()
    assert {room: size for room, size in sizes.items() if size > MOST_LINES_OF[room]} == {}


def test_the_modules_are_no_more_and_no_longer_than_a_reader_can_keep_in_mind() -> None:
    packages = set(PACKAGE.rglob("__init__.py"))
    files = {*modules(PACKAGE).values()} - packages
    assert len(files) <= MOST_MODULES
    lines = {path.stem: len(path.read_text().splitlines()) for path in files}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}
    for path in packages - {PACKAGE / "__init__.py"}:
        body = ast.parse(path.read_text()).body
        docstring, *assigned = body
        assert all(isinstance(node, ast.Assign) for node in assigned), path
        assert isinstance(docstring, ast.Expr), path


def test_only_one_function_names_the_files_that_start_commands() -> None:
    """An installed package has none of them: sentences take the command from it."""
    files = [path for path in PACKAGE.rglob("*.py")
             if re.search("scripts/(bench|warpgauge)", path.read_text())]  # fmt: skip
    assert files == [PACKAGE / "system" / "environment.py"]


def test_the_tests_lie_in_folders_of_the_same_names() -> None:
    folders = {path.parent.name for path in (ROOT / "scripts" / "tests").rglob("test_*.py")}
    assert folders <= {*MAY_IMPORT, "devtools"}
