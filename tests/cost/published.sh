#!/bin/sh
# Tests modelled times and memory against published measurements of real clusters.  The measurements
# are not part of the sources: they are in the folder $SHARDSIM_PUBLISHED, by default
# shared/published beside the source tree.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

: "${SHARDSIM_PUBLISHED:=$top_srcdir/../shared/published}"
if ! [ -f "$SHARDSIM_PUBLISHED/score.py" ]; then
    skip "published measurements" "there is no $SHARDSIM_PUBLISHED; SHARDSIM_PUBLISHED says where"
    done_testing
    exit 0
fi

sets='korthikanti sc21 vtrain_multi vtrain_single bloom maxtext torchtitan llm_foundry
b200 tpu_v6e fp8_torchtitan fp8_nemo fp8_blackwell'
small_size && sets='korthikanti torchtitan'
if [ "${SHD_TEST_TIER:-}" = change ]; then
    chosen=
    for set in $sets; do
        case $set in
            torchtitan) chosen="$chosen $set" ;;
            *) sampled 12 && chosen="$chosen $set" ;;
        esac
    done
    sets=$chosen
fi
for set in $sets; do
    timeout "$LIMIT" python3 "$SHARDSIM_PUBLISHED/score.py" --program "$shardsim" \
        "$SHARDSIM_PUBLISHED/$set.jsonl" >"$tmp/$set" 2>"$tmp/err"
    ok $? "$set: the mean error of times is within the set's goal"
    diag <"$tmp/$set"
done

# memory SET PERCENT: the mean error of memory over a set is at most PERCENT.
memory() {
    error=$(sed -n "/^$1 /s/.*| *\([0-9.]*\) (.*/\1/p" "$tmp/$1" 2>/dev/null)
    [ -n "$error" ] && awk -v e="$error" -v most="$2" 'BEGIN { exit !(e <= most) }'
    ok $? "$1: the mean error of memory, $error %, is at most $2 %"
}
case $sets in *bloom*) memory bloom 8 ;; esac
case $sets in *b200*) memory b200 6 ;; esac
memory torchtitan 10

# The sources must not contain any of these measurements.
! grep -rlE "korthikanti\.v[0-9]|bloom\.v[0-9]{4}|vtrain_[a-z]*\.v[0-9]" "$top_srcdir/sim" "$top_srcdir/lib" \
    "$top_srcdir/scenarios" >"$tmp/known"
ok $? "no row is known to the sources"
done_testing
