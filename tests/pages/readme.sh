#!/bin/sh
# Tests the README, docs/tour.md, docs/search.md and ARCHITECTURE.md: scenarios, commands, reports and
# the picture that they show are those of the program, and the files that they name exist; of all pages
# the links.
#
# README_UPDATE=1 draws the picture anew, and makes links of paths in backticks.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
readme=$top_srcdir/README.md
tour=$top_srcdir/docs/tour.md

# Times, replayed figures and rounding errors differ from machine to machine.
mask() {
    sed -e '/^measured/,/^$/s/[0-9.]* [mnu]*s /TIME /g' -e '/^replayed/,/^$/d' \
        -e '/^verified/,$s/error [0-9.]* of its bound$/ERROR/' \
        -e '/^verified/,${ /^ *(gradient of /d; }' "$1"
}

# same TEXT: the text in $tmp/shown equals the one in $tmp/real.
same() {
    diff "$tmp/shown" "$tmp/real" >"$tmp/wrong"
    ok $? "$1"
    diag <"$tmp/wrong"
}

# shellcheck disable=SC2016
sed -n '/^```yaml$/,/^```$/p' "$tour" | sed '/^```/d' >"$tmp/shown"
grep -v '^#' "$scenarios/tensor_parallel.yaml" >"$tmp/real"
same "tour: the scenario is the shipped one"

sed -n '/^\$ .*shardsim run/,/^```$/p' "$tour" | sed '1d; /^```$/d' >"$tmp/report"
mask "$tmp/report" >"$tmp/shown"
shardsim run "$scenarios/tensor_parallel.yaml"
is 0 "tour: the command works"
# Builds with a sanitizer allocate devices' memory differently and say so.
sed '/^device memory from malloc/,/^$/d' "$tmp/out" >"$tmp/usual"
mask "$tmp/usual" >"$tmp/real"
same "tour: the report is what the command prints"

# Commands with ./build and the source directory; another test runs check.
sed -n 's/^    \.\/build\/shardsim \(.*\)/\1/p' "$tour" >"$tmp/commands"
for command in plan compare check 'show array' 'explain reshard'; do
    grep -q "^$command" "$tmp/commands"
    ok $? "tour: it has a $command to try"
done
# shellcheck disable=SC2016
# The README's are the second column of its table; those that need MPI have tests of their own.
sed -n 's/^|[^|]*| `shardsim \([^`]*\)` |.*/\1/p' "$readme" >"$tmp/table"
ok "$(test "$(wc -l <"$tmp/table")" -ge 15; echo $?)" "README: a table of commands"
ln -s "$(cd "$top_srcdir" && pwd)"/* "$tmp/" # what a command writes is not for the source directory
while read -r command; do
    # The words of $command and a file below the source directory.
    # shellcheck disable=SC2086
    (cd "$tmp" && exec "$shardsim" $command) >"$tmp/out" 2>"$tmp/err"
    status=$?
    is 0 "README and tour: $command"
done <<END
$(cat "$tmp/commands" "$tmp/table" | grep -v '^check')
END

# Its picture, in two themes: GitHub's own may differ from the viewer's.
shardsim compare --plan "$top_srcdir/docs/course/choosing.yaml" -s 'name=Llama 3 8B on 64 H100' -o "$tmp/layouts.svg" --columns \
    received_bytes_most,peak_memory_bytes_most,modelled_step_seconds,modelled_exposed_communication_seconds
is 0 "README: the picture is drawn"
for theme in light dark; do
    picture=$top_srcdir/docs/layouts_$theme.svg
    python3 "$top_srcdir/docs/themed.py" "$tmp/layouts.svg" $theme >"$tmp/real"
    ok $? "README: the picture has a $theme theme"
    [ "${README_UPDATE:-0}" = 0 ] || cp "$tmp/real" "$picture"
    cmp "$picture" "$tmp/real"
    ok $? "README: docs/layouts_$theme.svg is what is drawn (README_UPDATE=1 draws it anew)"
done

map=$top_srcdir/ARCHITECTURE.md
sed -n 's/^    \([a-z/]*\/\)  .*/\1/p' "$map" >"$tmp/folders"
ok "$(test "$(wc -l <"$tmp/folders")" -ge 10; echo $?)" "ARCHITECTURE.md: folders"
while read -r folder; do
    [ -d "$top_srcdir/$folder" ]
    ok $? "ARCHITECTURE.md: $folder is there"
done <"$tmp/folders"

python3 "$top_srcdir/tests/pages/page_links.py" "$top_srcdir" "${README_UPDATE:-0}" >"$tmp/wrong"
ok $? "links lead to files and headings that are there, and paths are links"
diag <"$tmp/wrong"

for page in "$top_srcdir"/docs/*.md; do
    grep -q "docs/${page##*/}\$" "$top_srcdir/site/mkdocs.yml" || echo "docs/${page##*/}"
done >"$tmp/wrong"
[ ! -s "$tmp/wrong" ]
ok $? "site/mkdocs.yml: every page has a place in the navigation"
diag <"$tmp/wrong"

# On pages, a block ```console has a command and its output; `...` stands for lines left out, and for the
# rest of one.
cat >"$tmp/blocks.py" <<'PY'
import re, shlex, subprocess, sys

program, source, page = sys.argv[1:]
blocks = re.findall(r"^```console\n\$ (?:\./build/)?shardsim (.*)\n((?:.*\n)*?)```$", open(page).read(), re.M)
assert blocks, "no blocks"
for command, shown in blocks:
    real = subprocess.run([program, *shlex.split(command)], cwd=source, text=True,
                          capture_output=True).stdout
    at = 0
    for part in re.split(r"^\.\.\.\n| \.\.\.\n", shown, flags=re.M):
        found = real.find(part, at)
        assert found >= 0, f"{command}: not printed:\n{part}"
        assert at > 0 or shown.startswith("...") or found == 0, f"{command}: not the first lines"
        at = found + len(part)
    assert shown.endswith("...\n") or at == len(real), f"{command}: more is printed"
PY
for page in README docs/tour docs/experts docs/memory docs/pipeline docs/search; do
    python3 "$tmp/blocks.py" "$shardsim" "$top_srcdir" "$top_srcdir/$page.md" 2>"$tmp/wrong"
    ok $? "$page.md: commands print what is shown"
    tail -n 12 "$tmp/wrong" | diag
done

# shellcheck disable=SC2016
sed -n '/^```yaml$/,/^```$/p' "$top_srcdir/docs/search.md" | sed '/^```/d' >"$tmp/shown"
grep -v '^#\|^version\|^name\|^step' "$top_srcdir/docs/search.yaml" >"$tmp/real"
same "docs/search.md: the scenario is the shipped one"

# ARCHITECTURE.md lists every room, and the files that it names exist.
missing=$(sed -n 's/^\([a-z]*\)[ 0-9]*:.*/\1/p' "$top_srcdir/sim/LAYERS" | while read -r room; do
    [ -d "$top_srcdir/sim/$room" ] || [ -d "$top_srcdir/interop/$room" ] || [ -d "$top_srcdir/lib/$room" ] || continue
    grep -q "^|.*\`$room\`" "$map" || echo "$room"
done)
[ -z "$missing" ]
ok $? "ARCHITECTURE.md: every room${missing:+, not $missing}"
python3 "$top_srcdir/docs/rooms.py" "$top_srcdir/sim/LAYERS" "$map" >"$tmp/shown"
cp "$top_srcdir/docs/rooms.svg" "$tmp/real"
same "docs/rooms.svg is what docs/rooms.py draws"
for page in ARCHITECTURE docs/search; do
    # shellcheck disable=SC2016
    missing=$(grep -o '`[a-z_/]*\.[chmdy][aml]*`' "$top_srcdir/$page.md" | tr -d '`' | sort -u | while read -r file; do
        find "$top_srcdir" -path "$top_srcdir/build*" -prune -o -path "*/$file" -print | grep -q . || echo "$file"
    done)
    [ -z "$missing" ]
    ok $? "$page.md: the files that it names are there${missing:+, not $missing}"
done
done_testing
