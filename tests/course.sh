#!/bin/sh
# Tests that the course shows what the program prints: every command of every lesson is run.
#
# COURSE_UPDATE=1 writes the output into the lessons instead of comparing.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/tap.sh"
. "${0%/*}/program.sh"

# Lessons are Markdown: in ```console blocks a line "$ command" is followed by its output.
cat >"$tmp/lesson.py" <<'PY'
import difflib, os, re, subprocess, sys

path, update = sys.argv[1], os.environ.get("COURSE_UPDATE") == "1"
masks = [(r"largest error \S+ \(.*?\)", "largest error E"), (r"\b[0-9.]+ [mnu]?s\b", "TIME")]


def masked(command, lines):
    """Times and rounding errors of what is executed differ; what is planned is the same everywhere."""
    out = []
    for line in lines:
        for pattern, by in masks if "shardsim run" in command else []:
            line = re.sub(pattern, by, line)
        out.append(line)
    return out


def run(command):
    got = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         timeout=120, check=False)
    if got.returncode or got.stderr: # a failing command is never written into a lesson
        sys.exit("%s: status %d: %s" % (command, got.returncode, got.stderr.decode()))
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
PY

PATH=$bin:$PATH
COLUMNS=80
export PATH COLUMNS
unset NO_COLOR
cd "$top_srcdir" || exit 1
for lesson in docs/course/[0-9]*_*.md; do
    python3 "$tmp/lesson.py" "$lesson" >"$tmp/wrong" 2>&1
    ok $? "course: $lesson"
    diag <"$tmp/wrong"
done
# A picture of a lesson is drawn by the command below it.
# shellcheck disable=SC2016
grep -ho '`shardsim [^`]* -o [a-z0-9_]*\.svg`' docs/course/*.md | tr -d '`' >"$tmp/pictures"
while read -r _ command; do
    file=${command##* }
    # $command is split into words; the last one is the name of the file.
    # shellcheck disable=SC2086
    shardsim ${command% *} "$tmp/$file"
    is 0 "course: $command"
    cmp -s "$tmp/$file" "docs/course/$file"
    ok $? "course: $file is what is drawn"
done <"$tmp/pictures"
sed 's/.* //' "$tmp/pictures" | sort -u >"$tmp/drawn"
(cd docs/course && ls ./*.svg) | sed 's/^..//' | sort >"$tmp/there"
cmp -s "$tmp/drawn" "$tmp/there"
ok $? "course: every picture has its command"

for scenario in docs/course/*.yaml; do
    if grep -q '^model:.*size:' "$scenario"; then # a published model, too large to execute here
        shardsim plan -s limits.memory=1TiB "$scenario"
        is 0 "course: $scenario can be planned"
        continue
    fi
    sampled 4 || continue # the lessons run most scenarios, too
    shardsim run -q "$scenario"
    is 0 "course: $scenario runs and is right"
    says out '^verified  *ok' "course: $scenario is verified"
done
done_testing
