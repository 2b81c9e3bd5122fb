# SPDX-License-Identifier: Apache-2.0
"""One member of a foreign archive: what is read, and that nothing else comes out or costs much."""

from __future__ import annotations

import stat
import tracemalloc
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

import archives
from archives import archive, in_directory, in_header
from warpgauge.files.zip_file import ENTRIES_LIMIT, MissingEntry, entry
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


def test_an_empty_member_is_empty() -> None:
    assert entry(archive((NAME, b"")), NAME, LIMIT, "it") == b""


@pytest.mark.parametrize("whole", [archive(), archive(("a", b"1")), archive((f"x/{NAME}", TEXT))])
def test_that_it_is_not_there_is_told_from_what_is_amiss(whole: bytes) -> None:
    with pytest.raises(MissingEntry, match=f"^it holds no {NAME}$"):
        entry(whole, NAME, LIMIT, "it")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../x", "leads elsewhere"),
        ("a/../../x", "leads elsewhere"),
        ("a//b", "leads elsewhere"),
        ("./a", "leads elsewhere"),
        ("..", "leads elsewhere"),
        ("/etc/passwd", "no relative path"),
        ("//host/x", "no relative path"),
        ("C:x", "no relative path"),
        ("..\\x", "backslash"),
        ("a\0b", "NUL"),
        ("", "empty or longer"),
        ("x" * 513, "empty or longer"),
        ("x" * 65_000, "empty or longer"),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused_wherever_it_is(name: str, words: str) -> None:
    raw, stream = name.encode(), archives.deflated(b"1")
    whole = archives.packed([(raw, stream, 1), (NAME.encode(), archives.deflated(TEXT), len(TEXT))])
    assert words in refusal(whole)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_links_and_devices_are_refused(kind: int) -> None:
    whole = archive((archives.with_mode(NAME, kind | 0o777), b"/etc/passwd"))
    assert "a link or a device" in refusal(whole)


def test_a_folder_with_a_content_is_refused() -> None:
    assert "a content" in refusal(archive((archives.with_mode("a/", stat.S_IFDIR), b"1")))
    assert "a content" in refusal(archive((archives.with_mode(NAME, stat.S_IFDIR), b"1")))


def test_a_name_that_is_there_twice_is_refused() -> None:
    assert "twice" in refusal(archive((NAME, TEXT), ("a", b""), (NAME, b"{}")))


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
    assert "more than" in told if size > 100 else "damaged" in told
    assert peak < 8 * 2**20


def test_a_bomb_within_the_limit_is_refused_by_its_ratio() -> None:
    assert "bomb" in refusal(archive((NAME, bytes(LIMIT))))


def test_an_archive_inside_is_data_like_any_other() -> None:
    inner = archive((NAME, TEXT))
    assert entry(archive((NAME, inner)), NAME, LIMIT, "it") == inner
    assert "holds no" in refusal(archive(("inner.zip", inner), method=0))


@pytest.mark.parametrize(
    "whole",
    [
        *(b"", b"PK", b"x" * 1000, GOOD[:-1], GOOD[:-30], WANTED[9:]),
        in_directory(GOOD, 0, "<L", 7),
        in_directory(WANTED, 42, "<L", 0x7FFFFFFF),
        in_directory(WANTED, 42, "<L", 1),
        in_directory(WANTED, 8, "<H", 1),
        in_header(WANTED, 30, "<H", 0x7A7A),
        *(
            archives.packed([(NAME.encode(), stream, size)], checksum=1)
            for stream, size in [
                (archives.deflated(TEXT), len(TEXT)),
                (archives.deflated(TEXT), len(TEXT) - 1),
                (archives.deflated(TEXT), len(TEXT) + 1),
                (archives.deflated(TEXT)[:-4], len(TEXT)),
                (b"\xff" * 9, 9),
            ]
        ),
    ],
)
def test_an_archive_that_is_damaged_or_encrypted_is_refused(whole: bytes) -> None:
    assert "damaged" in refusal(whole)


def test_a_content_shorter_than_it_says_is_refused() -> None:
    short = archives.packed([(NAME.encode(), archives.deflated(TEXT), len(TEXT) + 1)], crc32(TEXT))
    assert "another size" in refusal(short)


def test_another_packing_is_refused() -> None:
    assert "another way than DEFLATE" in refusal(in_directory(GOOD, 10, "<H", 12))


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
