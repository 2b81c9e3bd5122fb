# SPDX-License-Identifier: Apache-2.0
"""What the driver's own program says. Standard library alone: a gate without packages asks it."""

from __future__ import annotations

import subprocess


def nvidia_smi(*arguments: str) -> str:
    """What it prints; nothing where it fails, or there is no driver."""
    try:
        done = subprocess.run(
            ["nvidia-smi", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
