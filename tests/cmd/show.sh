#!/bin/sh
# Tests show: meshes, arrays, groups and traffic, in the terminal and as pictures.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
unset NO_COLOR COLUMNS

# drawn TEXT <WANTED: standard output equals stdin.
drawn() {
    cat >"$tmp/want"
    diff "$tmp/want" "$tmp/out" >"$tmp/wrong"
    ok $? "$1"
    diag <"$tmp/wrong"
}

# fits WIDTH TEXT: no line of the output is longer, or ends with a space.
fits() {
    python3 -c 'import sys
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
sys.exit(any(len(l) > int(sys.argv[2]) or l != l.rstrip() for l in lines))' "$tmp/out" "$1"
    ok $? "$2"
}

test_mesh() {
    shardsim show mesh dp=2,tp=4
    is 0 "mesh: status 0"
    drawn "mesh: rows and columns" <<'EOF'
mesh dp=2, tp=4: 8 devices

          tp
dp   0   1   2   3
   ┌───┬───┬───┬───┐
 0 │ 0 │ 1 │ 2 │ 3 │
   ├───┼───┼───┼───┤
 1 │ 4 │ 5 │ 6 │ 7 │
   └───┴───┴───┴───┘

Device ids are row-major: the last axis varies fastest.
EOF
    shardsim show mesh '{pp: 2, dp: 2, tp: 2}' --ascii
    drawn "mesh: three axes are two pictures; ASCII" <<'EOF'
mesh pp=2, dp=2, tp=2: 8 devices

pp 0           pp 1
      tp             tp
dp   0   1     dp   0   1
   +---+---+      +---+---+
 0 | 0 | 1 |    0 | 4 | 5 |
   +---+---+      +---+---+
 1 | 2 | 3 |    1 | 6 | 7 |
   +---+---+      +---+---+

Device ids are row-major: the last axis varies fastest.
EOF
    shardsim show mesh x=64
    is 0 "mesh: one long axis"
    fits 80 "mesh: a long axis is wrapped at 80 columns"
    for id in 0 31 63; do
        says out "│ *$id │" "mesh: a wrapped axis still has device $id"
    done
}

test_array() {
    shardsim show array --mesh dp=2,tp=4 --shape 8,16 --spec 'dp,tp'
    cp "$tmp/out" "$tmp/first"
    says out '^       4-7 │  4  │  5  │  6  │  7  │$' "array: blocks with device ids"
    for spec in "P('dp', 'tp')" '[dp, tp]' "('dp', 'tp')" '[[dp], [tp]]'; do
        shardsim show array --mesh dp=2,tp=4 --shape 8x16 --spec "$spec"
        cmp -s "$tmp/first" "$tmp/out"
        ok $? "array: $spec draws the same picture"
    done
    shardsim show array --mesh dp=2,tp=2 --shape 8,16 --spec 'null,tp'
    says out '│ 0, 2 │ 1, 3 │' "array: replicas are together"
    says out '^2 blocks of 8x8, each on 2 devices (replicas), whose ids are in its cell.$' "array: says so"
    shardsim show array --mesh a=2,b=2 --shape 2,4,4,4 --spec 'a,b,null,null'
    [ "$(grep -o 'dim 0 (a) [01], dim 1 (b) [0-3]-[0-3]' "$tmp/out" | sort -u | wc -l)" -eq 4 ]
    ok $? "array: rank 4 is four pictures"
    shardsim show array --mesh dp=64 --shape 8 --ascii
    says out '+49' "array: of many replicas some are counted"
    shardsim show array --mesh dp=2 --shape '()' --spec 'P()'
    is 0 "array: a scalar"
    for width in 80 160; do
        COLUMNS=$width
        export COLUMNS
        shardsim show array --mesh dp=4,tp=32 --shape 8,64 --spec 'dp,tp'
        fits $width "array: fits $width columns"
        unset COLUMNS
    done
}

test_groups() {
    shardsim show groups --mesh dp=2,tp=4 --axes dp
    says out '^g3: 3 7$' "groups: members of each"
    says out '│ 6 g2 │ 7 g3 │$' "groups: in the mesh"
    shardsim show groups --mesh dp=2,tp=4 --axes dq
    is 2 "groups: no such axis"
    says err "the mesh has no axis 'dq'; did you mean 'dp'?" "groups: did you mean"
}

test_matrix() {
    shardsim show matrix "$scenarios/fsdp_tp.yaml"
    is 0 "matrix: status 0"
    says out '^ 0 │      │ 256K │ 384K │' "matrix: bytes"
    cp "$tmp/out" "$tmp/first"
    shardsim show matrix --execute "$scenarios/fsdp_tp.yaml"
    sed 's/executed$/planned/' "$tmp/out" | cmp -s - "$tmp/first"
    ok $? "matrix: executed, the same bytes are copied"
    shardsim show matrix --json "$scenarios/fsdp_tp.yaml"
    is 0 "matrix: --json, status 0"
    cp "$tmp/out" "$tmp/matrix.json"
    shardsim plan --json "$scenarios/fsdp_tp.yaml"
    python3 - "$tmp/matrix.json" "$tmp/out" <<'PY'
import json, sys
matrix, plan = (json.load(open(path)) for path in sys.argv[1:])
rows = matrix["received_bytes"]
assert [sum(row) for row in rows] == plan["received_bytes"]["per_device"], rows
assert all(rows[i][i] == 0 for i in range(len(rows)))
PY
    ok $? "matrix: rows of --json come to what each device receives"
    shardsim show matrix --json "$scenarios/block_1024_devices.yaml"
    is 2 "matrix: --json of 1,024 devices is refused"
    says err '1024 devices are too many for a matrix; --json has at most 256' "matrix: and why"
    shardsim show matrix "$scenarios/block_64_devices.yaml"
    fits 80 "matrix: 64 devices fit 80 columns"
    says out '^10 [·░▒▓]*█[·░▒▓█]*$' "matrix: shades"
    shardsim show matrix --ascii "$scenarios/block_64_devices.yaml"
    LC_ALL=C awk '/[^ -~]/ { other = 1 } END { exit other }' "$tmp/out"
    ok $? "matrix: --ascii is ASCII"
    shardsim show matrix "$scenarios/block_1024_devices.yaml"
    is 0 "matrix: 1,024 devices by classes, status 0"
    says out 'from those along' "matrix: classes, by axes"
    says out ' dp=[0-9-]*: [0-9]* devices │ *[0-9.]* [KMG]iB │ *[0-9.]* [KMG]iB │' "matrix: what one device of a class receives"
    shardsim plan --json "$scenarios/block_1024_devices.yaml"
    cp "$tmp/out" "$tmp/plan"
    shardsim show matrix "$scenarios/block_1024_devices.yaml"
    python3 - "$tmp/plan" "$tmp/out" <<'EOF'
import json, re, sys
plan = json.load(open(sys.argv[1], encoding="utf-8"))
rows = re.findall(r"(\d+) devices? │ +(\S* ?\S*) │ +(\S* ?\S*) │", open(sys.argv[2], encoding="utf-8").read())
assert sum(int(n) for n, _, _ in rows) == plan["devices"] == 1024
units = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
size = lambda text: float(text.split()[0]) * units[text.split()[1]] if text.strip() else 0
columns = [sum(int(r[0]) * size(r[c]) for r in rows) for c in (1, 2)]
for shown, exact in zip(sorted(columns), sorted(plan["received_bytes"]["by_axis"].values())):
    assert abs(shown / exact - 1) < 0.005, (columns, plan["received_bytes"]) # three digits
EOF
    ok $? "matrix: classes come to the bytes of the plan, by axis"
    shardsim show matrix "$scenarios/strategies.yaml"
    is 2 "matrix: several strategies and none chosen"
    says err 'choose one with --strategy: ' "matrix: told to choose"
}

escape=$(printf '\033')

test_colours() {
    shardsim show mesh dp=2
    ! grep -q "$escape" "$tmp/out"
    ok $? "colours: none when piped"
    shardsim show mesh dp=2 --color
    says out "$escape.30;48;5;[0-9]*m" "colours: asked for"
    shardsim show mesh dp=2 --color=sometimes
    is 2 "colours: bad --color"
    command -v script >"$tmp/which" || {
        skip "colours: on a terminal" "no script(1)"
        return
    }
    script -qc true /dev/null >"$tmp/which" 2>&1 </dev/null || {
        skip "colours: on a terminal" "no pseudo-terminal: $(head -n 1 "$tmp/which")"
        skip "colours: not with NO_COLOR" "no pseudo-terminal"
        return
    }
    script -qc "'$shardsim' show mesh dp=2" /dev/null >"$tmp/out" 2>&1 </dev/null
    says out "$escape.30;48;5;" "colours: on a terminal"
    NO_COLOR=1 script -qc "'$shardsim' show mesh dp=2" /dev/null >"$tmp/out" 2>&1 </dev/null
    ! grep -q "$escape.30" "$tmp/out"
    ok $? "colours: not with NO_COLOR"
}

# svg TEXT ARGUMENT...: show writes a well-formed picture.
svg() {
    what=$1
    shift
    shardsim show "$@" -o "$tmp/a.svg"
    is 0 "$what.svg: status 0"
    silent out "$what.svg: nothing on standard output"
    python3 "$top_srcdir/tests/support/picture.py" "$tmp/a.svg" >"$tmp/wrong" 2>&1
    ok $? "$what.svg: well-formed, all of it on the page, no texts on one another"
    tail -n 3 "$tmp/wrong" | diag
}

test_pictures() {
    svg mesh mesh pp=2,dp=2,tp=4
    svg "large mesh" mesh pp=4,dp=8,tp=8
    [ "$(grep -o 'fill="#[0-9a-f]*"' "$tmp/a.svg" | sort -u | wc -l)" -eq 4 ]
    ok $? "large mesh: a colour for each place along the first axis"
    says a.svg 'Colours are places along pp\.' "large mesh: it is said"
    svg "one long axis" mesh x=128
    svg array array --mesh dp=2,fsdp=2,tp=4 --shape 4,8,16 --spec 'dp,null,tp'
    for spec in null,tp dp,tp tp,null; do
        svg "array as $spec" array --mesh dp=2,tp=4 --shape 8,16 --spec $spec
        python3 - "$tmp/a.svg" "$top_srcdir/tests/support" >"$tmp/wrong" 2>&1 <<'EOF'
import sys
sys.path.insert(0, sys.argv[2])
sys.dont_write_bytecode = True
from picture import Picture
cells = [b for b in Picture(sys.argv[1]).boxes if b[0].get("fill")]
width = max(x + w for _, x, _, w, _ in cells) - min(x for _, x, _, _, _ in cells)
height = max(y + h for _, _, y, _, h in cells) - min(y for _, _, y, _, _ in cells)
assert abs(width - 480) < 1 and abs(height - 240) < 1, (width, height)
EOF
        ok $? "array as $spec: the size does not depend on the sharding"
        tail -n 1 "$tmp/wrong" | diag
    done
    svg groups groups --mesh dp=2,tp=4 --axes tp
    svg matrix matrix "$scenarios/fsdp_tp.yaml"
    svg "large matrix" matrix "$scenarios/block_64_devices.yaml"
    svg "reserved characters" mesh 'a<b>&c=2'
    shardsim show mesh dp=2 --color -o "$tmp/a.txt"
    is 0 "text file: status 0"
    ! grep -q "$escape" "$tmp/a.txt"
    ok $? "text file: no colours"
    shardsim show mesh dp=2 -o "$tmp/a.pdf"
    is 2 "unknown kind of file: status 2"
    [ ! -e "$tmp/a.pdf" ]
    ok $? "unknown kind of file: not written"
    shardsim show mesh dp=2 -o "$tmp/nowhere/a.svg"
    is 3 "cannot be written: status 3"
}

# bad TEXT PATTERN ARGUMENT...: status 2 and the message
bad() {
    what=$1
    pattern=$2
    shift 2
    shardsim show "$@"
    is 2 "$what: status 2"
    says err "$pattern" "$what: said"
    silent out "$what: nothing on standard output"
}

test_functions() {
    shardsim show functions
    is 0 "functions: status 0"
    says out '^softmax(x, dim)$' "functions: softmax with its arguments"
    says out ' gelu,' "functions: elementwise ones"
    awk 'length > 80 { wide = 1 } END { exit wide }' "$tmp/out"
    ok $? "functions: no line is wider than 80"
    shardsim show mesh --mesh dp=2,tp=4
    cp "$tmp/out" "$tmp/named"
    shardsim show mesh dp=2,tp=4
    cmp -s "$tmp/out" "$tmp/named"
    ok $? "mesh: named as elsewhere"
}

test_bad_input() {
    bad "nothing" '^Usage: shardsim show'
    bad "unknown" "cannot show 'mesch'; did you mean 'mesh'?" mesch
    bad "no mesh" 'no mesh given' mesh
    bad "two meshes" "one mesh at a time; 'dp=4' is a second one" mesh --mesh dp=2 dp=4
    bad "mesh without sizes" "expected axes as 'dp=2,tp=4'" mesh dp
    bad "size 0" 'at least 1' mesh dp=0
    bad "same axis" "two mesh axes have the name 'dp'" mesh dp=2,dp=2
    bad "too many devices" 'error: ' mesh dp=1000000,tp=1000000
    bad "too many to draw" 'too many to draw' mesh dp=1000000
    bad "no such axis" "error: spec: .*'tq'" array --mesh dp=2 --shape 8 --spec tq
    bad "does not divide" 'does not divide' array --mesh dp=2 --shape 3 --spec dp
    bad "bad shape" "expected a shape such as '8,16'" array --mesh dp=2 --shape 8,y --spec dp
    bad "no shape" 'expected --mesh and --shape' array --mesh dp=2
    bad "no scenario" 'error: ' matrix "$tmp/none.yaml"
    for subject in array groups matrix mesh; do
        shardsim show $subject --help
        is 0 "$subject --help: status 0"
        says out "^Usage: shardsim show $subject" "$subject --help: on standard output"
    done
}

test_mesh
test_array
test_groups
test_matrix
test_colours
test_pictures
test_functions
test_bad_input
done_testing
