# SPDX-License-Identifier: Apache-2.0
"""Of too many sessions those go that leave most different GPUs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from warpgauge.baselines.prune import surplus
from warpgauge.records.model import Session


def sessions(gpus: str) -> list[Session]:
    """A session a letter, oldest first, the letter its GPU."""
    return [
        Session(f"{day:02}{gpu}", {"gpu_uuid": gpu, "date": f"2026-11-{day + 1:02}T00:00:00+00:00"})
        for day, gpu in enumerate(gpus)
    ]


def dropped(gpus: str, keep: int = 3, staying: str | None = None) -> list[str]:
    return [session.key for session in surplus(sessions(gpus), keep, staying)]


def test_nothing_goes_while_there_is_room() -> None:
    assert dropped("aab") == []


def test_the_oldest_of_the_gpu_with_most_sessions_goes_first() -> None:
    assert dropped("abbc") == ["01b"]


def test_the_oldest_goes_where_each_gpu_has_as_many() -> None:
    assert dropped("abcd") == ["00a"]
    assert dropped("baba") == ["00b"]


def test_the_session_that_was_asked_for_stays() -> None:
    assert dropped("abcd", staying="00a") == ["01b"]
    assert dropped("aabc", staying="00a") == ["01a"]


@given(st.text("abcd", min_size=1, max_size=12), st.integers(1, 6))
def test_as_many_gpus_stay_as_can(gpus: str, keep: int) -> None:
    gone = dropped(gpus, keep)
    left = [session for session in sessions(gpus) if session.key not in gone]
    assert len(left) == min(keep, len(gpus))
    assert len({session.gpu_uuid for session in left}) == min(keep, len(set(gpus)))
