# SPDX-License-Identifier: Apache-2.0
"""Which sources clang-tidy looks at: what differs, and what includes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools.changed_sources import affected
from hosted_repository import git

FILES = {
    "fixtures/core/units.hpp": "",
    "fixtures/gpu/replay.hpp": "#include <warpgauge/core/units.hpp>\n",
    "fixtures/gpu/replay.cpp": "#include <warpgauge/gpu/replay.hpp>\n#include <vector>\n",
    "fixtures/gpu/nvml.cpp": "#include <dlfcn.h>\n",
    "benchmarks/host.cpp": '#include "benchmarks/ways.hpp"\n',
    "benchmarks/ways.hpp": "",
    ".clang-tidy": "",
}
SOURCES = [name for name in FILES if name.endswith(".cpp")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A clone on a branch of its own, with one commit."""
    git(tmp_path, "init", "--initial-branch", "main")
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    commit(tmp_path)
    git(tmp_path, "switch", "--create", "mine")
    return tmp_path


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--message", "one")


def names(root: Path) -> list[str]:
    sources = [str(root / name) for name in SOURCES]
    return [str(Path(found).relative_to(root)) for found in affected(root, sources)]


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("fixtures/core/units.hpp", ["fixtures/gpu/replay.cpp"]),
        ("fixtures/gpu/nvml.cpp", ["fixtures/gpu/nvml.cpp"]),
        ("benchmarks/ways.hpp", ["benchmarks/host.cpp"]),
        ("README.md", []),
        (".clang-tidy", SOURCES),
    ],
)
def test_what_differs_and_what_leads_to_it(
    root: Path, changed: str, expected: list[str], committed: bool
) -> None:
    (root / changed).write_text("// another\n")
    if committed:
        commit(root)
    assert names(root) == expected


def test_where_nothing_differs_the_last_commit_is_looked_at_or_else_every_source(
    root: Path,
) -> None:
    git(root, "switch", "main")  # its first commit
    assert names(root) == SOURCES
    (root / "fixtures/gpu/nvml.cpp").write_text("// another\n")
    commit(root)
    assert names(root) == ["fixtures/gpu/nvml.cpp"]
