# SPDX-License-Identifier: Apache-2.0
"""Comparisons made by hand: one row of each outcome, hostile text in every place, many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from warpgauge.records.counters import Clock
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.row import Moved, Proved, Why
from warpgauge.verdict.comparison import (
    Change,
    Comparison,
    ContextDifference,
    Evidence,
    Outcome,
    ResourceChange,
    Verdict,
)
from warpgauge.verdict.note import SKIPPED, Note, Rounds, listed, paired, sentence

TIMED = (Outcome.REGRESSION, Outcome.IMPROVED, Outcome.INCONCLUSIVE, Outcome.PASS)


def verdict(
    name: str,
    outcome: Outcome = Outcome.PASS,
    ratio: float = 0.0,
    *,
    reason: str = "",
    accepted: str = "",
    evidence: Evidence = Evidence.SCREENED,
    resources: Sequence[ResourceChange] = (),
    clock: Clock = Clock.DEVICE,
    seconds: float = 1e-5,
    minimum_effect: float | None = 0.01,
    bound: float | None = None,
    why: Why | None = None,
    **counters: float,
) -> Verdict:
    """A verdict with the numbers that its outcome has."""
    timed = outcome in TIMED
    tolerance = 1.0 if accepted else {Clock.DEVICE: 0.01, Clock.HOST: 0.03}[clock]
    return Verdict(
        name,
        outcome,
        clock,
        baseline_seconds=seconds if timed else None,
        candidate_seconds=seconds * (1 + ratio) if timed or outcome is Outcome.NEW else None,
        change=Change(ratio, ratio - 0.001, ratio + 0.001) if timed else None,
        p=(0.001 if abs(ratio) > 0.005 else 0.5) if timed else None,
        minimum_effect=minimum_effect if timed else None,
        bound=(ratio + 0.002 if bound is None else bound) if timed else None,
        tolerance=tolerance if timed else None,
        evidence=evidence if timed else Evidence.NONE,
        processes=(7, 7) if timed else None,
        control=name.startswith("host/") and "host_clock" in counters,
        reason=reason,
        accepted=accepted,
        resources=tuple(resources),
        why=why,
        counters=counters,
    )


def record(path: str = "run.json", source: Source = Source.RUN, **context: str) -> Record:
    told = {"gpu_name": "NVIDIA Test", "date": "2026-11-20", "commit": "c" * 40, **context}
    return Record(Path(path), source, {"s": Session("s", told)}, {})


def comparison(
    verdicts: Sequence[Verdict],
    *,
    notes: Sequence[Note] = (),
    differences: Sequence[ContextDifference] = (),
    refusal: str | None = None,
    base: Record | None = None,
    cand: Record | None = None,
) -> Comparison:
    return Comparison(
        base or record("base.json"),
        cand or record("cand.json"),
        tuple(verdicts),
        notes=tuple(notes),
        differences=tuple(differences),
        refusal=refusal,
    )


def proved(
    words: str, place: str = "a.cu:1", lines: Sequence[str] = (), share: float = 1.0, note: str = ""
) -> Proved:
    """Lines of a change with this share of a slowdown."""
    return Proved(words, place, tuple(lines), share, share - 0.04, share + 0.04, note)


_WHY = Why(
    "gemm/naive/n:64 is 30 % slower. Mostly: Registers are spilled to local memory.",
    (Moved("Registers are spilled", "local sectors", "0", "2000000"), Moved("", "r", "40", "72")),
)


def of_every_kind() -> Comparison:
    """One row an outcome, two regressions, and something in every list."""
    registers = ResourceChange("registers", "registers", "40", "72", worse=True)
    return comparison(
        [
            verdict("gemm/tiled/n:64", Outcome.REGRESSION, 0.05),
            verdict("gemm/naive/n:64", Outcome.REGRESSION, 0.3, resources=[registers],
                    limit_fraction=0.42, source_line=31.0, why=_WHY),
            verdict("gemm/cublas/n:64", Outcome.IMPROVED, -0.2),
            verdict("memcpy/h2d/bytes:4096", Outcome.INCONCLUSIVE, 0.1, reason="too noisy"),
            verdict("memcpy/d2h/bytes:4096", Outcome.INVALID, reason="the SM clock was lowered"),
            verdict("sync/idle", Outcome.ERROR, reason="wrong result"),
            verdict("sync/gone", Outcome.MISSING, reason="missing from the candidate"),
            verdict("sync/new", Outcome.NEW),
            verdict("sync/peer", Outcome.SKIPPED, reason="needs 2 GPUs"),
            verdict("launch/empty", accepted="slower since the new driver"),
            verdict("launch/one", ratio=0.001),
            verdict("launch/two", ratio=-0.002),
        ],
        notes=[Note("no_gpu", "No GPU was measured: the driver is too old.")],
        differences=[ContextDifference("driver_version", "580", "590")],
    )  # fmt: skip


def with_text(text: str) -> Comparison:
    """`text` in every place that takes foreign text."""
    kernel = ResourceChange("kernel", "kernel", text, text + "x", worse=True)
    outcomes = [
        verdict(
            f"{text}/{outcome.value}/{text}",
            outcome,
            0.5 if outcome is Outcome.REGRESSION else -0.5,
            reason=text,
            resources=[kernel],
            bound=0.001,
        )
        for outcome in Outcome
    ]
    outcomes[0] = replace(outcomes[0], why=Why(text, (Moved(text, text, text, text),)))
    lines = Why("", (), tuple(proved(text, text, (text,) * 3, note=text) for _ in range(2)))
    outcomes.append(verdict(f"{text}/proved", Outcome.REGRESSION, 0.4, why=lines))
    side = record(text.replace("\0", ""), gpu_name=text, date=text, commit=text)
    differences = [ContextDifference(key, text, text + "x") for key in (text, "commit")]
    rows = [*outcomes, verdict(f"{text}/accepted", accepted=text)]
    words = f"Ours, {listed([text] * 5)} and ours: {sentence(text)}."
    notes = [Note("injected", words), paired(text, Rounds(7)), Note(SKIPPED, words)]
    return comparison(rows, notes=notes, differences=differences, base=side, cand=side)
