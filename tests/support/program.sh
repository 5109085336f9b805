# shellcheck shell=sh
# program.sh - run the program as a user does, and check its output; sourced after tap.sh.
#
# SPDX-License-Identifier: Apache-2.0
: "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${top_builddir:=$PWD}"
bin=$top_builddir
shardsim=$bin/shardsim
# shellcheck disable=SC2034
scenarios=$top_srcdir/scenarios
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# A hanging program is killed and has status 124; sanitizers need more time.
LIMIT=300
small_size && LIMIT=600

# shardsim ARGUMENT...: sets status; the output is in $tmp/out and $tmp/err.
shardsim() {
    timeout "$LIMIT" "$shardsim" "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
}

# is STATUS TEXT: the last run ended with that status.
is() {
    [ "$status" -eq "$1" ]
    ok $? "$2"
    if [ "$status" -ne "$1" ]; then
        echo "status $status, not $1" | diag
        head -n 5 "$tmp/err" | diag
    fi
}

# says out|err PATTERN TEXT: a line of the output or of the errors matches.
says() {
    grep -q -e "$2" "$tmp/$1"
    ok $? "$3"
    grep -q -e "$2" "$tmp/$1" || head -n 5 "$tmp/$1" | diag
}

# silent out|err TEXT: the output, or the errors, are empty.
silent() {
    [ ! -s "$tmp/$1" ]
    ok $? "$2"
    [ ! -s "$tmp/$1" ] || head -n 5 "$tmp/$1" | diag
}

# holds TEXT: the Python on stdin finds nothing wrong with `r`, the JSON of $tmp/out.
holds() {
    {
        printf 'import json, sys\nr = json.load(open(sys.argv[1], encoding="utf-8"))\n'
        cat
    } >"$tmp/check.py"
    python3 "$tmp/check.py" "$tmp/out" >"$tmp/wrong" 2>&1
    ok $? "$1"
    [ ! -s "$tmp/wrong" ] || tail -n 3 "$tmp/wrong" | diag
}
