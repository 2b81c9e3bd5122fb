# SPDX-License-Identifier: Apache-2.0
"""The settings of a comparison contradict themselves nowhere."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.policy import Expected, Policy

TODAY = date(2027, 1, 1)


def test_a_policy_that_expects_changes_is_not_judged_without_the_day() -> None:
    entry = Expected(1, re.compile("gemm"), 0.05, "the bounds check", date(2027, 2, 1), False)
    policy = Policy(Path("policy.toml"), expected=(entry,))
    with pytest.raises(ValueError, match="needs the day"):
        ComparisonSettings(policy=policy)
    assert ComparisonSettings(policy=policy, today=TODAY).today == TODAY
