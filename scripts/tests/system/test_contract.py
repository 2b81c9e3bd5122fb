# SPDX-License-Identifier: Apache-2.0
"""What does not fit a format is told in plain words, with the keys that lead there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
from msgspec import Meta

from warpgauge.system import contract
from warpgauge.system.errors import UserError
from warpgauge.system.location import Place


class _Point(contract.Document, frozen=True, tag="point/1"):
    seconds: dict[Annotated[str, Meta(min_length=1)], tuple[Annotated[float, Meta(ge=1e-12)], ...]]
    pair: Annotated[tuple[int, ...], Meta(min_length=1, max_length=2)] = (1,)
    fixed: tuple[int, int] = (1, 2)
    share: Annotated[float, Meta(gt=0, lt=1)] | None = None
    kind: Literal["a", "b"] = "a"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"seconds": {"a": [0.0]}}, "seconds.KEY[0]: expected a number of at least 1e-12"),
        ({"seconds": {"": []}}, "seconds: expected a string with a length of at least 1 as a key"),
        ({"pair": []}, "pair: expected a list with a length of at least 1"),
        ({"pair": [1, 2, 3]}, "pair: expected a list with a length of at most 2"),
        ({"fixed": [1]}, "fixed: expected a list with a length of 2, got 1"),
        ({"share": 0.0}, "share: expected a number of more than 0.0"),
        ({"share": "1"}, "share: expected a number or null, got a string"),
        ({"kind": "c - at `$.x`"}, "kind: 'c - at `$.x`' is not known"),
        ({"seconds": 3}, "seconds: expected an object, got an integer"),
    ],
)
def test_a_fault_names_the_keys_and_what_was_expected(
    tmp_path: Path, values: dict[str, object], said: str
) -> None:
    whole = {"warpgauge_format": "point/1", "seconds": {}, **values}
    with pytest.raises(UserError) as caught:
        contract.decoded(whole, _Point, Place(tmp_path / "f"), "remove it")
    assert str(caught.value) == f"{tmp_path}/f: is no point/1 ({said}); remove it"
