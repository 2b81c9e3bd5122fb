# SPDX-License-Identifier: Apache-2.0
"""The comments of .github/examples, made of the comparison that `warpgauge demo` shows.

From scripts/, ``PYTHONPATH=src ../.venv/bin/python -m devtools.examples`` makes them anew.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from warpgauge.github import comment
from warpgauge.github.comment import Part
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import Base, Run
from warpgauge.reports import recorded
from warpgauge.reports.formats import markdown
from warpgauge.system.environment import ROOT

FOLDER = ROOT / ".github" / "examples"
_HOME = "https://github.com/OWNER/NAME"
_RUN = f"{_HOME}/actions/runs/1002"
_WORST = "gemm/register_2d/f32/n:2048"


def made() -> Mapping[str, str]:
    """The comments' texts by the names of their files."""
    found = recorded.comparison()
    head, base = "e5" * 20, Base("main", "b4" * 20)
    run = Run("OWNER/NAME", 1002, 7, 1, True, head, "faster-gemm", "OWNER/NAME", _RUN)
    source = {_WORST: f"{_HOME}/blob/{head}/benchmarks/gemm.cu#L80"}

    def part(name: str, job: int) -> Part:
        history = f"https://owner.github.io/NAME/{_gpu(name).slug}/"
        report = f"{_HOME}/actions/runs/1003/artifacts/14"
        urls = (f"{_RUN}/job/{job}", f"{_RUN}/artifacts/{job}", history, report)
        return Part(_gpu(name), found, *urls, source)

    b200 = Part(_gpu("NVIDIA B200"), "Its job was cancelled; nothing is known.", f"{_RUN}/job/13")
    h200 = part("NVIDIA H200", 11)
    return {
        "regression.md": markdown.render(found),
        "two-gpus.md": comment.body(run, base, [h200, part("NVIDIA A100", 12)]),
        "failed-job.md": comment.body(run, base, [h200, b200]),
    }


def _gpu(name: str) -> Gpu:
    slug = name.lower().replace(" ", "-")
    return Gpu(slug, name, ("self-hosted", slug), 60)


if __name__ == "__main__":
    os.chdir(ROOT)  # where the commands in them are typed
    for file, text in made().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
