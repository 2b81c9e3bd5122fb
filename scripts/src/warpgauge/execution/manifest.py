# SPDX-License-Identifier: Apache-2.0
"""The benchmark programs of a build folder, as CMake's warpgauge_add_benchmark lists them in it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from warpgauge.files.location import Place
from warpgauge.system.text import cut, quoted

FILE = "warpgauge_benchmarks.json"
_VERSION = 1
_REMEDY = "build again, with the CMake files of this warpgauge"
_LONGEST = 100  # characters of another's message

# Older commits list their programs here, one a line; only bench_host needs no GPU.
_FAMILIES = Path("benchmarks") / "families.txt"
_HOST_PROGRAM = "bench_host"


@dataclass(frozen=True)
class Program:
    """It may be gone, and may lie anywhere."""

    path: Path
    needs_gpu: bool = True


@dataclass(frozen=True)
class Manifest:
    """The programs, sorted by name, and the folder of the sources, if it is known."""

    programs: tuple[Program, ...] = ()
    source: Path | None = None


def read(build: Path) -> Manifest:
    """What the last build of the folder `build` made: nothing, where there was none.

    Raises UserError for a manifest that cannot be used.
    """
    place = Place(build / FILE)
    try:
        listing = json.loads(place.path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Manifest(_of_older_commit(build))
    except OSError as fault:
        raise place.error(f"cannot be read ({fault.strerror})", "check the path") from None
    except (ValueError, RecursionError) as fault:
        raise place.error(f"is no manifest ({cut(str(fault), _LONGEST)})", _REMEDY) from None
    if not isinstance(listing, dict) or listing.get("version") != _VERSION:
        raise place.error(f"is no manifest of version {_VERSION}", _REMEDY)
    listed, source = listing.get("programs"), listing.get("source_dir", "")
    if not isinstance(listed, list):
        raise place.error("has no list of 'programs'", _REMEDY)
    if not isinstance(source, str):
        raise place.error("'source_dir' is no path", _REMEDY)
    programs = [_program(entry, build, index, place) for index, entry in enumerate(listed)]
    counts = Counter(program.path.name for program in programs)
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise place.error(f"holds two programs called {quoted(twice)}", "rename one")
    return Manifest(_sorted(programs), build / source if source else None)


def _program(entry: object, build: Path, index: int, place: Place) -> Program:
    if isinstance(entry, dict):
        path, device = entry.get("path"), entry.get("device")
        if isinstance(path, str) and path and "\0" not in path and isinstance(device, bool):
            # Absolute: a bare name would be looked for in PATH.
            return Program(build.absolute() / path, device)
    fault = f"program {index + 1} lacks a 'path', or whether it needs a 'device' (true or false)"
    raise place.error(fault, _REMEDY)


def _of_older_commit(build: Path) -> tuple[Program, ...]:
    try:
        lines = (build / _FAMILIES).read_text(errors="replace").splitlines()
    except OSError:
        return ()
    names = {line.strip() for line in lines} - {""}
    folder = (build / _FAMILIES).parent
    return _sorted([Program(folder / name, name != _HOST_PROGRAM) for name in names])


def _sorted(programs: list[Program]) -> tuple[Program, ...]:
    return tuple(sorted(programs, key=lambda program: program.path.name))
