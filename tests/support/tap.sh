# shellcheck shell=sh
# tap.sh - the calls of tap.h for shell tests; sourced.
#
# SPDX-License-Identifier: Apache-2.0
tap_count=0

# In some locales awk writes numbers with a comma, and [a-z] is not all letters.  The rest of the
# locale stays as the user has it.
if [ -n "${LC_ALL:-}" ]; then
    LANG=$LC_ALL
    export LANG
    unset LC_ALL
fi
LC_NUMERIC=C
LC_COLLATE=C
export LC_NUMERIC LC_COLLATE

# ok STATUS TEXT: passed if STATUS is 0
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

# sampled EVERY [INDEX]: whether a case is in this run's sample of one in EVERY.  SHD_TEST_TURN, a
# number that the commit determines, selects the sample, so that successive commits cover all
# cases.  Always true unless SHD_TEST_TIER is `change`: in the nightly tier, and in a test that is
# started by hand.  Without INDEX cases are counted.
tap_cases=0
sampled() {
    tap_cases=$((tap_cases + 1))
    [ "${SHD_TEST_TIER:-}" != change ] || [ $(((${2:-$tap_cases} + ${SHD_TEST_TURN:-0}) % $1)) -eq 0 ]
}

# small_size: whether SHD_TEST_SIZE is small, as under sanitizers, which make everything slow
small_size() {
    [ "${SHD_TEST_SIZE:-}" = small ]
}

# diag: print stdin as remarks.
diag() {
    sed 's/^/# /'
}

done_testing() {
    echo "1..$tap_count"
}
