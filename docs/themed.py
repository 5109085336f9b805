#!/usr/bin/env python3
"""themed.py SVG light|dark - a drawing of shardsim with one of its two themes.

A drawing follows what the viewer prefers.  On a page whose own theme may differ, as a README's, a <picture>
chooses between two drawings that each have one theme: 'themed.py bars.svg dark >bars_dark.svg'.

SPDX-License-Identifier: Apache-2.0
"""
import re
import sys

path, theme = sys.argv[1:]
dark_rules = r"@media\(prefers-color-scheme:dark\)\{((?:[^{}]*\{[^{}]*\})*)\s*\}\n"
text, found = re.subn(dark_rules, r"\1\n" if theme == "dark" else "", open(path, encoding="utf-8").read())
if found != 1 or theme not in ("light", "dark"):
    sys.exit("%s: %d sets of dark rules, theme '%s'; expected one set, and light or dark" % (path, found, theme))
sys.stdout.write(text)
