# SPDX-License-Identifier: Apache-2.0
"""The rules, for the evidence that an H200 gave of the planted causes.

The file is what `warpgauge why NAME --format json` wrote of each (test_planted_causes.py, where
there is a GPU).
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgspec
import pytest

from warpgauge.why.causes import causes
from warpgauge.why.evidence import Evidence

_FILE = Path(__file__).with_name("planted_causes_on_h200.json.gz")
_GIVEN = json.loads(gzip.decompress(_FILE.read_bytes()))


@pytest.mark.parametrize("planted", sorted(_GIVEN))
def test_the_planted_cause_is_named_first_and_explains_most(planted: str) -> None:
    given = _GIVEN[planted]
    base, candidate = msgspec.convert(given["evidence"], tuple[Evidence, Evidence])
    explained = causes(base, candidate, given["slowdown"])
    first = explained.causes[0]
    assert first.key == planted
    assert first.share is None or first.share > 0.5
    # Of two equal sides nothing may be said, whatever the time does.
    assert causes(candidate, candidate, given["slowdown"]).causes == ()
