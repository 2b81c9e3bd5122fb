# SPDX-License-Identifier: Apache-2.0
"""kernels.toml: which kernels from elsewhere are measured, and how they are launched and verified."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from warpgauge.external.kernel import Kernel
from warpgauge.files.location import Place


@dataclass(frozen=True)
class Manifest:
    """The kernels of one file, by their names, in its order."""

    path: Path
    kernels: Mapping[str, Kernel]

    def place(self, *keys: str | int) -> Place:
        """Where ``kernels.scale.arguments[2]`` stands."""
        return Place(self.path, key_of("kernels", *keys))

    def file(self, name: str) -> Path:
        """A file that the manifest names, absolute."""
        return self.path.absolute().parent / name


def load(path: Path) -> Manifest:
    """The manifest in a file, with all that can be checked without axes. Raises UserError."""
    raise NotImplementedError


def key_of(*keys: str | int) -> str:
    """``kernels.scale.arguments[2]``."""
    words = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return "".join(words).removeprefix(".")


def near(wrong: str, known: Iterable[str]) -> str:
    """What to write instead of `wrong`."""
    names = list(known)
    found = difflib.get_close_matches(wrong, names, n=1, cutoff=0.5)
    return f"did you mean '{found[0]}'?" if found else f"known are {', '.join(names) or 'none'}"
