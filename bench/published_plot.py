#!/usr/bin/env python3
"""Plot measured against modelled times of training steps, log-log, with a mark for each set.

    published_plot.py [--column predicted_s] [--title TEXT] -o FILE.svg TIMES.csv...

TIMES.csv: from peers_time.py --csv, with a column per tool (set, id, measured_s, shardsim, ...).  Standard library
only.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import csv
import math
import sys
from xml.sax.saxutils import escape

# Eight colours that colour-blind readers can distinguish (Okabe and Ito), each with a shape of its own; further sets
# pair the colours with the next shapes.
MARKS = [
    ("#0072B2", "circle"),
    ("#D55E00", "square"),
    ("#009E73", "triangle"),
    ("#CC79A7", "diamond"),
    ("#E69F00", "down"),
    ("#56B4E9", "cross"),
    ("#000000", "plus"),
    ("#8B6F00", "ring"),
]
W, H, LEFT, TOP, SIDE = 760, 560, 66, 40, 470  # the square of the plot is SIDE wide


def shape(kind, x, y, colour, r):
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" fill="{colour}"/>'
    if kind == "ring":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
    if kind == "square":
        return f'<rect x="{x - r:.1f}" y="{y - r:.1f}" width="{2 * r}" height="{2 * r}" fill="{colour}"/>'
    path = {
        "triangle": [(0, -1.2), (1.1, 0.9), (-1.1, 0.9)],
        "down": [(0, 1.2), (1.1, -0.9), (-1.1, -0.9)],
        "diamond": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
    }.get(kind)
    if path:
        return (
            '<path d="M'
            + "L".join(f"{x + a * r:.1f} {y + b * r:.1f}" for a, b in path)
            + f'Z" fill="{colour}"/>'
        )
    ends = (
        [((-1, -1), (1, 1)), ((-1, 1), (1, -1))]
        if kind == "cross"
        else [((-1.2, 0), (1.2, 0)), ((0, -1.2), (0, 1.2))]
    )
    d = "".join(
        f"M{x + a[0] * r:.1f} {y + a[1] * r:.1f}L{x + b[0] * r:.1f} {y + b[1] * r:.1f}" for a, b in ends
    )
    return f'<path d="{d}" stroke="{colour}" stroke-width="1.6" fill="none"/>'


def mark(n):
    """Colour and shape of set n: different for 16 sets; of one shape, colours that all eyes tell apart."""
    return MARKS[n % 8][0], MARKS[(n + n // 8 * 4) % 8][1]


def time_text(t):
    return f"{t * 1e3:g} ms" if t < 1 else f"{t:g} s"


def read(files, column):
    """Pairs of measured and modelled seconds, by set."""
    sets = {}
    for name in files:
        with open(name, newline="", encoding="utf-8") as f:
            for row in csv.DictReader(f):
                if row.get(column):
                    pair = float(row["measured_s"]), float(row[column])
                    sets.setdefault(row["set"], []).append(pair)
    return sets


class Scale:
    """The logarithmic square; both axes go from `low` to `high`, powers of ten in half decades."""

    def __init__(self, sets):
        logs = [math.log10(t) for pairs in sets.values() for pair in pairs for t in pair]
        self.low, self.high = math.floor(min(logs) * 2) / 2, math.ceil(max(logs) * 2) / 2

    def _along(self, t):
        return (math.log10(t) - self.low) / (self.high - self.low) * SIDE

    def point(self, measured, modelled):
        return LEFT + self._along(measured), TOP + SIDE - self._along(modelled)

    def decades(self):
        return [10.0**d for d in range(math.ceil(self.low), math.floor(self.high) + 1)]

    def path(self, *points):
        return "M" + "L".join("{:.1f} {:.1f}".format(*self.point(*p)) for p in points)


def grid(scale):
    """The band within 10 %, lines at 1, 2 and 5, and the diagonal."""
    lo, hi = 10**scale.low, 10**scale.high
    band = scale.path((lo, lo * 1.1), (hi, hi * 1.1), (hi, hi / 1.1), (lo, lo / 1.1))
    yield f'<path d="{band}Z" fill="#e8e8e8"/>'
    for decade in [scale.decades()[0] / 10, *scale.decades()]:
        for t in (decade, 2 * decade, 5 * decade):
            if lo <= t <= hi:
                grey = "#bbb" if t == decade else "#e6e6e6"
                lines = scale.path((t, lo), (t, hi)) + scale.path((lo, t), (hi, t))
                yield f'<path d="{lines}" stroke="{grey}" stroke-width=".6"/>'
    yield f'<path d="{scale.path((lo, lo), (hi, hi))}" stroke="#555"/>'


def marks(sets, scale, marked):
    """The largest set below the others."""
    for name in sorted(sets, key=lambda s: -len(sets[s])):
        n = len(sets[name])
        opacity, radius = (0.5, 2.2) if n > 300 else (0.6, 3.4) if n > 50 else (0.95, 3.4)
        colour, kind = marked[name]
        drawn = "".join(shape(kind, *scale.point(*pair), colour, radius) for pair in sets[name])
        yield f'<g opacity="{opacity}">{drawn}</g>'


def axes(scale):
    yield f'<rect x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#555"/>'
    for t in scale.decades():
        x, y = scale.point(t, t)
        yield f'<text x="{x:.1f}" y="{TOP + SIDE + 16}" text-anchor="middle">{time_text(t)}</text>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{time_text(t)}</text>'
    yield f'<text x="{LEFT + SIDE / 2}" y="{TOP + SIDE + 38}" text-anchor="middle">measured</text>'
    turned = f"translate(16 {TOP + SIDE / 2}) rotate(-90)"
    yield f'<text transform="{turned}" text-anchor="middle">modelled</text>'


def legend(sets, marked):
    x, y = LEFT + SIDE + 22, TOP + 14
    yield f'<text x="{x + 14}" y="{y}" fill="#555">set, rows, mean error</text>'
    for name in sorted(sets):
        y += 22
        error = 100 * sum(abs(p / m - 1) for m, p in sets[name]) / len(sets[name])
        yield shape(marked[name][1], x, y - 4, marked[name][0], 4)
        yield f'<text x="{x + 14}" y="{y}">{escape(name)}, {len(sets[name])}, {error:.1f} %</text>'
    yield f'<rect x="{x - 6}" y="{y + 16}" width="12" height="12" fill="#e8e8e8"/>'
    yield f'<text x="{x + 14}" y="{y + 26}" fill="#555">within 10 %</text>'


def picture(sets, title):
    scale = Scale(sets)
    marked = {name: mark(n) for n, name in enumerate(sorted(sets))}
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{W}" height="{H}" viewBox="0 0 {W} {H}" '
        'font-family="sans-serif" font-size="12" fill="#222">'
    )
    yield f'<title>{escape(title)}</title><rect width="{W}" height="{H}" fill="#fff"/>'
    yield f'<text x="{LEFT}" y="24" font-size="15">{escape(title)}</text>'
    square = f'<rect x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}"/>'
    yield f'<clipPath id="in">{square}</clipPath><g clip-path="url(#in)">'
    yield from grid(scale)
    yield from marks(sets, scale, marked)
    yield "</g>"
    yield from axes(scale)
    yield from legend(sets, marked)
    yield "</svg>"


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--column", default="shardsim")
    ap.add_argument("--title", default="A step of training, measured and modelled")
    ap.add_argument("-o", required=True)
    ap.add_argument("files", nargs="+")
    a = ap.parse_args()
    sets = read(a.files, a.column)
    if not sets:
        sys.exit(f"no row has a figure in column {a.column}")
    with open(a.o, "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for line in picture(sets, a.title))


if __name__ == "__main__":
    main()
