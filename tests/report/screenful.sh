#!/bin/sh
# Tests that long reports are folded: many kinds of collectives to a screenful whose rows add up,
# and a fault of every layer to one message with its line.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
model=$scenarios/models/llama3-8b.yaml

# The rows of the table, folded or not, add up to the collectives of the JSON.
cat >"$tmp/rows.py" <<'PY'
import json, re, sys

page = open(sys.argv[1], encoding="utf-8").read()
result = json.load(open(sys.argv[2], encoding="utf-8"))
table = page.split("\ncollectives ")[1].split("\nwhy\n")[0]
row = re.compile(r"^ *\d+  (\w+) +([a-z-]+) +(\S+) +(\d+)x(\d+) +(\d+) +(.*?)  +([\d.]+ \w+)$", re.M)
rows = row.findall(table)
units = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}


def size(text):
    number, unit = text.split()
    return float(number) * units[unit]


def key(phase, op, axes, groups, group_size):
    return phase, op, axes, int(groups), int(group_size)


count, received, operands = {}, {}, {}
for c in result["collectives"]:
    k = key(c["phase"], c["op"], ",".join(c["axes"]), c["groups"], c["group_size"])
    count[k] = count.get(k, 0) + c["count"]
    received[k] = received.get(k, 0) + c["received_bytes"]
    operands.setdefault(k, []).append(c["operand_bytes"])
folded = sys.argv[3] == "folded"
assert len(rows) == (len(count) if folded else len(result["collectives"])), (len(rows), len(count))
told_count, told_received = {}, {}
for phase, op, axes, groups, group_size, times, operand, bytes_ in rows:
    k = key(phase, op, axes, groups, group_size)
    told_count[k] = told_count.get(k, 0) + int(times)
    told_received[k] = told_received.get(k, 0) + size(bytes_)
    ends = [size(x) for x in operand.split(" to ")]
    if folded:
        assert abs(ends[0] / min(operands[k]) - 1) < 0.006 and \
            abs(ends[-1] / max(operands[k]) - 1) < 0.006, (k, operand, operands[k])
assert told_count == count, (told_count, count)
for k in received:
    assert abs(told_received[k] / received[k] - 1) < 0.006, (k, told_received[k], received[k])
reasons = re.findall(r"^ *\d+  ", page.split("\nwhy\n")[1].split("\n\n")[0], re.M)
assert len(reasons) == len(rows), (len(reasons), len(rows))
PY

for strategy in hybrid-fsdp tp-dp; do
    shardsim plan -q --json -S $strategy "$model"
    cp "$tmp/out" "$tmp/json"
    COLUMNS=100 shardsim plan -q -S $strategy "$model"
    is 0 "$strategy: planned"
    python3 "$tmp/rows.py" "$tmp/out" "$tmp/json" folded >"$tmp/wrong" 2>&1
    ok $? "$strategy: the folded rows are all collectives, added up"
    diag <"$tmp/wrong"
    says out 'kinds of collectives, folded by phase, op and axes; -v lists all$' "$strategy: it is said"
    [ "$(wc -l <"$tmp/out")" -le 80 ]
    ok $? "$strategy: two screens at most"
    COLUMNS=100 shardsim plan -q -v -S $strategy "$model"
    python3 "$tmp/rows.py" "$tmp/out" "$tmp/json" all >"$tmp/wrong" 2>&1
    ok $? "$strategy: -v: every kind by itself"
    diag <"$tmp/wrong"
done

# Reports are as wide as COLUMNS says and have the same words; colours need to be asked for, or a
# terminal.
for width in 90 140; do
    COLUMNS=$width shardsim plan -q -S tp-dp "$model"
    tr -s '\n ' '  ' <"$tmp/out" >"$tmp/words.$width"
    cp "$tmp/out" "$tmp/$width"
done
cmp -s "$tmp/words.90" "$tmp/words.140" && [ "$(wc -l <"$tmp/140")" -lt "$(wc -l <"$tmp/90")" ]
ok $? "COLUMNS: wide lines are fewer, with the same words"
escape=$(printf '\033')
shardsim plan -q "$scenarios/tensor_parallel.yaml"
! grep -q "$escape" "$tmp/out"
ok $? "colours: none in a file"
cp "$tmp/out" "$tmp/plain"
shardsim plan -q --color "$scenarios/tensor_parallel.yaml" -s limits.memory=1MiB
is 1 "colours: what does not fit: status 1"
says out "^$escape.1mcollectives$escape.0m  " "colours: titles are bold"
says out "$escape.1;31m: does not fit$escape.0m\$" "colours: a bad verdict is red"
shardsim plan -q --color "$scenarios/tensor_parallel.yaml"
sed "s/$escape\[[0-9;]*m//g" "$tmp/out" | cmp -s - "$tmp/plain"
ok $? "colours: nothing else differs"
shardsim run -q --color=always "$scenarios/tensor_parallel.yaml"
says out "^$escape.1mverified$escape.0m      $escape.32mok:$escape.0m " "colours: a good verdict is green"
NO_COLOR=1 shardsim plan -q --color=auto "$scenarios/tensor_parallel.yaml"
cmp -s "$tmp/out" "$tmp/plain"
ok $? "colours: NO_COLOR"
shardsim plan --color=red "$scenarios/tensor_parallel.yaml"
is 2 "colours: another word: status 2"

shardsim plan -q "$scenarios/tensor_parallel.yaml"
! grep -q folded "$tmp/out"
ok $? "a few: nothing is folded"

shardsim plan -q -S tp-dp -s 'mesh={dp: 128, tp: 3}' "$model"
is 2 "a fault in all layers"
line=$(grep -n '(q|k|v)/kernel' "$model" | cut -d: -f1)
says err ":$line:26: error: 'layers/0/attn/q/kernel': .* 3 shards; 2 or 4 would do, or 'uneven: pad'; and 31 more like it\$" \
    "a fault in all layers: once, how many more, and what would do"
[ "$(grep -c "attn/q/kernel'" "$tmp/err")" -eq 1 ]
ok $? "a fault in all layers: one message per kind"
says err "^ *$line |       - \[(q|k|v)/kernel, \[null, tp\]\]\$" "its line"
grep -A 1 "^ *$line |" "$tmp/err" | tail -n 1 | grep -q '^      |                          ^$'
ok $? "and the mark below the column"

for command in run plan compare check search replay 'show names' 'explain reshard'; do
    # $command is split into words.
    # shellcheck disable=SC2086
    shardsim $command -h
    cp "$tmp/out" "$tmp/short"
    # shellcheck disable=SC2086
    shardsim $command --help
    cmp -s "$tmp/short" "$tmp/out" && [ -s "$tmp/out" ]
    ok $? "$command -h: as --help"
done
done_testing
