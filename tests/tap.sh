# shellcheck shell=sh
# tap.sh - the four calls of tap.h for shell tests; sourced.
#
# SPDX-License-Identifier: Apache-2.0
tap_count=0

# ok STATUS TEXT: passed when STATUS is 0
ok() {
    tap_count=$((tap_count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tap_count - $2"
    else
        echo "not ok $tap_count - $2"
    fi
}

skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

# Whatever comes on stdin, as remarks.
diag() {
    sed 's/^/# /'
}

done_testing() {
    echo "1..$tap_count"
}
