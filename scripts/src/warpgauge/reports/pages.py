# SPDX-License-Identifier: Apache-2.0
"""Our pages, made from `templates`: the one style of all, and the pages of the nightly site. Pure.

All text is inert and escaped, and a policy in each page allows only its own style and script.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from markupsafe import Markup, escape
from rich.cells import cell_len, set_cell_size

from warpgauge.records.counters import speed
from warpgauge.records.model import by_family
from warpgauge.records.sessions import newest_last
from warpgauge.system import text

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def style() -> str:
    """Return the one stylesheet of all pages and pictures.

    Its colours are for light and dark paper, and colour-blind readers can tell those of series
    apart (Okabe, Ito).
    """
    return Path(__file__).with_name("report.css").read_text(encoding="utf-8")


@cache
def templates() -> Environment:
    """Return the templates, whose texts are escaped unless they are `Markup`."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # which a terminal needs not

    made = Environment(
        loader=PackageLoader("warpgauge.reports"),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else plain(str(value)),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shared = (text.duration, text.of_limit, text.percent, text.plural, text.span, speed)
    made.globals |= {its.__name__: its for its in (*shared, by_family, newest_last)}
    made.filters |= {
        "breakable": breakable,
        "anchor": anchor,
        # Of pictures: classes of `style`, numbers of pixels, and a text with no room for more.
        "wg": lambda kinds: " ".join(f"wg-{kind}" for kind in kinds.split()),
        "px": lambda pixels: Markup(f"{pixels:.2f}"),
        "on_scale": lambda change: Markup(f"{on_scale(change):.1f}"),
        "label": lambda words, longest: escape(shortened(words, longest)),
    }
    return made


def element(template: str, values: Mapping[str, object]) -> Markup:
    """Return a part of a page."""
    return Markup(templates().get_template(template).render(**values))


def render(
    template: str, title: str, values: Mapping[str, object], *, mark: str, script: str = ""
) -> str:
    """Return a page that loads nothing; `mark` tells a later run that it may replace the file.

    `values` are those of the template; texts in them are escaped unless they are `Markup`.
    """
    sources = [f"script-src {hash_of(script)}"] if script else []
    sources = ["default-src 'none'", *sources, f"style-src {hash_of(style())}"]
    policy = "; ".join([*sources, "base-uri 'none'", "form-action 'none'"])
    page = {"title": title, "mark": mark, "policy": policy, "style": Markup(style())}
    return str(element(template, {**page, "script": Markup(script), **values}))


def hash_of(content: str) -> str:
    """Return the hash that a policy uses to allow a style or a script."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def plain(words: str) -> str:
    """Return inert text of readable length, not yet escaped."""
    shown = text.inert(text.plain(text.cut(words, text.LONGEST_TEXT)))
    return text.unbroken_units(text.cut(shown, text.LONGEST_TEXT))


def shortened(words: str, longest: int) -> str:
    """Return inert text of at most `longest` letters; wide East Asian ones count as two."""
    shown = text.inert(words[: longest + 1])
    return shown if cell_len(shown) <= longest else f"{set_cell_size(shown, longest).rstrip()}…"


def on_scale(change: float) -> float:
    """Return the pixel of a change in a small picture, which is 150 pixels wide.

    The scale is linear only around zero (the inverse hyperbolic sine, of a width of 5 %), so that
    1 % and 25 % are both visible; what is farther is drawn at the edge.
    """
    share = math.asinh(change / 0.05) / math.asinh(0.25 / 0.05)
    return 75 + 71 * min(max(share, -1.0), 1.0)


def anchor(key: str) -> str:
    """Return the part of an address that names a row."""
    return quote(key, safe="/:,")


def breakable(words: str) -> Markup:
    """Return inert text that may wrap after a slash or a comma."""
    shown = escape(plain(words))
    return Markup(shown.replace("/", Markup("/<wbr>")).replace(",", Markup(",<wbr>")))


MARK = "warpgauge site"
REPORT, INDEX = "report.html", "index.html"


def of_site(title: str, **values: object) -> str:
    """Return a page of the nightly site; the template says what each kind of page shows."""
    return render("site.html", title, {"report": REPORT, **values}, mark=MARK)
