#!/usr/bin/env python3
"""page_links.py SOURCE UPDATE - whether links of the pages lead somewhere, and paths in backticks are links.

A relative link must lead to a file or folder that is there, and its #part to a heading of that page.  In the README,
docs/ and the README of the Python package, a path in backticks outside of code blocks, seen from the source
directory or beside the page, must be the text of a link.  UPDATE is 1 to make links of such paths instead of
complaining.

SPDX-License-Identifier: Apache-2.0
"""
import glob
import os
import re
import sys

source, update = sys.argv[1], sys.argv[2] == "1"
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
PATH = re.compile(r"(?<!\[)`(\.{0,2}[A-Za-z0-9_][A-Za-z0-9_./-]*)`")


def blank(found):
    """Keep a block's line breaks, so that later line numbers stay right."""
    return re.sub(r"[^\n]", " ", found.group())


def anchors(path):
    """The names that headings of a page get: those of GitHub, which MkDocs is told to use, too."""
    with open(path, encoding="utf-8") as f:
        text = FENCE.sub(blank, f.read())
    heads = re.findall(r"^#+ +(.*?) *$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", head).lower()).replace(" ", "-") for head in heads}


def target(page, path):
    """What a path in backticks names, from the source directory; None if it names no file or folder here."""
    places = [os.path.join(os.path.dirname(page), path)]
    if "/" in path:
        places += [path, path + ".c"] # a test in C is named without its ending
    for place in places:
        if os.path.exists(os.path.join(source, place)):
            return os.path.normpath(place)
    return None


def linked(page, text, wrong):
    """The text with a link for each path that is none yet; their places are added to wrong."""
    out, end = [], 0
    for found in PATH.finditer(FENCE.sub(blank, text)):
        path = found.group(1)
        to = target(page, path) if "/" in path or "." in path else None
        if not to or to == page or path.startswith(".git/"):
            continue
        line = text.count("\n", 0, found.start()) + 1
        wrong.append("%s:%d: `%s` is no link" % (page, line, path))
        to = os.path.relpath(to, os.path.dirname(page) or ".")
        out += [text[end:found.start()], "[`%s`](%s)" % (path, to)]
        end = found.end()
    return "".join(out) + text[end:]


def broken(page, text):
    for found in LINK.finditer(FENCE.sub(blank, text)):
        link = found.group(1) or found.group(2)
        if re.match(r"[a-z]+:", link):
            continue
        path, _, part = link.partition("#")
        path = os.path.normpath(os.path.join(source, os.path.dirname(page), path) if path else os.path.join(source, page))
        if not os.path.exists(path):
            yield "%s: there is no %s" % (page, link)
        elif part and part not in anchors(path):
            yield "%s: no heading for %s" % (page, link)


os.chdir(source)
source = "."
pages = ["README.md", "python/README.md"] + sorted(glob.glob("docs/**/*.md", recursive=True))
for_developers = ["ARCHITECTURE.md", "CONTRIBUTING.md", "NEWS.md"] # read beside the sources: paths may stay plain
complaints = []
for page in pages + for_developers:
    with open(page, encoding="utf-8") as f:
        text = f.read()
    paths = []
    new = linked(page, text, paths) if page in pages else text
    if update and new != text:
        with open(page, "w", encoding="utf-8") as f:
            f.write(new)
    complaints += list(broken(page, text)) + ([] if update else paths)
print("\n".join(complaints), end="\n" if complaints else "")
sys.exit(len(complaints) > 0 or len(pages) < 40)
