#!/usr/bin/env python3
"""console_page.py FILE UPDATE - whether a page shows what the program prints, run where commands find it.

In the page, which is Markdown, a line "$ command" of a ```console block is followed by its output.
UPDATE is 1 to write the output into the page instead of comparing it.

SPDX-License-Identifier: Apache-2.0
"""
import difflib
import re
import subprocess
import sys

path, update = sys.argv[1], sys.argv[2] == "1"
masks = [(r"largest error \S+ \(.*?\)", "largest error E"), (r"\b[0-9.]+ [mnu]?s\b", "TIME")]


def masked(command, lines):
    """Times and rounding errors of what is executed differ; planned figures are equal everywhere."""
    out = []
    for line in lines:
        for pattern, by in masks if "shardsim run" in command else []:
            line = re.sub(pattern, by, line)
        out.append(line)
    return out


def run(command):
    got = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         timeout=120, check=False)
    # How far long work is appears on a machine with much else to do.
    said = [line for line in got.stderr.decode().splitlines()
            if not re.match(r"shardsim: (?!error|warning)", line)]
    if got.returncode or said: # a failing command is never written into a page
        sys.exit("%s: status %d: %s" % (command, got.returncode, "\n".join(said)))
    return got.stdout.decode().splitlines()


lines = open(path, encoding="utf-8").read().splitlines()
out, ncommands, nwrong, i = [], 0, 0, 0
while i < len(lines):
    out.append(lines[i])
    i += 1
    if out[-1] != "```console":
        continue
    while lines[i] != "```":
        command = lines[i]
        assert command.startswith("$ "), command
        i += 1
        shown = []
        while lines[i] != "```" and not lines[i].startswith("$ "):
            shown.append(lines[i])
            i += 1
        printed = run(command[2:])
        while printed and not printed[-1]:
            printed.pop()
        while shown and not shown[-1]:
            shown.pop()
        ncommands += 1
        if masked(command, printed) != masked(command, shown):
            nwrong += 1
            if not update:
                print("\n".join([command] + list(difflib.unified_diff(shown, printed, lineterm=""))))
        out += [command] + printed
        if lines[i] != "```":
            out.append("")
if update and nwrong:
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")
sys.exit(nwrong > 0 and not update or ncommands == 0)
