#!/bin/sh
# Ask for the times of published training steps, and write figures by set and the plot into
# docs/validation.md and results/validation.
#
#   validation.sh SHARDSIM ROWS [--calculon DIR] [--simumax DIR] [--python PYTHON]
#
# ROWS: a folder of measured steps, with a file SET.jsonl per set.  Figures of tools that are not given are
# those that results/validation/peers.json keeps.
#
# SPDX-License-Identifier: Apache-2.0
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
top=${bench%/*}
program=$1
rows=$2
shift 2
results=$top/results/validation
times=$(mktemp)
trap 'rm -f "$times"' EXIT
python3 "$bench/peers_time.py" --program "$program" --json "$results/peers.json" --csv "$times" "$@" \
    "$rows"/*.jsonl
python3 "$bench/validation_table.py" "$results/peers.json" "$top/scenarios/hardware" \
    "$top/docs/validation.md"
python3 "$bench/published_plot.py" --column shardsim -o "$results/times.svg" "$times"
