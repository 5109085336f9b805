#!/usr/bin/env python3
"""pages.py SOURCE BUILD SHARDSIM - the pages of the site and its configuration, in BUILD/site.

Pages have the paths that they have in the source directory, so that their links lead on.  What a page links to comes
along: other pages, pictures, and sources as pages with their text.  Made here are the manual (mandoc), what the
program says of options, figures and functions, and the C reference from the comments of the public headers.

SPDX-License-Identifier: Apache-2.0
"""
import glob
import os
import re
import shutil
import subprocess
import sys

from c_reference import header_page

source, build, program = map(os.path.abspath, sys.argv[1:])
site = os.path.join(build, "site")
pages = os.path.join(site, "pages")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
PICTURE = re.compile(r"<picture>.*?srcset=\"([^\"]+)\".*?alt=\"([^\"]+)\" src=\"([^\"]+)\".*?</picture>", re.S)
LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".sh": "sh", ".yaml": "yaml", ".yml": "yaml", ".json": "json"}
done = set()


def write(path, text):
    path = os.path.join(pages, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def read(path):
    with open(os.path.join(source, path), encoding="utf-8") as f:
        return f.read()


def output(*command, columns=80):
    try:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": str(columns)}).stdout
    except FileNotFoundError:
        sys.exit("pages.py: %s is missing" % command[0])


def add_source(path):
    """A page with the text of a source file; searches leave it out."""
    language = LANGUAGES.get(os.path.splitext(path)[1], "text")
    fence = "`" * 4
    write(path + ".md", "---\nsearch:\n  exclude: true\n---\n# %s\n\n%s%s\n%s\n%s\n" %
          (path.replace("_", r"\_"), fence, language, read(path).rstrip("\n"), fence))


def add_folder(path):
    """A page that lists a folder; scenarios and pages are links."""
    rows = []
    for name in sorted(os.listdir(os.path.join(source, path))):
        is_link = name.endswith((".yaml", ".md"))
        rows.append("- [%s](%s)" % (name, add(os.path.join(path, name), path)) if is_link else "- `%s`" % name)
    write(path + "/index.md", "---\nsearch:\n  exclude: true\n---\n# %s\n\n%s\n" % (path, "\n".join(rows)))


def add(path, folder):
    """Put a file or folder of the source among the pages, once; returns the link to it from a page in `folder`."""
    full = os.path.join(source, path)
    to = path
    if os.path.isdir(full):
        to = path + ("/README.md" if os.path.exists(full + "/README.md") else "/index.md")
        path = to if to.endswith("README.md") else path
    elif not path.endswith((".md", ".svg", ".png")):
        to = path + ".md"
    if path not in done:
        done.add(path)
        if path.endswith((".svg", ".png")):
            os.makedirs(os.path.dirname(os.path.join(pages, path)), exist_ok=True)
            shutil.copy(full, os.path.join(pages, path))
        elif path.endswith(".md"):
            add_page(path)
        elif os.path.isdir(full):
            add_folder(path)
        else:
            add_source(path)
    return os.path.relpath(to, folder or ".")


# Pages whose pictures and tables need the width of the sidebars.
WIDE = ("README.md", "docs/validation.md")


def add_page(page):
    """A page as it is, but for what MkDocs reads differently from GitHub: links, themed pictures, details."""
    folder = os.path.dirname(page)

    def link(found):
        if re.match(r"[a-z]+:", found[2]):
            return found[0]
        return found[1] + add(os.path.normpath(os.path.join(folder, found[2])), folder) + (found[3] or "") + found[4]

    text = PICTURE.sub(r"![\2](\3#only-light)![\2](\1#only-dark)", read(page))
    text = text.replace("<details>", '<details markdown="1">')
    out, end = [], 0
    for fence in FENCE.finditer(text):
        out += [LINK.sub(link, text[end:fence.start()]), fence[0]]
        end = fence.end()
    head = "---\nhide: [navigation, toc]\n---\n" if page in WIDE else ""
    write(page, head + "".join(out) + LINK.sub(link, text[end:]))


def add_manual():
    names = sorted(glob.glob(os.path.join(build, "man", "*.[1-8]")) + glob.glob(os.path.join(source, "man", "*.[1-8]")))
    nav = []
    for path in names:
        name, section = os.path.basename(path).rsplit(".", 1)
        html = output("mandoc", "-T", "html", "-O", "fragment", path)
        html = html.replace("<h1 ", "<h2 ").replace("</h1>", "</h2>")
        write("manual/%s.%s.md" % (name, section), '# %s(%s)\n\n<div class="manual">\n%s</div>\n' % (name, section, html))
        entry = "{'%s(%s)': manual/%s.%s.md}" % (name, section, name, section)
        if entry not in nav:
            nav.append(entry)
    return nav


def cell(text):
    return text.replace("|", r"\|").replace("<", "&lt;").replace("*", r"\*")


def add_options():
    """`show options` as a table for each group of keys, and one for the keys that stand alone."""
    groups = {}
    for key, kind, help_text in re.findall(r"^(\S[^:\n]*):(.*)\n((?:    .*\n)+)", output(program, "show", "options", columns=4000), re.M):
        row = "| `%s` | %s | %s |" % (key, cell(kind.strip()), cell(" ".join(help_text.split())))
        groups.setdefault(re.split(r"[.\[]", key)[0], []).append(row)
    alone = [row for rows in groups.values() if len(rows) == 1 for row in rows]
    text = ["# Options of a scenario", "", "`shardsim show options`, as tables."]
    for group, rows in {"Options without parts": alone, **groups}.items():
        if len(rows) > 1:
            text += ["", "## %s" % group, "", "| key | value | meaning |", "|---|---|---|", *rows]
    write("reference/options.md", "\n".join(text) + "\n")


def add_figures():
    rows = [line.split(None, 2) for line in output(program, "show", "figures", columns=4000).splitlines()[1:] if line.strip()]
    text = ["# Figures of a result", "", "`shardsim show figures`.", "", "| key | unit | meaning |", "|---|---|---|"]
    text += ["| `%s` | %s | %s |" % (row[0], row[1], cell(row[2])) for row in rows]
    write("reference/figures.md", "\n".join(text) + "\n")


def add_c():
    nav = []
    headers = [path for folder in ("lib", "sim/run", "sim/trial") for path in glob.glob(os.path.join(source, folder, "shd", "*.h"))]
    for path in sorted(headers, key=os.path.basename):
        name = os.path.basename(path)
        with open(path, encoding="utf-8") as f:
            write("reference/c/%s.md" % name, header_page(name, f.read()))
        nav.append("{shd/%s: reference/c/%s.md}" % (name, name))
    return nav


shutil.rmtree(pages, ignore_errors=True)
os.makedirs(pages)
for start in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "NEWS.md", "python/README.md"]:
    add(start, "")
for start in glob.glob(os.path.join(source, "docs", "**", "*.md"), recursive=True):
    add(os.path.relpath(start, source), "")
course = sorted(glob.glob(os.path.join(source, "docs/course/[0-9]*.md")), key=lambda path: int(re.search(r"(\d+)_", path)[1]))
navigation = {
    "SOURCE": source,
    "COURSE": ["docs/course/README.md"] + [os.path.relpath(path, source) for path in course],
    "MANUAL": add_manual(),
    "C": add_c(),
}
add_options()
add_figures()
write("reference/functions.md", "# Functions of a graph\n\n`shardsim show functions`.\n\n```text\n%s```\n" % output(program, "show", "functions"))
write("reference/python.md", "# Python reference\n\n::: shardsim\n")
shutil.copy(os.path.join(source, "site", "site.css"), pages)
with open(os.path.join(source, "site", "mkdocs.yml"), encoding="utf-8") as f:
    config = f.read()
for name, value in navigation.items():
    config = config.replace("@%s@" % name, value if isinstance(value, str) else "[%s]" % ", ".join(value))
with open(os.path.join(site, "mkdocs.yml"), "w", encoding="utf-8") as f:
    f.write(config)
