# SPDX-License-Identifier: Apache-2.0
"""How quantities and foreign text are written for people."""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_LARGEST_QUANTITY, _LARGEST_PERCENT = 1e18, 9999
# What a build server reads out of a log, anywhere in a line: ##[group], ##vso[…], ##teamcity[…].
_LOG_COMMAND = re.compile(r"##(?=\w*\[)")
_NOT_PLAIN = re.compile(r"[^ -~]")
# Fillers of Hangul, the empty cell of Braille and a note without a head: letters, for Unicode.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0\U0001d159")

# Characters of a name that somebody chose, and of a sentence that is meant to be read.
LONGEST_NAME, LONGEST_TEXT = 400, 4000
# Names that a note lists before it counts the rest, and characters of each.
_NAMED, _LONGEST_NAMED = 3, 120

_MINUS = "\N{MINUS SIGN}"


def inert(text: str) -> str:
    """`text` with whatever is not seen, or moves or covers its neighbours, written as escapes.

    That is control characters and ANSI sequences; marks that combine, letters that are written from
    right to left, and what no font shows. So are ``##[`` and ``##vso[``, which build servers take
    for a command anywhere in a line.
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


def cut(text: str, length: int) -> str:
    """At most so many characters of `text`, and a sign where some are left out."""
    return text if len(text) <= length else f"{text[:length]}…"


def clause(sentence: str) -> str:
    """A sentence as the end of another one: without its full stop."""
    return sentence.removesuffix(".")


def quoted(value: str, limit: int = 60) -> str:
    """A string out of a file, safe and short enough for the sentence of an error."""
    return cut(inert(f"{value[:limit]!r}"), limit)


def typed(value: str, limit: int = 60) -> str:
    """What the user typed, as it was typed: a backslash stays one. Only what prints is shown."""
    return f"'{cut(inert(value), limit)}'"


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """What may have been meant by `wrong`, or what is known, as the remedy of a sentence."""
    names = list(known)
    near = difflib.get_close_matches(wrong, names, n=1, cutoff=0.5)
    if near:
        return f"did you mean '{near[0]}'?"
    return f"known are {cut(', '.join(names), 200)}" if names else "there is none"


def digits(value: float) -> str:
    """Four significant digits or more, never in exponent form: 0.6130, 32.80, 1092, 12345."""
    if value == 0.0:
        return "0"
    rounded = round(value, _decimals(value))
    # What rounds up to 10.000 has one digit more before the point.
    return f"{rounded:.{_decimals(rounded or value)}f}"


def _decimals(value: float) -> int:
    return min(max(3 - math.floor(math.log10(abs(value))), 0), 12)


def duration(seconds: float) -> str:
    """Seconds in the unit a person would choose: ``32.80 µs``."""
    if not 1e-12 <= seconds < 1e6:
        return f"{seconds:.3g} s"
    # What rounds up to 1000 µs is written 1.000 ms.
    fitting = (pair for pair in _TIME_UNITS if seconds >= pair[0] * 0.99995)
    size, unit = next(fitting, _TIME_UNITS[-1])
    return f"{digits(seconds / size)} {unit}"


def signed_duration(seconds: float) -> str:
    """A difference of times: ``+12.30 ns``."""
    sign = "" if seconds == 0.0 else _MINUS if seconds < 0 else "+"
    return f"{sign}{duration(abs(seconds))}"


def quantity(value: float, unit: str) -> str:
    """A rate with a decimal prefix: ``51.30 TFLOP/s``; bandwidth stays in GB/s up to 9999."""
    for size, prefix in _PREFIXES:
        least = 10 * size if (prefix, unit) == ("T", "B/s") else size
        if least <= value < _LARGEST_QUANTITY:
            return f"{digits(value / size)} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def binary(value: int) -> str:
    """A whole number as a person writes a size: ``4Ki``, ``64Mi``, ``1000``."""
    count, unit = value, ""
    for bigger in ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"):
        if not count or count % 1024:
            break
        count, unit = count // 1024, bigger
    return f"{count}{unit}"


def of_limit(fraction: float | None) -> str:
    """The achieved share of what the machine can do, ``97 %``; nothing where it is unknown."""
    return "" if fraction is None else percent(fraction, sign=False)


def percent(fraction: float, sign: bool = True) -> str:
    """A change as a person writes it: ``+5.1 %``, ``+0.03 %``; a size without `sign`: ``3 %``."""
    return f"{percent_number(fraction, sign)} %"


def percent_number(fraction: float, sign: bool = True) -> str:
    """`percent` without its unit, for columns whose heading carries it."""
    value = 100.0 * fraction
    if abs(value) >= _LARGEST_PERCENT:
        return f">{'+' if sign else ''}{_LARGEST_PERCENT}"
    if not sign:
        return f"{value:.2g}" if abs(value) < 99.5 else f"{value:.0f}"
    places = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 0.995 else 2
    text = f"{abs(value):.{places}f}"
    if float(text) == 0.0:
        return text
    return f"{_MINUS if value < 0 else '+'}{text}"


def span(low: float, high: float) -> str:
    """Two changes and what lies between: ``−0.27 … +0.07 %``; one where they read the same."""
    if percent(low) == percent(high):
        return percent(low)
    return f"{percent_number(low)} … {percent(high)}"


def plural(count: int, noun: str, plural_noun: str = "") -> str:
    """``1 row``, ``2 rows``."""
    return f"{count} {noun if count == 1 else plural_noun or noun + 's'}"


def named(names: Sequence[str]) -> str:
    """``'a'``; ``2 benchmarks ('a', 'b')``; beyond three the rest is counted. Inert."""
    shown = listed(names)
    return shown if len(names) == 1 else f"{plural(len(names), 'benchmark')} ({shown})"


def listed(names: Sequence[str]) -> str:
    """``'a', 'b'``; beyond three the rest is counted. Inert."""
    first = ", ".join(quoted(name, _LONGEST_NAMED) for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return inert(f"{first}{more}")
