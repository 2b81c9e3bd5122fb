# SPDX-License-Identifier: Apache-2.0
"""Foreign text in Markdown, inert on GitHub and in any other renderer.

Whatever could have a meaning is put into a code span. There, CommonMark recognises no markup, and
GitHub no mention, reference, commit, address, emoji or formula; no other construct guarantees both.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from warpgauge.system.text import LONGEST_TEXT, cut, inert, unbroken_units

# Longer than any name or sentence meant for reading.
_LONGEST_CODE = 300
_LONGEST_PROSE = 600
# For our own sentences, which may contain names.
OUR_OWN = LONGEST_TEXT

# What reads as a word or a number. Any other token is put into a code span.
_WORD = re.compile(
    r"[(\"“‘]*[−+±]?[^\W_]+(?:[.,'’–−-][^\W_]+)*%?[)\"”’.,;:!?…%]*"
    r"|[→·–—−…=×±%][)\"”’.,;:!?]*"
)
# Parts of words that GitHub turns into links: www.…, the hash of a commit, GH-1 and the like.
_LINKED = re.compile(
    r"www\.|(?<![a-z0-9])(?:[0-9a-f]{7,40}(?![a-z0-9])|[a-z0-9]*[a-z][a-z0-9]*-\d)", re.IGNORECASE
)
# An address that Markdown accepts literally: nothing in it ends the link or begins other markup.
ADDRESS = re.compile(r"https://[A-Za-z0-9./:_~#-]+")
# Tokens that would begin a numbered list, or underline the line above.
_BEGINS_BLOCK = re.compile(r"\d+[.)]|=+")


def code(text: str, longest: int = _LONGEST_CODE) -> str:
    """Return `text` as one code span, with control characters escaped, and cut if long.

    Return "" for empty text.
    """
    shown = cut(inert(text), longest)
    if not shown:
        return ""
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    # A backtick at an end needs a space beside it. A renderer strips one space from both ends
    # unless the text is only spaces.
    pad = " " if shown.strip(" ") and (shown[0] in " `" or shown[-1] in " `") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def link(shown: str, url: str) -> str:
    """Return `shown`, which is Markdown, as a link, or "" if `url` is not a plain address."""
    return f"[{shown}]({url})" if ADDRESS.fullmatch(url) else ""


def name(text: str, url: str = "") -> str:
    """Return a benchmark's name, whole, linked to `url` if that is an address."""
    return link(code(text), url) or code(text)


def prose(text: str, longest: int = _LONGEST_PROSE) -> str:
    """Return a sentence: its words as they are, anything else in code spans."""
    words = cut(inert(" ".join(text.split())), longest).split()
    tokens = [cut(word, _LONGEST_CODE) for word in words]
    parts = []
    for is_word, group in groupby(enumerate(tokens), lambda numbered: _is_word(*numbered)):
        part = " ".join(token for _, token in group)
        if not is_word:  # without the sentence's punctuation after it
            end = len(part) - (len(part) > 1 and part[-1] in ",.;")
            part = f"{code(part[:end], longest)}{part[end:]}"
        parts.append(part)
    return " ".join(parts)


def _is_word(index: int, token: str) -> bool:
    if index == 0 and _BEGINS_BLOCK.fullmatch(token):
        return False
    return _WORD.fullmatch(token) is not None and _LINKED.search(token) is None


# A code span or a block of code, which stays as it is, or what lies between these.
_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|[^`]+", re.DOTALL)


def finished(markdown: str) -> str:
    """Return a whole text in which no line ends between a number and its unit."""
    return _CODE.sub(lambda part: part[0] if part[1] else unbroken_units(part[0]), markdown)


def summary(words: str) -> str:
    """Return the visible line of a folded part, in HTML."""
    return f"<summary>{html.escape(words)}</summary>"


def table_row(cells: Iterable[str]) -> str:
    """Return one line of a table; bars in cells are escaped, as GitHub requires even in code."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def table_head(headings: Sequence[str], numbers: Sequence[int] = ()) -> str:
    """Return the first two lines of a table; the columns in `numbers` align to the right."""
    rules = ("--:" if index in numbers else ":--" for index in range(len(headings)))
    return f"{table_row(headings)}\n{table_row(rules)}\n"
