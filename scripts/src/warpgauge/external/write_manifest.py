# SPDX-License-Identifier: Apache-2.0
"""kernels.toml out of the entries that the framework functions make."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from warpgauge.external.kernel_entry import KernelEntry
from warpgauge.files.atomic import replace_all
from warpgauge.system.errors import UserError
from warpgauge.system.text import listed

_HEAD = "# Made by write_manifest, which replaces this file: edit a copy.\n"


def write_manifest(path: Path, kernels: Sequence[KernelEntry]) -> None:
    """Write kernels.toml, which may replace one that was written so.

    Raises UserError for two kernels of one name, and for a file that somebody else wrote.
    """
    names = [kernel.name for kernel in kernels]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UserError(f"{path}: more than one kernel is called {listed(twice)}; rename one")
    path = path.resolve()
    if path.is_file() and not path.read_bytes().startswith(_HEAD.encode()):
        raise UserError(f"{path}: it is there, and not made by write_manifest; name another file")
    tables = [
        "\n".join(
            [
                f"[kernels.{kernel.name}]",
                *(f"{_key(k)} = {_toml(v, path.parent)}" for k, v in kernel.entry.items()),
            ]
        )
        for kernel in kernels
    ]
    replace_all({path: "\n\n".join([f"{_HEAD}version = 1", *tables]) + "\n"})


def _toml(value: object, folder: Path) -> str:
    """A value of a TOML file; a path is written relative to `folder`."""
    if isinstance(value, Path):
        value = os.path.relpath(value, folder)
    if isinstance(value, str):
        # A JSON string, but for DEL, which only TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(k)} = {_toml(v, folder)}' for k, v in value.items())} }}"
    if isinstance(value, Sequence):
        items = [_toml(item, folder) for item in value]
        tables = any(isinstance(item, Mapping) for item in value)
        return "[\n  " + ",\n  ".join(items) + ",\n]" if tables else f"[{', '.join(items)}]"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml(key, Path())
