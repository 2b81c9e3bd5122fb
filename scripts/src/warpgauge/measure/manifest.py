# SPDX-License-Identifier: Apache-2.0
"""The benchmark programs of a build folder, as listed by CMake's warpgauge_add_benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import msgspec

from warpgauge.records.benchmark_filter import hint, matching
from warpgauge.system.atomic import replace_all
from warpgauge.system.errors import UserError
from warpgauge.system.location import Place
from warpgauge.system.text import cut, quoted, typed

FILE = "warpgauge_benchmarks.json"
_REMEDY = "build again, with the CMake files of this warpgauge"
_LONGEST = 100  # characters of a quoted error message


_Text = Annotated[str, msgspec.Meta(pattern="^[^\0]+$")]


class Program(msgspec.Struct, frozen=True):
    """A listed program, which may be missing or lie outside the build folder.

    `arguments` are part of every call; `inputs` are files that affect what it measures. It `loads`
    if it loads for seconds before it opens its device.
    """

    path: Path
    needs_gpu: bool = msgspec.field(default=True, name="device")
    gpus: Annotated[int, msgspec.Meta(ge=1)] = 1  # number needed, if any
    arguments: tuple[_Text, ...] = ()
    inputs: tuple[Path, ...] = ()
    loads: bool = False


class Manifest(msgspec.Struct, frozen=True, tag_field="version", tag=1):
    """The programs, sorted by name, and the source folder, if known."""

    programs: tuple[Program, ...]
    source: Path | None = msgspec.field(default=None, name="source_dir")


def read(build: Path) -> Manifest:
    """Return the programs of the build folder `build`; none if nothing was built.

    Raises UserError for an unusable manifest.
    """
    place = Place(build / FILE)
    # Absolute, because a bare name would be looked up in PATH.
    at = build.absolute()

    def path_of(kind: type, text: object) -> Path:
        if kind is not Path or not isinstance(text, str) or not text or "\0" in text:
            raise ValueError("a path is not text")
        return at / text

    try:
        found = msgspec.json.decode(place.path.read_bytes(), type=Manifest, dec_hook=path_of)
    except FileNotFoundError:
        return Manifest(programs=())
    except OSError as fault:
        raise place.error(f"cannot be read ({fault.strerror})", "check the path") from None
    except (ValueError, RecursionError) as fault:
        why = cut(str(fault), _LONGEST)
        raise place.error(f"is not a manifest of version 1 ({why})", _REMEDY) from None
    programs = sorted(found.programs, key=lambda program: program.path.name)
    twice = next((one for one, two in pairwise(programs) if one.path.name == two.path.name), None)
    if twice is not None:
        raise place.error(f"holds two programs named {quoted(twice.path.name)}", "rename one")
    return msgspec.structs.replace(found, programs=tuple(programs))


def chosen(folder: Path, programs: Sequence[str], asked: str) -> tuple[str, ...]:
    """Return the programs of a folder that `asked`, a REGEX, selects. Raises UserError if none."""
    if found := matching(asked, programs, "--programs"):
        return found
    near = hint(asked, programs)
    raise UserError(f"{folder}: no program matches --programs {typed(asked)}{near}")


def write(build: Path, manifest: Manifest) -> None:
    """Write a manifest for `build`, which need not exist. Raises UserError."""
    replace_all({build / FILE: msgspec.json.encode(manifest, enc_hook=str) + b"\n"})
