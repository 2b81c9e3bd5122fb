# SPDX-License-Identifier: Apache-2.0
"""The real driver of programs, whose deadlines run only while a fake program hangs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from compiling import compiled
from warpgauge.measure.drive_lines import TARGET
from warpgauge.system.environment import ROOT

# Names the folder below which fake programs note that they hang; without it, time is the machine's.
HANGS = "WARPGAUGE_TEST_HANGS"

_OURS = Path(__file__).with_name("hanging_clock.cpp")
_NOT_OURS = ("main.cpp", "fake_program.cpp")


def driver() -> Path:
    """The driver, compiled from fixtures/drive and fixtures/process."""
    core, *rooms = (ROOT / "fixtures" / room for room in ("core", "drive", "process"))
    headers = [path for room in (core, *rooms) for path in room.glob("*.hpp")]
    found = sorted(path for room in rooms for path in room.glob("*.cpp"))
    found = [one for one in found if one.name not in _NOT_OURS and not one.stem.endswith("_test")]
    sources = [core / "statistics.cpp", *found, _OURS]
    include = ROOT / "build" / "tests" / "include"
    include.mkdir(parents=True, exist_ok=True)
    link = include / "warpgauge"
    with suppress(FileExistsError):  # another worker may make it at the same time
        link.symlink_to(ROOT / "fixtures")
    # As one source: most of the time goes into what they all include.
    arguments = ["-std=c++20", "-O0", f"-I{include}"]
    arguments += [f"-include{path}" for path in sources[:-1]] + [str(sources[-1])]
    return compiled(TARGET, [*headers, *sources], arguments)
