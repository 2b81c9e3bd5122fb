# SPDX-License-Identifier: Apache-2.0
"""What is saved as .json and is none, what cannot be read, what is too much: a sentence each."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from builders import Json, google_row, row, run, write
from large_runs import write_pair
from refusal import fault
from warpgauge.records.load import load
from warpgauge.system.location import SIZE_LIMIT_BYTES, VALUES_LIMIT

GOOD = json.dumps(run([row("a/b")]))


def test_what_the_machine_refuses_is_a_sentence_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "result.json", run([row("a/b")]))
    with monkeypatch.context() as patch:  # root, as in a container, may read everything
        patch.setattr(Path, "open", Mock(side_effect=PermissionError(13, "Permission denied")))
        assert "cannot be read (Permission denied); check the path" in fault(path)
    monkeypatch.setattr("json.loads", Mock(side_effect=MemoryError))
    assert "too large for the memory" in fault(path)


def test_a_file_of_300_megabytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    with path.open("wb") as stream:
        stream.truncate(300 * 10**6)
    assert "is larger than 64 MiB; give a result file, or a folder" in fault(path)


def filled(head: str, piece: str, tail: str, values: int = 0) -> str:
    """A text just below the limits on size and, where pieces are `values` each, on their number."""
    room = (SIZE_LIMIT_BYTES - len(head) - len(tail) - 1) // len(piece)
    return head + piece * (min(room, VALUES_LIMIT // values - 3) if values else room) + tail


# Made when they are needed, and gone when they were.
LARGEST: dict[str, Callable[[], str]] = {
    "rows without a name": lambda: filled('{"benchmarks": [', "{},", "{}]}", 2),
    "a key twice in the last row": lambda: filled(
        '{"benchmarks": [', '{"a": 1},', '{"b": 1, "b": 2}]}', 2
    ),
    # In one object they take a parser three times as long as anything else that is so large.
    "many keys": lambda: '{"context": {' + ",".join(f'"{i}": {i}' for i in range(400_000)) + "}}",
    "times, and a string": lambda: filled(
        '{"benchmarks": [{"process_medians": [', "1.5e3,", '"x"]}]}', 1
    ),
    "too many values": lambda: filled('{"benchmarks": [', "1,", "1]}"),
    "objects in objects": lambda: filled("", '{"a":', ""),
    "half characters": lambda: filled('{"benchmarks": "', "\\ud83d", '"}'),
    "a long number": lambda: filled('{"benchmarks": ', "1", "}"),
    "half a character at the end": lambda: filled('{"benchmarks": "', "a", '\udcff"}'),
}


@pytest.mark.parametrize("case", LARGEST)
def test_the_largest_file_that_is_read_is_refused(tmp_path: Path, case: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(LARGEST[case](), errors="surrogateescape")
    fault(path)


def test_ten_thousand_benchmarks_of_seven_processes_are_read(tmp_path: Path) -> None:
    for path in write_pair(tmp_path, 10_000):
        assert len(load(path).rows) == 10_000


def test_ten_thousand_benchmarks_of_seven_repetitions_are_read(tmp_path: Path) -> None:
    about: Json = {"run_type": "iteration", "repetitions": 7, "threads": 1, "iterations": 1000}
    rows = [
        {"name": name, "run_name": name, "family_index": 1, "per_family_instance_index": number,
         **about, "repetition_index": index, "real_time": 1.5, "cpu_time": 1.5, "time_unit": "ns",
         "items_per_second": 1e9}
        for number in range(10_000)
        for name in (f"BM_Something<float>/size:{number}/threads:1/real_time",)
        for index in range(7)
    ]  # fmt: skip
    path = tmp_path / "plain.json"
    path.write_text(json.dumps({"context": {}, "benchmarks": rows}, indent=2))
    assert len(load(path).rows) == 10_000


def test_a_file_that_does_not_know_its_size_is_not_read_forever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("warpgauge.system.location.SIZE_LIMIT_BYTES", 10)
    assert "is larger than" in fault(Path("/proc/self/status"))


def test_what_is_no_file_is_a_sentence_and_not_waited_for(tmp_path: Path) -> None:
    for folder in ("empty", "piped", "nested/sub.json"):
        (tmp_path / folder).mkdir(parents=True)
    pipe, link = tmp_path / "piped" / "pipe.json", tmp_path / "link.json"
    os.mkfifo(pipe)
    link.symlink_to(link)
    assert "cannot be read (No such file or directory)" in fault(tmp_path / "absent.json")
    assert "cannot be read" in fault(link)
    assert "is not a regular file" in fault(Path("/dev/zero"))
    assert "is not a regular file" in fault(pipe)
    assert "pipe.json: is not a regular file" in fault(pipe.parent)
    assert "sub.json: is not a regular file" in fault(tmp_path / "nested")
    sentence = "the folder holds no *.json or *.xml file; give a file or another folder"
    assert sentence in fault(tmp_path / "empty")


def test_a_line_break_inside_a_message_is_read_as_old_versions_wrote_it(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    failed = '{"name": "a", "error_occurred": true, "error_message": "CUDA:\nout of memory"}'
    path.write_text(f'{{"benchmarks": [{failed}]}}')
    assert load(path).rows["a"].error == "CUDA:\nout of memory"


@pytest.mark.parametrize(
    ("text", "name"), [(r"a/\ud83d\ude80", "a/\N{ROCKET}"), (r"\\ud83d", r"\ud83d")]
)
def test_two_halves_of_a_character_and_a_backslash_before_a_u_are_none(
    tmp_path: Path, text: str, name: str
) -> None:
    path = tmp_path / "result.json"
    path.write_text(GOOD.replace("a/b", text))
    assert list(load(path).rows) == [name]


def test_a_context_and_other_keys_behind_the_rows_do_no_harm(tmp_path: Path) -> None:
    document = {"benchmarks": [google_row("a", 1.0)], "context": {"gpu_name": "G"}, "more": 1}
    record = load(write(tmp_path / "result.json", document))
    assert list(record.rows) == ["a"]
    assert [session.gpu_name for session in record.sessions.values()] == ["G"]
