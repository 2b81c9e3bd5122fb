# SPDX-License-Identifier: Apache-2.0
"""Formats quantities and foreign text for people."""

from __future__ import annotations

import difflib
import hashlib
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_LARGEST_QUANTITY, _LARGEST_PERCENT = 1e18, 9999
# Commands that build servers find anywhere in a line: ##[group], ##vso[…], ##teamcity[…].
_LOG_COMMAND = re.compile(r"##(?=\w*\[)")
_NOT_PLAIN = re.compile(r"[^ -~]")
# Characters that Unicode counts as letters, but that are blank: Hangul fillers, Braille, a note.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0\U0001d159")

# Most characters shown of a name, and of a sentence.
LONGEST_NAME, LONGEST_TEXT = 400, 4000
# Number of names that a list shows before it counts the rest, and characters of each.
_NAMED, _LONGEST_NAMED = 3, 120
_LONGEST_FILE_NAME = 40  # without the digest

MINUS = "\N{MINUS SIGN}"

# The space between a number and its unit.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|×|[nµm]?s|[kMGTP]?(?:B|FLOP)(?:/s)?|[kMG]?Hz|W)(?!\w))")


def inert(text: str) -> str:
    """Return `text` with escapes for whatever is invisible, or moves or covers its neighbours.

    These are control characters, ANSI sequences, combining marks, right-to-left letters, and
    characters without a glyph. ``##[`` and ``##vso[`` are escaped too, because build servers take
    them as commands anywhere in a line.
    """
    if "##" in text:
        text = _LOG_COMMAND.sub(r"#\\x23", text)
    plain = text.isascii() and text.isprintable()
    return text if plain else _NOT_PLAIN.sub(lambda found: _visible(found[0]), text)


@lru_cache(maxsize=4096)
def _visible(char: str) -> str:
    is_seen = char.isprintable() and char not in _BLANK and unicodedata.category(char)[0] != "M"
    if is_seen and unicodedata.bidirectional(char) not in ("R", "AL", "AN"):
        return char
    return char.encode("unicode_escape").decode("ascii")


def csv_cell(text: str) -> str:
    """Return `text` inert for a CSV cell, with an apostrophe before what would be a formula."""
    return f"'{inert(text)}" if text.startswith(("=", "+", "-", "@")) else inert(text)


def cut(text: str, length: int) -> str:
    """Return at most `length` characters of `text`, with an ellipsis if some are left out."""
    return text if len(text) <= length else f"{text[:length]}…"


def file_name(text: str, *identity: object) -> str:
    """Return a file name that begins like `text`, and differs for another text or identity."""
    digest = hashlib.sha256(repr((text, *identity)).encode()).hexdigest()[:8]
    slug = "-".join(re.findall(r"[\w.]+", text))[:_LONGEST_FILE_NAME].strip("-.")
    return f"{slug}-{digest}"


def foreign(text: str, longest: int = LONGEST_NAME) -> str:
    """Return text of a file for a sentence of ours: inert, cut, and between marks for `shown_as`.

    `inert` leaves no such control characters in the text itself.
    """
    return f"\x02{cut(inert(cut(text, longest)), longest)}\x03" if text else ""


def shown_as(words: str, quote: Callable[[str], str]) -> str:
    """Return our `words`, with each foreign text in them passed through `quote`."""
    return re.sub("\x02(.*?)\x03", lambda found: quote(found[1]), words)


def plain(words: str) -> str:
    """Return our words with the foreign texts in them as they are, which are inert."""
    return words.replace("\x02", "").replace("\x03", "")


def unbroken_units(words: str) -> str:
    """Return words in which no line ends between a number and its unit, for whoever shows them."""
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", words)


def clause(sentence: str) -> str:
    """Return a sentence without its full stop, as part of another one."""
    return sentence.removesuffix(".")


def quoted(value: str, limit: int = 60) -> str:
    """Return a string from a file, safe and short enough for an error message."""
    return cut(inert(f"{value[:limit]!r}"), limit)


def typed(value: str, limit: int = 60) -> str:
    """Return what the user typed, with backslashes as typed and unprintable characters escaped."""
    return f"'{cut(inert(value), limit)}'"


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """Return the nearest known name, or the known names, as the remedy of an error."""
    names = list(known)
    near = difflib.get_close_matches(wrong, names, n=1)
    if near:
        return f"did you mean '{near[0]}'?"
    return f"known are {cut(', '.join(names), 200)}" if names else "there is none"


def digits(value: float) -> str:
    """Format with four or more significant digits, no exponent: 0.6130, 32.80, 1092, 12345."""
    if value == 0.0:
        return "0"
    rounded = round(value, _decimals(value))
    # A value that rounds up to 10.000 has one more digit before the point.
    return f"{rounded:.{_decimals(rounded or value)}f}"


def _decimals(value: float) -> int:
    return min(max(3 - math.floor(math.log10(abs(value))), 0), 12)


def duration(seconds: float) -> str:
    """Format seconds in a suitable unit: ``32.80 µs``."""
    if not 1e-12 <= seconds < 1e6:
        return f"{seconds:.3g} s"
    # A value that rounds up to 1000 µs is written as 1.000 ms.
    fitting = (pair for pair in _TIME_UNITS if seconds >= pair[0] * 0.99995)
    size, unit = next(fitting, _TIME_UNITS[-1])
    return f"{digits(seconds / size)} {unit}"


def quantity(value: float, unit: str) -> str:
    """Format a rate with a decimal prefix: ``51.30 TFLOP/s``; up to 9999, bytes stay in GB/s."""
    for size, prefix in _PREFIXES:
        least = 10 * size if (prefix, unit) == ("T", "B/s") else size
        if least <= value < _LARGEST_QUANTITY:
            return f"{digits(value / size)} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def binary(value: int | float) -> str:
    """Format an int with the largest exact binary prefix (``4Ki``, ``1000``), a float as it is."""
    if isinstance(value, float):
        return f"{value!r}".removesuffix(".0")
    count, unit = value, ""
    for bigger in ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"):
        if not count or count % 1024:
            break
        count, unit = count // 1024, bigger
    return f"{count}{unit}"


def of_limit(fraction: float | None) -> str:
    """Format the fraction of the machine's limit, ``97 %``; empty if unknown."""
    return "" if fraction is None else percent(fraction, sign=False)


def percent(fraction: float, sign: bool = True) -> str:
    """Format a change, ``+5.1 %``, ``+0.03 %``, or without `sign` a size: ``3 %``."""
    return f"{percent_number(fraction, sign)} %"


def percent_number(fraction: float, sign: bool = True) -> str:
    """Format like `percent`, without the unit, for columns whose heading has it."""
    value = 100.0 * fraction
    if abs(value) >= _LARGEST_PERCENT:
        return f">{'+' if sign else ''}{_LARGEST_PERCENT}"
    if not sign:
        return f"{value:.2g}" if abs(value) < 99.5 else f"{value:.0f}"
    places = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 0.995 else 2
    text = f"{abs(value):.{places}f}"
    if float(text) == 0.0:
        return text
    return f"{MINUS if value < 0 else '+'}{text}"


def span(low: float, high: float) -> str:
    """Format an interval: ``−0.27 … +0.07 %``, or one change if both read the same."""
    if percent(low) == percent(high):
        return percent(low)
    return f"{percent_number(low)} … {percent(high)}"


def plural(count: int, noun: str, plural_noun: str = "") -> str:
    """Format a count: ``1 row``, ``2 rows``."""
    return f"{count} {noun if count == 1 else plural_noun or noun + 's'}"


def named(names: Sequence[str]) -> str:
    """Format as ``'a'`` or ``2 benchmarks ('a', 'b')``; more than three are counted. Inert."""
    shown = listed(names)
    return shown if len(names) == 1 else f"{plural(len(names), 'benchmark')} ({shown})"


def listed(names: Sequence[str]) -> str:
    """Format as ``'a', 'b'``; beyond three, the rest is counted. Inert."""
    first = ", ".join(quoted(name, _LONGEST_NAMED) for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return inert(f"{first}{more}")


def nearby(path: Path) -> Path:
    """Return the path relative to the working directory if it lies there."""
    try:
        here = Path.cwd()
    except OSError:  # the working directory was removed
        return path
    return path.relative_to(here) if path.is_relative_to(here) else path
