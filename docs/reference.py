# SPDX-License-Identifier: Apache-2.0
"""The reference pages of the documentation, made of what they describe."""

from __future__ import annotations

import ast
import csv
import inspect
import json
import os
import re
import sys
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts" / "src"), str(ROOT / "scripts")]

from devtools.simulations import run  # noqa: E402 - found by the line above
from warpgauge.commands import main  # noqa: E402
from warpgauge.commands.arguments import Parser  # noqa: E402
from warpgauge.fleet.report import Fleet  # noqa: E402
from warpgauge.reports.evaluation import Evaluation  # noqa: E402
from warpgauge.reports.formats.json import Comparison  # noqa: E402
from warpgauge.system import contract  # noqa: E402
from warpgauge.verdict.incompatibility import Override  # noqa: E402

ENGINE = ROOT / "fixtures"
REPOSITORY = "https://github.com/warpgauge/warpgauge"
# What a body of a benchmark uses.
HEADERS = ("gpu_case.hpp", "host_benchmark.hpp", "gpu/buffer.hpp", "cuda/distribution.hpp")
# What users call or write, by its module.
MANIFEST = {"external/manifest.py": ("Kernel", "Argument", "Check")}
PYTHON = {
    "callables/timing.py": ("time", "do_bench"),
    "callables/perf_report.py": ("perf_report",),
    "callables/program.py": ("benchmark",),
    "external/frameworks.py": (
        "from_triton", "from_cupy", "from_numba", "from_jax", "from_torch_extension",
    ),
    "external/write_manifest.py": ("Options", "write_manifest"),
}  # fmt: skip
# What `--format json` writes, by the name of its schema.
FORMATS: Mapping[str, type[contract.Document]] = {
    "comparison": Comparison,
    "evaluation": Evaluation,
    "fleet": Fleet,
}
COUNTER = re.compile(r'\{"(\w+)", "([^"]*)",\s*"([^"]*)"\}')


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, content in {
        "commands.md": commands(),
        "counters.md": counters(),
        "api.md": api(),
        "python-api.md": declarations("Python API", PYTHON),
        "manifest.md": declarations("Manifest of kernels", MANIFEST),
        "json.md": formats(),
        **{f"{name}.schema.json": schema(kind) for name, kind in FORMATS.items()},
    }.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Insert the tables, and turn links to files of the repository into links to GitHub."""
    return run.page(markdown, tables()).replace("](../../", f"]({REPOSITORY}/blob/main/")


def tables() -> run.Tables:
    """Return the simulated tables, those of docs/tables by their file names, and `overrides`."""
    named: run.Tables = json.loads(run.DATA.read_text(encoding="utf-8"))
    rows = [[f"`{override.word}`", override.although] for override in Override]
    named["overrides"] = {"heads": ["`--allow`", "although"], "rows": rows}
    for path in (ROOT / "docs" / "tables").glob("*.csv"):
        heads, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
        named[path.stem] = {"heads": heads, "rows": rows}
    return named


def commands() -> str:
    """Return the help of each command."""
    os.environ["COLUMNS"] = "88"
    named = [*main.COMMANDS, *(f"ci.{name}" for name in main.CI)]
    shown = [help for name in named for help in helps(main.command_line(name))]
    parts = [f"## {prog.partition(' ')[2]}\n\n```\n{text}```\n" for prog, text in shown]
    first = "As `warpgauge --help` and `warpgauge COMMAND --help` print them, with rare options.\n"
    every = f"```\n{main.usage()}\n```\n"
    return "\n".join(["# Commands\n", first, every, *parts])


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


def formats() -> str:
    """Return what the documents of `--format json` hold, and links to their schemas."""
    parts = [
        f"## {name}\n\n{inspect.getdoc(kind)}\n\n[Schema]({name}.schema.json)\n"
        for name, kind in FORMATS.items()
    ]
    return "\n".join(["# JSON for programs\n", *parts])


def schema(kind: type[contract.Document]) -> str:
    return json.dumps(contract.schema(kind), indent=1) + "\n"


def api() -> str:
    """Return the public headers, whose comments say shapes, units and errors."""
    parts = []
    for name in HEADERS:
        text = (ENGINE / name).read_text(encoding="utf-8").partition("namespace warpgauge {")[2]
        public = re.sub(r"\n private:.*?\n};", "\n};", text, flags=re.DOTALL)
        shown = public.rpartition("}  // namespace warpgauge")[0].strip()
        parts.append(f"## `<warpgauge/{name}>`\n\n```cpp\n{shown}\n```\n")
    return "\n".join(["# C++ API\n", *parts])


def declarations(title: str, modules: Mapping[str, Sequence[str]]) -> str:
    """Return functions without their bodies and classes without their methods."""
    parts = []
    for path, public in modules.items():
        text = (ROOT / "scripts" / "src" / "warpgauge" / path).read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in public:
                last = node.body[0]  # the docstring
                if isinstance(node, ast.ClassDef):
                    last = [within for within in node.body if isinstance(within, ast.AnnAssign)][-1]
                shown = "\n".join(text.splitlines()[node.lineno - 1 : last.end_lineno])
                parts.append(f"## `{node.name}`\n\n```python\n{shown}\n```\n")
    return "\n".join([f"# {title}\n", *parts])
