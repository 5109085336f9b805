#!/bin/sh
# Tests 8 and 64 experts under every workload, sharded over 1, 2, 4 and 8 ranks, with their width
# over two more ranks and two replicas: values and gradients are those of one device; drops, rows
# and bytes are those that experts_grid.py counts, in plans and runs.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

cat >"$tmp/grid.yaml" <<'YAML'
version: 1
mesh: {dp: 2, ep: 1, tp: 2}
model: {kind: block, d_model: 16, heads: 2, d_ff: 16}
moe: {experts: 8, top_k: 2, d_ff: 8, aux_loss: 0.01, z_loss: 0.001}
batch: {size: 16, seq: 8}
step: [forward, backward]
seed: 3
params:
  - [moe/up/kernel, [ep, null, tp]]
  - [moe/down/kernel, [ep, tp]]
  - [.*, []]
axes: {batch: [dp, ep]}
strategies:
YAML
# Capacity for all choices, and for three quarters of an even share, so that choices are dropped.
for routing in learned uniform zipf hot-expert hot-rank ragged empty rotating; do
    for room in 0_tokens 0.75_tokens 0.75_choices; do
        echo "  - {name: ${routing}_$room, moe: {routing: $routing, capacity: ${room%_*}, drop: ${room#*_}}}"
    done
done >>"$tmp/grid.yaml"

# The corners of the grid suffice under sanitizers, which are slow.
grid='8:1 8:2 8:4 8:8 64:1 64:2 64:4 64:8'
small_size && grid='8:1 8:4 64:2'

for cell in $grid; do
    small_size || sampled 3 || continue
    experts=${cell%:*} ep=${cell#*:}
    for command in plan run; do
        shardsim $command -q --json -s "moe.experts=$experts" -s "mesh.ep=$ep" "$tmp/grid.yaml"
        is 0 "$command, $experts experts, EP $ep: status 0"
        python3 "$top_srcdir/tests/steps/experts_grid.py" "$tmp/out" "$experts" "$ep" >"$tmp/wrong" 2>&1
        ok $? "$command, $experts experts, EP $ep: every workload, drops and bytes"
        head -n 5 "$tmp/wrong" | diag
    done
done
done_testing
