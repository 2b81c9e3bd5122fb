# SPDX-License-Identifier: Apache-2.0
"""A clone, in whose branches `main` and `origin/history` a history lies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from hosted_repository import git
from warpgauge.history import lines
from warpgauge.history.lines import Night, Point, Ratio

FACTS = {"gpu_name": "NVIDIA Test", "gpu_uuid": "GPU-12345678-9", "driver_version": "580.1"}
GPU, BASE = "nvidia-test", "ba" * 20


@dataclass
class HistoryClone:
    root: Path

    def __post_init__(self) -> None:
        git(self.root, "init", "--quiet", "--initial-branch=main")
        (self.root / ".gitignore").write_text("/build/\n")

    def night(
        self,
        day: int,
        seconds: Mapping[str, float],
        unmeasured: Mapping[str, str] | None = None,
        *,
        sd: float | None = 0.004,
        processes: int = 7,
        gpu: str = GPU,
        run: int | None = None,
        host: tuple[str, ...] = (),
        ratios: Mapping[str, Ratio] | None = None,
        **facts: str,
    ) -> None:
        told, reasons = {**FACTS, **facts}, dict(unmeasured or {})
        date = f"2026-11-{day:02}T01:00:00Z"
        points = {name: Point(time, sd, processes) for name, time in seconds.items()}
        pairs = (BASE, dict(ratios)) if ratios else ()
        night = Night(date, f"{day:02}" * 20, run or day, told, points, reasons, host, *pairs)
        self.text(f"2026-11-{day:02}-{run or day}", lines.line(night), gpu)

    def nights(
        self, told: Iterable[tuple[Mapping[str, float], Mapping[str, str]]], gpu: str = GPU
    ) -> None:
        """One a day from 2026 on, each with its times and what is not as in FACTS."""
        made = []
        for number, (seconds, facts) in enumerate(told):
            day = date(2026, 1, 1) + timedelta(days=number)
            points = {name: Point(time, 0.004, 7) for name, time in seconds.items()}
            commit = f"{number:02}" * 20
            made.append(Night(day.isoformat(), commit, number, {**FACTS, **facts}, points, {}))
        self.text("all", "".join(map(lines.line, made)), gpu)

    def text(self, name: str, text: str, gpu: str = GPU) -> None:
        path = self.root / gpu / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        self.commit()

    def remove(self, name: str) -> None:
        (self.root / GPU / f"{name}.jsonl").unlink()
        self.commit()

    def commit(self) -> None:
        git(self.root, "add", "--all")
        git(self.root, "commit", "--quiet", "--message", "a night")
        git(self.root, "update-ref", "refs/remotes/origin/history", "HEAD")
