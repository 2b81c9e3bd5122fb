# SPDX-License-Identifier: Apache-2.0
"""Names of commits: in full, and short enough to read."""

from __future__ import annotations

import re

# Digits of a commit that tell it from others, as Git shows it.
DIGITS = 10

# SHA-1 or SHA-256, and nothing else that git would look up.
_FULL = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def is_full(text: str) -> bool:
    """Whether a file's `text` is the whole name of a commit, safe to hand to a command."""
    return _FULL.fullmatch(text) is not None


def short(commit: str) -> str:
    """Its first digits."""
    return commit[:DIGITS]
