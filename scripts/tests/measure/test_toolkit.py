# SPDX-License-Identifier: Apache-2.0
"""A tool is found on PATH, beside the compiler, and among this Python's packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpgauge.measure import build, toolkit
from warpgauge.system.errors import ExitStatus, UserError


def test_the_nearest_tool_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, toolkits, packages = (tmp_path / name for name in ("path", "toolkit", "packages"))
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.setattr(build, "cuda_compiler", lambda: str(toolkits / "nvcc"))
    monkeypatch.setattr(toolkit, "packaged", lambda: packages)
    with pytest.raises(UserError, match="cuobjdump is missing: install") as caught:
        toolkit.tool("cuobjdump")
    assert caught.value.status is ExitStatus.NOT_MEASURED
    for folder in (packages, toolkits, path):
        folder.mkdir()
        (folder / "cuobjdump").touch(0o755)
        assert toolkit.tool("cuobjdump") == str(folder / "cuobjdump")
