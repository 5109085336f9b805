#!/usr/bin/env python3
"""notebooks.py [-o FOLDER] [--without-answers] [PAGE...] - pages of the course as Jupyter notebooks.

Without pages: docs/lab.md and all lessons of docs/course.  A command of a ```console block is a cell of the shell,
its output is left out; a ```python block is a cell; a picture is drawn by the command below it.  Scenarios that the
commands name are written by the first cells, so that a notebook needs only the program.  What is in <details> is an
answer: hidden, or with --without-answers a cell to fill in.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import glob
import json
import os
import re

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PART = re.compile(r"^```(console|python)\n(.*?)^```\n|^!\[([^\]]*)\]\(([^)]+)\)\n+\(Made by `([^`]+)`\.\)\n|"
                  r"^<details><summary>(.*?)</summary>\n(.*?)^</details>\n", re.M | re.S)
SCENARIO = re.compile(r"\b(?:docs|scenarios)/[\w/]+\.yaml\b")

# The first cell: a kernel's PATH need not be that of the terminal, and a program inside of the package is on none.
FIRST = """import base64
import os
import shutil
import subprocess


def picture(path, alt):  # as wide as the page at the most
    from IPython.display import HTML

    with open(path, "rb") as f:
        data = base64.b64encode(f.read()).decode()
    return HTML(f'<img alt="{alt}" style="max-width: 100%" src="data:image/svg+xml;base64,{data}">')


def sh(_, commands):  # %%sh prints as the output comes, a piece at a time, which breaks words in HTML
    done = subprocess.run(["sh", "-c", commands], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout, end="")
    done.check_returncode()


if "get_ipython" in globals():
    get_ipython().register_magic_function(sh, "cell")

try:
    from shardsim import program

    os.environ["PATH"] = os.path.dirname(program.find()) + os.pathsep + os.environ["PATH"]
except Exception as error:
    print(f"{type(error).__name__}: {error}")
found = shutil.which("shardsim")
print(f"shardsim: {found}" if found else '''This notebook's kernel does not find shardsim. One of these, and then this cell again:
- %pip install the wheel of shardsim, which has the program inside;
- start Jupyter from a terminal in which `shardsim --version` works;
- run here os.environ["PATH"] += ":/FOLDER", where FOLDER is that of the program.''')"""

# For nbconvert's HTML, which folds no cell and breaks long lines inside of words; Jupyter itself leaves it out.
STYLE = """

<style>
.celltag_answer::before { content: "Point here for the answer's command and output"; margin-left: 7em; font: 14px sans-serif; }
.celltag_answer:not(:hover, :focus-within) > div { max-height: 0; overflow: hidden; }
.jp-OutputArea-output pre { white-space: pre; overflow-x: auto; }
</style>"""


def relink(found):
    """A link to a lesson leads to its notebook; one into the source directory, which may not be there, is text."""
    text, to = found.groups()
    lesson = re.fullmatch(r"(\d+_\w+)\.md(#.*)?", to)
    if lesson:
        return "[%s](%s.ipynb%s)" % (text, lesson[1], lesson[2] or "")
    return found[0] if to.startswith("http") else text


def markdown(text, answer=False):
    """A cell of text, if there is any; that of an answer is folded under the answer's summary."""
    text = re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", relink, text.strip())
    if text and answer:
        text = "<details><summary>%s</summary>\n\n%s\n\n</details>" % (answer, text)
    return [{"cell_type": "markdown", "metadata": {}, "source": text}] if text else []


def code(text, answer=False):
    metadata = {"tags": ["answer"], "jupyter": {"source_hidden": True}} if answer else {}
    return [{"cell_type": "code", "metadata": metadata, "source": text, "outputs": [], "execution_count": None}]


def commands(block, answer):
    """A cell for each line that begins with a dollar."""
    return [cell for line in block.split("\n") if line.startswith("$ ") for cell in code("%%sh\n" + line[2:], answer)]


def cells(text, with_answers, answer=False):
    out, end = [], 0
    for found in PART.finditer(text):
        language, block, alt, picture, drawn_by, summary, hidden = found.groups()
        out += markdown(text[end:found.start()], answer)
        end = found.end()
        if language == "console":
            out += commands(block, answer)
        elif language:
            out += code(block.rstrip("\n"), answer)
        elif picture:
            out += code("%%sh\n" + drawn_by) + code('picture("%s", "%s")' % (picture, alt))
        elif with_answers:
            out += cells(hidden, True, summary)
        else:
            out += code("# Your answer\n")
    return out + markdown(text[end:], answer)


def notebook(page, with_answers):
    with open(page, encoding="utf-8") as f:
        out = cells(f.read(), with_answers)
    out[0]["source"] += STYLE
    scenarios = sorted({name for cell in out if cell["cell_type"] == "code" for name in SCENARIO.findall(cell["source"])})
    setup = code(FIRST)
    if scenarios:
        folders = sorted({os.path.dirname(name) for name in scenarios})
        setup += markdown("The scenarios of this page: change them, and see what becomes of the answers.")
        setup += code("import os\n\n" + "\n".join('os.makedirs("%s", exist_ok=True)' % folder for folder in folders))
    for name in scenarios:
        with open(os.path.join(SOURCE, name), encoding="utf-8") as f:
            setup += code("%%%%writefile %s\n%s" % (name, f.read().rstrip("\n")))
    out[1:1] = setup
    for i, cell in enumerate(out):
        cell["id"] = "cell-%d" % i
        cell["source"] = cell["source"].splitlines(keepends=True)
    return {"nbformat": 4, "nbformat_minor": 5, "cells": out, "metadata": {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"}}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0].split(" - ")[1])
    parser.add_argument("-o", "--output", default="notebooks", help="the folder for the notebooks (notebooks)")
    parser.add_argument("--without-answers", action="store_true", help="for a class: answers are cells to fill in")
    parser.add_argument("pages", nargs="*", help="pages; if none, the lab and all lessons")
    args = parser.parse_args()
    pages = args.pages or [os.path.join(SOURCE, "docs/lab.md")] + sorted(glob.glob(SOURCE + "/docs/course/[0-9]*_*.md"))
    os.makedirs(args.output, exist_ok=True)
    for page in pages:
        name = os.path.splitext(os.path.basename(page))[0] + ".ipynb"
        with open(os.path.join(args.output, name), "w", encoding="utf-8") as f:
            json.dump(notebook(page, not args.without_answers), f, indent=1, ensure_ascii=False)
            f.write("\n")


main()
