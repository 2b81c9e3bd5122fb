# SPDX-License-Identifier: Apache-2.0
"""The formats that a comparison can be written in: each module of `formats` is one.

A module has its format's name and a constant ``FORMAT = Format(...)``, and nothing else knows it:
options, their help, and which files a later run replaces follow from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from warpgauge.reports import formats

# The format of standard output, which uses the terminal's own width and colours.
TERMINAL = "terminal"


@dataclass(frozen=True)
class Format:
    """`render` makes the text of a comparison, or of what another table is for.

    `own` matches in every such file, which is a `kind`.
    """

    name: str
    render: Callable[[Any], str]
    kind: str
    own: re.Pattern[bytes]


class _Modules(Mapping[str, Format]):
    """The formats by name, in this order; a module is imported when its format is used."""

    def __init__(self) -> None:
        names = sorted(module.name for module in iter_modules(formats.__path__))
        self._names = (TERMINAL, *(name for name in names if name != TERMINAL))

    def __getitem__(self, name: str) -> Format:
        if name not in self._names:
            raise KeyError(name)
        found: Format = import_module(f"{formats.__name__}.{name}").FORMAT
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


FORMATS: Mapping[str, Format] = _Modules()
