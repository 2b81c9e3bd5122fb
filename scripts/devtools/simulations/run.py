# SPDX-License-Identifier: Apache-2.0
"""Simulate the tables that docs/pages/rule.md shows."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

from devtools.simulations.table import Size, Table
from warpgauge.system.errors import UserError

_SCRIPTS = Path(__file__).resolve().parents[2]
DATA, PAGE = _SCRIPTS / "statistics.json", _SCRIPTS.parent / "docs" / "pages" / "rule.md"

# The data: tables by name, as heads and rows, with the size and seed that made them.
Tables = dict[str, dict[str, Any]]

_SEED = 20261127

# Where the page shows a table.
_PLACE = re.compile(r"<!-- table: ([\w -]+) -->")


def main(arguments: Sequence[str]) -> int:
    """Simulate what is asked for. Raises UserError."""
    asked = _parser().parse_args(arguments)
    tables = [one for one in all_tables() if re.search(asked.tables, one.name)]
    if not tables:
        raise UserError(f"no table has a name that matches {asked.tables!r}")
    size = Size(asked.whole, asked.seed)
    data = json.loads(DATA.read_text()) if DATA.is_file() else {}
    data.update(simulated(tables, size))
    (asked.out or DATA).write_text(json.dumps(data, indent=1) + "\n")
    return 0


def all_tables() -> Iterator[Table]:
    """Yield the tables of all modules beside this one that have some."""
    for module in sorted(path.stem for path in Path(__file__).parent.glob("*.py")):
        if module != Path(__file__).stem:
            found = importlib.import_module(f"devtools.simulations.{module}")
            yield from getattr(found, "TABLES", ())


def simulated(tables: Sequence[Table], size: Size) -> Tables:
    """Return each table as heads and rows, with what it was made of.

    Raises UserError for a row that fails, without waiting for those that have not begun.
    """
    found: Tables = {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        waiting = [
            (table, [(name, pool.submit(row, size)) for name, row in table.rows.items()])
            for table in tables
        ]
        for table, rows in waiting:
            found[table.name] = {
                "whole": size.whole,
                "seed": size.seed,
                "heads": list(table.heads),
                "rows": [[name, *_cells(pool, table, name, row)] for name, row in rows],
            }
            print(f"{table.name}\n{markdown(found[table.name])}", flush=True)
    return found


def _cells(
    pool: ProcessPoolExecutor, table: Table, name: str, row: Future[Sequence[float | str]]
) -> Sequence[float | str]:
    try:
        return row.result()
    except Exception as fault:
        pool.shutdown(cancel_futures=True)
        raise UserError(f"{table.name}, {name}: {fault!r}") from fault


def page(text: str, data: Tables) -> str:
    """Return the page with the tables of `data`. Raises UserError for one that is unknown."""

    def table(place: re.Match[str]) -> str:
        if place[1] not in data:
            where = f"neither {DATA.name} nor docs/tables has it"
            raise UserError(f"a page shows the table {place[1]!r}, but {where}")
        return markdown(data[place[1]])

    return _PLACE.sub(table, text)


def markdown(table: Mapping[str, Any]) -> str:
    heads: list[str] = table["heads"]
    lines = [heads, ["---"] * len(heads), *([*map(_cell, row)] for row in table["rows"])]
    return "\n".join(f"|{'|'.join(line)}|" for line in lines)


def _cell(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="simulate", description=__doc__)
    add = parser.add_argument
    add("tables", metavar="REGEX", nargs="?", default="", help="only the tables of these names")
    add("--whole", action="store_true", help="as many as each night: hours on two cores")
    add("--seed", type=int, default=_SEED, help=f"default {_SEED}")
    add("--out", metavar="FILE", type=Path, help="write the data there")
    return parser
