# SPDX-License-Identifier: Apache-2.0
"""A picture read back: its shapes by class, its frame, and where its texts lie."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from itertools import combinations

from rich.cells import cell_len

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {"svg", "style", "rect", "circle", "path", "polyline", "polygon", "text", "title", "a"}
LETTER, HEIGHT = 7.3, 11.0  # of the widest font of one width that a browser may have

Corner = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom


class Drawn:
    """An element as `drawn` makes it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.document = ElementTree.fromstring(text)
        self.width, self.height = (float(self.document.attrib[key]) for key in ("width", "height"))
        (frame,) = self.elements("rect", "frame")
        x, y, width, height = (float(frame.attrib[key]) for key in ("x", "y", "width", "height"))
        self.left, self.right, self.top, self.bottom = x, x + width, y, y + height

    def elements(self, tag: str, kind: str) -> list[ElementTree.Element]:
        found = self.document.iter(f"{SVG}{tag}")
        return [one for one in found if f"wg-{kind}" in one.attrib.get("class", "").split()]

    def shapes(self, tag: str, kind: str) -> list[list[Corner]]:
        """Their corners, but for the samples in a legend right of the frame."""
        found = [corners(one) for one in self.elements(tag, kind)]
        return [one for one in found if one[0][0] <= self.right]

    def marks(self, kind: str) -> list[Corner]:
        """The middles of those in the frame."""
        found = [place(one) for one in self.elements("path", kind) if "transform" in one.attrib]
        circles = self.elements("circle", kind)
        found += [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in circles]
        return [(x, y) for x, y in found if x <= self.right and y >= self.top]

    def texts(self) -> list[str]:
        return [one.text or "" for one in self.document.iter(f"{SVG}text")]

    def tooltips(self) -> list[str]:
        return [one.text or "" for one in self.document.iter(f"{SVG}title")]

    def holds(self, corner: Corner) -> bool:
        x, y = corner
        return self.left <= x <= self.right and self.top <= y <= self.bottom

    def boxes(self) -> Iterator[tuple[str, Box]]:
        """Where each text lies; what is turned is turned about its own place."""
        for one in self.document.iter(f"{SVG}text"):
            words = one.text or ""
            x, y = float(one.attrib["x"]), float(one.attrib["y"])
            kinds = one.attrib["class"].split()
            share = 1.0 if "wg-end" in kinds else 0.5 if "wg-middle" in kinds else 0.0
            length = LETTER * cell_len(words)
            if "rotate(-90" in one.attrib.get("transform", ""):
                yield words, (x - HEIGHT, y - length * share, x, y + length * (1 - share))
            elif "transform" not in one.attrib:
                left = x - length * share
                yield words, (left, y - 0.8 * HEIGHT, left + length, y + 0.2 * HEIGHT)

    def assert_tidy(self) -> None:
        """Every text lies in the picture, and on no other."""
        boxes = list(self.boxes())
        for words, (left, top, right, bottom) in boxes:
            assert min(left, top) >= 0, words
            assert right <= self.width, words
            assert bottom <= self.height, words
        for (words, one), (others, other) in combinations(boxes, 2):
            apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1]
            assert apart or other[3] <= one[1], (words, others)

    def assert_inert(self) -> None:
        """It is shapes and texts, calls nobody, names nothing, and leaves the page as it is."""
        names = {one.tag.removeprefix(SVG) for one in self.document.iter()}
        assert names <= TAGS - {"style"}
        known = {"class", "viewBox", "width", "height", "role", "aria-label", "points"}
        known |= set("x y d transform x1 y1 cx cy r href".split())
        for one in self.document.iter():
            assert one.attrib.keys() <= known
            assert one.attrib.get("href", "#").startswith("#")  # of the page itself
            assert all(kind.startswith("wg-") for kind in one.attrib.get("class", "").split())
        assert all(text.isprintable() for text in [*self.texts(), *self.tooltips()])
        assert self.document.attrib["aria-label"].isprintable()


def corners(element: ElementTree.Element) -> list[Corner]:
    pairs = [point.split(",") for point in element.attrib["points"].split()]
    return [(float(x), float(y)) for x, y in pairs]


def place(element: ElementTree.Element) -> Corner:
    found = re.fullmatch(r"translate\(([\d.-]+),([\d.-]+)\)", element.attrib["transform"])
    assert found is not None
    return float(found[1]), float(found[2])


def box(element: ElementTree.Element) -> Box:
    x, y, width, height = (float(element.attrib[key]) for key in ("x", "y", "width", "height"))
    return x, y, x + width, y + height
