#!/bin/sh
# Tests explain collective --hardware: its words and figures, and those of NVLink against
# measurements.
#
# The measurements are not part of this repository: the test looks for them in the folder
# SHARDSIM_PUBLISHED, else in shared/published beside the source tree.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
: "${SHARDSIM_PUBLISHED:=$top_srcdir/../shared/published}"

# explains COLLECTIVE HARDWARE OPTION...: run it, and put the wrapped answer on one line.
explains() {
    kind=$1
    hardware=$2
    shift 2
    shardsim explain collective "$kind" --hardware "$hardware" "$@"
    is 0 "$kind on $hardware: status 0"
    silent err "$kind on $hardware: nothing on standard error"
    tr -s '\n ' '  ' <"$tmp/out" >"$tmp/line"
}

# json FIELD EXPECTED WHAT: a number of the answer is within a thousandth of EXPECTED.
json() {
    python3 -c 'import json, sys
field = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("."):
    field = field[int(key) if key.isdigit() else key]
sys.exit(abs(field - float(sys.argv[3])) > 1e-3 * float(sys.argv[3]))' "$tmp/out" "$1" "$2"
    ok $? "$3"
}

# By hand: a ring of 16 in both directions at 2 x 45 GB/s, with hops of 1 us.
explains all-gather tpu-v5e -m 16,16 --axes 0 --bytes 4MiB
says line 'slice of 16 x 16, all axes closed to rings ici: 16 members along torus axis 0, a ring of 16' "a ring"
says line 'latency 8 hops of 1.00 us = 8.00 us' "its hops"
says line 'bandwidth (16-1)/16 x 64.0 MiB = 60.0 MiB into a device, by 90.0 GB/s (2 links of 45.0 GB/s) = 699 us' \
    "its bytes"
says line 'time 699 us, bound by bandwidth; bandwidth without (n-1)/n, as for a long ring: 746 us' "its time"
says line 'latency and bandwidth are equal at 46.9 KiB per member' "where both are equal"
ok "$(test "$(wc -l <"$tmp/out")" -le 24; echo $?)" "a screenful"
explains all-to-all tpu-v5e -m 16,16 --axes 0 --bytes 4MiB --json
json seconds 186.41e-6 "all-to-all: a quarter of that"
explains all-gather tpu-v5e -m 4,4 --axes 1 --bytes 4MiB
says line 'no axis closed to a ring' "a slice shorter than the pod is no ring"
says line '12.0 MiB into a device, by 45.0 GB/s (1 links of' "a line's end has one link"
explains all-gather tpu-v4 -m 4,4,4 --axes 0,1 --bytes 512KiB --json
json seconds 43.69e-6 "two axes at once"
json long_ring_seconds 46.6e-6 "two axes, without (n-1)/n"
explains all-gather tpu-v4 -m x=4,y=4,z=4 --axes x --bytes 64 --json
json seconds 2e-6 "a small array: its hops"
says out '"bound": "latency"' "a small array: bound by latency"
explains all-reduce tpu-v5p -m 2,4,4,4 --slices 2 --bytes 64MiB
says line 'two levels: tiers in sequence' "two slices: two levels"
says line 'dcn: 2 domains' "two slices: the network between them"
explains all-reduce h100-sxm -m dp=4,tp=8 --axes tp --bytes 64MiB
says line 'nvlink: 8 members' "a node"
explains all-reduce h100-sxm -m dp=4,tp=8 --bytes 1GiB --json
says out '"tier": "infiniband"' "between nodes"
explains all-reduce h100-sxm -m dp=16384,tp=8 --axes dp --bytes 1MiB
says line 'up and down two trees, each for half of the array: 2 log2 n steps' "many nodes: two trees"
says line 'latency 28 steps of 5.00 us = 140 us' "many nodes: their steps"
says line '2 x 1.00 MiB, up and down, = 2.00 MiB into a device' "many nodes: their bytes"
explains all-gather h100-sxm -m dp=16384,tp=8 --axes dp --bytes 1KiB
says line 'between those 1, 2, 4, ... apart: log2 n steps' "many nodes: doubling"
says line 'latency 14 steps of 5.00 us = 70.0 us' "many nodes: its steps"
explains all-gather h100-sxm -m dp=16384,tp=8 --axes dp --bytes 1KiB --json
says out '"schedule": "tree"' "many nodes: in JSON"
explains all-reduce h100-sxm --devices 1 --bytes 1GiB
says out 'one member: nothing to do' "one member"
cat >"$tmp/own.yaml" <<'END'
version: 1
name: own
source: made up
rates: {bfloat16: 1TFLOP/s}
memory: {size: 1GiB, rate: 1GB/s}
kernels: {launch: 0s, matmul_efficiency: 1, memory_efficiency: 1, attention_efficiency: 1,
  attention_backward_efficiency: 1}
tiers: [{name: cable, rate: 1GB/s, latency: 0s, step: 0s}]
END
explains send-recv "$tmp/own.yaml" --devices 2 --bytes 1GB --json
json seconds 1 "a file of one's own"

COLUMNS=200 shardsim show hardware
is 0 "show hardware: status 0"
says out '^tpu-v5p: 459 TFLOP/s bfloat16, 95.0 GiB at 2.80 TB/s, ici 90.0 GB/s, dcn 6.25 GB/s$' "show hardware: a row each"
COLUMNS=200 shardsim show hardware tpu-v5e
is 0 "show hardware NAME: status 0"
says out '^int8: 394 TFLOP/s; memory-bound below 486.4 operations/byte (weights: below 243.2 rows)$' \
    "show hardware NAME: what bounds a product"
says out 'rows; of a byte each 121.6)$' "show hardware NAME: weights narrower than what is computed with"
tr -s '\n ' '  ' <"$tmp/out" >"$tmp/line"
says line '2189 bfloat16 operations per byte by a ring, both ways' "show hardware NAME: links"
shardsim show hardware tpu-v5e tpu-v4
is 2 "show hardware: one at a time"
shardsim show hardware "$tmp/own.yaml"
says out '^own: made up$' "show hardware FILE: a file of one's own"

# docs/hardware.md: its example is the program's output, its file loads, and it has every key.
page=$top_srcdir/docs/hardware.md
sed -n '/^\$ shardsim explain collective/,/^```$/p' "$page" | sed '1d; $d' >"$tmp/shown"
shardsim explain collective all-gather --hardware tpu-v5e --mesh 16,16 --axes 0 --bytes 4MiB
cmp -s "$tmp/shown" "$tmp/out"
ok $? "docs: the example is what is printed"
# shellcheck disable=SC2016
sed -n '/^```yaml$/,/^```$/p' "$page" | sed '1d; $d' >"$tmp/two-boxes.yaml"
shardsim explain collective all-reduce --hardware "$tmp/two-boxes.yaml" --devices 8 --bytes 1MiB
is 0 "docs: the file is one"
sed -n 's/^    {"\([a-z_]*\)", KEY_.*/\1/p' "$top_srcdir/sim/hardware/keys.c" | sort -u >"$tmp/keys"
missing=$(while read -r key; do grep -q "\`$key\`\|^$key:" "$page" || echo "$key"; done <"$tmp/keys")
[ -s "$tmp/keys" ] && [ -z "$missing" ]
ok $? "docs: every key is told${missing:+, not $missing}"

# bad WHAT PATTERN ARGUMENT...: explain collective refuses the arguments.
bad() {
    what=$1
    pattern=$2
    shift 2
    shardsim explain collective "$@"
    is 2 "$what: status 2"
    tr -s '\n ' '  ' <"$tmp/err" >"$tmp/line"
    says line "$pattern" "$what: said"
    silent out "$what: nothing on standard output"
}

bad "no such cluster" "no hardware 'tpu-v44'; expected .* did you mean 'tpu-v4'" all-reduce --hardware tpu-v44 --bytes 1MiB
bad "no such file" 'hardware ./none.yaml: ' all-reduce --hardware ./none.yaml --bytes 1MiB
bad "no size" 'expected --bytes' all-reduce --hardware tpu-v4
bad "no cluster" 'require --hardware' all-reduce --bytes 1MiB
bad "an algorithm" 'remove --algorithm' all-reduce --hardware tpu-v4 --bytes 1 --algorithm ring
bad "a size of nothing" "'x' is not a valid size" all-reduce --hardware tpu-v4 --bytes x
bad "no such axis" "'y'" all-reduce --hardware tpu-v4 --mesh x=2 --axes y --bytes 1
bad "a mesh that is none" "mesh '0=a'" all-reduce --hardware tpu-v4 --mesh a --bytes 1
bad "too many for a pod" 'no slice of 512 devices in its pod of 256; expected more slices' \
    all-reduce --hardware tpu-v5e --devices 512 --bytes 1
bad "slices that are none" 'slices: expected a whole number' all-reduce --hardware tpu-v5e \
    --devices 512 --slices 0 --bytes 1
bad "slices that do not divide" 'cannot form 3 equal slices' all-reduce --hardware tpu-v5e \
    --devices 512 --slices 3 --bytes 1
bad "three for a pair" 'two devices' send-recv --hardware tpu-v4 --devices 3 --bytes 1

# NVLink of an A100, measured: all-reduces of 1 MiB to 1 GiB on 2 to 8 devices.
if [ ! -f "$SHARDSIM_PUBLISHED/hardware.json" ]; then
    skip "NVLink as measured" "there is no hardware.json in $SHARDSIM_PUBLISHED (SHARDSIM_PUBLISHED)"
else
    cat >"$tmp/nvlink.py" <<'PY'
import json, subprocess, sys
program, published, hardware = sys.argv[1:]
table = json.load(open(published + "/hardware.json"))["nvlink_allreduce_a100_measured"]
errors = []
for members, sizes in table.items():
    for size, row in sizes.items():
        if "us" not in row:
            continue
        answer = subprocess.run(
            [program, "explain", "collective", "all-reduce", "--hardware", hardware, "--json",
             "--devices", members, "--bytes", size], capture_output=True, check=True, text=True)
        errors.append(abs(json.loads(answer.stdout)["seconds"] * 1e6 / row["us"] - 1))
mape = sum(errors) / len(errors)
print("%d rows, mean error %.2f %%" % (len(errors), 100 * mape))
sys.exit(len(errors) != 77 or mape > 0.03)
PY
    # The links of a cluster that has no NCCL of its own measured: those of a100-sxm are other tables.
    python3 "$tmp/nvlink.py" "$shardsim" "$SHARDSIM_PUBLISHED" a100-80g-selene >"$tmp/nvlink" 2>&1
    ok $? "NVLink as measured, within 3 %: $(tail -n 1 "$tmp/nvlink")"
    [ "$(grep -c rows "$tmp/nvlink")" = 1 ] || diag <"$tmp/nvlink"
fi
done_testing
