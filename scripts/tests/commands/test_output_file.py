# SPDX-License-Identifier: Apache-2.0
"""What cannot or must not be written is told before the work for it."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from builders import baseline, context, google, google_row, row, run, write
from warpgauge.commands.measuring_command import RUN_FILE
from warpgauge.commands.output_file import check_file, check_report
from warpgauge.reports.format import FORMATS
from warpgauge.system.errors import UserError

NOWHERE = Path("/nowhere/baselines")
RECORDED = baseline([row("a/b", process_medians={"s": [1.0]})], {"s": context()})
JUNIT = FORMATS["junit"]


def check_junit(path: Path, *inputs: Path, baselines: Path = NOWHERE) -> None:
    check_report(path, baselines, inputs, JUNIT.own, JUNIT.kind)


def check_run_file(path: Path, baselines: Path, inputs: Sequence[Path]) -> None:
    check_file(path, baselines, inputs, RUN_FILE, "run file")


def refused(path: Path, why: str, *inputs: Path, baselines: Path = NOWHERE) -> None:
    """Neither a run nor a report may be written there."""
    with pytest.raises(UserError, match=why):
        check_run_file(path, baselines, inputs)
    with pytest.raises(UserError, match=why) as caught:
        check_junit(path, *inputs, baselines=baselines)
    assert str(caught.value).startswith(f"cannot write {path}: ")


def no_run_file(path: Path) -> None:
    """A run file is read again, which a pipe or a device cannot be."""
    with pytest.raises(UserError, match="not a regular file"):
        check_run_file(path, NOWHERE, ())


def test_where_no_file_can_be_written_is_told(tmp_path: Path) -> None:
    refused(tmp_path, "not a regular file")
    refused(tmp_path / "gone" / "run.json", "No such file or directory")
    refused(Path("/proc/run.json"), r"cannot write /proc/run\.json: ")
    with socket.socket(socket.AF_UNIX) as held:
        held.bind(str(tmp_path / "socket"))
        refused(tmp_path / "socket", "not a regular file")


def test_a_link_is_judged_by_what_it_leads_to(tmp_path: Path) -> None:
    for name, target in (("null", "/dev/null"), ("round", "round"), ("base", "base.json")):
        (tmp_path / name).symlink_to(target)
    write(tmp_path / "base.json", RECORDED)
    no_run_file(tmp_path / "null")
    check_junit(tmp_path / "null")
    refused(tmp_path / "round", "cycle|symbolic links|not a regular file")
    refused(tmp_path / "base", "the file exists and is no")


def test_a_report_may_go_to_a_pipe_or_a_device_and_the_check_waits_for_no_reader(
    tmp_path: Path,
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/null")):
        check_junit(path)
        no_run_file(path)


def test_an_input_is_not_replaced(tmp_path: Path) -> None:
    given = write(tmp_path / "folder" / "base.txt", {})
    refused(given, "is in use", given)
    refused(given.with_name("new.json"), "is in use", given.parent)
    check_junit(given.with_name("new.xml"), given.parent)


def test_a_run_may_replace_a_run_and_a_report_a_report_and_the_check_leaves_nothing(
    tmp_path: Path,
) -> None:
    run_file, report = tmp_path / "run.json", tmp_path / "out.xml"
    check_run_file(run_file, tmp_path / "baselines", ())
    check_junit(report)
    assert list(tmp_path.iterdir()) == []
    check_run_file(write(run_file, run([row("a/b")])), tmp_path / "baselines", ())
    report.write_text('<testsuites name="warpgauge">warpgauge_format</testsuites>')
    check_junit(report)


@pytest.mark.parametrize("document", [RECORDED, run([row("a/b")]), google([google_row("a", 1.0)])])
def test_a_report_replaces_no_result(tmp_path: Path, document: dict[str, object]) -> None:
    path = write(tmp_path / "result", document)
    with pytest.raises(UserError, match="the file exists and is no JUnit XML"):
        check_junit(path)


def test_a_run_replaces_nothing_among_the_baselines(tmp_path: Path) -> None:
    baselines = tmp_path / "baselines"
    (baselines / "gpu").mkdir(parents=True)
    for path in (baselines / "gpu" / "a.json", baselines / "gpu" / ".." / "README.md"):
        refused(path, "only --record writes", baselines=baselines)
