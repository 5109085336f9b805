# picture.py FILE.svg...: check that each picture is well-formed, has the proportions of a slide,
# all boxes and texts on its page, and no overlapping texts; other tests use the elements of a
# picture.
#
# SPDX-License-Identifier: Apache-2.0
import re
import sys
import xml.etree.ElementTree as tree

NS = "{http://www.w3.org/2000/svg}"
# Pixels per character that a viewer with narrow fonts needs at least, to tell overlaps from
# neighbours.
WIDTHS = {"t": 7.5, "h": 6.2, "n": 5.6}


class Picture:
    """Elements of a file with their places on the page."""

    def __init__(self, path):
        self.root = tree.parse(path).getroot()
        self.left, self.top, self.width, self.height = map(float, self.root.get("viewBox").split())
        self.boxes, self.texts, self.paths = [], [], []
        self.walk(self.root, 0, 0, 1)

    def walk(self, parent, dx, dy, scale):
        for e in parent:
            if e.tag == NS + "g":
                x, y = map(float, re.search(r"translate\((\S+) (\S+)\)", e.get("transform")).groups())
                by = re.search(r"scale\((\S+)\)", e.get("transform"))
                self.walk(e, dx + x, dy + y, scale * (float(by[1]) if by else 1))
            elif e.tag == NS + "rect":
                x, y, w, h = (float(e.get(k)) for k in ("x", "y", "width", "height"))
                self.boxes.append((e, dx + x * scale, dy + y * scale, w * scale, h * scale))
            elif e.tag == NS + "text":
                style = e.get("class")
                length = len(e.text) * WIDTHS.get(style, 7.2) * scale
                x = dx + float(e.get("x")) * scale
                x -= {"middle": length / 2, "end": length}.get(e.get("text-anchor"), 0)
                y = dy + float(e.get("y")) * scale
                self.texts.append((e.text, x, y - 9 * scale, length, 10 * scale))
            elif e.tag == NS + "path":
                self.paths.append((e, dx, dy))

    def words(self):
        return [t[0] for t in self.texts]

    def styled(self, style):
        return [b for b in self.boxes if b[0].get("class") == style]

    def markers(self):
        """Markers of points, those of the legend too, with their middles."""
        for e in self.root.iter():
            if e.tag == NS + "circle":
                yield e, float(e.get("cx")), float(e.get("cy"))
            elif e.tag == NS + "path" and "m" in e.get("d"):
                x, y = e.get("d")[1:].split("m")[0].split()
                yield e, float(x), float(y)

    def on_page(self, x, y, w, h, slack=0.6):
        return (x >= self.left - slack and y >= self.top - slack and
                x + w <= self.left + self.width + slack and
                y + h <= self.top + self.height + slack)

    def check(self):
        assert self.root.tag == NS + "svg" and self.boxes and self.texts
        assert abs(self.width / self.height - 16 / 9) < 0.03, (self.width, self.height)
        for e, x, y, w, h in self.boxes:
            assert w >= 0 and h >= 0 and (e.get("class") == "p" or self.on_page(x, y, w, h)), (x, y, w, h)
        for text, *place in self.texts:
            assert self.on_page(*place), (text, place)
        # Of two texts side by side on a line, the first ends before the second begins.
        ordered = sorted(self.texts, key=lambda t: t[1])
        for i, (text, x, y, w, h) in enumerate(ordered):
            for other, ox, oy, _, oh in ordered[i + 1:]:
                if ox >= x + w:
                    break
                assert oy + oh <= y or oy >= y + h, ("on one another", text, other)


def numbered(picture):
    """How many points of a chart are named: each has a number of its own in the legend, and in
    the chart, where a text has one or those of a place, "3-5"."""
    texts = [e for e in picture.root.iter(NS + "text") if e.get("class") == "v"]
    legend = [int(e.text) for e in texts if e.get("text-anchor") == "end"]
    placed = []
    for e in texts:
        if e.get("text-anchor") != "end":
            ends = [int(n) for n in e.text.split("-")]
            placed += range(ends[0], ends[-1] + 1)
    assert legend == sorted(placed) == list(range(1, len(legend) + 1)), (legend, placed)
    return len(legend)


def outline(d):
    """Of a shape with steps the heights of its top and bottom from one x to the next: two lists
    of (x, y), by x; y holds up to the next x."""
    x, y = map(float, re.match(r"M(\S+?) ([0-9.-]+)", d).groups())
    top, bottom, side = [], [], None
    right = max(float(n) for n in re.findall(r"H([0-9.-]+)", d))
    side = top
    for command, number in re.findall(r"([HV])([0-9.-]+)", d):
        if command == "V":
            y = float(number)
        elif float(number) >= x:
            side.append((x, y))
            x = float(number)
        else:
            bottom.append((float(number), y))
            x = float(number)
    left = top[0][0]
    if not bottom or bottom[-1][0] > left:
        bottom.append((left, y))
    assert x <= right
    return top, bottom[::-1]


def at(steps, x):
    """The height at x."""
    return [y for start, y in steps if start <= x][-1]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Picture(name).check()
