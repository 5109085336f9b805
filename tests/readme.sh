#!/bin/sh
# Tests the README, docs/search.md and ARCHITECTURE.md: scenarios, commands and reports that they
# show are those of the program, and the files that they name exist.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/tap.sh"
. "${0%/*}/program.sh"
readme=$top_srcdir/README.md

# Times, replayed figures and rounding errors differ from machine to machine.
mask() {
    sed -e '/^measured/,/^$/s/[0-9.]* [mnu]*s /TIME /g' -e '/^replayed/,/^$/d' \
        -e '/^verified/,$s/error [0-9.]* of its$/ERROR/' -e '/^ *bound (/d' "$1"
}

# same TEXT: the text in $tmp/shown equals the one in $tmp/real.
same() {
    diff "$tmp/shown" "$tmp/real" >"$tmp/wrong"
    ok $? "$1"
    diag <"$tmp/wrong"
}

# shellcheck disable=SC2016
sed -n '/^```yaml$/,/^```$/p' "$readme" | sed '/^```/d' >"$tmp/shown"
grep -v '^#' "$scenarios/tensor_parallel.yaml" >"$tmp/real"
same "README: the scenario is the shipped one"

sed -n '/^\$ .*shardsim run/,/^```$/p' "$readme" | sed '1d; /^```$/d' >"$tmp/report"
mask "$tmp/report" >"$tmp/shown"
shardsim run "$scenarios/tensor_parallel.yaml"
is 0 "README: the command works"
# Builds with a sanitizer allocate devices' memory differently and say so.
sed '/^device memory from malloc/,/^$/d' "$tmp/out" >"$tmp/usual"
mask "$tmp/usual" >"$tmp/real"
same "README: the report is what the command prints"

# The README gives the commands with ./build and the source directory; another test runs check.
sed -n 's/^    \.\/build\/shardsim \(.*\)/\1/p' "$readme" >"$tmp/commands"
for command in plan compare check 'show array' 'explain reshard'; do
    grep -q "^$command" "$tmp/commands"
    ok $? "README: it has a $command to try"
done
while read -r command; do
    # The words of $command and a file below the source directory.
    # shellcheck disable=SC2086
    (cd "$top_srcdir" && exec "$shardsim" $command) >"$tmp/out" 2>"$tmp/err"
    status=$?
    is 0 "README: $command"
done <<END
$(grep -v '^check' "$tmp/commands")
END

sed -n 's/^    \([a-z/]*\/\)  .*/\1/p' "$readme" >"$tmp/folders"
while read -r folder; do
    [ -d "$top_srcdir/$folder" ]
    ok $? "README: $folder is there"
done <"$tmp/folders"

# Links click: what they name is there.
(cd "$top_srcdir" && grep -o '](\([^)#:]*\))' README.md docs/*.md | sed 's/^\([^:]*\):](\(.*\))$/\1 \2/') >"$tmp/links"
while read -r page link; do
    [ -e "$top_srcdir/$(dirname "$page")/$link" ] || echo "$page: $link"
done <"$tmp/links" >"$tmp/broken"
[ -s "$tmp/links" ] && [ ! -s "$tmp/broken" ]
ok $? "links lead to files that are there"
diag <"$tmp/broken"

# On pages, a block ```console has a command and its output; `...` stands for lines left out.
cat >"$tmp/blocks.py" <<'PY'
import re, shlex, subprocess, sys

program, source, page = sys.argv[1:]
blocks = re.findall(r"^```console\n\$ (?:\./build/)?shardsim (.*)\n((?:.*\n)*?)```$", open(page).read(), re.M)
assert blocks, "no blocks"
for command, shown in blocks:
    real = subprocess.run([program, *shlex.split(command)], cwd=source, text=True,
                          capture_output=True).stdout
    at = 0
    for part in re.split(r"^\.\.\.\n", shown, flags=re.M):
        found = real.find(part, at)
        assert found >= 0, f"{command}: not printed:\n{part}"
        assert at > 0 or shown.startswith("...") or found == 0, f"{command}: not the first lines"
        at = found + len(part)
    assert shown.endswith("...\n") or at == len(real), f"{command}: more is printed"
PY
for page in README docs/experts docs/memory docs/pipeline docs/search; do
    python3 "$tmp/blocks.py" "$shardsim" "$top_srcdir" "$top_srcdir/$page.md" 2>"$tmp/wrong"
    ok $? "$page.md: commands print what is shown"
    tail -n 12 "$tmp/wrong" | diag
done

# shellcheck disable=SC2016
sed -n '/^```yaml$/,/^```$/p' "$top_srcdir/docs/search.md" | sed '/^```/d' >"$tmp/shown"
grep -v '^#\|^version\|^name\|^step' "$top_srcdir/docs/search.yaml" >"$tmp/real"
same "docs/search.md: the scenario is the shipped one"

# ARCHITECTURE.md lists every room, and the files that it names exist.
map=$top_srcdir/ARCHITECTURE.md
missing=$(sed -n 's/^\([a-z]*\):.*/\1/p' "$top_srcdir/sim/LAYERS" | while read -r room; do
    [ -d "$top_srcdir/sim/$room" ] || [ -d "$top_srcdir/lib/$room" ] || continue
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
