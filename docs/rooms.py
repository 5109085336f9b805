#!/usr/bin/env python3
"""Draw the rooms of sim and interop and their includes from sim/LAYERS: a room stands on the rooms below it.

    rooms.py LAYERS ARCHITECTURE.md > docs/rooms.svg

An arrow is left out if a longer path of arrows leads to the same room.  The words in a room are the begin of its
row in ARCHITECTURE.md; rooms of interop have a colour of their own.  tests/pages/readme.sh compares docs/rooms.svg with this script's output.

SPDX-License-Identifier: Apache-2.0
"""
import html
import os
import re
import sys

WIDTH, ROW, BOX, GAP = 1000, 92, 46, 14
STYLE = """<style>
.p{fill:#fff}.r{fill:#e8f0fa;stroke:#4a6a94}.o{fill:#faf0e0;stroke:#94744a}.t{font:600 13px sans-serif;fill:#1a1a1a}
.n{font:10px sans-serif;fill:#444}.a{fill:none;stroke:#8a93a0;stroke-width:1.1}
@media(prefers-color-scheme:dark){.p{fill:#16181c}.r{fill:#22324a;stroke:#7f9cc4}.o{fill:#44341c;stroke:#c4a47f}.t{fill:#f0f0f0}.n{fill:#c4c8ce}.a{stroke:#7a828e}}
</style>"""


def rooms_of(path):
    rooms = {}
    for line in open(path, encoding="utf-8"):
        head, colon, below = line.split("#")[0].partition(":")
        name = head.split(" ")[0]
        if colon and not name.startswith("lib") and name != "main":
            rooms[name] = {room for room in below.split() if not room.startswith("lib/")}
    return rooms


def words_of(path):
    words = {}
    for line in open(path, encoding="utf-8"):
        row = re.match(r"\| ((?:`[a-z]+`(?:, )?)+) \| ([^|;,:(]*)", line)
        for name in re.findall(r"`([a-z]+)`", row[1]) if row else ():
            words[name] = row[2].replace("`", "").strip()
    return words


def reach(rooms):
    """The rooms on which each room stands, directly or through others."""
    all_below = {}
    for name, below in rooms.items(): # rooms below come first
        all_below[name] = below.union(*(all_below[other] for other in below))
    return all_below


def rows_of(rooms, arrows):
    """Rooms by how far they are from the ground, in an order that keeps arrows short."""
    depth = {}
    for name, below in rooms.items():
        depth[name] = 1 + max((depth[other] for other in below), default=-1)
    rows = [[name for name in rooms if depth[name] == d] for d in range(max(depth.values()) + 1)]
    for turn in range(24):
        place = {name: (i + 0.5) / len(row) for row in rows for i, name in enumerate(row)}
        for row in rows if turn % 2 == 0 else rows[::-1]:
            near = {name: [place[b] for a, b in arrows if a == name] + [place[a] for a, b in arrows if b == name] for name in row}
            row.sort(key=lambda name: (sum(near[name]) / len(near[name]) if near[name] else 0.5, name))
    return rows


def lines_of(text, most):
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= most:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines[:2]


def main():
    rooms, words = rooms_of(sys.argv[1]), words_of(sys.argv[2])
    interop = os.path.join(os.path.dirname(sys.argv[1]), "..", "interop")
    below = reach(rooms)
    arrows = [(a, b) for a in rooms for b in sorted(rooms[a]) if not any(b in below[c] for c in rooms[a])]
    rows = rows_of(rooms, arrows)
    height = ROW * len(rows)
    middle, half = {}, {}
    for d, row in enumerate(rows):
        wide = min(150, WIDTH / len(row) - GAP)
        for i, name in enumerate(row):
            middle[name] = ((i + 0.5) * WIDTH / len(row), height - ROW * (d + 0.5))
            half[name] = wide / 2
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d">' % (WIDTH, height), STYLE,
           '<rect class="p" width="%d" height="%d"/>' % (WIDTH, height)]
    for a, b in arrows:
        (x, y), (to_x, to_y) = middle[a], middle[b]
        y, to_y = y + BOX / 2, to_y - BOX / 2
        bend = (to_y - y) / 2
        out.append('<path class="a" d="M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f"/>' % (x, y, x, y + bend, to_x, to_y - bend, to_x, to_y))
    for name, (x, y) in middle.items():
        building = "o" if os.path.isdir(os.path.join(interop, name)) else "r"
        out.append('<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%d" rx="5"/>' % (building, x - half[name], y - BOX / 2, 2 * half[name], BOX))
        lines = lines_of(words.get(name, ""), int(half[name] / 2.6))
        out.append('<text class="t" x="%.1f" y="%.1f" text-anchor="middle">%s</text>' % (x, y - (6 if lines[0] else -4), name))
        for i, line in enumerate(lines):
            out.append('<text class="n" x="%.1f" y="%.1f" text-anchor="middle">%s</text>' % (x, y + 7 + 11 * i, html.escape(line)))
    print("\n".join(out + ["</svg>"]))


main()
