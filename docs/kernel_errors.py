#!/usr/bin/env python3
"""kernel_errors.py PROGRAM FOLDER page PAGE | svg - errors of the models of measured kernels.

`page` prints PAGE with its tables made anew: those between a line <!-- NAME --> and <!-- end -->.
`svg` prints the picture of errors by kind and size.  FOLDER has the clusters' files, whose lists
`measured_kernels` have the errors; the program says what their classes of sizes are (kernel.time).

SPDX-License-Identifier: Apache-2.0
"""
import glob
import json
import math
import os
import re
import statistics
import subprocess
import sys

# Of each kind with classes, sizes of a kernel, and the size with a value in each class.
KINDS = {
    "product": ({"n": 4096, "k": 4096}, "m", (1, 100, 1000, 9999)),
    "experts": ({"hidden": 4096, "inter": 1536, "topk": 8, "experts": 128}, "tokens", (1, 100, 1000, 99999)),
    "prefill": ({"batch": 1, "heads": 32, "kv_heads": 8, "head_dim": 128}, "length", (10, 100, 1000, 9999)),
    "decode": ({"length": 1000, "heads": 32, "kv_heads": 8, "head_dim": 128}, "batch", (1, 10, 100, 1000)),
    "mla_decode": ({"length": 1000, "heads": 128}, "batch", (1, 10, 100, 1000)),
    "copy": ({}, "bytes", (1000, 100000, 10**7, 10**9)),
    "all-reduce": ({"devices": 4}, "bytes", (1000, 100000, 10**7, 10**9)),
    "engine-all-reduce": ({"devices": 4}, "bytes", (1000, 100000, 10**7, 10**9)),
}
NAMED = ("dispatch", "combine", "prepare", "mla_module_prefill", "mla_module_decode", "linear")
BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
STYLE = (".p{fill:#fff}.t{font:600 13px sans-serif;fill:#1a1a1a}.n{font:11px sans-serif;fill:#333}"
         ".a{stroke:#c4c8ce;stroke-width:1}.l{stroke:#4a6a94;stroke-width:3}.m{fill:#4a6a94}"
         ".q{fill:#fff;stroke:#4a6a94;stroke-width:2}\n"
         "@media(prefers-color-scheme:dark){.p{fill:#16181c}.t{fill:#f0f0f0}.n{fill:#d0d4da}.a{stroke:#4a4f57}"
         ".l{stroke:#7f9cc4}.m{fill:#7f9cc4}.q{fill:#16181c;stroke:#7f9cc4}}")


def models(folder):
    """Of each cluster with a list its models: kernel, type, error and errors by size."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.yaml"))):
        text = open(path, encoding="utf-8").read().split("\nmeasured_kernels:\n")
        for model in text[-1].split("  - kernel: ")[1:] if len(text) > 1 else []:
            numbers = lambda key: re.search(rf"\n    {key}: \[(.*)\]\n", model)  # noqa: E731
            three = lambda t: tuple(float(v) for v in t.split(","))  # noqa: E731
            sizes = re.findall(r"\[([^]]*)\]", numbers("by_size")[1]) if numbers("by_size") else []
            found.setdefault(os.path.basename(path)[:-5], []).append(
                (model.split("\n")[0], re.search(r"\n    type: (\S+)\n", model)[1], three(numbers("error")[1]),
                 [three(s) for s in sizes]))
    return found


def classes(program):
    """Of each kind the program's words for its classes."""
    asked = [json.dumps({"id": kind, "op": "kernel.time", "in": {
        "cluster": "h100-sxm", "op": kind, "sizes": {**sizes, name: value}}})
        for kind, (sizes, name, values) in KINDS.items() for value in values]
    done = subprocess.run([program, "query"], input="\n".join(asked) + "\n", capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        found.setdefault(answer["id"], []).append(in_units(answer["out"]["error"]["of_size"]["sizes"]))
    return found


def in_units(words):
    """Round numbers of bytes in KiB, MiB or GiB."""
    if not words.startswith("bytes"):
        return words
    for unit, name in BYTES:
        words = re.sub(r"\d+", lambda m, u=unit, n=name: f"{int(m[0]) // u} {n}"  # noqa: B023
                       if int(m[0]) >= u and int(m[0]) % u == 0 else m[0], words)
    return words


def percents(error):
    return f"{100 * error[1]:.1f} / {100 * error[2]:.0f}"


def by_kind(found):
    """A row a kind and type, a column a cluster."""
    rows = [f"| kernel | type | {' | '.join(f'`{c}`' for c in found)} |", "|" + " --- |" * (2 + len(found))]
    for kind in (*KINDS, "all-gather", "reduce-scatter", "all-to-all"):
        for kernel, type_ in dict.fromkeys((m[0], m[1]) for c in found.values() for m in c):
            cells = [next((percents(m[2]) for m in c if m[:2] == (kernel, type_)), "") for c in found.values()]
            if kernel == kind:
                rows.append(f"| {kernel} | {type_} | {' | '.join(cells)} |")
    return rows


def by_size(found, names):
    """A row a kind and class: the median over clusters and types of medians and of 90th percentiles."""
    rows = ["| kernel | sizes | rows | median | 90th percentile |", "| --- | --- | --- | --- | --- |"]
    for kind, words, median, p90, n in sizes_of(found, names):
        rows.append(f"| {kind} | {words} | {n:,} | {100 * median:.1f} % | {100 * p90:.0f} % |")
    return rows


def sizes_of(found, names):
    for kind in KINDS:
        for at, words in enumerate(names[kind]):
            its = [m[3][at] for c in found.values() for m in c if m[0] == kind and m[3][at][0] > 0]
            yield (kind, words, statistics.median(e[1] for e in its), statistics.median(e[2] for e in its),
                   int(sum(e[0] for e in its)))


def named(found):
    """A row a kernel with a name, a column a cluster."""
    clusters = {c: [m for m in its if m[0] in NAMED] for c, its in found.items()}
    clusters = {c: its for c, its in clusters.items() if its}
    return by_name(clusters)


def by_name(found):
    rows = [f"| kernel | of | {' | '.join(f'`{c}`' for c in found)} |", "|" + " --- |" * (2 + len(found))]
    for kernel, name in sorted({m[:2] for c in found.values() for m in c}, key=lambda k: (NAMED.index(k[0]), k[1])):
        cells = [next((percents(m[2]) for m in c if m[:2] == (kernel, name)), "") for c in found.values()]
        rows.append(f"| {kernel} | {name} | {' | '.join(cells)} |")
    return rows


def page(text, tables):
    for name, rows in tables.items():
        text, n = re.subn(rf"(<!-- {name} -->\n).*?(<!-- end -->)",
                          lambda m, r=rows: m[1] + "\n" + "\n".join(r) + "\n\n" + m[2], text, flags=re.S)
        if n != 1:
            sys.exit(f"{n} places for the table '{name}'")
    return text


def across(error):
    """Columns of an error, from 1 to 100 % on a logarithmic axis."""
    return 290 + 470 * math.log10(max(100 * error, 1)) / 2


def svg(rows):
    out, y = [], 46
    for percent in (1, 2, 5, 10, 20, 50, 100):
        x = across(percent / 100)
        out.append(f'<path class="a" d="M{x:.1f} 34V{{bottom}}"/>'
                   f'<text class="n" x="{x:.1f}" y="28" text-anchor="middle">{percent} %</text>')
    last = None
    for kind, words, median, p90, _ in rows:
        y += 12 if last and kind != last else 0
        if kind != last:
            out.append(f'<text class="t" x="12" y="{y + 4}">{kind}</text>')
        last = kind
        out.append(f'<text class="n" x="276" y="{y + 4}" text-anchor="end">{words}</text>'
                   f'<path class="l" d="M{across(median):.1f} {y}H{across(p90):.1f}"/>'
                   f'<circle class="m" cx="{across(median):.1f}" cy="{y}" r="4"/>'
                   f'<circle class="q" cx="{across(p90):.1f}" cy="{y}" r="4"/>'
                   f'<text class="n" x="800" y="{y + 4}">{100 * median:.1f} / {100 * p90:.0f}</text>')
        y += 20
    body = "\n".join(out).replace("{bottom}", str(y - 8))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 {y + 4}">\n<style>\n{STYLE}\n</style>\n'
            f'<rect class="p" width="880" height="{y + 4}"/>\n{body}\n</svg>')


def main():
    program, folder, what, *rest = sys.argv[1:]
    found, names = models(folder), classes(program)
    if what == "svg":
        print(svg(list(sizes_of(found, names))))
    else:
        text = open(rest[0], encoding="utf-8").read()
        sys.stdout.write(page(text, {"by kind": by_kind(found), "by size": by_size(found, names), "named": named(found)}))


if __name__ == "__main__":
    main()
