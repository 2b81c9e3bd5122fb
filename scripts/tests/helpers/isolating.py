# SPDX-License-Identifier: Apache-2.0
"""Whether this machine isolates programs, and drivers that cannot."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from warpgauge.measure import drive_lines


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that every user can enter and write to, as pytest's are not.

    Skips the test where programs cannot be isolated.
    """
    with tempfile.TemporaryDirectory(prefix="warpgauge-isolated-") as name:
        path = Path(name)
        path.chmod(0o777)
        if why := drive_lines.why_not_isolated(path, path, drive_lines.driver().parent):
            assert "WARPGAUGE_MUST_ISOLATE" not in os.environ, why  # CI sets it
            pytest.skip(f"this machine does not isolate programs: {why}")
        yield path


def refuse(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """From now on the driver cannot isolate programs."""
    real, driver = str(drive_lines.driver()), folder / drive_lines.TARGET
    driver.write_text(
        f"#!{sys.executable} -IS\n"
        "import json, os, sys\n"
        "if json.load(open(sys.argv[1]))['isolate']:\n"
        "    sys.exit('warpgauge_drive: cannot isolate programs here: it is a test')\n"
        f"os.execv({real!r}, [{real!r}, *sys.argv[1:]])\n"
    )
    driver.chmod(0o755)
    patch.setenv(drive_lines.VARIABLE, str(driver))
