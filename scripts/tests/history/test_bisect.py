# SPDX-License-Identifier: Apache-2.0
"""Which commit a bisect tests next, and which it blames."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from warpgauge.history.bisect import State, following, most_steps, suspects

GOOD, BAD, UNKNOWN = State.GOOD, State.BAD, State.UNKNOWN


def search(keys: Sequence[str], truth: Sequence[State]) -> tuple[list[int], int]:
    """The suspects at the end, and how many commits were tested."""
    states = {keys[0]: GOOD, keys[-1]: BAD}
    tested = 0
    while (index := following(keys, states)) is not None:
        assert keys[index] not in states
        states[keys[index]] = truth[index]
        tested += 1
    return suspects(keys, states), tested


def slow_from(first: int, commits: int) -> list[State]:
    return [BAD if i >= first else GOOD for i in range(commits)]


@pytest.mark.parametrize("first", range(1, 65))
def test_each_of_64_commits_is_found_in_6_tests(first: int) -> None:
    keys = [str(i) for i in range(65)]
    assert search(keys, slow_from(first, 65)) == ([first], 6)


def test_two_neighbours_need_no_test() -> None:
    assert search(["a", "b"], [GOOD, BAD]) == ([1], 0)


def test_commits_of_equal_programs_are_tested_once() -> None:
    keys = [str(i // 16) for i in range(65)]
    assert search(keys, slow_from(48, 65)) == ([48], 2)


def test_what_equals_good_is_good_wherever_it_is() -> None:
    # 3 is slow, 6 takes it back, 9 is slow again, for good.
    keys = ["good", "1", "2", "slow", "4", "5", "good", "7", "8", "again", "bad"]
    assert search(keys, slow_from(9, 11)) == ([9], 2)


def test_a_revert_that_is_not_equal_still_leaves_a_commit_that_made_it_slower() -> None:
    truth = [GOOD] * 10 + [BAD] * 10 + [GOOD] * 10 + [BAD] * 10
    (found,), _ = search([str(i) for i in range(40)], truth)
    assert (truth[found - 1], truth[found]) == (GOOD, BAD)


def test_what_cannot_be_tested_is_gone_around() -> None:
    truth = slow_from(20, 33)
    truth[16] = truth[15] = UNKNOWN
    found, _ = search([str(i) for i in range(33)], truth)
    assert found == [20]


def test_what_cannot_be_tested_beside_the_commit_leaves_a_range() -> None:
    truth = slow_from(20, 33)
    truth[18] = truth[19] = UNKNOWN
    found, _ = search([str(i) for i in range(33)], truth)
    assert found == [18, 19, 20]


def test_any_search_ends_with_a_commit_behind_a_good_and_at_a_bad_one() -> None:
    draw = random.Random(1)
    for _ in range(300):
        count = draw.randrange(2, 40)
        keys = [str(draw.randrange(1, 12)) for _ in range(count)]
        keys[0], keys[-1] = "0", "99"
        by_key = {key: draw.choice([GOOD, BAD, UNKNOWN]) for key in keys}
        by_key |= {"0": GOOD, "99": BAD}
        truth = [by_key[key] for key in keys]
        found, tested = search(keys, truth)
        assert tested <= len(set(keys))
        if len(found) == 1:
            assert (truth[found[0] - 1], truth[found[0]]) == (GOOD, BAD)
        else:
            assert all(truth[i] is UNKNOWN for i in found[:-1])


def test_the_steps_that_are_paid_for_are_at_least_those_of_a_search_with_some_to_skip() -> None:
    assert [most_steps(commits) for commits in (1, 2, 64, 1000)] == [2, 4, 14, 22]
