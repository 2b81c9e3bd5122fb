# SPDX-License-Identifier: Apache-2.0
"""warpgauge history export: writes every point with its night to a Parquet file, with pyarrow.

README.md in this folder describes the columns.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpgauge.history import series
from warpgauge.history.lines import FACTS
from warpgauge.system.errors import UserError

_ROWS = 500_000  # per row group, the unit that a reader loads or skips
_OF_PAIRS = ("log_ratio", "log_ratio_sd", "pairs")
COLUMNS = ("gpu", "benchmark", "date", "commit", "run", "seconds", "log_sd", "processes",
           *FACTS, "base", *_OF_PAIRS)  # fmt: skip


def parquet(
    database: sqlite3.Connection, models: Sequence[str], names: Collection[str], path: Path
) -> int:
    """Write the points of these GPU models and benchmarks to `path`. Returns how many there are.

    Raises UserError if pyarrow is missing, and OSError if the file cannot be written.
    """
    try:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise UserError(
            "history export needs pyarrow: install it with pip install pyarrow"
        ) from None
    known = series.benchmarks(database)
    wanted = {number: name for name, number in known.items() if name in names}
    named = _positions(list(wanted))
    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    kinds = {"run": pyarrow.int64(), "processes": pyarrow.int32(), "pairs": pyarrow.int32()}
    kinds |= dict.fromkeys(("seconds", "log_sd", *_OF_PAIRS[:2]), pyarrow.float64())
    schema = pyarrow.schema([(name, kinds.get(name, text)) for name in COLUMNS])

    def strings(index: NDArray[np.int32], values: Sequence[str | None]) -> Any:  # noqa: ANN401
        """values[index], dictionary-encoded; `values` may repeat words and contain None."""
        words = {
            word: at
            for at, word in enumerate(dict.fromkeys(one for one in values if one is not None))
        }
        number = np.array([-1 if one is None else words[one] for one in values], dtype=np.int32)
        found = number[index]
        numbers = pyarrow.array(found, mask=found < 0)
        return pyarrow.DictionaryArray.from_arrays(
            numbers, pyarrow.array([*words], pyarrow.string())
        )

    count = 0
    with ParquetWriter(path, schema, compression="zstd") as writer:
        for model in models:
            nights = series.nights_of(database, model)
            placed = _positions([night.id for night in nights])
            runs = np.array([night.run for night in nights])
            found = database.execute(
                "SELECT benchmark, night, seconds, sd, processes, log_ratio, ratio_sd, pairs FROM "
                "points WHERE gpu = (SELECT id FROM gpus WHERE slug = ?) AND benchmark IN "
                f"({','.join(map(str, wanted))})",
                (model,),
            )
            while rows := found.fetchmany(_ROWS):
                table = np.array(rows, dtype=np.float64)
                at = placed[table[:, 1].astype(np.intp)]
                facts = [strings(at, [night.facts.get(key) for night in nights]) for key in FACTS]
                columns = [
                    strings(np.zeros(len(rows), np.int32), [model]),
                    strings(named[table[:, 0].astype(np.intp)], [*wanted.values()]),
                    strings(at, [night.date for night in nights]),
                    strings(at, [night.commit for night in nights]),
                    runs[at],
                    table[:, 2],
                    pyarrow.array(table[:, 3], from_pandas=True),  # NaN is null
                    table[:, 4].astype(np.int32),
                    *facts,
                    strings(
                        np.where(table[:, 7] > 0, at, len(nights)),
                        [*(night.base for night in nights), None],
                    ),
                    pyarrow.array(table[:, 5], from_pandas=True),
                    pyarrow.array(table[:, 6], from_pandas=True),
                    table[:, 7].astype(np.int32),
                ]
                writer.write_table(pyarrow.table(columns, schema=schema))
                count += len(rows)
    return count


def _positions(ids: Sequence[int]) -> NDArray[np.int32]:
    """An array that maps each id to its position in `ids`."""
    found = np.zeros(max(ids, default=0) + 1, dtype=np.int32)
    found[ids] = np.arange(len(ids))
    return found
