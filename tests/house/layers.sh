#!/bin/sh
# Tests that every #include in lib/, sim/ and interop/ follows an arrow of sim/LAYERS, that every arrow is
# needed, and that no room has more lines than it may have.
#
# SPDX-License-Identifier: Apache-2.0
: "${AWK:=awk}" "${top_srcdir:=$(dirname "$0")/../..}"
. "$top_srcdir/tests/support/tap.sh"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# check ROOT: print each fault as "file:line: what".
# shellcheck disable=SC2016  # the dollars are awk's
check() {
    (
        cd "$1" || exit
        find sim -path '*/shd/*.h' | sed 's/^/public /'
        find lib lib/layouts sim interop -mindepth 1 -maxdepth 1 -type d ! -name '.*' ! -path lib/shd \
            ! -path lib/layouts | sed 's/^/folder /'
        find lib -name '*.c' | sed 's/^/defines /'
        find lib sim interop -name '*.[ch]' | sort | sed 's/^/source /'
        for room in sim/* interop/*; do
            [ -d "$room" ] || continue
            echo "lines $room $(find "$room" -name '*.[ch]' -exec cat {} + | wc -l)"
        done
    ) | $AWK -v root="$1" -v layers="$1/sim/LAYERS" '
        function room_of(path,    part, n) {
            n = split(path, part, "/")
            if (path ~ /^lib\/shd\//)
                return public_room(part[3])
            if (part[2] == "layouts")
                return part[3] == "query" ? "layouts" : "lib/layouts/" part[3]
            if (part[1] == "lib")
                return n == 2 ? "lib/core" : "lib/" part[2]
            return n == 2 ? "main" : part[2]
        }
        # The folder of lib to which shd/`name` belongs; "" if any folder may include the header.
        function public_room(name,    word) {
            sub(/\.h$/, "", name)
            if (name == "error" || name == "export")
                return ""
            if (name in defined)
                return defined[name]
            split(name, word, "_")
            return "lib/" word[1] in known ? "lib/" word[1] : "lib/core"
        }
        function exists(path,    line, status) {
            status = (getline line < path)
            close(path)
            return status >= 0
        }
        function read_layers(    line, n, word, i, room) {
            while ((getline line < layers) > 0) {
                nline++
                sub(/#.*/, "", line)
                n = split(line, word, /[ \t:]+/)
                if (n == 0 || word[1] == "")
                    continue
                room = word[1]
                known[room] = 1
                for (i = 2; i <= n; i++) {
                    if (word[i] == "")
                        continue
                    if (word[i] ~ /^[0-9]+$/) {
                        most[room] = word[i]
                        continue
                    }
                    if (room != "lib" && !(word[i] in known))
                        print "sim/LAYERS:" nline ": " room " names " word[i] ", which is not above it"
                    allowed[room, word[i]] = nline
                }
            }
        }
        function takes(room, owner) {
            taken[room, owner] = 1
            return (room, owner) in allowed
        }
        # The reason why `room`, in `file`, may not include `target` (with its quotes); "" if it
        # may.
        function fault(room, file, target,    name, owner, in_lib) {
            name = substr(target, 2, length(target) - 2)
            in_lib = room ~ /^lib\//
            if (target == "\"config.h\"")
                return ""
            if (target ~ /^</ && name in public)
                owner = public[name]
            else if (target ~ /^<shd\//) {
                owner = public_room(substr(name, 5))
                if (owner == "" || !in_lib && owner !~ /^lib\/layouts\//)
                    return ""
            } else if (target ~ /^</)
                return !in_lib || takes("lib", name) ? "" : "lib may not include " target
            else if (name !~ /\//) {
                sub(/[^\/]*$/, name, file)
                if (exists(root "/" file))
                    return ""
                if (!in_lib || !exists(root "/lib/" name))
                    return target " is not in the same folder"
                owner = "lib/core"
            } else
                owner = room_of((in_lib ? "lib/" : "sim/") name)
            if (owner == room || takes(room, owner))
                return ""
            return room " may not include " target
        }
        function check_source(file,    path, line, n, target, why, room) {
            path = root "/" file
            room = room_of(file)
            while ((getline line < path) > 0) {
                n++
                if (line !~ /^[ \t]*#[ \t]*include[ \t]*[<"]/)
                    continue
                target = line
                sub(/^[^<"]*/, "", target)
                sub(/[^>"]*$/, "", target)
                why = fault(room, file, target)
                if (why != "")
                    print file ":" n ": " why
            }
            close(path)
        }
        BEGIN { read_layers() }
        $1 == "public" { name = $2; sub(/.*\/shd\//, "shd/", name); public[name] = room_of($2) }
        $1 == "defines" {
            name = $2
            sub(/.*\//, "", name)
            sub(/\.c$/, "", name)
            room = room_of($2)
            if (room ~ /^lib\// && (!(name in defined) || room == "lib/core"))
                defined[name] = room
        }
        $1 == "folder" {
            room = room_of($2 "/")
            if (!(room in known))
                print $2 ": no line in sim/LAYERS"
        }
        $1 == "source" { check_source($2) }
        $1 == "lines" {
            room = room_of($2 "/")
            if (!(room in most))
                print "sim/LAYERS: " room " has no number of lines"
            else if ($3 > most[room])
                print $2 ": " $3 " lines, " $3 - most[room] " more than sim/LAYERS has"
            else if ($3 < most[room] - 500)
                print "sim/LAYERS: " room " has " $3 " lines; lower its " most[room]
        }
        END {
            for (arrow in allowed) {
                split(arrow, end, SUBSEP)
                if (!(arrow in taken))
                    print "sim/LAYERS:" allowed[arrow] ": " end[1] " names " end[2] ", and includes nothing of it"
            }
        }
    '
}

# finds NAME PATTERN: checking the tree in $dir/NAME prints a matching line.
finds() {
    check "$dir/$1" >"$dir/faults"
    grep -q "$2" "$dir/faults"
    ok $? "finds $1"
}

# tree NAME FILE LINE: make a small tree with an additional line in one file.
tree() {
    mkdir -p "$dir/$1/lib/shd" "$dir/$1/lib/reshard" "$dir/$1/lib/layouts/t5x" "$dir/$1/lib/layouts/query"
    mkdir -p "$dir/$1/sim/base" "$dir/$1/sim/run/shd" "$dir/$1/sim/cost" "$dir/$1/interop/export"
    {
        printf 'lib: stdio.h\nlib/core:\nlib/reshard: lib/core\nlib/layouts/t5x: lib/core\n'
        printf 'base 9:\nlayouts: base lib/layouts/t5x\nrun 9: base\ncost 9:\nexport 9: run\nmain: run\n'
    } >"$dir/$1/sim/LAYERS"
    printf '#include <stdio.h>\n#include <shd/mesh.h>\n' >"$dir/$1/lib/mesh.c"
    echo '#include <shd/error.h>' >"$dir/$1/lib/shd/mesh.h"
    printf '#include <shd/reshard_figures.h>\n#include "step.h"\n' >"$dir/$1/lib/reshard/reshard.c"
    printf '#include <shd/mesh.h>\n#include "print.h"\n' >"$dir/$1/lib/reshard/step.h"
    echo '#include <shd/mesh.h>' >"$dir/$1/lib/layouts/t5x/chunk.c"
    printf '#include <jansson.h>\n#include <shd/chunk.h>\n#include "base/log.h"\n' >"$dir/$1/lib/layouts/query/chunk.c"
    : >"$dir/$1/lib/print.h"
    printf '#include "config.h"\n#include <pthread.h>\n#include "base/log.h"\n' >"$dir/$1/sim/run/run.c"
    echo '#include <shd/mesh.h>' >"$dir/$1/sim/run/shd/run.h"
    echo '#include <shd/run.h>' >"$dir/$1/sim/main.c"
    : >"$dir/$1/sim/base/log.h"
    echo '#include <shd/run.h>' >"$dir/$1/interop/export/export.h"
    : >"$dir/$1/sim/cost/cost.h"
    echo "$3" >>"$dir/$1/$2"
}

check "$top_srcdir" >"$dir/faults"
[ ! -s "$dir/faults" ]
ok $? "every include follows sim/LAYERS"
diag <"$dir/faults"

tree "a good tree" sim/run/run.c ''
[ -z "$(check "$dir/a good tree")" ]
ok $? "is content with a good tree"

tree "an include of a room that is not allowed" sim/run/run.c '#include "cost/cost.h"'
finds "an include of a room that is not allowed" '^sim/run/run.c:4: run may not include "cost/cost.h"'
tree "another system's files in the simulator" sim/run/run.c '#include "export/export.h"'
finds "another system's files in the simulator" '^sim/run/run.c:4: run may not include "export/export.h"'
tree "a public header of a room that is not allowed" sim/cost/cost.h '# include <shd/run.h>'
finds "a public header of a room that is not allowed" '^sim/cost/cost.h:1: '
tree "an include from lib into sim" lib/mesh.c '#include "base/log.h"'
finds "an include from lib into sim" '^lib/mesh.c:3: '
tree "a system header that lib does without" lib/mesh.c '#include <pthread.h> /* threads */'
finds "a system header that lib does without" '^lib/mesh.c:3: lib may not include <pthread.h>'
tree "a header of another folder by its bare name" sim/run/run.c '#include "log.h"'
finds "a header of another folder by its bare name" '^sim/run/run.c:4: '
tree "a room below the line that names it" sim/LAYERS 'store: query'
finds "a room below the line that names it" '^sim/LAYERS:11: store names query'
tree "an arrow that no include needs" sim/LAYERS 'cost: base'
finds "an arrow that no include needs" '^sim/LAYERS:11: cost names base, and includes nothing of it'
tree "a room with more lines than it may have" sim/LAYERS 'cost 1: base'
printf '#include "base/log.h"\n\n' >"$dir/a room with more lines than it may have/sim/cost/cost.c"
finds "a room with more lines than it may have" '^sim/cost: 2 lines, 1 more than sim/LAYERS has'
tree "a room that may have far more than it has" sim/LAYERS 'cost 510: base'
finds "a room that may have far more than it has" '^sim/LAYERS: cost has 0 lines; lower its 510'
tree "a folder without a line" sim/LAYERS ''
mkdir "$dir/a folder without a line/sim/util"
finds "a folder without a line" '^sim/util: '
tree "a header of a folder that lib itself may not know" lib/mesh.c '#include "reshard/step.h"'
finds "a header of a folder that lib itself may not know" '^lib/mesh.c:3: lib/core may not include "reshard/step.h"'
tree "a public header of such a folder" lib/shd/mesh.h '#include <shd/reshard_figures.h>'
finds "a public header of such a folder" '^lib/shd/mesh.h:2: lib/core may not include <shd/reshard_figures.h>'
tree "a header of one folder of lib in another" lib/reshard/step.h '#include <shd/chunk.h>'
finds "a header of one folder of lib in another" '^lib/reshard/step.h:3: lib/reshard may not include <shd/chunk.h>'
tree "a private header of lib in sim" sim/run/run.c '#include "reshard/step.h"'
finds "a private header of lib in sim" '^sim/run/run.c:4: run may not include "reshard/step.h"'
tree "a layout family in a room that does not name it" sim/cost/cost.h '#include <shd/chunk.h>'
finds "a layout family in a room that does not name it" '^sim/cost/cost.h:1: cost may not include <shd/chunk.h>'
tree "JSON in a layout family" lib/layouts/t5x/chunk.c '#include <jansson.h>'
finds "JSON in a layout family" '^lib/layouts/t5x/chunk.c:2: lib may not include <jansson.h>'
tree "the ops of the layout families in one of them" lib/layouts/t5x/chunk.c '#include "layouts/query/ops.h"'
finds "the ops of the layout families in one of them" '^lib/layouts/t5x/chunk.c:2: lib/layouts/t5x may not include "layouts/query/ops.h"'
tree "the simulator in the ops of the layout families" lib/layouts/query/chunk.c '#include "cost/cost.h"'
finds "the simulator in the ops of the layout families" '^lib/layouts/query/chunk.c:4: layouts may not include "cost/cost.h"'
tree "a folder of lib without a line" sim/LAYERS ''
mkdir "$dir/a folder of lib without a line/lib/util"
finds "a folder of lib without a line" '^lib/util: '
tree "a layout family without a line" sim/LAYERS ''
mkdir "$dir/a layout family without a line/lib/layouts/other"
finds "a layout family without a line" '^lib/layouts/other: '

done_testing
