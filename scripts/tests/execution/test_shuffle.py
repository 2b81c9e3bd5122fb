# SPDX-License-Identifier: Apache-2.0
"""The order within a program is that of fixtures/program/suite_test.cpp, too."""

from __future__ import annotations

import pytest

from warpgauge.execution.shuffle import shuffled

NAMES = [f"made_up/n:{number}" for number in range(1, 7)]


@pytest.mark.parametrize(("seed", "digits"), [(0, "243165"), (1, "326514"), (2**64 - 1, "561432")])
def test_the_order_is_that_of_the_programs(seed: int, digits: str) -> None:
    assert "".join(name[-1] for name in shuffled(NAMES, seed)) == digits


def test_a_part_runs_in_the_order_that_it_has_in_the_whole() -> None:
    whole = shuffled(NAMES, 3)
    part = [NAMES[4], NAMES[0], NAMES[2]]
    assert shuffled(part, 3) == tuple(name for name in whole if name in part)
