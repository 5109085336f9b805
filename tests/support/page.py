#!/usr/bin/env python3
"""Read a page of `shardsim report`: Page(path) parses it strictly, and says what it holds.

SPDX-License-Identifier: Apache-2.0
"""

import html.parser

VOID = {"meta", "link", "input", "br", "img", "hr"}



class Node:
    def __init__(self, tag, attrs, parent):
        self.tag, self.attrs, self.parent = tag, dict(attrs), parent
        self.children, self.data = [], ""

    def walk(self):
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.walk()

    def all(self, tag, **attrs):
        return [n for n in self.walk() if n.tag == tag
                and all(n.attrs.get(k.rstrip("_")) == v for k, v in attrs.items())]

    def text(self):
        return "".join(c.text() if isinstance(c, Node) else c for c in self.children)

    def classes(self):
        return (self.attrs.get("class") or "").split()


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = self.at = Node("root", [], None)

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), ("an attribute twice", tag, attrs)
        node = Node(tag, attrs, self.at)
        self.at.children.append(node)
        if tag not in VOID:
            self.at = node

    def handle_endtag(self, tag):
        assert self.at.tag == tag, ("ends", tag, "within", self.at.tag, self.getpos())
        self.at = self.at.parent

    def handle_data(self, data):
        self.at.children.append(data)


class Page:
    def __init__(self, path):
        reader = Reader()
        with open(path, encoding="utf-8") as file:
            self.source = file.read()
        reader.feed(self.source)
        reader.close()
        assert reader.at is reader.root, ("never ended", reader.at.tag)
        self.root = reader.root
        self.strategies = [n for n in self.root.all("details")]

    def section(self, strategy, part):
        """The section of one part of a strategy's."""
        for s in self.strategies[strategy].all("section"):
            if s.attrs["aria-labelledby"].split()[0] == "%s%d" % (part, strategy + 1):
                return s
        raise KeyError(part)

    def check(self):
        """What holds of every page."""
        root = self.root
        ids = [n.attrs["id"] for n in root.walk() if "id" in n.attrs]
        assert len(ids) == len(set(ids)), "an id twice"
        assert root.all("html")[0].attrs["lang"] == "en" and len(root.all("h1")) == 1
        assert root.all("title")[0].text() and len(root.all("main")) == 1
        for node in root.walk():
            for name in ("src", "action", "data", "srcset", "poster"):
                assert name not in node.attrs, (node.tag, name)
            href = node.attrs.get("href")
            assert href is None or href.startswith("#") or href == "data:,", href
            if href and href.startswith("#"):
                assert href[1:] in ids, href
            assert all(by in ids for by in node.attrs.get("aria-labelledby", "").split()), node.attrs
            assert not any(name.startswith("on") for name in node.attrs), node.attrs
        texts = {n.attrs["id"]: n.text() for n in root.walk() if "id" in n.attrs}
        labels = [" ".join(texts[by] for by in n.attrs["aria-labelledby"].split())
                  for n in root.all("section")]
        assert len(labels) == len(set(labels)), "two sections of one name"
        style = root.all("style")[0].text()
        assert "url(" not in style.replace("url(#", "") and "@import" not in style
        assert "prefers-color-scheme: dark" in style and ":focus-visible" in style
        for table in root.all("table"):
            assert table.all("caption")[0].text()
            heads = table.all("thead")[0].all("th")
            for th in table.all("th"):
                assert th.attrs["scope"] in ("col", "row") and th.text().strip()
            for row in table.all("tbody")[0].all("tr"):
                assert len(row.all("th")) + len(row.all("td")) == len(heads)
                assert row.all("th")[0].attrs["scope"] == "row"
        for svg in root.all("svg"):
            assert svg.attrs.get("aria-hidden") == "true" or svg.attrs["role"] == "img" and svg.attrs["aria-label"]
        for node in root.walk():
            if node.attrs.get("role") == "region":
                assert node.attrs["aria-label"] and node.attrs["tabindex"] == "0"
        levels = [int(n.tag[1]) for n in root.walk() if n.tag in ("h1", "h2", "h3")]
        assert all(b <= a + 1 for a, b in zip(levels, levels[1:])), levels

    def heat(self, strategy):
        """Total and cells (row, column, bytes) of the heat map, of the table of classes, or
        of what they are folded to."""
        section = self.section(strategy, "heat")
        total = [int(n.attrs["data-total"]) for n in section.walk() if "data-total" in n.attrs]
        cells = [(0, 0, int(n.attrs["data-b"])) for n in section.all("p") if "data-b" in n.attrs]
        for r, row in enumerate(section.all("tr")[1:]):
            for c, td in enumerate(row.all("td")):
                cells.append((r, c, int(td.attrs.get("data-b", 0))))
        assert len(total) == 1
        return total[0], cells
