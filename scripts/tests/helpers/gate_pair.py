# SPDX-License-Identifier: Apache-2.0
"""The two run files that the gate leaves: pairs of the base and the head, as a job uploads them."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import archives
from builders import pairs, row, run
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE

HEAD, OTHER, BASE = "ab" * 20, "cd" * 20, "ba" * 20
H200 = {"slug": "nvidia-h200", "name": "NVIDIA H200"}
A100 = {"slug": "nvidia-a100", "name": "NVIDIA A100"}
MEMBERS = "runs/run-base.json", "runs/run.json"
# Fourteen pairs that agree to 0.1 %, of processes that agree to 0.2 %.
_TIMES = [10.0 + 0.02 * (number % 3) for number in range(FEWEST_OF_A_CHANGE)]
_NOISE = [1.0 + 0.001 * (number % 2) - 0.0005 for number in range(FEWEST_OF_A_CHANGE)]

Json = dict[str, Any]


@dataclass
class Pair:
    """Both run files, as JSON that a test may change."""

    base: Json
    candidate: Json

    @property
    def sides(self) -> tuple[Json, Json]:
        return self.base, self.candidate

    def row(self, name: str, side: str = "candidate") -> Json:
        rows: list[Json] = getattr(self, side)["benchmarks"]
        (found,) = (row for row in rows if row["name"] == name)
        return found

    def context(self, **changes: object) -> Pair:
        """A copy whose sides both say something else."""
        made = copy.deepcopy(self)
        for side in made.sides:
            side["context"] |= changes
        return made

    def files(self) -> tuple[bytes, bytes]:
        base, candidate = (json.dumps(side).encode() for side in self.sides)
        return base, candidate


def pair(
    factors: Mapping[str, float],
    *,
    commit: str = HEAD,
    base: str = BASE,
    looks: Sequence[int] = (),
    **context: str,
) -> Pair:
    """Pairs in which each benchmark takes `factors` times as long as in the base."""
    known = {"gpu_name": "NVIDIA H200", "driver_version": "580.1", "suite": "default",
             "pair_id": "1f", **context}  # fmt: skip
    rounds = {"process_rounds": [*range(1, len(_TIMES) + 1)]}
    sides: list[Json] = []
    for side, revision in (("base", base), ("candidate", commit)):
        rows = []
        for name, factor in factors.items():
            ratios = [factor * noise for noise in _NOISE]
            times = [time * ratio for time, ratio in zip(_TIMES, ratios, strict=True)]
            lock_step = {"pairs": pairs(ratios, looks)} if side == "candidate" else {}
            clock = {"host_clock": 1.0} if name.startswith("host/") else {}
            of_side = times if side == "candidate" else _TIMES
            rows.append(row(name, of_side, **rounds, **lock_step, **clock))
            rows[-1]["real_time"] = sum(sorted(of_side)[6:8]) / 2
        sides.append(run(rows, commit=revision, pair_side=side, **known))
    return Pair(sides[0], sides[1])


def slower(
    commit: str = HEAD, gpu: str = "NVIDIA H200", name: str = "gemm/tiled", **context: str
) -> Pair:
    """One benchmark of two got slower."""
    made = pair({name: 1.05, "sync/idle": 1.0}, commit=commit, gpu_name=gpu)
    return made.context(**context)


def unchanged(looks: Sequence[int] = (), **context: str) -> Pair:
    """Two benchmarks, both bounded."""
    return pair({"gemm/tiled": 1.0, "sync/idle": 1.0}, looks=looks, **context)


def archive_of(left: Pair | tuple[bytes, bytes]) -> bytes:
    """As the workflow uploads it: the run files among others, which nobody reads."""
    contents = left.files() if isinstance(left, Pair) else left
    others = [("report.md", b"# not this @everyone"), ("comparison.json", b"{"), ("log.txt", b"")]
    return archives.streamed(*zip(MEMBERS, contents, strict=True), *others)
