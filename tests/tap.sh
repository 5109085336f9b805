# shellcheck shell=sh
# tap.sh - the calls of tap.h for shell tests; sourced.
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

# Said by a test whose programs start no threads: under the thread sanitizer, which makes them ten
# times slower, it could find nothing.
starts_no_threads() {
    [ "${SHD_SANITIZER:-}" = thread ] || return 0
    skip "all" "it starts no threads, and nothing can race"
    done_testing
    exit 0
}

# Whatever comes on stdin, as remarks.
diag() {
    sed 's/^/# /'
}

done_testing() {
    echo "1..$tap_count"
}
