# SPDX-License-Identifier: Apache-2.0
"""What does not fit a format is refused in one sentence, with the keys that lead there."""

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
        ({"seconds": {"a": [0.0]}}, "Expected `float` >= 1e-12 - at `$.seconds[...][0]`"),
        ({"pair": [1, 2, 3]}, "Expected `array` of length <= 2 - at `$.pair`"),
        ({"kind": "c - at `$.x`"}, "Invalid enum value 'c - at `$.x`' - at `$.kind`"),
        ({"seconds": 3}, "Expected `object`, got `int` - at `$.seconds`"),
    ],
)
def test_a_fault_names_the_keys_and_what_was_expected(
    tmp_path: Path, values: dict[str, object], said: str
) -> None:
    whole = {"warpgauge_format": "point/1", "seconds": {}, **values}
    with pytest.raises(UserError) as caught:
        contract.decoded(whole, _Point, Place(tmp_path / "f"), "remove it")
    assert str(caught.value) == f"{tmp_path}/f: is no point/1 ({said}); remove it"
