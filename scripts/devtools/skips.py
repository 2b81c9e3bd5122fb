# SPDX-License-Identifier: Apache-2.0
"""The skipped tests of the test runners, and why, as one line. Pure functions."""

from __future__ import annotations

import re
from collections import Counter

from warpgauge.system.text import plural

# How GoogleTest cases begin the reason for which a machine without a GPU skips them.
NO_GPU = "no usable GPU"

_CTEST_SKIPPED = re.compile(r"^\s*\d+ - (\S+) \(Skipped\)", re.MULTILINE)
_REASON = re.compile(r": Skipped\n(.*)\n")
_COUNT = re.compile(r"^=.*\b(\d+) skipped\b.* in .*=$", re.MULTILINE)
_LOG_ENTRY = re.compile(r"^\d+/\d+ Testing: (\S+)\n", re.MULTILINE)


def of_ctest(output: str, log: str) -> str:
    """Of ctest's output and its LastTest.log: the tests that lack a GPU, then cases that lack more.

    A test has several cases; one that skipped all of them is skipped itself.
    """
    _, *entries = _LOG_ENTRY.split(log)
    other = {
        name: [why for why in _REASON.findall(text) if not why.startswith(NO_GPU)]
        for name, text in zip(entries[::2], entries[1::2], strict=True)
    }
    without_gpu = sum(not other.get(name) for name in _CTEST_SKIPPED.findall(output))
    reasons = Counter(why.strip() for found in other.values() for why in found)
    told = [f"{plural(without_gpu, 'GPU test')} skipped: {NO_GPU}"] if without_gpu else []
    told += [f"{plural(count, 'test case')} skipped: {why}" for why, count in reasons.items()]
    return "; ".join(told)


def of_pytest(output: str) -> str:
    """Of the output of pytest's runs: how many; its own summary, which stays, says why."""
    count = sum(map(int, _COUNT.findall(output)))
    return f"{plural(count, 'Python test')} skipped" if count else ""


def without_skipped(summary: str) -> str:
    """ctest's closing lines without the list of skipped tests."""
    left = re.sub(r"^\s*\d+ - \S+ \(Skipped\).*\n?", "", summary, flags=re.MULTILINE)
    return re.sub(r"\n+The following tests did not run:\s*(?=\n\S|\Z)", "", left)
