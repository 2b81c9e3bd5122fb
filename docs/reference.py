# SPDX-License-Identifier: Apache-2.0
"""The reference pages of the documentation, made of what they describe."""

from __future__ import annotations

import json
import os
import re
import sys
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts" / "src"), str(ROOT / "scripts")]

from devtools.simulations import run  # noqa: E402 - found by the line above
from warpgauge.commands import main  # noqa: E402
from warpgauge.commands.arguments import Parser  # noqa: E402

ENGINE = ROOT / "fixtures"
REPOSITORY = "https://github.com/warpgauge/warpgauge"
# What a body of a benchmark uses.
HEADERS = ("gpu_case.hpp", "host_benchmark.hpp", "gpu/buffer.hpp", "cuda/distribution.hpp")
COUNTER = re.compile(r'\{"(\w+)", "([^"]*)",\s*"([^"]*)"\}')


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, content in {
        "commands.md": commands(),
        "counters.md": counters(),
        "api.md": api(),
    }.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Show the simulated tables, and lead what links to a file of the repository to it."""
    whole = run.page(markdown, json.loads(run.DATA.read_text(encoding="utf-8")))
    return whole.replace("](../../", f"]({REPOSITORY}/blob/main/")


def commands() -> str:
    """Return the help of each command."""
    os.environ["COLUMNS"] = "88"
    named = [*main.COMMANDS, *(f"ci.{name}" for name in main.CI)]
    shown = [help for name in named for help in helps(main.command_line(name))]
    parts = [f"## {prog.partition(' ')[2]}\n\n```\n{text}```\n" for prog, text in shown]
    return "\n".join(["# Commands\n", "As `warpgauge COMMAND --help-all` prints them.\n", *parts])


def helps(parser: ArgumentParser) -> Iterator[tuple[str, str]]:
    """Yield the name and the whole help of a command, and of the commands within it."""
    yield parser.prog, parser.full_help() if isinstance(parser, Parser) else parser.format_help()
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for within in action.choices.values():
                yield from helps(within)


def counters() -> str:
    """Return a table of the counters that a row may have."""
    text = (ENGINE / "program" / "row_counters.hpp").read_text(encoding="utf-8")
    rows = [f"| `{name}` | {unit} | {meaning} |" for name, unit, meaning in COUNTER.findall(text)]
    head = "Fields of a row beside its time. A row lacks those that do not apply."
    table = ["| counter | unit | meaning |", "|---|---|---|", *rows]
    return "\n".join(["# Counters\n", head, "", *table])


def api() -> str:
    """Return the public headers, whose comments say shapes, units and errors."""
    parts = []
    for name in HEADERS:
        text = (ENGINE / name).read_text(encoding="utf-8").partition("namespace warpgauge {")[2]
        public = re.sub(r"\n private:.*?\n};", "\n};", text, flags=re.DOTALL)
        shown = public.rpartition("}  // namespace warpgauge")[0].strip()
        parts.append(f"## `<warpgauge/{name}>`\n\n```cpp\n{shown}\n```\n")
    return "\n".join(["# C++ API\n", *parts])
