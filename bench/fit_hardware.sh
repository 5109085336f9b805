#!/bin/sh
# fit_hardware.sh - fit the constants of the shipped clusters to published steps of training.
#
# usage: bench/fit_hardware.sh [CLUSTER...]        (default: all that have rows)
#
# Rows are in $SHARDSIM_PUBLISHED/*.jsonl (default: ../shared/published beside the sources), the
# program is $SHARDSIM (default: build/shardsim), and $SHARDSIM_FIT has further options of calibrate,
# e.g. "--rows 50".  For each cluster, one set of the constants that its file lists as fitted is fitted to
# all of its rows, and the file is written anew, with the error of each set of rows and the error in 5-fold
# cross-validation; then the tables of the results are printed.  A cluster takes minutes.
#
# SPDX-License-Identifier: Apache-2.0
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
published=${SHARDSIM_PUBLISHED:-$root/../shared/published}
program=${SHARDSIM:-$root/build/shardsim}

[ -d "$published" ] || {
    echo "fit_hardware.sh: there is no folder $published; SHARDSIM_PUBLISHED says where rows are" >&2
    exit 2
}

# fit CLUSTER: fit to all files that have rows of the cluster
fit() {
    cluster=$1
    set --
    for rows in "$published"/*.jsonl; do
        if grep -q "\"hardware\": *\"$cluster\"" "$rows"; then
            set -- "$@" --steps "$rows"
        fi
    done
    if [ $# -eq 0 ]; then
        return
    fi
    file=$root/scenarios/hardware/$cluster.yaml
    echo "== $cluster"
    # shellcheck disable=SC2086
    "$program" calibrate "$file" "$@" ${SHARDSIM_FIT:-} --force -o "$file"
    echo
}

if [ $# -eq 0 ]; then
    for file in "$root"/scenarios/hardware/*.yaml; do
        set -- "$@" "$(basename "$file" .yaml)"
    done
fi
for name; do
    fit "$name"
done
