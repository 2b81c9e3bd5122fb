# SPDX-License-Identifier: Apache-2.0
"""The file that the traced process leaves, whole and in every state of disrepair."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces import tape, text
from warpgauge.measurement.fidelity import trace
from warpgauge.measurement.fidelity.trace import TraceFault
from warpgauge.system.errors import ExitStatus, UserError

WHOLE = tape(copies=4, regions=7).activities


def test_a_trace_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text(WHOLE))
    assert list(trace.read_trace(path)) == WHOLE


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("", "does not begin as one"),
        ("\n", "does not begin as one"),
        ("no JSON", "does not begin as one"),
        ("[1]\n", "does not begin as one"),
        ('{"activities":0,"dropped":0,"faults":[]}\n', "does not begin as one"),
        (text([], activities="0"), "does not begin as one"),
        (text([], activities=-1), "does not begin as one"),
        (text([], dropped=None), "does not begin as one"),
        (text([], faults="none"), "no list of faults"),
        (text(WHOLE, dropped=12), "incomplete: CUPTI dropped 12 records"),
        (text(WHOLE, faults=["CUPTI cannot read a record"]), "incomplete: CUPTI cannot read"),
        (text(WHOLE, activities=len(WHOLE) + 1), f"{len(WHOLE)} of {len(WHOLE) + 1} records"),
        (text(WHOLE)[:-9], f"record {len(WHOLE)} cannot be read"),
        (text(WHOLE[:2]).replace('"start_ns":', '"begin":'), "record 1 cannot be read"),
        (text(WHOLE[:2]).replace('"end_ns":', '"end_ns":-'), "record 1 cannot be read"),
        (text(WHOLE[:2]).replace('"kernel"', "3"), "record 1 cannot be read"),
    ],
)
def test_what_is_missing_is_said(written: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(written)
    with pytest.raises(TraceFault, match=fault):
        trace.read_trace(path)


def test_a_line_less_breaks_off(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text("".join(text(WHOLE).splitlines(keepends=True)[:-1]))
    with pytest.raises(TraceFault, match=f"{len(WHOLE) - 1} of {len(WHOLE)} records are there"):
        trace.read_trace(path)


def test_a_cupti_that_does_not_work_ends_the_run(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text([], faults=["CUPTI cannot trace kernels: CUPTI_ERROR_\x1b[1m"]))
    with pytest.raises(UserError, match="nothing could be traced: CUPTI cannot trace ke") as caught:
        trace.read_trace(path)
    assert not isinstance(caught.value, TraceFault)
    assert caught.value.status is ExitStatus.NOT_MEASURED
    assert "\x1b" not in str(caught.value)


def test_a_library_that_was_not_loaded_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"left no trace \(there is none\): the driver") as caught:
        trace.read_trace(tmp_path / "trace.json")
    assert caught.value.status is ExitStatus.NOT_MEASURED
    with pytest.raises(UserError, match=r"left no trace \(Is a directory\)"):
        trace.read_trace(tmp_path)
