# SPDX-License-Identifier: Apache-2.0
"""A file that decides what is measured stays what it was, or the run ends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from warpgauge.measure.measuring import InputFiles
from warpgauge.system.errors import UserError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "y.npy"
    path.write_bytes(b"before")
    return path


def test_a_file_of_the_same_size_and_time_that_holds_something_else_is_found(file: Path) -> None:
    inputs, times = InputFiles(), file.stat()
    inputs.require_unchanged([file])
    file.write_bytes(b"behind")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(UserError, match=r"y\.npy was replaced while it was measured"):
        inputs.require_unchanged([file])


def test_a_file_that_goes_or_comes_is_another_one(file: Path) -> None:
    inputs, missing = InputFiles(), file.with_name("missing.npy")
    inputs.require_unchanged([file, missing])
    missing.write_bytes(b"here")
    with pytest.raises(UserError, match=r"missing\.npy"):
        inputs.require_unchanged([missing])
    file.unlink()
    with pytest.raises(UserError, match=r"y\.npy"):
        inputs.require_unchanged([file])
