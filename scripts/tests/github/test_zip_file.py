# SPDX-License-Identifier: Apache-2.0
"""One member of a foreign archive: what is read, and that nothing else comes out or costs much."""

from __future__ import annotations

import tracemalloc
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

import archives
from archives import archive, in_directory, in_header
from warpgauge.github.artifact import ENTRIES_LIMIT, MissingEntry, entry
from warpgauge.system.errors import ExitStatus, UserError

NAME = "comparison.json"
TEXT = b'{"warpgauge_format": "comparison/1"}' * 9
GOOD = archive(("runs/a.json", b"{}"), (NAME, TEXT), ("log.txt", b"x" * 500))
WANTED = archive((NAME, TEXT))
LIMIT = 2**20


def refusal(whole: bytes, limit: int = LIMIT) -> str:
    with pytest.raises(UserError) as raised:
        entry(whole, NAME, limit, "it")
    assert raised.value.status is ExitStatus.BAD_USAGE
    sentence = str(raised.value)
    assert sentence.startswith("it ")
    assert sentence.isprintable()
    assert len(sentence) < 300
    return sentence


@pytest.mark.parametrize(
    "whole",
    [
        GOOD,
        archive((NAME, TEXT), method=0),
        archive(("runs/", b""), ("ünïcode", b"1"), (NAME, TEXT)),
        archives.streamed(("a", b"1"), (NAME, TEXT), ("b", b"")),
    ],
    ids=["deflated", "stored", "folders and names", "streamed"],
)
def test_the_member_comes_out_as_it_went_in(whole: bytes) -> None:
    assert entry(whole, NAME, LIMIT, "it") == TEXT
    assert entry(whole, NAME, len(TEXT), "it") == TEXT


@pytest.mark.parametrize("content", [b"", WANTED], ids=["empty", "an archive"])
def test_any_content_is_data(content: bytes) -> None:
    assert entry(archive((NAME, content)), NAME, LIMIT, "it") == content


@pytest.mark.parametrize("whole", [archive(), archive(("a", b"1")), archive((f"x/{NAME}", TEXT))])
def test_that_it_is_not_there_is_told_from_what_is_amiss(whole: bytes) -> None:
    with pytest.raises(MissingEntry, match=f"^it holds no {NAME}$"):
        entry(whole, NAME, LIMIT, "it")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "..\\x", "a\0b", "", "x" * 65_000])
def test_nothing_is_extracted_so_that_other_names_do_no_harm(name: str) -> None:
    entries = [(name.encode(), archives.deflated(b"1"), 1)]
    entries += [(NAME.encode(), archives.deflated(TEXT), len(TEXT))]
    assert entry(archives.packed(entries, crc32(TEXT)), NAME, LIMIT, "it") == TEXT


def test_too_many_entries_are_refused_by_their_number() -> None:
    many = [(f"{index}", b"") for index in range(ENTRIES_LIMIT)]
    assert entry(archive((NAME, TEXT), *many[1:]), NAME, LIMIT, "it") == TEXT
    assert "1001 entries" in refusal(archive((NAME, TEXT), *many))


@pytest.mark.parametrize("size", [2**30, 100])
def test_a_gigabyte_is_refused_without_its_memory_whatever_it_claims(size: int) -> None:
    whole = archives.packed([(NAME.encode(), archives.gigabyte(), size)])
    tracemalloc.start()
    try:
        told = refusal(whole, 16 * 2**20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "of more than" in told if size > 100 else "damaged" in told
    assert peak < 64 * 2**20


STREAM = archives.deflated(TEXT)
REFUSED = [
    (archive((NAME, bytes(LIMIT + 1))), "of more than 1048576 bytes"),
    (archive(("inner.zip", WANTED), method=0), "holds no"),
    (in_directory(WANTED, 10, "<H", 12), "damaged"),
    *((whole, "damaged") for whole in (b"", b"PK", b"x" * 1000, GOOD[:-1], GOOD[:-30], WANTED[9:])),
    (in_directory(GOOD, 0, "<L", 7), "damaged"),
    (in_directory(WANTED, 42, "<L", 0x7FFFFFFF), "damaged"),
    (in_directory(WANTED, 42, "<L", 1), "damaged"),
    (in_directory(WANTED, 8, "<H", 1), "damaged"),  # encrypted
    (in_header(WANTED, 30, "<H", 0x7A7A), "damaged"),
    *(
        (archives.packed([(NAME.encode(), stream, size)], checksum=1), "damaged")
        for stream, size in [
            *((STREAM, len(TEXT) + more) for more in (-1, 0, 1)),
            (STREAM[:-4], len(TEXT)),
            (b"\xff" * 9, 9),
        ]
    ),
]


@pytest.mark.parametrize(("whole", "words"), REFUSED)
def test_an_archive_that_nobody_means_well_with_or_a_damaged_one_is_refused(
    whole: bytes, words: str
) -> None:
    assert words in refusal(whole)


@given(st.data())
def test_an_archive_with_any_byte_changed_gives_the_content_or_a_sentence(
    data: st.DataObject,
) -> None:
    changed = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(GOOD) - 1))
        changed[at] = data.draw(st.integers(0, 255))
    try:
        assert entry(bytes(changed), NAME, LIMIT, "it") == TEXT
    except UserError as refused:
        assert str(refused).startswith("it ")


@given(st.binary(max_size=300))
def test_whatever_the_bytes_are_a_sentence_comes_of_it(noise: bytes) -> None:
    refusal(b"PK\x03\x04" + noise)
