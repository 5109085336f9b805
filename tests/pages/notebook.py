#!/usr/bin/env python3
"""notebook.py FILE - execute a notebook's cells as Jupyter does, without Jupyter.

A cell of %%sh fails where its last command does.  The output is that of the cells.

SPDX-License-Identifier: Apache-2.0
"""
import ast
import base64
import json
import re
import subprocess
import sys
import types


def html(text):
    alt, data = re.fullmatch(r'<img alt="(.*)" style="[^"]*" src="data:image/svg\+xml;base64,(.*)">', text).groups()
    assert alt and b"<svg" in base64.b64decode(data), text


def show(value):
    """What a cell ends with: its picture or table is made, as a notebook would."""
    for form in ("_repr_svg_", "_repr_html_"):
        if hasattr(value, form):
            assert getattr(value, form)().startswith("<"), value
            return
    if value is not None:
        print(repr(value))


def execute(source, names):
    magic, _, body = source.partition("\n")
    if magic == "%%sh":
        print(subprocess.run(["sh", "-c", body], check=True, stdout=subprocess.PIPE, text=True).stdout)
    elif magic.startswith("%%writefile "):
        with open(magic.split(None, 1)[1], "w", encoding="utf-8") as f:
            f.write(body + "\n")
    else:
        tree = ast.parse(source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), names)
        if last:
            show(eval(compile(ast.Expression(last.value), "cell", "eval"), names))


display = types.ModuleType("IPython.display")
display.HTML = html
sys.modules.update({"IPython": types.ModuleType("IPython"), "IPython.display": display})
with open(sys.argv[1], encoding="utf-8") as f:
    notebook = json.load(f)
assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
names = {"__name__": "__main__"}
for cell in notebook["cells"]:
    assert {"cell_type", "metadata", "source", "id"} <= set(cell)
    if cell["cell_type"] == "code":
        assert cell["outputs"] == [] and cell["execution_count"] is None
        text = "".join(cell["source"])
        try:
            execute(text, names)
        except Exception as error:
            sys.exit("%s: %r in the cell\n%s" % (sys.argv[1], error, text))
