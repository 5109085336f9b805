#!/bin/sh
# Tests that what is printed for people has no line of more than 80 columns, but for a word that is
# longer, and that wider screens are used.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
unset COLUMNS
XDG_DATA_HOME=$tmp/data
export XDG_DATA_HOME
models=$scenarios/models

cat >"$tmp/wide.py" <<'PY'
import os, sys, unicodedata


def columns(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def is_wide(line):
    # A line of blanks: argp wraps a text that ends with the line.
    return line.isspace() or columns(line) > 80 and " " in line.strip() and not line.lstrip().startswith("{")


for number in sorted(os.listdir(sys.argv[1]), key=int):
    what, *lines = open(os.path.join(sys.argv[1], number), encoding="utf-8").read().split("\n")
    wide = [line for line in lines if is_wide(line)]
    print("%s - 80 columns: %s" % ("not ok" if wide or not any(lines) else "ok", what))
    for line in wide[:3]:
        print("# %d: %s" % (columns(line), line))
PY

mkdir "$tmp/told"
told=0

# fits ARGUMENT...: keep the output of a command, to be measured with all others.
fits() {
    told=$((told + 1))
    {
        echo "$*" | sed "s|$top_srcdir/||g"
        timeout "$LIMIT" "$shardsim" "$@" 2>/dev/null
    } >"$tmp/told/$told"
}

"$shardsim" --help | sed -n '/^Commands:$/,/^$/s/^  \([a-z]*\) .*/\1/p' >"$tmp/commands"
"$shardsim" show --help | sed -n '/^What:$/,/^$/s/^  \([a-z]*\) .*/show \1/p' >>"$tmp/commands"
printf 'explain collective\nexplain reshard\n' >>"$tmp/commands"
fits --help
while read -r command; do
    # $command is split into words.
    # shellcheck disable=SC2086
    fits $command --help
done <"$tmp/commands"

fits plan -q "$models/mixtral-8x7b.yaml"
fits plan -q -v "$models/serve-llama3-70b.yaml"
fits plan -q "$scenarios/block_64_devices.yaml"
fits plan -q -S folded "$scenarios/train_5d.yaml"
fits run -q -S zero-3 "$scenarios/train_zero.yaml"
fits compare --plan -q "$scenarios/experts.yaml"
fits compare --plan -q "$scenarios/train_pipeline.yaml"
fits explain "$models/serve-llama3-70b.yaml"
fits explain collective all-gather --hardware tpu-v4 -m 8,8 -b 4MiB
fits explain reshard --mesh dp=2,tp=4 --shape 8,16 --from dp,tp --to tp,dp
fits search -q "$scenarios/train_zero.yaml" -S dp -s hardware=b200 --plans 3 --range pp=2
fits search -q --serve "$models/serve-llama3-70b.yaml"
fits serve "$scenarios/requests.yaml"
fits check "$scenarios/fsdp.yaml"
fits replay "$top_srcdir/examples/step.hlo.txt" --mesh dp=2,tp=2
fits init --model llama3-8b --devices 64
fits init --serve --model llama3-70b --devices 8
fits show names "$models/serve-llama3-70b.yaml"
fits show names "$scenarios/tensor_parallel.yaml"
fits show tree "$scenarios/tensor_parallel.yaml"
fits show memory "$models/mixtral-8x7b.yaml"
fits show matrix "$scenarios/devices_64.yaml"
fits show mesh dp=16,tp=8
fits show array --mesh dp=32,tp=8 --shape 256,16 --spec dp,tp
fits show groups --mesh dp=16,tp=8 --axes tp
fits show timetable 1F1B --ranks 8 --microbatches 32
fits show curves "$scenarios/train_zero.yaml"
fits show options
fits show functions
fits show figures
fits show hardware
fits show hardware h100-sxm
fits query --list plan.train_step scenario.plan
python3 "$tmp/wide.py" "$tmp/told" >"$tmp/lines"
while read -r line; do
    case $line in
        'ok - '*) ok 0 "${line#ok - }" ;;
        'not ok - '*) ok 1 "${line#not ok - }" ;;
        *) echo "$line" ;;
    esac
done <"$tmp/lines"
[ "$(grep -c 'ok - ' "$tmp/lines")" -eq "$told" ]
ok $? "80 columns: all were measured"

# What a table has no room for is named, and is there on a wider screen; a figure stays with its unit.
shardsim plan -q -v "$models/serve-llama3-70b.yaml"
wide=$(sed -n 's/^  with COLUMNS=\([0-9]*\) also: overlapped$/\1/p' "$tmp/out")
[ -n "$wide" ] && ! grep -q '^  kind .*overlapped' "$tmp/out"
ok $? "a table: the column without room is named"
COLUMNS=$wide shardsim plan -q -v "$models/serve-llama3-70b.yaml"
says out '^  kind .*overlapped' "a table: and is there on a screen so wide"
! grep -q 'also: overlapped' "$tmp/out"
ok $? "a table: of which nothing more is said"
shardsim plan -q "$models/mixtral-8x7b.yaml"
says out '^              [0-9.]* ms$' "a line: a number stays with its unit"
done_testing
