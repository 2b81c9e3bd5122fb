# SPDX-License-Identifier: Apache-2.0
"""Foreign text in Markdown, inert on GitHub and in any other renderer.

Everything that could mean something stands in a code span. In it CommonMark takes no character for
markup, and GitHub looks for no mention, reference, commit, address, emoji or formula; there is no
other place where it promises both.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from warpgauge.system.text import LONGEST_TEXT, cut, inert

# Longer than any name or sentence that is meant to be read.
_LONGEST_CODE = 300
_LONGEST_PROSE = 600
# For our own sentences, which may contain names.
OUR_OWN = LONGEST_TEXT

# Names of so many characters stay whole in a narrow table, and in a paragraph, whose lines
# break before them; where longer ones may break.
IN_CELL = 16
IN_PARAGRAPH = 40
_BREAKS = ("/", ":_<,(")

# What a person would take for a word or a number: no other token is left outside of a code span.
_WORD = re.compile(
    r"[(\"“‘]*[−+±]?[^\W_]+(?:[.,'’–−-][^\W_]+)*%?[)\"”’.,;:!?…%]*"
    r"|[→·–—−…=×±%][)\"”’.,;:!?]*"
)
# Parts of words that GitHub makes a link of: www.…, the hash of a commit, GH-1 and the like.
_LINKED = re.compile(
    r"www\.|(?<![a-z0-9])(?:[0-9a-f]{7,40}(?![a-z0-9])|[a-z0-9]*[a-z][a-z0-9]*-\d)", re.IGNORECASE
)
# An address that Markdown takes as it is: nothing in it ends the link, or begins something else.
ADDRESS = re.compile(r"https://[A-Za-z0-9./:_~#-]+")
# What would begin a numbered list, or underline the line above.
_BEGINS_BLOCK = re.compile(r"\d+[.)]|=+")


def code(text: str) -> str:
    """`text` as a code span; control characters are written as escapes, a long one is cut.

    Empty for empty text.
    """
    shown = cut(inert(text), _LONGEST_CODE)
    if not shown:
        return ""
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    # A backtick needs a space beside it, and a renderer strips one from either end of what is not
    # spaces only.
    pad = " " if shown.strip(" ") and (shown[0] in " `" or shown[-1] in " `") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def breakable(text: str, whole: int = IN_CELL) -> str:
    """`text` as `code` that a narrow column may break: at spaces, and within what is longer.

    That is broken behind slashes first, near the middle. What has `whole` characters or fewer stays
    so: a table would not fit on a page if no name broke. Copied or searched for, the text is whole.
    """
    text = inert(text)
    if max(map(len, text.split(" "))) <= whole:
        return code(text)
    places = ([at + 1 for at, char in enumerate(text[:-1]) if char in signs] for signs in _BREAKS)
    ends = next(filter(None, places), range(1, len(text)))
    middle = min(ends, key=lambda at: abs(2 * at - len(text)))
    return f"{breakable(text[:middle], whole)}<wbr>{breakable(text[middle:], whole)}"


def in_sentence(text: str) -> str:
    """`text` within our own words: a code span that a line of a paragraph may break."""
    return breakable(text, IN_PARAGRAPH)


def link(shown: str, url: str) -> str:
    """`shown`, which is Markdown, as a link; empty where `url` is not a plain address."""
    return f"[{shown}]({url})" if ADDRESS.fullmatch(url) else ""


def name(text: str, url: str = "", whole: int = IN_CELL) -> str:
    """A benchmark's, which leads to `url` where that is an address."""
    shown = breakable(cut(inert(text), _LONGEST_CODE), whole)
    return link(shown, url) or shown


def prose(text: str, longest: int = _LONGEST_PROSE) -> str:
    """A sentence: its words as they are, whatever else is in it as code spans (`breakable`)."""
    words = cut(inert(" ".join(text.split())), longest).split()
    tokens = [cut(word, _LONGEST_CODE) for word in words]
    parts = []
    for is_word, group in groupby(enumerate(tokens), lambda numbered: _is_word(*numbered)):
        part = " ".join(token for _, token in group)
        if not is_word:  # without the comma or full stop of the sentence that it stands in
            end = len(part) - (len(part) > 1 and part[-1] in ",.;")
            part = f"{in_sentence(part[:end])}{part[end:]}"
        parts.append(part)
    return " ".join(parts)


def _is_word(index: int, token: str) -> bool:
    if index == 0 and _BEGINS_BLOCK.fullmatch(token):
        return False
    return _WORD.fullmatch(token) is not None and _LINKED.search(token) is None


def unbroken(words: str) -> str:
    """Our own words on one line, whatever the width of a column."""
    return words.replace(" ", "\N{NO-BREAK SPACE}")


def summary(name: str, words: str) -> str:
    """The visible line of a folded part, which is HTML: a foreign `name`, then our own words."""
    foreign = f"<code>{html.escape(cut(inert(name), _LONGEST_CODE))}</code>" if name else ""
    return f"<summary>{foreign}{html.escape(words)}</summary>"


def table_row(cells: Iterable[str]) -> str:
    """One line of a table; a bar in a cell is escaped, as GitHub asks for it in code spans too."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def table_head(headings: Sequence[str], numbers: Sequence[int] = ()) -> str:
    """The first two lines of a table; the columns counted in `numbers` align to the right."""
    rules = ("--:" if index in numbers else ":--" for index in range(len(headings)))
    return f"{table_row(headings)}\n{table_row(rules)}\n"
