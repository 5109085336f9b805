#!/bin/sh
# block_vs_jax.sh [-m block|mlp] [-o FILE] [-r ROUNDS] [-n REPEATS] SHARDSIM - measure one step beside JAX.
#
# JAX comes from PyPI (or from JAX_PYTHON, a Python that has it) into a directory that is removed
# afterwards.  The table goes to stdout, or to FILE (results/bench/block_vs_jax.md is the kept one).
#
# SPDX-License-Identifier: Apache-2.0
set -eu
here=$(cd "$(dirname "$0")" && pwd)
model=block rounds=3 repeats=6 out=''

usage() {
    sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

while getopts m:n:o:r: option; do
    case $option in
    m) model=$OPTARG ;;
    n) repeats=$OPTARG ;;
    o) out=$OPTARG ;;
    r) rounds=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 1 ] || usage
program=$1
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
python=${JAX_PYTHON:-}
if [ -z "$python" ]; then
    python3 -m venv "$work/venv"
    python=$work/venv/bin/python
    "$python" -m pip install --quiet --disable-pip-version-check jax >&2
fi
"$python" "$here/block_vs_jax.py" "$program" "$here/$model.yaml" "$rounds" "$repeats" "$model" \
    >"$work/table"
if [ -n "$out" ]; then
    mkdir -p "$(dirname "$out")"
    mv "$work/table" "$out"
else
    cat "$work/table"
fi
