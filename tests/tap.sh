# shellcheck shell=sh
# tap.sh - the calls of tap.h for shell tests; sourced.
#
# SPDX-License-Identifier: Apache-2.0
tap_count=0

# awk writes numbers with the locale's comma, and [a-z] is not all of these letters everywhere.  All else
# is as whoever runs the tests has it.
if [ -n "${LC_ALL:-}" ]; then
    LANG=$LC_ALL
    export LANG
    unset LC_ALL
fi
LC_NUMERIC=C
LC_COLLATE=C
export LC_NUMERIC LC_COLLATE

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

# sampled EVERY [INDEX]: whether a case is in this run's sample of one in EVERY.  SHD_TEST_TURN, a number
# that the commit tells, says which: successive commits see all cases.  Always true where SHD_TEST_TIER
# is not `change`: in the nightly tier, and in a test that is started by hand.  Without INDEX cases are
# counted.
tap_cases=0
sampled() {
    tap_cases=$((tap_cases + 1))
    [ "${SHD_TEST_TIER:-}" != change ] || [ $(((${2:-$tap_cases} + ${SHD_TEST_TURN:-0}) % $1)) -eq 0 ]
}

# small_size: whether sanitizers look on, which make everything slow
small_size() {
    [ "${SHD_TEST_SIZE:-}" = small ]
}

# Whatever comes on stdin, as remarks.
diag() {
    sed 's/^/# /'
}

done_testing() {
    echo "1..$tap_count"
}
