#!/bin/sh
# Tests the notebooks that docs/notebooks.py makes: the lab, and the lessons of the course, run from the
# first cell to the last where only the program and its package are, and the predictions that the lab
# gives as answers are right.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
case $shardsim in /*) ;; *) shardsim=$PWD/$shardsim ;; esac
root=$(cd "$top_srcdir" && pwd)
PATH=$(dirname "$shardsim"):$PATH
SHARDSIM=$shardsim
PYTHONPATH=$root/python/src
PYTHONDONTWRITEBYTECODE=1
COLUMNS=80
export PATH SHARDSIM PYTHONPATH PYTHONDONTWRITEBYTECODE COLUMNS

python3 "$root/docs/notebooks.py" -o "$tmp/all"
ok $? "notebooks: made"
[ "$(cd "$tmp/all" && echo ./*.ipynb | wc -w)" = 11 ]
ok $? "notebooks: the lab and ten lessons"
# A folder for each: what one has written is not there for another.
for notebook in "$tmp"/all/*.ipynb; do
    name=$(basename "$notebook" .ipynb)
    [ "$name" = lab ] || sampled 5 || continue
    mkdir "$tmp/$name"
    (cd "$tmp/$name" && exec python3 "$root/tests/pages/notebook.py" "$notebook") >"$tmp/out" 2>"$tmp/err"
    status=$?
    is 0 "notebooks: $name runs"
    [ "$name" = lab ] || continue
    ok "$(test "$(grep -c ' is right$' "$tmp/out")" -ge 6; echo $?)" "lab: its answers are right"
    ok "$(test "$(grep -c ': predict first$' "$tmp/out")" -ge 6; echo $?)" "lab: a prediction that is not made is no error"
    ok "$(test "$(grep -c ': not entered: ' "$tmp/out")" = 4; echo $?)" "lab: an entry that breaks a rule of the contest is not one"
    ok "$(test "$(grep -c ', fits: goal [1-3] ' "$tmp/out")" = 3; echo $?)" "lab: each goal of the contest is reached"
done
# The first cell of a kernel that has neither the package nor the program on its PATH says what to do.
mkdir "$tmp/bare"
python3 - "$tmp/all/lab.ipynb" >"$tmp/first.py" <<'PY'
import json, sys
print(next("".join(c["source"]) for c in json.load(open(sys.argv[1], encoding="utf-8"))["cells"] if c["cell_type"] == "code"))
PY
python=$(python3 -c 'import sys; print(sys.executable)')
(cd "$tmp/bare" && PATH=$tmp/bare PYTHONPATH='' SHARDSIM='' exec "$python" -I "$tmp/first.py") >"$tmp/out" 2>"$tmp/err"
status=$?
is 0 "notebooks: the first cell without the program is no error"
says out '^This notebook.s kernel does not find shardsim' "notebooks: and says what to do"
python3 "$tmp/first.py" >"$tmp/out" 2>"$tmp/err"
says out '^shardsim: /' "notebooks: with it, where it is"
python3 "$root/docs/notebooks.py" --without-answers -o "$tmp/class" "$root/docs/lab.md" "$root/docs/course/1_data.md"
ok $? "notebooks: made for a class"
! grep -q '"answer"\|<details>' "$tmp"/class/*.ipynb && grep -q '# Your answer' "$tmp/class/lab.ipynb"
ok $? "notebooks: without answers, cells to fill in"
done_testing
