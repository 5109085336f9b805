#!/bin/sh
# Tests search --journal: a search that was killed or interrupted at any moment and resumed gives
# the same answer; layouts in the journal are not planned again; a journal that is damaged or of
# another search is refused.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# The words of $search are split from here on, and the path of the sources may contain spaces.
cp "$scenarios/train_zero.yaml" "$tmp"
# shellcheck disable=SC2086
set_search() {
    search="search $tmp/train_zero.yaml -S dp -s hardware=b200 -q --json --top 3 --no-prune
        --range tp=1 --range cp=1 --range microbatch=1 --range virtual=1"
    small_size && search="$search --range recompute=none"
}
set_search

# shellcheck disable=SC2086
{
    began=$(date +%s%N)
    shardsim $search
    ms=$((($(date +%s%N) - began) / 1000000))
    is 0 "without a journal"
    cp "$tmp/out" "$tmp/answer"
    shardsim $search --journal "$tmp/whole"
    is 0 "with a journal"
    cmp "$tmp/out" "$tmp/answer" >/dev/null
    ok $? "the same answer"
}
planned=$(($(wc -l <"$tmp/whole") - 1))
[ "$planned" -eq "$(grep -c '"step_seconds"' "$tmp/answer")" ] || [ "$planned" -gt 20 ]
ok $? "a line a plan: $planned"

# ended SIGNAL PERMILLE: end the search with the signal after that share of its time; then resume
# it.
# shellcheck disable=SC2086
ended() {
    rm -f "$tmp/journal"
    "$shardsim" $search --journal "$tmp/journal" >"$tmp/cut" 2>"$tmp/cut.err" &
    child=$!
    sleep "$(awk "BEGIN { print $ms * $2 / 1e6 }")"
    kill -s "$1" $child 2>/dev/null
    wait $child 2>/dev/null
    cut=$?
    lines=$(wc -l <"$tmp/journal" 2>/dev/null || echo 0)
    shardsim $search --journal "$tmp/journal"
    [ "$status" -eq 0 ] && cmp "$tmp/out" "$tmp/answer" >/dev/null
    ok $? "$1 at $2 of 1000 (status $cut, $lines lines there): the same answer"
}
rounds=5
small_size && rounds=2
awk -v n=$rounds -v seed="${SHD_TEST_SEED:-$$}" \
    'BEGIN { srand(seed); for (i = 0; i < n; i++) print int(1000 * rand()) }' >"$tmp/moments"
while read -r at; do
    ended KILL "$at"
    ended INT $((1000 - at))
done <"$tmp/moments"

# retime.py JOURNAL LINE FACTOR: print the journal with the step of a line multiplied, and the
# line's hash renewed
cat >"$tmp/retime.py" <<'PY'
import sys
def fnv(text):
    h = 14695981039346656037
    for c in text.encode():
        h = (h ^ c) * 1099511628211 % 2**64
    return h
lines = open(sys.argv[1]).read().splitlines()
line = int(sys.argv[2]) - 1
words = lines[line].rsplit(" #", 1)[0].split(" ")
at = words.index("fits") + 2
words[at] = (float.fromhex(words[at]) * float(sys.argv[3])).hex()
text = " ".join(words)
lines[line] = f"{text} #{fnv(text):016x}"
print("\n".join(lines))
PY
python3 "$tmp/retime.py" "$tmp/whole" "$planned" 0.001 >"$tmp/told"
# shellcheck disable=SC2086
shardsim $search --journal "$tmp/told"
[ "$status" -eq 0 ] && ! cmp "$tmp/out" "$tmp/answer" >/dev/null
ok $? "what is in the journal is not planned again"

# damaged TEXT PATTERN: $tmp/bad is refused, and stays unchanged.
# shellcheck disable=SC2086
damaged() {
    cp "$tmp/bad" "$tmp/bad.was"
    shardsim $search --journal "$tmp/bad"
    is 2 "$1: refused"
    says err "bad:$2" "$1: why"
    cmp "$tmp/bad" "$tmp/bad.was" >/dev/null
    ok $? "$1: the file stays unchanged"
}
sed '3s/ 0x1/ 0x2/' "$tmp/whole" >"$tmp/bad"
damaged "a changed number" '3: this line of the journal is damaged'
sed '3s/$/ /' "$tmp/whole" >"$tmp/bad"
damaged "a longer line" '3: this line of the journal is damaged'
sed '1s/.$/x/' "$tmp/whole" >"$tmp/bad"
damaged "another count of devices" '1: this is the journal of another count of devices'
echo 'a list of things to buy' >"$tmp/bad"
damaged "another file" '1: this is not the journal'
printf 'eggs' >"$tmp/bad"
damaged "a file without a line" '1: this is not the journal'
tr '\n' '\0' <"$tmp/whole" >"$tmp/bad"
damaged "bytes that are no text" '1: this is not the journal'
python3 "$tmp/retime.py" "$tmp/whole" 2 1.5 >"$tmp/bad"
damaged "another program" '2: this layout is planned differently now'

# shellcheck disable=SC2086
{
    head -c 700 "$tmp/whole" >"$tmp/torn"
    shardsim $search --journal "$tmp/torn"
    [ "$status" -eq 0 ] && cmp "$tmp/out" "$tmp/answer" >/dev/null
    ok $? "a last line that was cut short is dropped"
    sort "$tmp/torn" >"$tmp/a"
    sort "$tmp/whole" >"$tmp/b"
    cmp "$tmp/a" "$tmp/b" >/dev/null
    ok $? "... and the file is whole again"
    shardsim $search --journal "$tmp/none/journal"
    is 3 "a journal that cannot be written: status 3"
    says err 'cannot write .*/none/journal: No such file' "... and why"
    # A limit on the size of files, 1 or 2 KiB by the shell, acts like a full disk: the search goes on
    # without the journal.
    (
        trap '' XFSZ
        ulimit -f 2
        timeout "$LIMIT" "$shardsim" $search --journal "$tmp/full" 2>"$tmp/err"
        echo "$?" >"$tmp/status"
    ) | cat >"$tmp/out"
    [ "$(cat "$tmp/status")" -eq 3 ] && [ "$(wc -c <"$tmp/full")" -le 2048 ]
    ok $? "a full disk: status 3"
    cmp "$tmp/out" "$tmp/answer" >/dev/null
    ok $? "... and the same answer all the same"
    says err 'cannot write .*/full: File too large; the journal lacks plans' "... and why"
}

# ---- what the head holds ----

cluster=$tmp/cluster.yaml
cp "$top_srcdir/scenarios/hardware/b200.yaml" "$cluster"
few="search $tmp/train_zero.yaml -S dp -s hardware=$cluster -q --json --top 1 --range tp=1 --range cp=1
    --range pp=1 --range microbatch=1 --range recompute=none --range zero=1"

# another WHAT PATTERN ARGUMENT...: $tmp/head is refused as the journal of another search.
# shellcheck disable=SC2086
another() {
    pattern=$2
    what=$1
    shift 2
    shardsim $few "$@" --journal "$tmp/head"
    is 2 "$what: refused"
    says err "head:1: this is the journal of another $pattern; remove the file" "$what: told"
}

# shellcheck disable=SC2086
{
    shardsim $few --journal "$tmp/head"
    is 0 "few: with a journal"
    cp "$tmp/out" "$tmp/few"
    cp "$tmp/head" "$tmp/head.was"
    another "more devices" 'count of devices' --devices 16
    sed 's/memory_efficiency: 0\./memory_efficiency: 0.1/' "$cluster" >"$tmp/changed.yaml"
    ! cmp -s "$cluster" "$tmp/changed.yaml"
    ok $? "the cluster's file is another"
    mv "$cluster" "$tmp/cluster.was"
    mv "$tmp/changed.yaml" "$cluster"
    another "the cluster's file changed on the disk" "content of the cluster's file"
    mv "$tmp/cluster.was" "$cluster"
    another "another batch" 'scenario' -s batch.size=64
    sed '1s/by [^,]*,/by 0.1,/' "$tmp/head.was" >"$tmp/head"
    another "another program" 'version of the program'
    sed '1s| [0-9]*, by [^,]*,| 2,|' "$tmp/head.was" >"$tmp/head"
    another "a journal of before" 'format'

    # Of three searches at once with one journal, each ends with the answer or reports another
    # search.
    rm -f "$tmp/head"
    for i in 1 2 3; do
        (
            "$shardsim" $few --journal "$tmp/head" >"$tmp/out$i" 2>"$tmp/err$i"
            echo $? >"$tmp/status$i"
        ) &
    done
    wait
    answers=0
    told=0
    for i in 1 2 3; do
        [ "$(cat "$tmp/status$i")" -ne 0 ] || ! cmp -s "$tmp/out$i" "$tmp/few" || answers=$((answers + 1))
        [ "$(cat "$tmp/status$i")" -ne 3 ] || ! grep -q 'head: another search is using it' "$tmp/err$i" ||
            told=$((told + 1))
    done
    [ $answers -ge 1 ] && [ $((answers + told)) -eq 3 ]
    ok $? "three at once: $answers have the answer, $told are told"
    sort "$tmp/head" >"$tmp/a"
    sort "$tmp/head.was" >"$tmp/b"
    cmp -s "$tmp/a" "$tmp/b"
    ok $? "three at once: the journal is that of one"
    python3 -c 'import fcntl, subprocess, sys
file = open(sys.argv[1], "r+")
fcntl.flock(file, fcntl.LOCK_EX)
sys.exit(subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=open(sys.argv[1] + ".err", "w")).returncode)' \
        "$tmp/head" "$shardsim" $few --journal "$tmp/head"
    [ $? -eq 3 ]
    ok $? "a journal that another search is at: status 3"
    grep -q 'head: another search is using it; wait for its end, or name another journal' "$tmp/head.err"
    ok $? "... and told"
}
done_testing
