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

# The thread sanitizer makes programs ten times slower.  It could find nothing in tests that start
# no threads, nor anything new where devices run as they do in tests/scenarios.sh, which runs programs
# of every kind, and in the C tests of the runtime: both say so.
starts_no_threads() {
    leave_out "it starts no threads, and nothing can race"
}

same_threads_as_scenarios() {
    leave_out "devices run here as they do in tests/scenarios.sh"
}

# leave_out REASON: under the thread sanitizer
leave_out() {
    [ "${SHD_SANITIZER:-}" = thread ] || return 0
    skip "all" "$1"
    done_testing
    exit 0
}

# Pages and examples: that what they show is what the program prints.  The commands in them have tests
# of their own, which sanitizers see; here they would only cost minutes.
pages_only() {
    [ "${SHD_TEST_SIZE:-}" = small ] || return 0
    skip "all" "its commands are tested one by one elsewhere"
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
