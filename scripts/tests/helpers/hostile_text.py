# SPDX-License-Identifier: Apache-2.0
"""Text that means something to Markdown or to GitHub, and what is left of it once rendered."""

from __future__ import annotations

import re

from hypothesis import strategies as st
from markdown_it import MarkdownIt

RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])

# What GitHub makes something of where it stands outside of a code span.
ALIVE = re.compile(
    r"@|#\d|GH-\d|://|www\.|:\w+:|\$|\b[0-9a-f]{7,40}\b|<|&(?!lt;|gt;|quot;|amp;)", re.IGNORECASE
)
HOSTILE = st.text(
    st.one_of(
        st.sampled_from("`|\\*_[]()<>!@#$&;:~^-+=.\n\r\t \u202e\u200bGHw1a/"), st.characters()
    ),
    max_size=60,
)
TEXTS = [
    "@warp/maintainers #1 GH-2 https://evil.example www.evil.example",
    "</code></td><script>alert(1)</script><img src=x onerror=alert(1)>",
    "](https://evil.example) ![x](https://evil.example/x.png) `` ` | \\|",
    "<!-- warpgauge comparison -->\n\n# All is well\r\n- [x] done",
    "\n```\n<script>x</script>\n~~~\n'; echo $(id) `id` #",
    "gemm\u202e\u2066/dellit\u200b\ufeff",
    "\U0001f600\x1b[31m##[group]",
    "x" * 4000,
]
TAG = re.compile(r"</?(\w+)[^>]*>")


def outside_code(rendered: str) -> str:
    """The text of some HTML without its code and its tags."""
    return TAG.sub(" ", re.sub(r"<code[^>]*>.*?</code>", " ", rendered, flags=re.DOTALL))


def require_harmless(body: str, links: int) -> None:
    """Fail unless GitHub renders a comment without others' markup, and with so many links."""
    rendered = RENDERER.render(body)
    assert "<script" not in rendered
    assert "<img" not in rendered
    assert rendered.count("<a ") == links
    ours = body.partition("\n\n")[2]
    assert not ALIVE.search(outside_code(RENDERER.render(ours)))
    assert all(char.isprintable() or char == "\n" for char in body.replace("\xa0", " "))
