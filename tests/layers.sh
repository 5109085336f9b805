#!/bin/sh
# The include arrows of sim/LAYERS hold: every #include in lib/ and sim/ is an allowed one.
#
# SPDX-License-Identifier: Apache-2.0
: "${AWK:=awk}" "${top_srcdir:=$(dirname "$0")/..}"
. "$top_srcdir/tests/tap.sh"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# check ROOT: prints each fault as "file:line: what"; nothing when all is well.
# shellcheck disable=SC2016  # the dollars are awk's
check() {
    (
        cd "$1" || exit
        find sim -path '*/shd/*.h' | sed 's/^/public /'
        find sim -mindepth 1 -maxdepth 1 -type d | sed 's/^/folder /'
        find lib sim -name '*.[ch]' | sort | sed 's/^/source /'
    ) | $AWK -v root="$1" -v layers="$1/sim/LAYERS" '
        function room_of(path,    part) {
            if (path ~ /^lib\//)
                return "lib"
            return split(path, part, "/") == 2 ? "main" : part[2]
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
                    if (word[i] == "*") {
                        for (above in known)
                            allowed[room, above] = 1
                    } else if (word[i] != "") {
                        if (room != "lib" && !(word[i] in known))
                            print "sim/LAYERS:" nline ": " room " names " word[i] ", which is not above it"
                        allowed[room, word[i]] = 1
                    }
                }
            }
        }
        # Why `room`, in `file`, may not include `target` (with its quotes); "" when it may.
        function fault(room, file, target,    name, owner) {
            name = substr(target, 2, length(target) - 2)
            if (target == "\"config.h\"")
                return ""
            if (target ~ /^</ && name in public)
                owner = public[name]
            else if (target ~ /^<shd\//)
                owner = "lib"
            else if (target ~ /^</)
                return room != "lib" || (room, name) in allowed ? "" : "lib may not include " target
            else if (name !~ /\//) {
                sub(/[^\/]*$/, name, file)
                return exists(root "/" file) ? "" : target " is not in the same folder"
            } else
                owner = room_of("sim/" name)
            if (owner == "lib" || owner == room || (room, owner) in allowed)
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
        $1 == "folder" {
            room = room_of($2 "/")
            if (!(room in known))
                print $2 ": no line in sim/LAYERS"
        }
        $1 == "source" { check_source($2) }
    '
}

# finds NAME PATTERN: the check of the tree in $dir/NAME must print a line that matches.
finds() {
    check "$dir/$1" >"$dir/faults"
    grep -q "$2" "$dir/faults"
    ok $? "finds $1"
}

# tree NAME FILE LINE: a small tree with one line more in one file.
tree() {
    mkdir -p "$dir/$1/lib/shd" "$dir/$1/sim/base" "$dir/$1/sim/run/shd" "$dir/$1/sim/cost"
    printf 'lib: stdio.h\nbase:\nrun: base\ncost: base\nmain: *\n' >"$dir/$1/sim/LAYERS"
    echo '#include <stdio.h>' >"$dir/$1/lib/mesh.c"
    printf '#include "config.h"\n#include <pthread.h>\n#include "base/log.h"\n' >"$dir/$1/sim/run/run.c"
    echo '#include <shd/mesh.h>' >"$dir/$1/sim/run/shd/run.h"
    echo '#include <shd/run.h>' >"$dir/$1/sim/main.c"
    : >"$dir/$1/sim/base/log.h"
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
tree "a public header of a room that is not allowed" sim/cost/cost.h '# include <shd/run.h>'
finds "a public header of a room that is not allowed" '^sim/cost/cost.h:1: '
tree "an include from lib into sim" lib/mesh.c '#include "base/log.h"'
finds "an include from lib into sim" '^lib/mesh.c:2: '
tree "a system header that lib does without" lib/mesh.c '#include <pthread.h> /* threads */'
finds "a system header that lib does without" '^lib/mesh.c:2: lib may not include <pthread.h>'
tree "a header of another folder by its bare name" sim/run/run.c '#include "log.h"'
finds "a header of another folder by its bare name" '^sim/run/run.c:4: '
tree "a room below the line that names it" sim/LAYERS 'store: query'
finds "a room below the line that names it" '^sim/LAYERS:6: store names query'
tree "a folder without a line" sim/LAYERS ''
mkdir "$dir/a folder without a line/sim/util"
finds "a folder without a line" '^sim/util: '

done_testing
