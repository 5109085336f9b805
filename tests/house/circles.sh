#!/bin/sh
# Inside a room of sim or interop, and among the ops of lib/layouts, the files depend one way: none needs a
# function or an object of a file that needs one of its own, directly or by others.  Who defines and
# who needs what is asked of the object files; sim/LAYERS and layers.sh say the same of the rooms.
#
# SPDX-License-Identifier: Apache-2.0
: "${AWK:=awk}" "${NM:=nm}" "${CC:=cc}" "${top_srcdir:=$(dirname "$0")/../..}" "${top_builddir:=.}"
. "$top_srcdir/tests/support/tap.sh"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# Circles that lie in the nature of the task: a room, its files that may need each other, and the
# reason.
known() {
    cat <<'END'
kern kernel reduce_error   the error of a sum is bounded by sums of its terms, made by the same kernel
model call_args calls calls_choose calls_move elementwise lines   an expression has calls in it, whose arguments are expressions
END
}

# Where the rooms lie, in the sources as in a build.
rooms='sim interop lib/layouts/query'

# symbols BUILD SOURCE: "path/unit symbol type" of all objects of rooms in BUILD whose source is still
# in SOURCE; libtool's folder and prefix are left out of the path.
symbols() {
    # shellcheck disable=SC2086  # NM may have arguments, and there are several rooms
    (cd "$1" && find $rooms -name '*.o' -exec $NM -P -A -g {} +) |
        sed -n 's|^\([^:]*\)\.o: *\([^ ]*\) \([A-Za-z]\).*|\1 \2 \3|p' |
        sed -e 's|\.libs/||' -e 's|[^/ ]*_la-||' | sort -u >"$dir/symbols"
    cut -d ' ' -f 1 "$dir/symbols" | sort -u | while read -r unit; do
        [ -f "$2/$unit.c" ] && echo "unit $unit"
    done >"$dir/units"
    cat "$dir/units" "$dir/symbols"
}

# circles: reads symbols, prints "ROOM FILE needs SYMBOL of FILE" for each edge of a circle or
# between two circles.  A file that needs none of the remaining files, or that none of them needs, is
# in no circle; such files are removed until only circles remain.
# shellcheck disable=SC2016  # the dollars are awk's
circles() {
    $AWK '
        function room_of(unit,    part) {
            return split(unit, part, "/") > 2 ? part[2] : ""
        }
        # Whether a file remains, and both needs a remaining file and is needed by one.
        function is_bound(unit,    e, needs, needed) {
            for (e = 1; e <= nedges; e++) {
                if (!(from[e] in left) || !(to[e] in left))
                    continue
                needs += from[e] == unit
                needed += to[e] == unit
            }
            return needs && needed
        }
        $1 == "unit" { left[$2] = 1; next }
        !($1 in left) { next }
        $3 ~ /[Uwv]/ { n++; user[n] = $1; symbol[n] = $2; next }
        { owner[$2] = $1 }
        END {
            for (i = 1; i <= n; i++) {
                o = owner[symbol[i]]
                if (o == "" || o == user[i] || room_of(o) != room_of(user[i]) || room_of(o) == "")
                    continue
                nedges++
                from[nedges] = user[i]
                to[nedges] = o
                by[nedges] = symbol[i]
            }
            do {
                taken = 0
                for (unit in left)
                    if (!is_bound(unit)) {
                        delete left[unit]
                        taken = 1
                    }
            } while (taken)
            for (e = 1; e <= nedges; e++)
                if (from[e] in left && to[e] in left)
                    print room_of(from[e]), from[e], "needs", by[e], "of", to[e]
        }
    ' | sort
}

# Leave out the edges within one of the known circles.
# shellcheck disable=SC2016  # the dollars are awk's
unknown() {
    known | sed 's/   .*//' >"$dir/known"
    $AWK -v known="$dir/known" '
        function name(path) {
            sub(/.*\//, "", path)
            return path
        }
        BEGIN {
            while ((getline line < known) > 0) {
                n = split(line, word, " ")
                for (i = 2; i <= n; i++)
                    allowed[word[1], word[i]] = 1
            }
        }
        !(($1, name($2)) in allowed && ($1, name($6)) in allowed)
    '
}

symbols "$top_builddir" "$top_srcdir" >"$dir/all"
circles <"$dir/all" >"$dir/found"
nunits=$(grep -c '^unit ' "$dir/all")
# shellcheck disable=SC2086
nsources=$(cd "$top_srcdir" && find $rooms -name '*.c' | wc -l)
# Of base/system_*.c there is one, and builds without MPI leave out ranks/wire_mpi.c.
nsources=$((nsources - 1))
grep -q '^#define WITH_MPI 1' "$top_builddir/config.h" || nsources=$((nsources - 1))
[ "$nunits" -eq "$nsources" ]
ok $? "the symbols of all files of sim and interop are read"
echo "$nunits of $nsources" | diag

unknown <"$dir/found" >"$dir/faults"
[ ! -s "$dir/faults" ]
ok $? "no files of a room need each other"
diag <"$dir/faults"

known | while read -r room file _; do
    grep -Eq "^$room (sim|interop)/$room/$file needs" "$dir/found" || echo "$room $file"
done >"$dir/stale"
[ ! -s "$dir/stale" ]
ok $? "the circles that are let be are there"
diag <"$dir/stale"

# unit NAME TEXT: write a source and compile its object, in a small tree
unit() {
    mkdir -p "$dir/small/interop" "$dir/small/sim/room/.libs" "$dir/small/lib/layouts/query"
    echo "$2" >"$dir/small/sim/room/$1.c"
    $CC -c -o "$dir/small/sim/room/.libs/libsim_la-$1.o" "$dir/small/sim/room/$1.c"
}

small() {
    symbols "$dir/small" "$dir/small" | circles | unknown >"$dir/faults"
}

unit top 'int middle(void); int top(void); int top(void) { return middle(); }'
unit middle 'extern int bottom[]; int middle(void); int middle(void) { return bottom[0]; }'
unit bottom 'extern int bottom[]; int bottom[1];'
small
[ ! -s "$dir/faults" ]
ok $? "is content with files that depend one way"
diag <"$dir/faults"

unit bottom 'int top(void); extern int (*bottom[])(void); int (*bottom[])(void) = {top};'
small
grep -q '^room sim/room/bottom needs top of sim/room/top$' "$dir/faults" &&
    grep -q '^room sim/room/middle needs bottom of ' "$dir/faults"
ok $? "finds a circle of three by a table"

rm "$dir/small/sim/room/bottom.c"
small
[ ! -s "$dir/faults" ]
ok $? "objects whose source is gone count for nothing"
diag <"$dir/faults"

done_testing
