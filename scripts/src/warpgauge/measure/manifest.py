# SPDX-License-Identifier: Apache-2.0
"""The benchmark programs of a build folder, as listed by CMake's warpgauge_add_benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from warpgauge.records.benchmark_filter import hint, matching
from warpgauge.system.atomic import replace_all
from warpgauge.system.errors import UserError
from warpgauge.system.location import Place
from warpgauge.system.text import cut, quoted, typed

FILE = "warpgauge_benchmarks.json"
_REMEDY = "build again, with the CMake files of this warpgauge"
_LONGEST = 100  # characters of a quoted error message


@dataclass(frozen=True)
class Program:
    """A listed program, which may be missing or lie outside the build folder.

    `arguments` are part of every call; `inputs` are files that affect what it measures.
    """

    path: Path
    needs_gpu: bool = True
    gpus: int = 1  # number needed, if any
    arguments: tuple[str, ...] = ()
    inputs: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """The programs, sorted by name, and the source folder, if known."""

    programs: tuple[Program, ...] = ()
    source: Path | None = None


_Word = Annotated[str, msgspec.Meta(pattern="^[^\0]+$")]


class _Entry(msgspec.Struct):
    path: _Word
    device: bool
    gpus: Annotated[int, msgspec.Meta(ge=1)] = 1
    arguments: tuple[_Word, ...] = ()
    inputs: tuple[_Word, ...] = ()


class _Listing(msgspec.Struct):
    version: Literal[1]
    programs: list[_Entry]
    source_dir: str = ""


def read(build: Path) -> Manifest:
    """Return the programs of the build folder `build`; none if nothing was built.

    Raises UserError for an unusable manifest.
    """
    place = Place(build / FILE)
    try:
        listing = msgspec.json.decode(place.path.read_bytes(), type=_Listing)
    except FileNotFoundError:
        return Manifest()
    except OSError as fault:
        raise place.error(f"cannot be read ({fault.strerror})", "check the path") from None
    except (ValueError, RecursionError) as fault:
        why = cut(str(fault), _LONGEST)
        raise place.error(f"is not a manifest of version 1 ({why})", _REMEDY) from None
    # Absolute, because a bare name would be looked up in PATH.
    at = build.absolute()
    programs = [
        Program(
            at / one.path,
            one.device,
            one.gpus,
            one.arguments,
            tuple(at / path for path in one.inputs),
        )
        for one in listing.programs
    ]
    counts = Counter(program.path.name for program in programs)
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise place.error(f"holds two programs named {quoted(twice)}", "rename one")
    source = build / listing.source_dir if listing.source_dir else None
    in_order = sorted(programs, key=lambda program: program.path.name)
    return Manifest(tuple(in_order), source)


def named(names: Sequence[str], regex: str, folder: Path) -> frozenset[str]:
    """Return the file names of programs in `folder` that --programs REGEX selects.

    Raises UserError if there is none.
    """
    found = matching(regex, names, "--programs")
    if not found:
        near = hint(regex, names)
        raise UserError(f"{folder}: no program matches --programs {typed(regex)}{near}")
    return frozenset(found)


def write(build: Path, manifest: Manifest) -> None:
    """Write a manifest for `build`, which need not exist. Raises UserError."""
    listing = _Listing(
        version=1,
        programs=[
            _Entry(
                str(one.path), one.needs_gpu, one.gpus, one.arguments, tuple(map(str, one.inputs))
            )
            for one in manifest.programs
        ],
        source_dir=str(manifest.source or ""),
    )
    replace_all({build / FILE: msgspec.json.encode(listing) + b"\n"})
