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
TAG = re.compile(r"</?(\w+)[^>]*>")


def outside_code(rendered: str) -> str:
    """The text of some HTML without its code and its tags."""
    return TAG.sub(" ", re.sub(r"<code[^>]*>.*?</code>", " ", rendered, flags=re.DOTALL))
