#!/bin/sh
# Tests --set hardware.KEY=VALUE: it changes a number of a cluster exactly as a file with the number
# would, in plans, searches and written scenarios; wrong keys and values are refused.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

sed 's/^name: .*/name: faster/; s/rate: 50GB\/s.*/rate: 100GB\/s/; s/launch: 4us/launch: 3us/' \
    "$top_srcdir/scenarios/hardware/h100-sxm.yaml" >"$tmp/faster.yaml"
cat >"$tmp/small.yaml" <<'END'
version: 1
name: small
hardware: h100-sxm
mesh: {dp: 16}
model: {kind: gpt2, d_model: 1024, d_ff: 4096, layers: 4, heads: 16, vocab: 51200, dtype: bfloat16, positions: 2048}
batch: {size: 64, seq: 2048, microbatches: 2}
step: [forward, backward, update]
optimizer: {kind: adamw, clip: 1.0}
params: [['.*', []]]
axes: {batch: dp}
END

# step_of ARGUMENT...: print the modelled step of a plan.
step_of() {
    shardsim plan -q --json "$@"
    [ "$status" -eq 0 ] &&
        python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["time"]["modelled"]["step_seconds"])' "$tmp/out"
}
plain=$(step_of "$tmp/small.yaml")
file=$(step_of "$tmp/small.yaml" -s hardware="$tmp/faster.yaml")
by_number=$(step_of "$tmp/small.yaml" -s hardware.tiers.1.rate=100GB/s -s hardware.kernels.launch=3us)
by_name=$(step_of "$tmp/small.yaml" -s hardware.infiniband.rate=100GB/s -s hardware.kernels.launch=3us)
[ -n "$file" ] && [ "$file" != "$plain" ] && [ "$file" = "$by_number" ] && [ "$file" = "$by_name" ]
ok $? "a plan is that of a file with these numbers, whether a tier goes by its number or its name"
[ "$(step_of "$tmp/small.yaml" -s "hardware=h100-sxm with tiers.1.rate=100GB/s, kernels.launch=3us")" = "$file" ]
ok $? "and that of a cluster's name with them"
COLUMNS=120 shardsim plan -q "$tmp/small.yaml" -s hardware="$tmp/faster.yaml" -s hardware.tiers.1.rate=50GB/s -s hardware.kernels.launch=4us
says out "^modelled .* a step on faster with tiers.1.rate=50GB/s, kernels.launch=4us" "a report says what is supposed"
[ "$(step_of "$tmp/small.yaml" -s hardware="$tmp/faster.yaml" -s hardware.tiers.1.rate=50GB/s -s hardware.kernels.launch=4us)" = "$plain" ]
ok $? "of a file, too"
# Products at a part of the rate at which they were measured alone, in steps that learn.
half=$(step_of "$tmp/small.yaml" -s hardware.sustained.products=0.4)
whole=$(step_of "$tmp/small.yaml" -s hardware.sustained.products=0.8)
python3 -c '
import sys
plain, whole, half = map(float, sys.argv[1:])
sys.exit(not 1.2 * whole < half < 2 * whole or plain == whole)' "$plain" "$whole" "$half"
ok $? "products of measured kernels take up to twice as long at half of the rate"
[ "$(step_of "$tmp/small.yaml" -s hardware=a100-80g-64 -s hardware.sustained.products=0.8)" != \
    "$(step_of "$tmp/small.yaml" -s hardware=a100-80g-64)" ]
ok $? "and by the models of another cluster that a file names"
[ "$(step_of "$tmp/small.yaml" -s hardware.software.name=fsdp2 -s hardware.sustained.products=0.4)" = \
    "$(step_of "$tmp/small.yaml" -s hardware.software.name=fsdp2)" ]
ok $? "but not in software whose kernels the file has constants of"
# A changed cluster no longer counts as measured.
shardsim plan -q "$tmp/small.yaml" -s hardware=a100-80g-selene -s hardware.tiers.1.rate=50GB/s
says out '^  trust  *not validated' "what is supposed was not measured"

shardsim search -q --json "$tmp/small.yaml" -s hardware.tiers.1.rate=100GB/s -s hardware.kernels.launch=3us --range tp=1 \
    --range pp=1 --range cp=1 --range zero=1 --range microbatch=1..2 --top 1 --output "$tmp/best.yaml"
is 0 "a search of it"
cp "$tmp/out" "$tmp/supposed"
shardsim search -q --json "$tmp/small.yaml" -s hardware="$tmp/faster.yaml" --range tp=1 --range pp=1 --range cp=1 --range zero=1 \
    --range microbatch=1..2 --top 1
python3 -c '
import json, sys
a, b = (json.load(open(f))["best"][0] for f in sys.argv[1:])
sys.exit(a != b)' "$tmp/supposed" "$tmp/out"
ok $? "a search is that of the file"
says best.yaml '^hardware: .h100-sxm with tiers.1.rate=100GB/s, kernels.launch=3us' "and writes what was supposed"

# wrong SET PATTERN: --set SET is refused with PATTERN.
wrong() {
    shardsim plan -q "$tmp/small.yaml" -s "$1"
    is 2 "--set $1: refused"
    says err "$2" "--set $1: why"
}
wrong hardware.infiniband.rat=3GB/s "h100-sxm has no number 'infiniband.rat'; expected hardware.SECTION.KEY"
wrong hardware.tiers.2.rate=3GB/s "h100-sxm has no number 'tiers.2.rate'"
wrong hardware.tiers.1.rate=3 "hardware.tiers.1.rate is '3'; expected a rate above 0, for example 300GB/s"
sed -i '/^hardware/d' "$tmp/small.yaml"
wrong hardware.tiers.1.rate=3GB/s "hardware.tiers.1.rate without a cluster; expected hardware=NAME first"
done_testing
